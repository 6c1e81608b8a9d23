#pragma once
// The whole flow for one matrix and one rung: analyze, factor (recovering from bad static pivots), refactor, solve.

#include <memory>

#include "core/rung.h"
#include "preprocess/preprocess.h"
#include "solve/refine.h"

namespace lulab {

struct SolverOptions {
  PreprocessOptions preprocess;
  FactorOptions factor;
  bool repivot = true;       // on needs_repivot take the pivots of sparse_leftlooking/00_reference and factor again
  double max_growth = 1e8;   // pivot growth above which a fixed-pivot factorization is called needs_repivot
};

/// Errors of every call: those of the phase it runs; where.columns in A's own numbering.
/// A failed factor() or refactor() leaves no factors: solve() answers with that error until one succeeds.
template <class T>
class Solver {
 public:
  explicit Solver(const Rung& rung, SolverOptions options = {});
  ~Solver();
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;

  Status analyze(const CscView<double>& a);
  /// Requires analyze() on the same pattern. A fixed-pivot rung whose pivots vanish, whose growth exceeds max_growth or
  /// whose probe solve has a backward error > sqrt(eps) re-pivots once (counted in statistics.repivots) or answers needs_repivot.
  Status factor(const CscView<double>& a);
  /// New values on the same pattern and pivots; the same judgement and recovery as factor().
  Status refactor(const CscView<double>& a);
  /// A x = b with refinement.   Shapes b, x: (n).
  Result<Refinement> solve(std::span<const double> b, std::span<double> x) const;
  const Factors<T>& factors() const;
  const Analysis& analysis() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lulab
