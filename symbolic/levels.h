#pragma once
// Levels: sets of columns that can be eliminated at the same time.

#include "core/plan.h"

namespace lulab {

/// level(j) = 1 + max level(k) over U(k,j) != 0, k < j; columns without such k form level 0. No schedule that respects
/// these dependencies has fewer levels.
///
/// Shapes    level_of, level_cols: (n); level_ptr: (n_levels + 1).   Requires a valid FilledPattern.
/// Cost      O(nnz(U) + n).
/// Source    Chen et al. 2015, section 3.1 (column j depends on the columns where U(:,j) has entries).
Schedule levels_left_looking(const FilledPattern& filled);

/// Sorts the columns by level, ascending inside a level.
///
/// Shapes    level_of: (n), values 0 .. n_levels - 1, every level nonempty.
/// Cost      O(n).
Schedule group_levels(std::vector<std::int32_t> level_of);

}  // namespace lulab
