#include "symbolic/rows_of_l.h"

#include <numeric>

namespace lulab {

RowsOfL rows_of_l(const FilledPattern& f) {
  RowsOfL l{std::vector<std::int64_t>(f.n + std::size_t(2), 0), std::vector<std::int32_t>(f.nnz_l())};
  const auto each = [&](const auto& visit) {
    for (std::int32_t j = 0; j < f.n; ++j)
      for (std::int64_t p = f.diag[j] + 1; p < f.col_ptr[j + 1]; ++p) visit(f.row_idx[p], j);
  };
  each([&](std::int32_t i, std::int32_t) { ++l.ptr[i + 2]; });
  std::partial_sum(l.ptr.begin(), l.ptr.end(), l.ptr.begin());
  each([&](std::int32_t i, std::int32_t j) { l.cols[l.ptr[i + 1]++] = j; });  // ptr[i + 1] becomes the end of row i
  l.ptr.pop_back();
  return l;
}

}  // namespace lulab
