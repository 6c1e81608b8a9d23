#pragma once
// The numbers of the pivot check on the device: the size of R·A·C, and how well a system with a known solution is
// solved.

#include <cstdint>
#include <memory>
#include <span>

#include "core/matrix/csc.h"
#include "core/plan.h"
#include "core/simt/device.h"
#include "solve/device_refine.h"
#include "solve/device_solver.h"

namespace lulab {

struct ProbeResult {
  double max_a = 0;     // max |R·A·C|
  double norm1_a = 0;   // ||R·A·C||_1
  double residual = 0;  // ||R (b - A y)||_1 of the y that solve() found
  double solution = 0;  // ||C⁻¹ y||_1
};

/// create() once a plan, then measure() and solve() once a factorization. Sums are taken in an order that depends on
/// the pattern alone.
///
/// One stream at a time: an object has one workspace.
class DeviceProbe {
 public:
  /// Shapes    A: n x n, plan of length n, x: (n) the solution of the probe. They are not needed afterwards.
  /// Errors    out_of_memory, device_error.
  /// Cost      O(n + nnz(A)) on the host.
  static Result<DeviceProbe> create(CscPatternView a, const Plan& plan, std::span<const double> x,
                                    simt::Stream& stream);
  ~DeviceProbe();
  DeviceProbe(DeviceProbe&&) noexcept;
  DeviceProbe& operator=(DeviceProbe&&) noexcept;

  /// Other scalings in the plan. Waits for the stream.   Errors device_error.
  Status take_scales(const Plan& plan, simt::Stream& stream);

  /// Enqueues the sizes of R·A·C.   Shapes d_values: (nnz(A)) in A's own order, in device memory.
  /// Errors    device_error.
  Status measure(const double* d_values, simt::Stream& stream);
  /// Enqueues b = A x, A y = b by the factors without refinement, and the residual.
  ///
  /// Requires  both hold this A, and were made for its n.
  /// Errors    those of the two, device_error.
  /// Cost      a solve and O(nnz(A)).
  template <class T>
  Status solve(DeviceSolver<T>& solver, DeviceRefiner& refiner, simt::Stream& stream);
  /// Refines the y of the last solve().   Errors as DeviceRefiner::refine().
  template <class T>
  Result<Refinement> refine(DeviceSolver<T>& solver, DeviceRefiner& refiner, simt::Stream& stream);

  /// Waits for the stream. Without a solve() since the last measure(), residual and solution are 0.
  Result<ProbeResult> result(simt::Stream& stream);

  /// Device memory held.
  std::int64_t bytes() const;

 private:
  struct Impl;
  explicit DeviceProbe(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lulab
