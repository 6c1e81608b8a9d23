#pragma once
// For tests of what happens where work on the device fails: chosen launches, copies and the like, in the simulator.

#include <cstdint>
#include <limits>
#include <utility>

#include "core/simt/device_fault.h"
#include "testing/device.h"

// At the start of a test of failing operations: they are those of the simulator, and no race detector is wanted.
#define LULAB_NEED_FAILING_OPERATIONS() \
  LULAB_NEED_SIMULATOR();               \
  if (lulab::simt::race_detection) GTEST_SKIP() << "the preset sim looks for them"

namespace lulab::testing {

/// While it lives the operations that this OS thread gives to streams are counted from 1, and those from `first` to
/// `last` fail with device_error: the call itself, or where told_later the next Stream::wait(), with all that was
/// enqueued between left out. One at a time.
template <bool told_later>
class FailingOperations {
 public:
  static constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
  static constexpr StatusCode code = StatusCode::device_error;
  static constexpr bool can_recover = !told_later;  // no GPU does from a kernel that failed

  /// Counts only.
  FailingOperations() : FailingOperations(0, 0) {}
  FailingOperations(std::int64_t first, std::int64_t last)
      : fault_{.first = first, .last = last, .is_told_later = told_later} {
    simt::device_fault = &fault_;
  }
  ~FailingOperations() { simt::device_fault = nullptr; }
  FailingOperations(const FailingOperations&) = delete;
  FailingOperations& operator=(const FailingOperations&) = delete;

  std::int64_t requests() const { return fault_.operations; }

 private:
  simt::DeviceFault fault_;
};

/// While it lives none fails, and none is counted: for what a test itself does on the device.
class NoOperationFails {
 public:
  NoOperationFails() : fault_(std::exchange(simt::device_fault, nullptr)) {}
  ~NoOperationFails() { simt::device_fault = fault_; }
  NoOperationFails(const NoOperationFails&) = delete;
  NoOperationFails& operator=(const NoOperationFails&) = delete;

 private:
  simt::DeviceFault* fault_;
};

}  // namespace lulab::testing
