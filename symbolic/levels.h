#pragma once
// Which columns can be eliminated at the same time.

#include "core/plan.h"

namespace lulab {

/// level(j) = 1 + max level(k) over U(k,j) != 0, k < j; columns without such k form level 0.
/// Source    Chen et al. 2015, section 3.1 (column j depends on the columns where U(:,j) has entries).
Schedule levels_left_looking(const FilledPattern& filled);

}  // namespace lulab
