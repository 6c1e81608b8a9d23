#pragma once
// The single checks of L·U = P·R·A·C·Q. Each answers one question; judge() in verify/judge.h asks them all.
//
// A check that says yes or no is a Status: ok, or invalid_argument with the first place that is wrong in the message.
// A check that measures returns a number that is NaN when the factors hold NaN, so compare it as !(value <= limit).

#include <cstdint>
#include <string>

#include "core/plan.h"
#include "core/status.h"
#include "verify/extended.h"

namespace lulab {

/// Unit roundoff: 2^-24 (float), 2^-53 (double).
template <class T>
double unit_roundoff();

/// Pivot growth up to which given pivots count as stable: max(1000, 10 n), about what lu_residual's limit of 30 n eps
/// leaves room for.
double stable_growth(std::int32_t n);

/// Have all arrays of f the lengths that n = A's size and their pointers ask for, and are all indices in range?
/// Precondition of every check below.   Cost O(n + nnz).
template <class T>
Status check_sizes(const CscView<double>& a, const Factors<T>& f);

/// Does p, does q hold each of 0..n-1 once?   Cost O(n).
Status check_permutations(const Plan& plan);

/// Are all r and c positive and finite?   Cost O(n).
Status check_scalings(const Plan& plan);

/// Are the columns sorted, without duplicates, and is diag[j] the position of entry (j,j)? Then what is up to the
/// diagonal is upper and what is after it unit lower triangular.   Cost O(nnz).
Status check_structure(const FilledPattern& filled);

/// Is every value of L and U finite?   Cost O(nnz).
template <class T>
Status check_finite(const Factors<T>& f);

/// Is every entry of P·A·Q in As?   Requires check_permutations, check_structure.   Cost O(nnz(A) log nnz(As)).
Status check_pattern_contains_a(CscPatternView a, const Plan& plan, const FilledPattern& filled);

/// The same for factors that leave out zeros: an entry (i,j) of P·R·A·C·Q may be missing in As where the stored entries
/// give it, |PRACQ - LU| <= 30 (products + 1) eps |L||U| at (i,j).
///
/// Requires  check_permutations, check_structure.   Cost O(flops) of the columns that miss an entry.
template <class T>
Status check_missing_are_zero(const CscView<double>& a, const Factors<T>& f);

/// Is L a square lower triangle with a stored diagonal of exact ones; is U a square upper triangle with a stored
/// diagonal? Rows in any order.   Cost O(nnz).
template <class T>
Status check_unit_lower(const CscView<T>& l);
template <class T>
Status check_upper(const CscView<T>& u);

struct LuResidual {
  double value = 0;    // ||PRACQ - LU||_1 / (n ||RAC||_1 eps)
  std::string method;  // "exact product", or "10 probing vectors" when the product would cost more than max_flops
};

/// How far is L·U from P·R·A·C·Q?  Exactly, column by column, or from v ↦ PRACQ v - L (U v) for v of random signs, in
/// twice double precision.
///
/// A probe is not divided by n, so it judges no milder than the product: of two vectors that differ in one sign, one
/// has ||E v||_1 >= ||E||_1. So one vector misses an error with probability at most 1/2, ten with at most 2^-10.
///
/// Requires  check_sizes, check_permutations, check_structure.   eps = unit_roundoff<T>().
/// Cost      min(flops of L·U, max_flops) + O(nnz), n doubles of workspace.
/// Source    LAPACK Working Note 41, xGET01.
template <class T>
LuResidual lu_residual(const CscView<double>& a, const Factors<T>& f, std::uint64_t seed, double max_flops = 2e9);

/// Solves with the factors (verify/extended.h), for b = A·x with random x and for random b; each number is the worse of
/// the two. Before refinement the factors answer for the system they see, R A C (C⁻¹ x) = R b, up to the size of
/// |L||U|: that is what solves with them promise whatever the pivots (Higham 2002, theorem 9.4). After refinement A
/// itself is the measure.
struct SolveResiduals {
  double scaled_residual = 0;       // ||R (b - A x)||_1 / (|| |L||U| ||_1 ||C⁻¹ x||_1 eps), before refinement
  double first_backward_error = 0;  // componentwise, before refinement
  double solve_residual = 0;        // ||b - A x||_1 / (||A||_1 ||x||_1 eps)
  double hpl_residual = 0;          // ||b - A x||_inf / (eps (||A||_inf ||x||_inf + ||b||_inf) n)
  double backward_error = 0;        // componentwise
  double omega = 0;                 // omega1 + omega2
  double omega1 = 0, omega2 = 0;    // the largest of each
  double forward_error = 0;         // ||x - x*||_1 / ||x*||_1 for b = A·x*
  int refinement_steps = 0;
};

/// Requires  check_sizes, check_permutations.   eps = unit_roundoff<T>(). A zero pivot or a NaN gives NaN or infinity.
/// Cost      a few solves and products with A.
/// Source    LAPACK xGET02; HPL 2.3; Oettli & Prager 1964; Arioli, Demmel & Duff 1989.
template <class T>
SolveResiduals solve_residuals(const CscView<double>& a, const Factors<T>& f, std::uint64_t seed);

/// || |L||U| ||_1, what the rounding errors of elimination and of solves are proportional to (Higham 2002, theorem
/// 9.4);
/// NaN when a value is.   Requires check_sizes.   Cost O(nnz).
template <class T>
long double factor_norm(const Factors<T>& f);

/// || (|L||U|)(:,j) ||_1 of each column j, whose largest is factor_norm().   Requires, cost as factor_norm().
template <class T>
extended::Vector factor_column_norms(const Factors<T>& f);

/// Above it sums of entries could exceed the largest double.
inline constexpr long double large_norm = 0x1p1000L;

/// measure(B, f) with 2^-64 B(:,j) and 2^-64 U(:,j) in the columns with is_large(j): what is relative to their size is
/// the same.
template <class T, class IsLarge, class Measure>
auto with_smaller_columns(CscMatrix<double> b, Factors<T> f, const IsLarge& is_large, const Measure& measure) {
  for (std::int32_t j = 0; j < b.n_cols; ++j) {
    if (!is_large(j)) continue;
    for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) b.values[k] *= 0x1p-64;
    for (std::int64_t k = f.filled.col_ptr[j]; k <= f.filled.diag[j]; ++k) f.values[k] *= T(0x1p-64);
  }
  return measure(b, f);
}

