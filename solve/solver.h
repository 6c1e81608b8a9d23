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
  bool repivot = true;      // on needs_repivot take the pivots of sparse_leftlooking/00_reference and factor again
  double max_growth = 1e8;  // pivot growth above which given pivots are called needs_repivot
};

/// Pivots are trusted when they were chosen by value in this very factorization; pivots given beforehand (a fixed-pivot
/// rung, any refactor) are judged: no zero pivot, everything finite, pivot growth <= max_growth, and an unrefined probe
/// solve with ||R (b - A x)||_1 <= sqrt(eps) ||RAC||_1 ||C⁻¹ x||_1, which stable factors meet whatever the scaling and
/// the condition of A. What fails is re-pivoted once: a fixed-pivot rung gets the pivots that
/// sparse_leftlooking/00_reference picks by value (threshold max(pivot_tol, 0.1)) and the analysis for them, any other
/// rung picks anew.
///
/// Errors of every call: those of the phase it runs, invalid_argument for a wrong order of calls or another pattern;
/// where.columns in A's own numbering. A failed factor() or refactor() leaves no factors: solve() answers with that
/// error until one succeeds.
template <class T>
class Solver {
 public:
  explicit Solver(const Rung& rung, SolverOptions options = {});
  ~Solver();
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;

  /// Preprocessing and symbolic analysis; the values of A choose matching and scaling.   Errors as symbolic/analyze.h,
  /// and not_implemented when the rung has no such scalar type.
  Status analyze(const CscView<double>& a);
  /// The same with an analysis of A that is already known.   Errors  not_implemented as above, those of the rung.
  Status analyze(const CscView<double>& a, Analysis analysis);
  /// Requires analyze() on the same pattern.
  /// Ensures  factors().statistics: pivot_growth, repivots (0 or 1) filled in.
  /// Errors   numerically_singular (the reference finds no pivot either), needs_repivot (repivot is off, or did not
  ///          help).
  Status factor(const CscView<double>& a);
  /// New values on the same pattern and pivots; the same judgement and recovery as factor().   Requires a successful
  /// factor().
  Status refactor(const CscView<double>& a);
  /// A x = b with refinement, A as last factored.   Shapes b, x: (n), not overlapping.
  Result<Refinement> solve(std::span<const double> b, std::span<double> x) const;
  /// Requires the last factor() or refactor() to have succeeded.
  const Factors<T>& factors() const;
  /// Requires a successful analyze(). After a re-pivoting this is the analysis for the new pivots.
  const Analysis& analysis() const;
  /// Wall-clock time in ms of the last factor() or refactor(): upload to wait, re-pivoting included, judging and
  /// download not.
  double numeric_ms() const;
  /// Why the last factor() or refactor() re-pivoted: needs_repivot or numerically_singular; ok when it did not.
  const Status& repivot_cause() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lulab
