#pragma once
// The whole flow for one matrix and one rung: analyze, factor (recovering from bad static pivots), refactor, solve.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

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
  bool probe = true;  // given pivots are judged by a probe solve, too; false: for who looks at the backward error of
                      // every solve
};

/// Where the time of one factor() or refactor() went, by the host's clock.   Unit ms.
struct StepTimes {
  double pivots = 0;    // choosing pivots by value on the host and analyzing for them; 0: not done
  double upload = 0;    // values to where the rung works
  double refactor = 0;  // factor() or refactor() of the rung until it is done; both attempts after a re-pivoting
  double judge = 0;     // looking at the factors: size, growth, probe solve; the first time after an analysis also
                        // preparing the device for it
  double download = 0;  // the factors to the host: where they are judged there, or since factors() was called
};

/// Pivots are trusted when they were chosen by value in this very factorization; pivots given beforehand (a fixed-pivot
/// rung, any refactor) are judged: no zero pivot, everything finite, pivot growth <= max_growth, and an unrefined probe
/// solve with ||R (b - A x)||_1 <= sqrt(eps) ||RAC||_1 ||C⁻¹ x||_1, which stable factors meet whatever the scaling and
/// the condition of A. Where pivots were perturbed (FactorOptions::perturb_pivots), the factors are those of a nearby
/// matrix: then the probe is refined and must converge, and growth, which perturbing makes, is not judged. What fails is
/// re-pivoted once: a fixed-pivot rung gets the pivots that
/// sparse_leftlooking/00_reference (or 90_klu, see SolverOptions::first) picks by value with the threshold
/// max(pivot_tol, 0.1) and the analysis for them, any other rung picks anew.
///
/// A rung that leaves factors of fixed pivots in device memory (Factorizer::device_arrays()) is judged and solved with
/// there: from the first factorization of an analysis on, the host only compares patterns and copies the values of A, b
/// and x. Where the device has no memory left for that, the host does it all, as it does for every other rung.
///
/// Errors of every call: those of the phase it runs, invalid_argument for a wrong order of calls or another pattern;
/// where.columns in A's own numbering. A failed factor() or refactor() leaves no factors: solve() answers with that
/// error until one succeeds.
/// Threads   one solver, one thread at a time, const calls too: they share a workspace.
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
  /// not_implemented when the rung has no such scalar type, invalid_argument when pivots are to be perturbed and the rung
  /// does not.
  Status analyze(const CscView<double>& a);
  /// The same with an analysis of A that is already known.   Errors  as above, those of the rung.
  Status analyze(const CscView<double>& a, Analysis analysis);
  /// Requires analyze() on the same pattern.
  /// Ensures  statistics(): pivot_growth, repivots (0 or 1) filled in.
  /// Errors   numerically_singular (the reference finds no pivot either), needs_repivot (repivot is off, or did not
  ///          help).
  Status factor(const CscView<double>& a);
  /// New values on the same pattern and pivots; the same judgement and recovery as factor().   Requires a successful
  /// factor().
  Status refactor(const CscView<double>& a);
  /// A x = b with refinement, A as last factored.   Shapes b, x: (n), not overlapping.
  /// Errors    what the last numeric phase failed with; invalid_argument (sizes), out_of_memory, device_error.
  Result<Refinement> solve(std::span<const double> b, std::span<double> x) const;
  /// The same for many right-hand sides, each refined for itself; on the device several at once.
  /// Shapes    b, x: (n, columns) by columns, not overlapping. The result: (columns).
  Result<std::vector<Refinement>> solve(std::span<const double> b, std::span<double> x, std::int32_t columns) const;
  /// Aᵀ x = b.   Shapes, errors and refinement as solve(). The first one after an analysis prepares for it.
  Result<Refinement> solve_transposed(std::span<const double> b, std::span<double> x) const;
  Result<std::vector<Refinement>> solve_transposed(std::span<const double> b, std::span<double> x,
                                                   std::int32_t columns) const;
  /// What is known of the last factor() or refactor(), if it succeeded, without bringing the factors to the host. Growth
  /// and rcond are those of the factors, whatever has them.
  const Statistics& statistics() const;
  /// The factors of the last factor() or refactor(). Those on the device are downloaded by the first call after it;
  /// times().download grows by what that takes. The pointer is good until the next call that factors or analyzes.
  /// Errors    what the last numeric phase failed with, out_of_memory, device_error.
  Result<const Factors<T>*> download_factors() const;
  /// The same for who is sure of them. Without factors, or when the download fails, they are empty: n = 0.
  const Factors<T>& factors() const;
  /// Requires a successful analyze(). After a re-pivoting this is the analysis for the new pivots.
  const Analysis& analysis() const;
  /// Of a rung that chooses another one, after a successful analyze(); else nullptr.
  const Choice* choice() const;
  /// Of the last factor() or refactor().
  const StepTimes& times() const;
  /// times() without judging and download.
  double numeric_ms() const;
  /// Why the last factor() or refactor() re-pivoted: needs_repivot or numerically_singular; ok when it did not.
  const Status& repivot_cause() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lulab
