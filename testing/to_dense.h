#pragma once

#include "core/matrix/csc.h"
#include "core/matrix/dense.h"

namespace lulab::testing {

template <class T>
DenseMatrix<double> to_dense(const CscMatrix<T>& a) {
  DenseMatrix<double> d(a.n_rows, a.n_cols);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      d(a.row_idx[k], j) = static_cast<double>(a.values[k]);
  return d;
}

}  // namespace lulab::testing
