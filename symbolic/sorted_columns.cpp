#include "symbolic/sorted_columns.h"

#include <utility>

namespace lulab {

FilledPattern sorted_columns(CscPattern unsorted) {
  const CscPattern by_row = transpose(unsorted);
  FilledPattern f;
  f.n = unsorted.n_cols;
  f.col_ptr = std::move(unsorted.col_ptr);
  const std::size_t size = unsorted.row_idx.size();
  unsorted.row_idx = {};
  f.row_idx.resize(size);
  f.diag.resize(f.n);
  std::vector<std::int64_t> next(f.col_ptr.begin(), f.col_ptr.end() - 1);
  for (std::int32_t i = 0; i < f.n; ++i) {
    for (std::int64_t s = by_row.col_ptr[i]; s < by_row.col_ptr[i + 1]; ++s) f.row_idx[next[by_row.row_idx[s]]++] = i;
    f.diag[i] = next[i] - 1;  // column i has its rows up to i
  }
  return f;
}

}  // namespace lulab
