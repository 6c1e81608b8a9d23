#pragma once
// Iterative refinement with the componentwise stopping rule, and the backward errors it stops by.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/plan.h"
#include "core/status.h"
#include "solve/refinement_rule.h"
#include "solve/sliced_rows.h"
#include "solve/triangular.h"

namespace lulab {

/// r = b - A x, each entry summed as if in twice double precision (then rounded once).
///
/// Shapes    A: m x n, b, r: (m), x: (n). r may be b.
/// Cost      about 10 nnz(A) flops, and A by rows.
/// Source    Ogita, Rump & Oishi 2005, algorithm Dot2.
void residual(const CscView<double>& a, std::span<const double> x, std::span<const double> b, std::span<double> r);

/// max_i |b - A x|_i / (|A||x| + |b|)_i, with 0/0 = 0 and nonzero/0 = infinity; NaN when anything is, and where |A||x|
/// or
/// |b| is infinite.
///
/// Shapes    A: n x n, x, b: (n).   Cost O(nnz(A)).
/// Source    Oettli & Prager 1964, theorem 2.
double componentwise_backward_error(const CscView<double>& a, std::span<const double> x, std::span<const double> b);

/// The backward errors of x, see solve/refinement_rule.h.
///
/// Shapes    A: n x n, x, b: (n).   Cost O(nnz(A)).
/// Source    Arioli, Demmel & Duff 1989, section 2.2 (threshold 1000 n eps).
BackwardErrors backward_errors(const CscView<double>& a, std::span<const double> x, std::span<const double> b);

/// The functions above and below for many systems of one pattern: what the pattern decides is worked out once, by the
/// first call that needs A by rows, and later ones allocate no memory. The first five solutions, if good, do without.
///
/// Errors    throws std::bad_alloc.
template <class T>
class HostRefiner {
 public:
  /// transposed: for systems with Aᵀ, by the factors of A.   Requires  what `a` points to stays.
  explicit HostRefiner(CscPatternView a, bool transposed = false);

  /// r = b - A x.   Shapes values: (nnz(A)) in A's own order, b, r: (m), x: (n); r may be b.
  void residual(std::span<const double> values, std::span<const double> x, std::span<const double> b,
                std::span<double> r);
  BackwardErrors backward_errors(std::span<const double> values, std::span<const double> x, std::span<const double> b);
  /// x from b by the factors.   Shapes b, x: (n, columns); they may be the same span.   Requires check_solvable(f).
  void solve_unrefined(const FactorsView<T>& f, std::span<const double> b, std::span<double> x,
                       std::int32_t columns = 1);
  /// The same, then refined until omega <= goal.enough (RefinementRule). Where a residual in plain double arithmetic
  /// shows that much, it is the only one, and backward_error and omega of the result are as it sees them.
  ///
  /// Shapes    b, x: (n), not overlapping.
  /// Requires  f are the factors of A or of a nearby matrix, check_solvable(f).
  /// Cost      a solve and a residual; the same again for each step.
  Refinement solve(std::span<const double> values, const FactorsView<T>& f, std::span<const double> b,
                   std::span<double> x, RefinementGoal goal);
  /// The same for an x that holds a first solution.
  Refinement refine(std::span<const double> values, const FactorsView<T>& f, std::span<const double> b,
                    std::span<double> x, RefinementGoal goal);

  /// x from b, unrefined; x may be b.
  using Unrefined = std::function<void(std::span<const double> b, std::span<double> x)>;
  /// Both by a solver of the caller's.
  Refinement solve_by(const Unrefined& solve, std::span<const double> values, std::span<const double> b,
                      std::span<double> x, RefinementGoal goal);
  Refinement refine_by(const Unrefined& solve, std::span<const double> values, std::span<const double> b,
                       std::span<double> x, RefinementGoal goal);
  /// The same for several right-hand sides, whose first corrections are solved for at once; allocates room for these.
  /// Shapes    b, x: (n, columns) by columns, `refined`: (columns).   Errors throws std::bad_alloc.
  void refine_by(const Unrefined& solve, std::span<const double> values, std::span<const double> b, std::span<double> x,
                 RefinementGoal goal, std::span<Refinement> refined);

 private:
  const SlicedRows& rows();
  /// The quick error of x where it shows that x is good enough.
  std::optional<double> good_enough(std::span<const double> values, std::span<const double> x,
                                    std::span<const double> b, double enough);
  /// From x with these errors and its residual in r_.
  Refinement correct(const Unrefined& solve, std::span<const double> values, std::span<const double> b,
                     std::span<double> x, RefinementGoal goal, BackwardErrors now);

  CscPatternView a_;
  bool transposed_;
  int by_columns_ = 0;  // solutions that were looked at so
  std::optional<SlicedRows> rows_;
  std::vector<double> r_;       // what refinement corrects of b - A x
  std::vector<double> better_;  // the x of the next step
  SolveWork<T> work_;
};

/// Do they share memory?
bool overlap(std::span<const double> a, std::span<const double> b);

/// Improves x as RefinementRule says, until omega <= goal.enough: rows that are good already are left alone. The
/// residual is formed in twice double precision and x is double also for float factors. An x that does not converge may
/// be worse than the first.
///
/// Shapes    A: n x n, b, x: (n), not overlapping. x holds a first solution.
/// Requires  f are the factors of A or of a nearby matrix.
/// Errors    as solve(); invalid_argument when a is not of the size of f, or b and x overlap.
/// Cost      a solve and O(nnz(A)) a step.
/// Source    Arioli, Demmel & Duff 1989, section 3.
template <class T>
Result<Refinement> refine(const CscView<double>& a, const Factors<T>& f, std::span<const double> b, std::span<double> x,
                          RefinementGoal goal = {});

}  // namespace lulab
