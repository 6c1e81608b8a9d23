#include "symbolic/rows_of_u.h"

#include <numeric>

namespace lulab {

RowsOfU rows_of_u(const FilledPattern& f) {
  const std::int64_t size = f.nnz_u() - f.n;
  RowsOfU u{std::vector<std::int64_t>(f.n + std::size_t(1), 0), std::vector<std::int32_t>(size),
            std::vector<std::int64_t>(size)};
  for (std::int32_t k = 0; k < f.n; ++k)
    for (std::int64_t p = f.col_ptr[k]; p < f.diag[k]; ++p) ++u.ptr[f.row_idx[p] + 1];
  std::partial_sum(u.ptr.begin(), u.ptr.end(), u.ptr.begin());
  std::vector<std::int64_t> next(u.ptr.begin(), u.ptr.end() - 1);
  for (std::int32_t k = 0; k < f.n; ++k)
    for (std::int64_t p = f.col_ptr[k]; p < f.diag[k]; ++p) {
      const std::int64_t q = next[f.row_idx[p]]++;
      u.cols[q] = k;
      u.pos[q] = p;
    }
  return u;
}

}  // namespace lulab
