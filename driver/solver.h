#pragma once
// The whole flow for one matrix and one rung: analyze, factor (recovering from bad static pivots), refactor, solve.

#include <memory>
#include <span>
#include <vector>

#include "core/rung.h"
#include "core/simt/device.h"
#include "driver/choose_rung.h"
#include "driver/first_factorization.h"
#include "preprocess/preprocess.h"
#include "solve/condest.h"
#include "solve/refine.h"
#include "solve/rungs.h"

namespace lulab {

constexpr double max_backward_error = 1e-8;
constexpr double max_float_error = 1e-4;  // of an x by float factors that is not refined

/// Whether a solution is corrected by its residual. always: as far as that goes, as with backward_error = 0;
/// solutions by float factors are, too, but with never. never: x is what the first solve makes of it, good or not by
/// max_backward_error, of float factors by 1e-4; saves the launches that decide in step_device().
enum class Refine {
  automatic,  // where SolverOptions::backward_error asks for it
  always,     // as far as it goes
  never,
  first,  // automatic until an x by the last factors has a backward error below 1e-14 without a correction; where no
          // entry of L is larger than 2000 and, if x has zeros, a known solution without them comes out as well, the
          // next ones are not looked at: their errors are NaN. On the device automatic.
};

struct SolverOptions {
  PreprocessOptions preprocess = {};
  FactorOptions factor = {};
  bool repivot = true;      // on needs_repivot take pivots chosen by value, by what `first` names
  double max_growth = 1e8;  // given pivots with a larger pivot growth are needs_repivot; at least 1, may be infinite
  FirstFactorization first = FirstFactorization::rung;
  bool probe = true;  // check given pivots by a probe solve, too; false: for callers that check the backward error of
                      // every solve
  /// With factors in double solve() refines x until omega (solve/refinement_rule.h) is no larger, or as far as it goes;
  /// 0 to max_backward_error; 0: as far as it goes in any case, as for float factors.
  double backward_error = 1e-12;
  Refine refine = Refine::automatic;
  /// How often the pattern will be solved with, at least 1: what is worth preparing. With 1 the first answer comes
  /// soonest: no order but AMD's is tried where that seems to cost more than it can gain, and no GPU is taken where
  /// the CPU is done before it is started and prepared. From 10 on solves on the device go by chunks, after fronts
  /// later: see Solver.
  double expected_steps = default_expected_steps;
  /// A solver that chooses its rung takes the shortest way to the first answers, as with expected_steps = 1. Once these
  /// have cost as much as preparing for all steps is predicted to, on a GPU twice as much, the next one does that, and
  /// takes so long. True: analyze(), the first factorization and the first step prepare for all, for programs that no
  /// later step may hold up. So they do where a way to solve or perturbed pivots are given, or `repivot` is off; and
  /// where an analysis is given, but for flat lists (below). In all cases 07_threads without FactorOptions::threads
  /// makes its groups of columns in one of the first 33 factorizations: on one core as long as three of them.
  bool prepare_at_once = false;
  /// The rung of solve/ that solves; null: the Solver's own choice. solve_rungs::reference: the host, wherever the
  /// factors are, by the rung's factors alone. Any other: the device, where the rung leaves its factors.
  const SolveRung* solve = nullptr;
};

/// With factors in T. The first x of float factors is never good, and one step more makes it as good as it can be.
template <class T>
RefinementGoal refinement_goal(const SolverOptions& options) {
  if (options.refine == Refine::never) return {sizeof(T) == sizeof(double) ? max_backward_error : max_float_error, 0};
  const bool goes_on = options.refine == Refine::always || sizeof(T) != sizeof(double);
  return goes_on ? RefinementRule::eps : std::max(options.backward_error, RefinementRule::eps);
}

/// Errors    invalid_argument: max_growth is not a number of at least 1, backward_error or expected_steps
///           not in its range.
Status check_options(const SolverOptions& options);

/// Where the time of one factor(), refactor() or step() went, by the host's clock.   Unit ms.
struct StepTimes {
  double prepare = 0;   // for all expected steps, where analyze() had put that off, or in step() chunks; 0: not done
  double pivots = 0;    // choosing pivots by value on the host and analyzing for them; 0: not done
  double upload = 0;    // values to where the rung works
  double refactor = 0;  // factor() or refactor() of the rung until it is done; both attempts after a re-pivoting
  double judge = 0;     // the pivot check: sizes, growth, probe solve, also one that was put off; also preparing
                        // the device, at the first factorization of an analysis and, for more, at later ones
  double solve = 0;     // of step(): x, or the corrections beyond those that are in refactor
  double download = 0;  // copies of the factors: for the check on the host, where the rung keeps no array that it can
                        // read, or for factors() and statistics()
};

/// The whole flow for one matrix: analyze() once, factor() rarely, refactor() and solve() often.
///
/// Pivots chosen by value in this very factorization are trusted. Pivots given beforehand (a rung with fixed pivots, or
/// any refactor) are checked (driver/pivot_check.h): everything finite, pivot growth <= max_growth, and an unrefined
/// probe solve with ||R (b - A x)||_1 <= sqrt(eps) ||RAC||_1 ||C⁻¹ x||_1. Where pivots were perturbed
/// (FactorOptions::perturb_pivots), the factors are those of a nearby matrix: growth is not judged, and the probe is
/// refined and must converge. Where the check fails, the Solver re-pivots once: a rung with fixed pivots gets the
/// pivots that sparse_leftlooking/06_pruned (or the rung of SolverOptions::first) picks by value with the threshold
/// max(pivot_tol, 0.1) and the analysis for them, by column and, where these do not pass the check either, by row; any
/// other rung picks anew.
///
/// factor() and refactor() put the probe off (unless `repivot` is off, or pivots were perturbed or taken anew in the
/// same call): a solve() that converges shows as much, and is the only one that needs no probe. Where a solution does
/// not converge, and before statistics(), repivot_cause(), condition() or the factors are given, the probe is made up
/// for. If it fails, the Solver re-pivots for the same values, and solve() solves again; what fails then is the error
/// of that call, although factor() or refactor() was ok. Float factors that pass it may still be too far off for x to
/// converge: then, too, unless new pivots did not help the last time. A rung with fixed pivots keeps the old ones where
/// a float finds no others that are stable.
///
/// Analysis, rung and pivots are at first those of the shortest way to an answer (SolverOptions::prepare_at_once). A
/// later factor(), refactor() or step(), or the first step_device(), takes those for all expected steps.
///
/// Where a rung with fixed pivots leaves its factors in device memory (Factorizer::device_arrays()), the check and the
/// solves run there too: from the first factorization of an analysis on, the host only compares patterns and copies the
/// values of A, b and x. Where the device has no memory left for that, the host does it all, as for every other rung.
///
/// Solves on the device go along fronts (solve/05_fronts.h) where L and U have at least 3 million entries, or where the
/// GPU found fronts and preparing is put off or one step expected, else by rows. From the second factorization of a
/// pattern on, once all steps are prepared for, they go by chunks: instead of rows where at least 10 steps are
/// expected; instead of fronts, of less than 20 million entries, where at least 35, plus 27 for each million of them,
/// are expected, or, where preparing is put off, have been solved. And small matrices of sparse_leftlooking/07_threads
/// are factored and solved by flat lists (driver/flat_lists.h) from the twelfth refactorization of an analysis on, with
/// prepare_at_once from the first. x differs by rounding from that of the steps before then. The rung factors the same
/// values where factors, statistics or a transposed solution are asked for.
///
/// Errors of every call: those of the phase it runs, invalid_argument for a wrong order of calls or another pattern;
/// where.columns in A's own numbering. A failed factor() or refactor() leaves no factors, a failed step none of the
/// values before: solve() returns that error until one succeeds. A refactor() after one that failed, or after such a
/// factor(), takes new pivots. Where the device fails while pivots are judged later, the factors stay, and the next
/// call judges them.
/// After an error x is NaN, also where there are no factors, so that an old x is not taken for an answer. Only a wrong
/// size or an overlap leaves x as it is.
/// Threads   one solver, one thread at a time, const calls too: they share a workspace.
///
/// Source    Chen et al. 2015, section 4.1 and Fig. 4: pivots by value once, then the same order for all new values.
template <class T>
class Solver {
 public:
  /// analyze() chooses the rung, and a step that prepares chooses anew: driver/choose_rung.h. Where the choice is in
  /// doubt this machine may be measured for a few ms, and the result kept in the user's cache folder:
  /// driver/calibration.h.
  explicit Solver(SolverOptions options = {});
  /// The rung given.   Requires that it outlives the solver.
  explicit Solver(const Rung& rung, SolverOptions options = {});
  /// analyze() chooses between two rungs that the caller picked.
  explicit Solver(const RungChooser& chooser, SolverOptions options = {});
  ~Solver();
  /// The solver moved from is then like Solver(): without an analysis, with the default options.
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;

