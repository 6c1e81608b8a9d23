#pragma once
// What rungs do with finished factors: put L and U together on one pattern, look for what went wrong, measure.

#include <cmath>
#include <limits>
#include <span>

#include "core/plan.h"
#include "core/status.h"

namespace lulab {

/// L and U side by side on pattern(L+U): the inverse of extract_l and extract_u.
///
/// Shapes    L, U: n x n, n = plan.n(); rows in any order, no duplicates. L: entries on or above the diagonal are
///           ignored (a unit diagonal may be stored or not). U: no entry below the diagonal.
/// Requires  every diagonal entry of U is stored.
/// Cost      O(n + nnz(L) + nnz(U)) time and memory.
template <class T>
Factors<T> join_factors(Plan plan, const CscView<T>& l, const CscView<T>& u);

/// The larger of two numbers >= 0; NaN if one of them is.
inline double larger_or_nan(double a, double b) { return std::isnan(a) || a >= b ? a : b; }

/// max |v|, 0 when there are none. A NaN gives NaN.
template <class T>
double max_abs(std::span<const T> values);
/// max |L(i,j)| below the diagonal, and max |U(i,j)|.   As max_abs().
template <class T>
double max_abs_l(const Factors<T>& f);
template <class T>
double max_abs_u(const Factors<T>& f);
/// max |P·R·A·C·Q|, in double whatever the rung's precision.   As max_abs().
double max_abs_pracq(const CscView<double>& a, const Plan& plan);

/// Pivot growth: by which factor elimination has made the largest entry larger.   NaN where A is zero.
inline double pivot_growth(double max_abs_u, double max_abs_pracq) {
  return max_abs_pracq > 0 ? max_abs_u / max_abs_pracq : std::numeric_limits<double>::quiet_NaN();
}

/// Are all values of L and U finite and no pivot zero?
/// Errors    `code`, where.columns = column in A's numbering of the first column of L or U that is not so.
/// Cost      O(nnz(L+U)).
template <class T>
Status check_factors(const Factors<T>& f, StatusCode code);

/// Fills in pivot_growth, rcond, off_diagonal_pivots, structural_rank and numerical_rank (= n).
///
/// rcond is KLU's cheap estimate min |u_jj| / max |u_jj|: small values are a warning, large ones prove nothing.
/// Shapes    plan: the plan before pivoting. max_abs_pracq = max |P·R·A·C·Q|; growth stays NaN when it is 0.
/// Requires  check_factors(f).
/// Cost      O(nnz(L+U)).
template <class T>
void measure_factors(Factors<T>& f, const Plan& plan, double max_abs_pracq);

}  // namespace lulab
