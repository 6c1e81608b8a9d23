#pragma once
// What a call leaves in x when it fails: never an old x that could be taken for an answer.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

#include "core/simt/device.h"
#include "core/status.h"
#include "solve/refine.h"

namespace lulab {

/// Fills x with NaN.   Returns `why`.
inline Status no_x(std::span<double> x, Status why) {
  std::ranges::fill(x, std::numeric_limits<double>::quiet_NaN());
  return why;
}

/// The same on the device, in the order of the stream, unless it is the device that fails.
inline Status no_x_on_device(double* d_x, std::size_t size, simt::Stream& stream, Status why) {
  constexpr int nan_byte = 0xFF;  // eight of them are a NaN
  (void)simt::fill_bytes(d_x, nan_byte, size * sizeof(double), stream);
  return why;
}

/// Not even NaN may be written to an x that lies in b.
inline Status check_overlap(std::span<const double> b, std::span<double> x) {
  if (!overlap(b, x)) return {};
  return Status::error(StatusCode::invalid_argument, "solver: b and x overlap; give x memory of its own");
}

}  // namespace lulab
