#pragma once
// x from L·U = P·R·A·C·Q. Sequential; the specification of the parallel solves.

#include <span>
#include <vector>

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

/// Factors where they lie.
template <class T>
struct FactorsView {
  const FilledPattern& filled;
  const Plan& plan;
  std::span<const T> values;  // (filled.nnz())

  FactorsView(const FilledPattern& the_filled, const Plan& the_plan, std::span<const T> the_values)
      : filled(the_filled), plan(the_plan), values(the_values) {}
  FactorsView(const Factors<T>& f) : filled(f.filled), plan(f.plan), values(f.values) {}
};

/// Is every pivot a finite number and not zero?   Errors numerically_singular, where.columns in A's numbering.
template <class T>
Status check_solvable(const FactorsView<T>& f);

/// Workspace of the solves below.
template <class T>
struct SolveWork {
  std::vector<double> scaled;  // (n) of up to eight right-hand sides, in the order of the plan
  std::vector<T> solution;     // likewise
};

/// solve_mixed() and solve_transposed_mixed() of several right-hand sides, by factors that are known to be fit for it,
/// without a check; the workspace grows once. L and U are read once for eight or four of them, and each has the bits
/// that it has alone.
///
/// Shapes    b, x: (n, columns); they may be the same span.
/// Requires  check_solvable(f).
template <class T>
void solve_checked(const FactorsView<T>& f, std::span<const double> b, std::span<double> x, std::int32_t columns,
                   bool transposed, SolveWork<T>& work);

}  // namespace lulab
