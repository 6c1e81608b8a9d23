#pragma once
// Many matrices of one pattern, factored and solved in one call each: Monte-Carlo runs, corners of a circuit, many
// small circuits alike.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/rung.h"
#include "driver/solver.h"
#include "solve/refine.h"

namespace lulab {

struct BatchStatistics {
  std::int32_t systems = 0;
  std::int32_t failed = 0;       // have no factors
  std::int32_t recovered = 0;    // have pivots of their own, chosen by value since the last factor() or step
  bool on_device = false;        // solved there, except systems that failed or were recovered; false: by the host
  std::int64_t peak_bytes = -1;  // of the factorization of all systems
};

/// All systems are factored with the same pivots: the diagonal of the plan that analyze() makes from one typical
/// matrix.
/// factor() checks them for every system by the size of its factors (driver/pivot_check.h): finite, and a pivot growth
/// of at most max_growth_without_probe(SolverOptions::max_growth) unless pivots were perturbed. solve() refines every
/// solution as SolverOptions::backward_error and refine say (Refine::first: as automatic), and checks its backward
/// error (Refinement::converged). Both checks are needed: the backward error of a row that is small beside max |x| does
/// not show bad pivots. There is no probe solve, whatever SolverOptions::probe says.
///
/// A system that its pivots do not suit is needs_repivot. With SolverOptions::repivot it gets pivots of its own, chosen
/// by value on the host (sparse_leftlooking/06_pruned, or what `first` names), and is solved on the host
/// from then on; the others are not affected. That costs a factorization on the host for each such system: where most
/// systems need it, choose a more typical matrix or `first`.
///
/// A rung that leaves factors of its batches in device memory (Factorizer::device_arrays()) is solved with there, a
/// lane for each system (solve/device_batch_solver.h); otherwise, and where the device has no memory left for that,
/// the host takes one system after the other.
///
/// Errors of every call: out_of_memory, device_error, deadlock, invalid_argument for a wrong order of calls or sizes,
/// and those that the call names. After an error x is as Solver says. An error of one system is in the result, in its
/// place, and does not affect the others.
/// Threads   one BatchSolver, one thread at a time.
template <class T>
class BatchSolver {
 public:
  /// analyze() chooses the rung: driver/choose_rung.h.
  explicit BatchSolver(SolverOptions options = {});
  /// The rung given.   Requires that it outlives the solver.
  explicit BatchSolver(const Rung& rung, SolverOptions options = {});
  /// analyze() chooses between two rungs that the caller picked.
  explicit BatchSolver(const RungChooser& chooser, SolverOptions options = {});
  ~BatchSolver();
  /// The solver moved from is then like BatchSolver(): without an analysis, with the default options.
  BatchSolver(BatchSolver&&) noexcept;
  BatchSolver& operator=(BatchSolver&&) noexcept;

  /// Preprocessing and symbolic analysis, once for all systems; the values of A choose matching, scaling and, where
  /// SolverOptions::first says so, pivots. Of a pattern that was analyzed before order and fill are kept, as
  /// Solver::analyze() says; the rung is prepared anew.
  ///
  /// Errors    as driver/analyze.h; numerically_singular (`first` finds no pivot); not_implemented: the rung has no
  ///           such scalar type or chooses pivots by value; invalid_argument: systems < 1, or pivots are to be
  ///           perturbed and the rung does not, SolverOptions::solve, or as check_options().
  Status analyze(const CscView<double>& a, std::int32_t systems);
  /// The same with an analysis of A that is already known.
  Status analyze(const CscView<double>& a, Analysis analysis, std::int32_t systems);

  /// values: (nnz(A), systems), those of a system together, in the order of the analyzed A.
  ///
  /// Result    (systems) each ok, or needs_repivot (also: growth) or numerically_singular (where.columns in A's
  ///           numbering), or invalid_argument: a value is not finite (where.rows and where.columns), or an error of
  ///           recovering.
  Result<std::vector<Status>> factor(std::span<const double> values);

  /// A x = b in every system, with refinement, A as last factored.   Shapes b, x: (n, systems), not overlapping.
  ///
  /// Errors    invalid_argument: sizes, or b and x overlap.
  /// Result    (systems) each a Refinement that converged, or else its error of factor(); needs_repivot: the backward
  ///           error does not become small. Where SolverOptions::repivot is set, it did not with pivots of its own
  ///           either: then b or x is too small to judge or A too badly conditioned, and the system keeps the pivots of
  ///           the batch; invalid_argument: its b is not finite (where.rows). The x of such a system is NaN.
  Result<std::vector<Result<Refinement>>> solve(std::span<const double> b, std::span<double> x);

  /// A step of a simulation: factor(values), then solve(b, x). Where both run on the device the host waits once, unless
  /// a system needs pivots of its own, and times().refactor holds the solve, too.
  /// Shapes    values: (nnz(A), systems), b, x: (n, systems), not overlapping. In page-locked memory (simt::HostBuffer)
  ///           they are copied without a detour.
  /// Requires  that the last factor() succeeded, whatever became of single systems.
  /// Errors    those of the two. A wrong size or an overlap changes nothing.
  /// Result    as solve(): of each system its Refinement, its error of factor(), or that of solve().
  Result<std::vector<Result<Refinement>>> step(std::span<const double> values, std::span<const double> b,
                                               std::span<double> x);
  /// The same with values, b and x in device memory, in the order of the caller's stream. It is only enqueued; nothing
  /// is allocated, and nothing copied to the host but what wait_for_step() tells. Every system takes the pivots of the
  /// batch, also one that was recovered before. The checks of factor() and solve() are made on the device: the x of a
  /// system that does not pass them is NaN. No system is recovered here; the next factor(), step() or solve() does so.
  /// The caller can capture it. Then only x tells what a launch of that graph gave, and the solver has no factors until
  /// the next step or factor(). The graph is void once the solver analyzes or goes.
  /// Where the host solves the values take the way through the host instead, and the call waits: it is a step().
  ///
  /// Shapes    d_values: (nnz(A), systems), d_b, d_x: (n, systems), b and x not overlapping. They may change once the
  ///           step is over.
  /// Requires  as step().
  /// Errors    device_error, out_of_memory, invalid_argument, with x as after Solver::step_device(); those of the
  ///           systems are wait_for_step()'s.
  Status step_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream);
  /// Waits for the last step_device() and says what became of it.
  /// Result    as step(), but a system whose pivots do not suit these values is needs_repivot (where.columns where a
  ///           pivot vanished), singular or not.
  Result<std::vector<Result<Refinement>>> wait_for_step();

  /// Since the last factor() or step.
  BatchStatistics statistics() const;
  /// Of one system, as far as known without copying its factors to the host; repivots is 1 where it was recovered.
  /// Nothing is known of a system that there is not.
  Statistics statistics(std::int32_t system) const;
  /// Empty without a successful analyze().
  const Analysis& analysis() const;
  /// As Solver::choice().
  const RungChoice& choice() const;
  /// Of the last factor() or step; `pivots` is the time of recovering, in later solves too.
  const StepTimes& times() const;

 private:
  struct Impl;
  Impl& impl() const;
  Impl& settled() const;                // no step is in flight
  mutable std::unique_ptr<Impl> impl_;  // null after a move from this solver: impl() makes a new one
};

}  // namespace lulab
