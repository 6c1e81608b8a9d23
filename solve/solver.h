#pragma once
// The whole flow for one matrix and one rung: analyze, factor (recovering from bad static pivots), refactor, solve.

#include <memory>
#include <string_view>

#include "core/rung.h"
#include "preprocess/preprocess.h"
#include "solve/refine.h"

namespace lulab {

/// Who chooses the pivots of the first factorization, which every refactorization keeps.
enum class FirstFactorization {
  rung,       // the rung itself; where its pivots are fixed, the plan's diagonal
  reference,  // sparse_leftlooking/00_reference, by value (threshold pivot_tol)
  klu,        // sparse_leftlooking/90_klu, likewise
};
std::string_view to_string(FirstFactorization first);
/// Errors    invalid_argument listing the ones there are.
Result<FirstFactorization> parse_first_factorization(std::string_view text);

struct SolverOptions {
  PreprocessOptions preprocess;
  FactorOptions factor;
  bool repivot = true;      // on needs_repivot take pivots chosen by value (klu when `first` is, else reference)
  double max_growth = 1e8;  // pivot growth above which given pivots are called needs_repivot
  FirstFactorization first = FirstFactorization::rung;
};

/// Where the time of one factor() or refactor() went, by the host's clock.   Unit ms.
struct StepTimes {
  double pivots = 0;    // choosing pivots by value on the host and analyzing for them; 0: not done
  double upload = 0;    // values to where the rung works
  double refactor = 0;  // factor() or refactor() of the rung until it is done; both attempts after a re-pivoting
  double download = 0;  // the factors to the host, where they are judged and solved with
};

/// Pivots are trusted when they were chosen by value in this very factorization; pivots given beforehand (a fixed-pivot
/// rung, any refactor) are judged: no zero pivot, everything finite, pivot growth <= max_growth, and an unrefined probe
/// solve with ||R (b - A x)||_1 <= sqrt(eps) ||RAC||_1 ||C⁻¹ x||_1, which stable factors meet whatever the scaling and
/// the condition of A. What fails is re-pivoted once: a fixed-pivot rung gets the pivots that
/// sparse_leftlooking/00_reference (or 90_klu, see SolverOptions::first) picks by value with the threshold
/// max(pivot_tol, 0.1) and the analysis for them, any other rung picks anew.
///
/// Errors of every call: those of the phase it runs, invalid_argument for a wrong order of calls or another pattern;
/// where.columns in A's own numbering. A failed factor() or refactor() leaves no factors: solve() answers with that
/// error until one succeeds.
///
/// Source    Chen et al. 2015, section 4.1 and Fig. 4: pivots by value once, then the same order for every new values.
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
  /// Of the last factor() or refactor().
  const StepTimes& times() const;
  /// times() without the download.
  double numeric_ms() const;
  /// Why the last factor() or refactor() re-pivoted: needs_repivot or numerically_singular; ok when it did not.
  const Status& repivot_cause() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lulab
