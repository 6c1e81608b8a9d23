#pragma once
// Dense LU with partial pivoting, one column in each step: every dense rung is compared with this definition.

#include <cstdint>
#include <span>

#include "core/matrix/dense.h"
#include "core/matrix/permutation.h"

namespace lulab::dense {

/// A := L and U of P·A = L·U in place, right-looking and unblocked.
///
/// Step k takes the entry of largest magnitude in A(k:, k) as pivot (the first of equals; the first NaN, if there is
/// one, so that a NaN spreads instead of hiding), swaps whole rows, divides the column and updates what is right of and
/// below it. A zero pivot is skipped as LAPACK skips it: the factorization goes on and U(k,k) stays zero.
///
/// Shapes    A: m x n, ld >= max(1, m). ipiv: (min(m,n)), 0-based: in step k rows k and ipiv[k] >= k were swapped.
/// Returns   info as getrf: 0, or 1 + the column of the first zero pivot.
/// Cost      m n^2 - n^3/3 multiply-add pairs, no workspace.
/// Source    LAPACK getf2; the k-i-j loops of "Implementation of high performance parallel LU factorization program for
///           multi-threads on GPGPUs", to which it adds the pivot.
template <class T>
std::int32_t getrf_reference(DenseView<T> a, std::span<std::int32_t> ipiv);

/// The swap sequence as a permutation: P·A = A(p, :).
///
/// Shapes    ipiv: (min(m,n)), 0-based (subtract 1 from LAPACK's). Returns p: (n_rows).
/// Requires  k <= ipiv[k] < n_rows; ipiv.size() <= n_rows.
Permutation row_permutation_from_ipiv(std::span<const std::int32_t> ipiv, std::int32_t n_rows);

}  // namespace lulab::dense
