#pragma once
// x from L·U = P·R·A·C·Q, one right-hand side after the other. Sequential; the specification of the parallel solves.

#include <span>

#include "core/plan.h"

namespace lulab {

/// x <- L⁻¹ x and x <- U⁻¹ x and their transposes, in place.   Shapes x: (n).   Requires nonzero diagonal of U.
template <class T>
void solve_lower(const FilledPattern& f, std::span<const T> values, std::span<T> x);
template <class T>
void solve_upper(const FilledPattern& f, std::span<const T> values, std::span<T> x);
template <class T>
void solve_lower_transposed(const FilledPattern& f, std::span<const T> values, std::span<T> x);
template <class T>
void solve_upper_transposed(const FilledPattern& f, std::span<const T> values, std::span<T> x);

/// A x = b through the factors:  y = U⁻¹ L⁻¹ (P R b),  x = C Q y.
/// Shapes    b, x: (n); they may be the same span.
/// Errors    invalid_argument (lengths), numerically_singular (zero or non-finite diagonal of U, where.columns).
template <class T>
Status solve(const Factors<T>& f, std::span<const T> b, std::span<T> x);
/// Aᵀ x = b.
template <class T>
Status solve_transposed(const Factors<T>& f, std::span<const T> b, std::span<T> x);

}  // namespace lulab
