#pragma once
// Many systems of one pattern solved at once, with matrices, factors, b and x in device memory.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/backend.h"
#include "core/plan.h"
#include "core/simt/device.h"
#include "solve/refine.h"

namespace lulab {

/// The largest magnitudes of a system; NaN where an entry is.
struct SystemSizes {
  double scaled_a = 0;  // of R·A·C
  double l = 0, u = 0;  // beside L's unit diagonal
};

struct BatchSolveOptions {
  std::int64_t max_workspace_bytes = std::int64_t(2) << 30;  // of the systems of one launch, but for at least one
  std::int64_t max_blocks = 0;                               // of a launch; 0: as many as are resident at once
};

/// x of one system.
struct SystemSolution {
  Refinement refined;
  std::int32_t not_finite = -1;  // row of the first entry of b that is not finite, where a step did not converge
  double entry = 0;              // that entry
};

/// Up to 32 systems are the lanes of a warp, which takes a row of L, U or A for all of them: their values are laid side
/// by side first (solve/batch_solve_kernel.h). Nothing comes to the host before all are done. Sums are taken in an
/// order that depends on the pattern alone: equal inputs give equal bits, in any company.
///
/// create() once a pattern; one stream at a time: an object has one workspace.
template <class T>
class DeviceBatchSolver {
 public:
  /// Requires  systems >= 1, n >= 1. `analysis` is not needed afterwards.
  /// Memory    about what A, L and U of the systems take once more, within max_workspace_bytes, or less where there is
  ///           not so much: then more launches share the systems.
  /// Errors    not_implemented (A or L+U of more than 2^31 - 1 entries), out_of_memory, device_error.
  /// Cost      O(n + nnz(L+U)) on the host.
  /// Source    Anderson & Saad 1989 (levels of a triangular solve).
  static Result<std::unique_ptr<DeviceBatchSolver>> create(const Analysis& analysis, std::int32_t systems,
                                                           simt::Stream& stream, const BatchSolveOptions& options = {});
  ~DeviceBatchSolver();

  /// The numbers of the pivot check of each system.   Waits for the stream.
  /// Shapes    d_a: (nnz(A), systems), d_lu: (nnz(L+U), systems). The result: (systems).
  /// Errors    device_error, deadlock.
  /// Cost      reads both once.
  Result<std::vector<SystemSizes>> sizes(const double* d_a, const T* d_lu, simt::Stream& stream);

  /// A x = b for the systems `which`, each refined on its own as refine() does, with the same residual, errors and
  /// rule. Where a pivot or a right-hand side is not usable, omega is NaN and converged is false.   Waits for the
  /// stream.
  ///
  /// Shapes    d_a: (nnz(A), systems), d_lu: (nnz(L+U), systems), d_b, d_x: (n, systems), not overlapping; x of other
  ///           systems stays as it is. which: ascending. The result: as `which`.
  /// Errors    device_error, deadlock.
  /// Cost      a copy of A, L and U; for each step of a system 2 nnz(L+U) flops, and a hop for each level of all.
  Result<std::vector<Refinement>> solve(const double* d_a, const T* d_lu, std::span<const std::int32_t> which,
                                        const double* d_b, double* d_x, simt::Stream& stream,
                                        const RefinementGoal& goal = {});

  /// sizes() and solve() for all systems after a factorization, only enqueued; a graph can capture it. The pivots are
  /// checked on the device: x is NaN where a column failed, A, L or U is not finite in T, the growth of unperturbed
  /// pivots is larger than max_growth, or x does not converge. Once the stream was waited for, found_sizes() and
  /// found_solutions() hold what the two return.
  ///
  /// Shapes    as solve().   Requires  arrays.lu, arrays.failed_column and arrays.perturbed are not null.
  /// Errors    device_error.
  Status enqueue_step(const double* d_a, const DeviceArrays<T>& arrays, double max_growth, const double* d_b,
                      double* d_x, simt::Stream& stream, const RefinementGoal& goal = {});
  /// Of the last enqueue_step().   Shapes (systems).
  std::vector<SystemSizes> found_sizes() const;
  std::span<const SystemSolution> found_solutions() const;

  /// Device memory held.
  std::int64_t bytes() const;

 private:
  struct Impl;
  explicit DeviceBatchSolver(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lulab
