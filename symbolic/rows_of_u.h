#pragma once
// U by rows: the columns that column j updates in a right-looking factorization.

#include <cstdint>
#include <vector>

#include "core/plan.h"

namespace lulab {

/// Row j of U right of its diagonal: columns cols[ptr[j]] .. cols[ptr[j + 1] - 1], ascending; entry (j, cols[q]) lies
/// at position pos[q] of As.
struct RowsOfU {
  std::vector<std::int64_t> ptr = {0};  // (n + 1)
  std::vector<std::int32_t> cols;       // (nnz_u - n)
  std::vector<std::int64_t> pos;        // (nnz_u - n)
};

/// Requires  a valid FilledPattern.
/// Cost      O(nnz(U) + n).
RowsOfU rows_of_u(const FilledPattern& filled);

}  // namespace lulab
