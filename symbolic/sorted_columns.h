#pragma once
// Sorting the rows of a pattern of L + U that was found column by column.

#include <vector>

#include "core/plan.h"

namespace lulab {

/// Rows of each column ascending; diag filled in.   Shapes n x n, every diagonal entry present, no duplicates.
/// host_threads: that sort; 0: as many as pay.
/// Cost      O(n + nnz) with a logarithm of few rows, a bit for each row and thread; a second copy of the pattern.
FilledPattern sorted_columns(CscPattern unsorted, int host_threads = 0);

}  // namespace lulab
