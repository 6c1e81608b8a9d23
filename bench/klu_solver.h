#pragma once
// KLU as its users call it: analyze, factor, refactor, solve on A itself, with its own defaults. The rung
// sparse_leftlooking/90_klu factors P·R·A·C·Q instead, to be compared entry by entry.

#include <memory>
#include <span>
#include <vector>

#include "core/matrix/csc.h"
#include "core/plan.h"

namespace lulab {

struct KluObjects;

namespace bench {

class KluSolver {
 public:
  /// Converts the pattern to KLU's integers; KLU itself begins with analyze().   Shapes A: n x n.
  explicit KluSolver(CscPatternView a);
  ~KluSolver();
  KluSolver(KluSolver&&) noexcept;
  KluSolver& operator=(KluSolver&&) noexcept;

  /// klu_analyze() with klu_defaults(): block triangular form, AMD in the blocks, rows scaled by their largest entry.
  /// Errors    structurally_singular; out_of_memory; invalid_argument: n = 0, or another status of KLU.
  Status analyze();
  /// klu_analyze_given() with the plan's p and q: the order is the plan's, all else is KLU's default.
  /// Requires  plan.p and plan.q put entries on the whole diagonal.
  Status analyze(const Plan& plan);
  /// Shapes    values: (nnz(A)).   Requires analyze(); for refactor() also factor().
  /// Errors    numerically_singular (where = column of A), out_of_memory, as analyze().
  Status factor(std::span<const double> values);
  Status refactor(std::span<const double> values);
  /// Without refinement, which KLU does not have.   Shapes b, x: (n).   Requires factor().
  Status solve(std::span<const double> b, std::span<double> x);

 private:
  Status outcome(const char* call, bool done) const;
  std::vector<int> Ap_, Ai_;
  std::unique_ptr<KluObjects> klu_;
};

}  // namespace bench
}  // namespace lulab
