#pragma once
// A x = b by factors that are spread over ranks: what rank 0 does.

#include <span>

#include "app/distributed_lu.h"
#include "core/plan.h"
#include "preprocess/preprocess.h"
#include "solve/refine.h"

namespace lulab::app {

/// As Solver: L·U = P·R·A·C·Q with the plan of preprocess(), and refinement against A. Pivots are fixed.
class DistributedSolver {
 public:
  /// Order::automatic is nested dissection. `lu` must outlive this.
  DistributedSolver(DistributedLu& lu, PreprocessOptions options);

  struct Times {
    double analysis_ms = 0;  // plan, pattern of L and U
    double numeric_ms = 0;
  };
  /// Errors    those of preprocess(); numerically_singular, where.columns: of A.
  Result<Times> factor(const CscMatrix<double>& a);
  /// New values, the same permutations.   Requires that factor() was ok once, and that A has its pattern.
  /// Errors    numerically_singular.
  Result<Times> refactor(const CscMatrix<double>& a);
  /// Shapes    b, x: (n), not overlapping.   Requires that the last factor() or refactor(), with this A, was ok.
  Refinement solve(const CscMatrix<double>& a, std::span<const double> b, std::span<double> x);
  /// An upper bound of rcond of R·A·C: the inverse applied three times to a random vector. It finds a matrix that is
  /// singular, but cannot show that one is well conditioned (for that it takes solves with Aᵀ).
  double rcond_at_most();

  const Plan& plan() const { return plan_; }

 private:
  Result<Times> in_columns_of_a(const Result<DistributedLu::Times>& result, double apply_ms) const;

  DistributedLu& lu_;
  PreprocessOptions options_;
  Plan plan_;
  double norm_ = 0;  // of P·R·A·C·Q, the last factored
};

/// ||b - A x||_1 / (||A||_1 ||x||_1 + ||b||_1).
///
/// Source    Rigal & Gaches 1967.
double normwise_backward_error(const CscView<double>& a, std::span<const double> x, std::span<const double> b);

}  // namespace lulab::app
