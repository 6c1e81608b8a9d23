#pragma once
// L by rows: the columns that row i is updated by in a left-looking factorization.

#include <cstdint>
#include <vector>

#include "core/plan.h"

namespace lulab {

/// Row i of L left of its diagonal: columns cols[ptr[i]] .. cols[ptr[i + 1] - 1], ascending.
struct RowsOfL {
  std::vector<std::int64_t> ptr = {0};  // (n + 1)
  std::vector<std::int32_t> cols;       // (nnz_l)
};

/// Requires  a valid FilledPattern.
/// Cost      O(nnz(L) + n).
RowsOfL rows_of_l(const FilledPattern& filled);

}  // namespace lulab
