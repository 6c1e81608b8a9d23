#pragma once
// Every rung of this stage by name.

#include "core/rung.h"

namespace lulab::dense {
#define LULAB_RUNG(name) extern const Rung name;
#include "dense/rungs.def"
#undef LULAB_RUNG
}  // namespace lulab::dense
