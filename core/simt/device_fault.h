#pragma once
// Lets work of the simulated device fail on request: testing/failing_operations.h.

#include <cstdint>

#include "core/status.h"

namespace lulab::simt {

/// What one OS thread gives to streams: launches, copies, fills, sums, sorts, products, graphs.
struct DeviceFault {
  std::int64_t first = 0, last = 0;  // operations that fail, counted from 1
  bool is_told_later = false;        // by the next Stream::wait(), as a kernel that fails; else by the call
  std::int64_t operations = 0;       // so far
};
inline thread_local DeviceFault* device_fault = nullptr;  // none

/// Counts an operation; of those recorded in a graph, only calls fail, and the launch of the graph as a whole later.
/// Returns   device_error where it fails.
inline Status ask_device_fault(bool is_recorded) {
  if (device_fault == nullptr || (is_recorded && device_fault->is_told_later)) return {};
  const std::int64_t operation = ++device_fault->operations;
  if (operation < device_fault->first || operation > device_fault->last) return {};
  return Status::error(StatusCode::device_error, "a test lets this fail");
}

}  // namespace lulab::simt
