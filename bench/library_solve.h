#pragma once
// Parallel triangular solves on the device, a library's and our own: what the sequential solve on the host is compared
// with.

#include <memory>
#include <span>

#include "core/plan.h"
#include "core/status.h"
#include "solve/device_solver.h"

namespace lulab::bench {

struct SolveTask {
  bool transposed = false;
  std::int32_t columns = 1;  // right-hand sides at once
};

/// x = U⁻¹ L⁻¹ b, or L⁻ᵀ U⁻ᵀ b, with L and U in device memory.
class ParallelSolve {
 public:
  virtual ~ParallelSolve() = default;
  /// What is found out from the patterns of L and U, anew.   Unit ms, on the host's clock.
  virtual Result<double> analyze() = 0;
  /// Both solves between two events; moving b there and x back is not timed.   Unit ms.
  /// Shapes    b, x: (n, columns) by columns.   Requires a successful analyze().
  virtual Result<double> solve(std::span<const double> b, std::span<double> x) = 0;
  /// Device memory of L, U and workspaces.
  virtual std::int64_t bytes() const = 0;
  /// Levels of both triangles together; 0: the library does not say.   Requires a successful analyze().
  virtual std::int64_t levels() const { return 0; }
};

/// cuSPARSE's SpSV, or SpSM for several right-hand sides, FP64 (cuda/library_solve.cpp). Each triangle is given by rows
/// and solved as it is, transposed ones too: their rows are the columns of L and U.
/// Errors    not_implemented in the simulator (host/library_solve.cpp), out_of_memory (also beyond 32-bit indices),
///           device_error.
Result<std::unique_ptr<ParallelSolve>> library_solve(const Factors<double>& factors, SolveTask task = {});

/// DeviceSolver, FP64. Its plan is the identity: permutations and scalings are left to whoever judges.
/// Requires  `factors` outlive the object.
/// Errors    out_of_memory, device_error.
/// warps_per_sm: see DeviceSolverOptions
Result<std::unique_ptr<ParallelSolve>> device_solve(const Factors<double>& factors, SolveMethod method,
                                                    SolveTask task = {}, int warps_per_sm = 0);

}  // namespace lulab::bench
