#pragma once
// Sorting the rows of a pattern of L + U that was found column by column.

#include <vector>

#include "core/plan.h"

namespace lulab {

/// Rows of each column ascending; diag filled in.   Shapes n x n, every diagonal entry present.
/// Cost      O(n + nnz): buckets by row, then back, which leaves them ascending. A second copy of the pattern.
FilledPattern sorted_columns(CscPattern unsorted);

}  // namespace lulab
