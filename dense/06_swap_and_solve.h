#pragma once
// What a factored block does to the columns right of it before the product, in one kernel: row swaps and triangular
// solve.

#include "core/simt/blas.h"
#include "dense/device_dense.h"

namespace lulab::dense {

/// In columns [first_col, end_col) of A: swaps rows k and a.ipiv[k] for k = first, ..., end - 1; then
/// U := L^-1 · A(first:end, :) with L the unit lower triangle of A(first:end, first:end).
///
/// Requires  end <= first_col <= end_col <= a.n; blas works on `stream`.
/// Errors    invalid_argument, device_error.
/// Cost      w^2 / 2 multiply-adds a column of w = end - first rows.
template <class T>
Status swap_rows_and_solve(const DeviceDense<T>& a, std::int32_t first, std::int32_t end, std::int32_t first_col,
                           std::int32_t end_col, simt::Blas& blas, simt::Stream& stream);

}  // namespace lulab::dense
