#include "symbolic/right_side_column.h"

#include <algorithm>
#include <numeric>

namespace lulab {

RightSideColumn with_right_side(const FilledPattern& filled, std::span<const std::int64_t> a_to_filled) {
  const std::int32_t n = filled.n;
  const std::int64_t nnz = filled.nnz();
  RightSideColumn made;
  FilledPattern& f = made.filled;
  f.n = n + 1;
  f.col_ptr = filled.col_ptr;
  f.col_ptr.push_back(nnz + n + 1);
  f.diag = filled.diag;
  f.diag.push_back(nnz + n);
  f.row_idx.resize(nnz + n + std::size_t(1));
  std::ranges::copy(filled.row_idx, f.row_idx.begin());
  std::iota(f.row_idx.begin() + nnz, f.row_idx.end(), 0);
  made.a_to_filled.resize(a_to_filled.size() + n + 1);
  std::ranges::copy(a_to_filled, made.a_to_filled.begin());
  std::iota(made.a_to_filled.begin() + std::ssize(a_to_filled), made.a_to_filled.end(), nnz);
  return made;
}

}  // namespace lulab
