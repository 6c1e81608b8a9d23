#pragma once
// Refuses memory on request: testing/device_memory_limit.h.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/status.h"

namespace lulab::simt {

/// What one OS thread asks of the device: memory there, page-locked host memory, streams and graphs.
struct MemoryLimit {
  std::int64_t first = 0, last = 0;                                    // requests that are refused, counted from 1
  std::int64_t requests = 0;                                           // so far
  std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max();  // of device memory at once
  std::int64_t bytes = 0;                                              // of it, less what was freed; may be < 0
};
inline thread_local MemoryLimit* memory_limit = nullptr;  // none

/// Counts a request; out_of_memory where the limit refuses it.
inline Status ask_memory_limit(std::string_view what, std::size_t device_bytes = 0) {
  if (memory_limit == nullptr) return {};
  const std::int64_t request = ++memory_limit->requests;
  const bool refused = request >= memory_limit->first && request <= memory_limit->last;
  const std::int64_t room_before = memory_limit->most_bytes - static_cast<std::int64_t>(device_bytes);
  if (!refused && memory_limit->bytes <= room_before) return {};
  return Status::error(StatusCode::out_of_memory, fmt::format("{} was refused: a test limits the memory", what));
}

/// Device memory was allocated, or freed: then less than 0.
inline void count_device_memory(std::int64_t bytes) {
  if (memory_limit != nullptr) memory_limit->bytes += bytes;
}

}  // namespace lulab::simt
