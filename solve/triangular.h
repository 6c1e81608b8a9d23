#pragma once
// x from L·U = P·R·A·C·Q, one right-hand side after the other. Sequential; the specification of the parallel solves.

#include <span>

#include "core/plan.h"

namespace lulab {

/// x <- L⁻¹ x, x <- U⁻¹ x and their transposes, in place.
///
/// Shapes    f: n x n, values: (f.nnz()), x: (n).
/// Requires  a nonzero diagonal of U (the solves with L do not read it).
/// Cost      2 nnz(L) or 2 nnz(U) flops.
/// Source    Davis 2006, sections 3.1-3.2 (cs_lsolve, cs_usolve, cs_ltsolve, cs_utsolve).
template <class T>
void solve_lower(const FilledPattern& f, std::span<const T> values, std::span<T> x);
template <class T>
void solve_upper(const FilledPattern& f, std::span<const T> values, std::span<T> x);
template <class T>
void solve_lower_transposed(const FilledPattern& f, std::span<const T> values, std::span<T> x);
template <class T>
void solve_upper_transposed(const FilledPattern& f, std::span<const T> values, std::span<T> x);

/// A x = b through the factors:  x = C Q U⁻¹ L⁻¹ P R b.
///
/// Shapes    b, x: (n); they may be the same span.
/// Ensures   the right-hand side is brought to size 1 by a power of two first, so that R and C of any range fit a
///           float.
/// Errors    invalid_argument (lengths), numerically_singular (zero or non-finite diagonal of U, where.columns in A's
///           numbering).
/// Cost      2 nnz(L+U) flops, n values of workspace.
template <class T>
Status solve(const Factors<T>& f, std::span<const T> b, std::span<T> x);
/// Aᵀ x = b:  x = R Pᵀ L⁻ᵀ U⁻ᵀ Qᵀ C b.   Shapes, errors and cost as solve().
template <class T>
Status solve_transposed(const Factors<T>& f, std::span<const T> b, std::span<T> x);

/// solve() and solve_transposed() with b and x in double around factors of either precision, for refinement and
/// estimates.
template <class T>
Status solve_mixed(const Factors<T>& f, std::span<const double> b, std::span<double> x);
template <class T>
Status solve_transposed_mixed(const Factors<T>& f, std::span<const double> b, std::span<double> x);

}  // namespace lulab
