#pragma once
// Norms, solves, residuals and refinement: the verifier's own plain loops in long double, residuals in twice that. It
// judges with nothing that it judges.

#include <vector>

#include "core/plan.h"

namespace lulab::extended {

using Real = long double;
using Vector = std::vector<Real>;

/// a where a >= b or a is NaN, else b: a maximum that never loses a NaN.
Real max_or_nan(Real a, Real b);

/// Rounds to the 53 bits of a double, not to its range: of a tiny A even the solution for a small b is no double.
void round_to_double(Vector& x);

/// sum |v_i| and max |v_i|; NaN when an entry is.
Real norm1(const Vector& v);
Real norm_inf(const Vector& v);
/// The largest column sum and the largest row sum of |A|; NaN when an entry is.
Real norm1(const CscView<double>& a);
Real norm_inf(const CscView<double>& a);

/// b - A·x, summed in twice the precision of Real.   Shapes A: n x n, x, b: (n).
Vector residual(const CscView<double>& a, const Vector& x, const Vector& b);

/// x = C·Q·U⁻¹·L⁻¹·P·R·b, and for Aᵀ.   Shapes b: (n). A zero pivot gives infinities and NaN, not an error.
template <class T>
Vector solve(const Factors<T>& f, const Vector& b);
template <class T>
Vector solve_transposed(const Factors<T>& f, const Vector& b);

struct BackwardError {
  Real componentwise = 0;  // max_i |r|_i / (|A||x| + |b|)_i, 0/0 = 0              Oettli & Prager 1964
  Real omega1 = 0;         // the same over the rows where |A||x| + |b| does not all but vanish
  Real omega2 = 0;         // the other rows: ||A(i,:)||_inf ||x||_inf takes the place of |b|_i
  Real omega = 0;          // omega1 + omega2                                      Arioli, Demmel & Duff 1989, 2.2
};
BackwardError backward_error(const CscView<double>& a, const Vector& x, const Vector& b);

/// Rounds x to double and corrects it until omega <= 2^-53, or a step gains less than a tenth; a step that makes it
/// worse is undone (simpler than RefinementRule: none is forgiven).   Source Arioli, Demmel & Duff 1989, section 3.
/// Returns   how many corrections were kept, at most 10.
template <class T>
int refine(const CscView<double>& a, const Factors<T>& f, const Vector& b, Vector& x);

struct Condition {
  double rcond = 0;         // 1 / (||A||_1 est ||A⁻¹||_1): of A as it is
  double rcond_scaled = 0;  // the same of R·A·C, which is what the factors see
};

/// 0 when the factors cannot be solved with.
/// Cost      about 20 solves.
/// Source    Hager 1984; Higham 1988, algorithm 4.1.
template <class T>
Condition estimate_condition(const CscView<double>& a, const Factors<T>& f);

}  // namespace lulab::extended