  /// Preprocessing and symbolic analysis; the values of A choose matching and scaling.
  ///
  /// The pattern of the last call of this overload is known: order, fill, choice() and what the rung and the solves
  /// have prepared are kept, where the last numeric phase did not end with an error of the machine and choice() is the
  /// first choice. So are the rows matched to columns, where they and r still give P·R·A·C·Q a |diagonal| in [½, 2] and
  /// no other |entry| above 2, which is what a new matching ensures; some of c may change. Otherwise rows are matched
  /// anew, and only where other rows are matched is it another pattern. Numeric phases start afresh: factor() comes
  /// next, as after a first analyze(), and does not start from pivots that were chosen by value before.
  ///
  /// A pattern that differs from the last one in a few entries, as after a line was switched, is analyzed with the
  /// order of the last one where that costs little: driver/analysis_sequence.h says when.
  ///
  /// Errors    as driver/analyze.h, not_implemented when the rung has no such scalar type, invalid_argument when pivots
  ///           are to be perturbed and the rung does not perturb, or as check_options() and, where the rung is chosen,
  ///           RungChooser::check_options(). Then nothing is known any more.
  /// Cost      of a known pattern often a pass over A: a comparison of the pattern, another of the values.
  Status analyze(const CscView<double>& a);
  /// The same with an analysis of A that is already known; it is taken as it is, and not kept for the next pattern.
  /// Errors    as above, those of the rung.
  Status analyze(const CscView<double>& a, Analysis analysis);
  /// Requires analyze() on the same pattern: compared here, once a call.
  /// Ensures  statistics(): pivot_growth, repivots (0 or 1) filled in. Given pivots have passed the check but for the
  ///          probe, which may be put off.
  /// Errors   numerically_singular (the reference finds no pivot either), needs_repivot (repivot is off, or did not
  ///          help), invalid_argument (SolverOptions::solve is of the device, and the factors are not there),
  ///          out_of_memory (likewise, and they leave no room for it).
  Status factor(const CscView<double>& a);
  /// New values on the same pattern and pivots; the same check and re-pivoting as factor().
  /// Requires that factor() was called.
  Status refactor(const CscView<double>& a);
  /// The same for a caller that knows the pattern to be the one analyzed.   Shapes values: (nnz(A)) in its order.
  Status factor(std::span<const double> values);
  Status refactor(std::span<const double> values);
  /// A x = b with refinement, A as last factored.   Shapes b, x: (n), not overlapping.
  /// Errors    what the last numeric phase failed with, or a re-pivoting here; invalid_argument (sizes, overlap),
  ///           out_of_memory, device_error.
  Result<Refinement> solve(std::span<const double> b, std::span<double> x) const;
  /// The same for many right-hand sides, each refined on its own; on the device several at once.
  /// Shapes    b, x: (n, columns) by columns, not overlapping. The result: (columns).
  Result<std::vector<Refinement>> solve(std::span<const double> b, std::span<double> x, std::int32_t columns) const;
  /// A step of a simulation: refactor(values), then solve(b, x). Where both run on the device the host waits once, and
  /// times().refactor holds the solve, too.
  /// Shapes    values: (nnz(A)), b, x: (n), not overlapping. In page-locked memory (simt::HostBuffer) they are copied
  ///           without a detour, and arrays that come again are a CUDA graph.
  /// Requires  that factor() was called.
  /// Errors    those of the two. A wrong size or an overlap changes nothing else either.
  Result<Refinement> step(std::span<const double> values, std::span<const double> b, std::span<double> x);
  /// The same with values, b and x in device memory, in the order of the caller's stream. It is only enqueued, and
  /// copies nothing but what wait_for_step() tells. Arrays that come again are one CUDA graph, up to four sets of
  /// them; a call with a fifth waits for the graph that it replaces. One correction of x (float: up to four) is made on
  /// the device where SolverOptions::backward_error asks for it; an x that is not good then is NaN, but with
  /// Refine::never.
  /// From the second call on, where the first succeeded, the caller can capture it. Then only x tells what a launch of
  /// that graph gave, and after the capture and each of its launches the solver has no factors until the next
  /// step_device() or refactor(). The graph is void once the solver analyzes, takes new pivots, solves transposed or
  /// more right-hand sides at once for the first time, or goes.
  /// The first call may move a solver that chose a rung on the CPU to the GPU: the way of the values to the CPU and of
  /// x back now counts; and after first answers on the GPU it prepares for all. That costs a factorization, and where
  /// the first answer came first, an analysis. Where the rung works on the host all the same, and where pivots are
  /// perturbed, the values take the way through the host instead, and the call waits.
  ///
  /// Shapes    d_values: (nnz(A)), d_b, d_x: (n), x not overlapping the others. They may change once the step is over.
  /// Requires  that the last factor() succeeded; a step that failed does not matter.
  /// Errors    device_error, out_of_memory, invalid_argument; those of the values are wait_for_step()'s. x is not NaN
  ///           after them where the device fails, or where nothing was analyzed: n is not known then.
  Status step_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream);
  /// Waits for the last step_device() and says what became of it.
  /// Errors    needs_repivot: its pivots do not suit these values, by their growth (then x may be good) or by x, which
  ///           a b that is not finite shows, too. Pivots stay as they are: refactor() takes new ones.
  Result<Refinement> wait_for_step();
  /// Aᵀ x = b.   Shapes, errors and refinement as solve(). The first one after an analysis prepares for it.
  Result<Refinement> solve_transposed(std::span<const double> b, std::span<double> x) const;
  Result<std::vector<Refinement>> solve_transposed(std::span<const double> b, std::span<double> x,
                                                   std::int32_t columns) const;
  /// How near to singular A as last factored is: solve/condest.h. A rcond_scaled below 1000 eps of T is estimated anew,
  /// block by block in double (driver/block_condition.h). Nothing is kept: every call estimates.
  /// Cost      about 20 solves on the host, the download of factors on the device.   Errors as download_factors().
  Result<ConditionEstimate> condition() const;
  /// What is known of the last factor() or refactor(), if it succeeded, without copying the factors from the device.
  /// Growth and rcond are those of the factors, wherever they are; on the host the first call measures them.
  const Statistics& statistics() const;
  /// The factors of the last factor() or refactor(). Those on the device are downloaded by the first call after it;
  /// times().download grows by what that takes. The pointer is valid until the next call that factors, analyzes
  /// or solves.
  /// Errors    what the last numeric phase failed with, out_of_memory, device_error.
  Result<const Factors<T>*> download_factors() const;
  /// The same without a Status. Where there are no factors, or the download fails, they are empty: n = 0.
  const Factors<T>& factors() const;
  /// The pivots of the last factor() or refactor() without scaling, u_kk / (r[p[k]] c[q[k]]) for column q[k] of A:
  /// those of P·A·Q. On the host they cost O(n); on the device all factors are downloaded. A probe that was put off has
  /// not judged them yet.
  ///
  /// Shapes    pivots: (n) by columns of A.
  /// Errors    what the last numeric phase failed with, invalid_argument (size), out_of_memory, device_error.
  Status pivots(std::span<double> pivots) const;
  /// max |L(i,j)|, i > j, of the last factor() or refactor(): how much larger than its pivot an entry of a column is.
  /// After a refactorization by flat lists: of the entries that these hold, inside the diagonal blocks.
  /// Cost      O(nnz(L)) on the host.   Errors as pivots().
  Result<double> largest_multiplier() const;
  /// Empty without a successful analyze(). After a re-pivoting this is the analysis for the new pivots, and after a
  /// numeric phase that prepared for all steps the one for these.
  const Analysis& analysis() const;
  /// The plan and the pattern of L and U: those of analysis(), but after factor() by a rung that chooses pivots by
  /// value those that it found. Valid as download_factors().
  const Plan& plan() const;
  const FilledPattern& filled() const;
  /// After a successful analyze(): the rung that works, and why it was chosen; no reason where the caller named it.
  /// Where the GPU was chosen and has no room for the pattern, this is the CPU's, and the reason says so. While a first
  /// answer comes first, the reason says after how many steps the choice is made anew.
  const RungChoice& choice() const;
  /// Of the last factor() or refactor().
  const StepTimes& times() const;
  /// times() without preparing, the pivot check and the download.
  double numeric_ms() const;
  /// Why the last factor() or refactor() re-pivoted: needs_repivot or numerically_singular; ok when it did not.
  const Status& repivot_cause() const;

 private:
  struct Impl;
  Impl& impl() const;
  Impl& settled() const;                // after wait_for_step()
  mutable std::unique_ptr<Impl> impl_;  // null after a move from this solver: impl() makes a new one
};

}  // namespace lulab