/// measure(B, f) of B = P·R·A·C·Q, with all columns made smaller where sums of entries could exceed the largest double.
template <class T, class Measure>
auto without_overflow(const CscMatrix<double>& b, const Factors<T>& f, const Measure& measure) {
  if (!(extended::norm1(b.view()) + factor_norm(f) > large_norm)) return measure(b, f);
  return with_smaller_columns(
      b, f, [](std::int32_t) { return true; }, measure);
}

/// Reciprocal pivot growth as programs report it: 1 is best, near 0 is bad.
struct ReciprocalGrowth {
  double lapack = 1;   // max|B| / max|U|                               dgesvx, RPVGRW
  double superlu = 1;  // min_j max|B(:,j)| / max|U(:,j)|               dgssvx, recip_pivot_growth; 1 where U(:,j) = 0
  double klu = 1;      // the same, at most 1, without columns U(:,j) = 0, within KLU's diagonal blocks      klu_rgrowth
};
/// b: P·R·A·C·Q. u: U, without the entries `outside` of KLU's blocks. NaN where a value is.
/// Requires  equal sizes, sorted rows; outside of size n or 0.   Cost O(nnz).
ReciprocalGrowth reciprocal_growth(const CscMatrix<double>& b, const CscMatrix<double>& u, const CscPattern& outside);

/// max|U| / max|P·R·A·C·Q|; NaN when U holds NaN, 1 for an empty matrix.   Cost O(nnz).
template <class T>
double pivot_growth(const CscView<double>& a, const Factors<T>& f);

}  // namespace lulab
