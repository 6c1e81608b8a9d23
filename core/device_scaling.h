#pragma once
// T(R·A·C) from the values of A in double, all in device memory.

#include <cstdint>

#include "core/plan.h"
#include "core/simt/device.h"

namespace lulab {

/// For rungs that get R·A·C in place of A: the same bits as on the host, r · a · c in double, rounded once.
template <class T>
class DeviceScaling {
 public:
  /// Requires  plan.r and plan.c of length n, finite and not zero. `analysis` is not needed afterwards.
  /// Errors    out_of_memory, device_error.
  static Result<DeviceScaling> create(const Analysis& analysis, std::int32_t systems, simt::Stream& stream);

  /// Other scalings r and c in the plan. Waits for the stream.   Errors device_error.
  Status take_scales(const Plan& plan, simt::Stream& stream);

  /// Enqueues scaled() <- T(R·A·C). An entry out of the range of T is infinite.
  /// Shapes    d_values: (nnz(A), systems), a system's together.   Errors device_error.
  Status scale(const double* d_values, simt::Stream& stream);
  /// (nnz(A), systems)
  const T* scaled() const { return d_scaled_.data(); }

 private:
  simt::DeviceBuffer<std::int32_t> d_row_, d_column_;  // (nnz(A)) of each entry
  simt::DeviceBuffer<double> d_r_, d_c_;               // (n)
  simt::DeviceBuffer<T> d_scaled_;
};

}  // namespace lulab
