#pragma once
// Copies of a step in device memory that the host makes.

#include <span>

#include "core/simt/device.h"

namespace lulab {

/// Errors    invalid_argument: the caller records a graph; device_error.
inline Status check_may_wait_for(const simt::Stream& stream) {
  LULAB_ASSIGN_OR_RETURN(const bool is_captured, stream.is_captured());
  if (!is_captured) return {};
  return Status::error(StatusCode::invalid_argument,
                       "step_device: this call waits for values to come to the host, and cannot be captured; call it "
                       "outside of the capture. Later calls can, with a rung that takes values from the device");
}

/// Waits for the stream, also after an error: then nothing is written to the spans any more.
/// Errors    device_error.
inline Status copy_step_to_host(const double* d_values, std::span<double> values, const double* d_b,
                                std::span<double> b, simt::Stream& stream) {
  Status copied = simt::copy_to_host(values.data(), d_values, values.size_bytes(), stream);
  if (copied.ok()) copied = simt::copy_to_host(b.data(), d_b, b.size_bytes(), stream);
  Status waited = stream.wait();
  return copied.ok() ? waited : copied;
}

/// Waits for the stream.   Errors device_error.
inline Status copy_x_to_device(std::span<const double> x, double* d_x, simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(simt::copy_to_device(d_x, x.data(), x.size_bytes(), stream));
  return stream.wait();
}

}  // namespace lulab
