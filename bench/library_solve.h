#pragma once
// A library's parallel triangular solves on the device: what the sequential solve on the host is compared with.

#include <memory>
#include <span>

#include "core/plan.h"
#include "core/status.h"

namespace lulab::bench {

/// x = U⁻¹ L⁻¹ b with L and U in device memory.
class LibrarySolve {
 public:
  virtual ~LibrarySolve() = default;
  /// What the library finds out from the patterns of L and U, anew.   Unit ms, on the host's clock.
  virtual Result<double> analyze() = 0;
  /// Both solves between two events; moving b there and x back is not timed.   Unit ms.
  /// Shapes    b, x: (n).   Requires a successful analyze().
  virtual Result<double> solve(std::span<const double> b, std::span<double> x) = 0;
  /// Device memory of L, U and workspaces.
  virtual std::int64_t bytes() const = 0;
};

/// cuSPARSE's SpSV, FP64 (cuda/library_solve.cpp).
/// Errors    not_implemented in the simulator (host/library_solve.cpp), out_of_memory (also beyond 32-bit indices),
///           device_error.
Result<std::unique_ptr<LibrarySolve>> library_solve(const Factors<double>& factors);

}  // namespace lulab::bench
