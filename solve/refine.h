#pragma once
// Iterative refinement with the componentwise stopping rule, and the backward errors it stops by.

#include <span>

#include "core/plan.h"
#include "core/status.h"
#include "solve/refinement_rule.h"

namespace lulab {

/// r = b - A x, each entry summed as if in twice double precision (then rounded once).
///
/// Shapes    A: m x n, b, r: (m), x: (n). r may be b.
/// Cost      about 10 nnz(A) flops, 2 m doubles of workspace.
/// Source    Ogita, Rump & Oishi 2005, algorithm Dot2.
void residual(const CscView<double>& a, std::span<const double> x, std::span<const double> b, std::span<double> r);

/// max_i |b - A x|_i / (|A||x| + |b|)_i, with 0/0 = 0 and nonzero/0 = infinity; NaN when anything is, and where |A||x|
/// or
/// |b| is infinite.
///
/// Shapes    A: n x n, x, b: (n).   Cost O(nnz(A)).
/// Source    Oettli & Prager 1964, theorem 2.
double componentwise_backward_error(const CscView<double>& a, std::span<const double> x, std::span<const double> b);

/// The backward error split by the size of the denominator: omega1 over the rows where |A||x| + |b| is safely nonzero,
/// omega2 over the others with ||A(i,:)||_inf ||x||_inf in place of |b|_i. Their sum says how near A and a nearby b are
/// solved, also for sparse b. A row where that product overflows counts in omega1: nothing shows that the row is small.
struct BackwardErrors {
  double omega1 = 0;
  double omega2 = 0;
  double componentwise = 0;  // componentwise_backward_error()

  double sum() const { return omega1 + omega2; }
};

/// Shapes    A: n x n, x, b: (n).   Cost O(nnz(A)).
/// Source    Arioli, Demmel & Duff 1989, section 2.2 (threshold 1000 n eps).
BackwardErrors backward_errors(const CscView<double>& a, std::span<const double> x, std::span<const double> b);

/// Do they share memory?
bool overlap(std::span<const double> a, std::span<const double> b);

/// Improves x as RefinementRule says: rows that are good already are left alone. The residual is formed in twice double
/// precision and x is double also for float factors. An x that does not converge may be worse than the first.
///
/// Shapes    A: n x n, b, x: (n), not overlapping. x holds a first solution.
/// Requires  f are the factors of A or of a nearby matrix.
/// Errors    as solve(); invalid_argument when a is not of the size of f, or b and x overlap.
/// Cost      a solve and O(nnz(A)) a step.
/// Source    Arioli, Demmel & Duff 1989, section 3.
template <class T>
Result<Refinement> refine(const CscView<double>& a, const Factors<T>& f, std::span<const double> b, std::span<double> x,
                          int max_iterations = 10);
/// The same for Aᵀ x = b.   a_transposed: Aᵀ itself; f: the factors of A.
template <class T>
Result<Refinement> refine_transposed(const CscView<double>& a_transposed, const Factors<T>& f,
                                     std::span<const double> b, std::span<double> x, int max_iterations = 10);

}  // namespace lulab
