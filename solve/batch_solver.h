#pragma once
// Many matrices of one pattern, factored and solved in one call each: Monte-Carlo runs, corners of a circuit, many small
// circuits alike.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/rung.h"
#include "solve/refine.h"
#include "solve/solver.h"

namespace lulab {

struct BatchStatistics {
  std::int32_t systems = 0;
  std::int32_t failed = 0;       // have no factors
  std::int32_t recovered = 0;    // have pivots of their own, chosen by value since the last factor()
  bool on_device = false;        // all but those that are recovered or failed are solved there, else by the host
  std::int64_t peak_bytes = -1;  // of the factorization of all systems
};

/// All systems are factored with the same pivots: the diagonal of the plan that analyze() makes from one typical matrix.
/// factor() judges those of every system by the size of its factors: they are finite, and the pivot growth is at most
/// SolverOptions::max_growth (for float 2^-14.5 of it: that many fewer digits can be lost) unless pivots were perturbed.
/// solve() refines every solution and judges it by its own backward error, omega <= 2 eps (Refinement::converged). It
/// takes both: the backward error of a row that is small beside max |x| forgives what bad pivots make of it. There is no
/// probe solve, whatever SolverOptions::probe says.
///
/// A system that its pivots do not suit is needs_repivot, or, with SolverOptions::repivot, is given pivots of its own,
/// chosen by value on the host (sparse_leftlooking/00_reference, or 90_klu where `first` says so), and is solved there
/// from then on; all others stay where they are. That costs such a system what a factorization costs on the host: where
/// most systems need it, choose a more typical matrix or `first`.
///
/// A rung that leaves factors of its batches in device memory (BatchFactorizer::device_arrays()) is solved with there, a
/// block for each system (solve/device_batch.h); otherwise, and where the device has no memory left for that, the host
/// takes one system after the other.
///
/// Errors of every call: out_of_memory, device_error, deadlock, invalid_argument for a wrong order of calls or sizes, and
/// those that are named. What is wrong with one system is said in the result, in its place, and leaves the others alone.
/// Threads   one BatchSolver, one thread at a time.
template <class T>
class BatchSolver {
 public:
  explicit BatchSolver(const Rung& rung, SolverOptions options = {});
  ~BatchSolver();
  BatchSolver(BatchSolver&&) noexcept;
  BatchSolver& operator=(BatchSolver&&) noexcept;

  /// Preprocessing and symbolic analysis, once for all systems; the values of A choose matching, scaling and, where
  /// SolverOptions::first says so, pivots.
  ///
  /// Errors    as symbolic/analyze.h; numerically_singular (`first` finds no pivot); not_implemented: the rung has no
  ///           such scalar type or chooses pivots by value; invalid_argument: systems < 1, or pivots are to be perturbed
  ///           and the rung does not.
  Status analyze(const CscView<double>& a, std::int32_t systems);
  /// The same with an analysis of A that is already known.
  Status analyze(const CscView<double>& a, Analysis analysis, std::int32_t systems);

  /// values: (nnz(A), systems), those of a system together, in the order of the analyzed A.
  ///
  /// Result    (systems) each ok, or needs_repivot (also: growth) or numerically_singular (where.columns in A's numbering), or
  ///           invalid_argument: a value is not finite (where.rows and where.columns), or what recovering met.
  Result<std::vector<Status>> factor(std::span<const double> values);

  /// A x = b in every system, with refinement, A as last factored.   Shapes b, x: (n, systems), not overlapping.
  ///
  /// Result    (systems) each a Refinement that converged, or else what factor() said; needs_repivot: the backward error
  ///           does not become small (with pivots of its own neither, where SolverOptions::repivot asks for them: then b
  ///           or x is too small to judge or A too badly conditioned, and the system keeps the pivots of all);
  ///           invalid_argument: its b is not finite (where.rows). The x of such a system is NaN.
  Result<std::vector<Result<Refinement>>> solve(std::span<const double> b, std::span<double> x);

  /// Since the last factor().
  BatchStatistics statistics() const;
  /// Of one system, as far as known without bringing its factors to the host; repivots is 1 where it was recovered.
  /// Requires  0 <= system < systems.
  Statistics statistics(std::int32_t system) const;
  /// Requires a successful analyze().
  const Analysis& analysis() const;
  /// Of the last factor(); `pivots` is what recovering took, in later solves too.
  const StepTimes& times() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lulab
