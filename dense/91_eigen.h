#pragma once
// LU by Eigen as LAPACK's getrf and getrs: any shape, any leading dimension, in place.

#include <cstdint>
#include <span>

#include "core/matrix/dense.h"

namespace lulab::dense {

/// As getrf_reference(), by blocks: A := L and U of P·A = L·U, its swaps and info. It rounds in another order.
///
/// Shapes    A: m x n, ld >= max(1, m). ipiv: (min(m,n)), 0-based.
/// Returns   0, or 1 + the column of the first zero pivot; the factorization went on.
/// Errors    throws std::bad_alloc, with A half done.
/// Cost      m n^2 - n^3/3 multiply-add pairs on one core; workspace of Eigen's matrix product.
template <class T>
std::int32_t getrf_eigen(DenseView<T> a, std::span<std::int32_t> ipiv);

/// B := A^-1 B, transposed: A^-T B, with the result of a getrf.
///
/// Shapes    LU: n x n, ipiv: (n), B: n x columns.   Requires 0 <= ipiv[k] < n. A zero pivot gives infinities and NaN.
/// Errors    throws std::bad_alloc, with B half done.
template <class T>
void getrs_eigen(DenseView<const T> lu, std::span<const std::int32_t> ipiv, bool transposed, DenseView<T> b);

}  // namespace lulab::dense
