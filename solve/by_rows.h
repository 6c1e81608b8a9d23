#pragma once
// A by rows, for kernels that sum a row.

#include <cstdint>
#include <numeric>
#include <vector>

#include "core/matrix/csc.h"

namespace lulab {

/// Aᵀ, whose columns are the rows of A; values: the position in A of each entry.
inline CscMatrix<std::int64_t> by_rows(CscPatternView a) {
  std::vector<std::int64_t> position(a.nnz());
  std::iota(position.begin(), position.end(), std::int64_t(0));
  return transpose(CscView<std::int64_t>{a, position});
}

}  // namespace lulab
