#pragma once
// For tests of what happens without memory on the device: chosen requests are refused, in the simulator as on a GPU.

#include <cstdint>
#include <limits>

#include "core/simt/memory_limit.h"

namespace lulab::testing {

/// While it lives the requests of this OS thread for device memory, page-locked host memory, streams and graphs are
/// counted from 1, and those from `first` to `last` are refused with out_of_memory. One at a time.
class DeviceMemoryLimit {
 public:
  static constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
  static constexpr StatusCode code = StatusCode::out_of_memory;
  static constexpr bool can_recover = true;

  /// Counts only.
  DeviceMemoryLimit() : DeviceMemoryLimit(0, 0) {}
  DeviceMemoryLimit(std::int64_t first, std::int64_t last)
      : DeviceMemoryLimit(simt::MemoryLimit{.first = first, .last = last}) {}
  ~DeviceMemoryLimit() { simt::memory_limit = nullptr; }
  DeviceMemoryLimit(const DeviceMemoryLimit&) = delete;
  DeviceMemoryLimit& operator=(const DeviceMemoryLimit&) = delete;

  /// Refuses device memory beyond so many bytes at once.
  static DeviceMemoryLimit of_bytes(std::int64_t most) {
    return DeviceMemoryLimit(simt::MemoryLimit{.most_bytes = most});
  }

  std::int64_t requests() const { return limit_.requests; }

 private:
  explicit DeviceMemoryLimit(const simt::MemoryLimit& limit) : limit_(limit) { simt::memory_limit = &limit_; }

  simt::MemoryLimit limit_;
};

}  // namespace lulab::testing
