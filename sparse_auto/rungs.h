#pragma once
// Every rung of this stage by name.

#include "core/rung.h"

namespace lulab::sparse_auto {
#define LULAB_RUNG(name) extern const Rung name;
#include "sparse_auto/rungs.def"
#undef LULAB_RUNG
}  // namespace lulab::sparse_auto
