#pragma once
// Refuses memory on request: testing/device_memory_limit.h.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace lulab::simt {

/// What one OS thread asks of the device: memory there, page-locked host memory, streams and graphs.
struct MemoryLimit {
  std::int64_t first = 0, last = 0;  // requests that are refused, counted from 1
  std::int64_t requests = 0;         // so far
};
inline thread_local MemoryLimit* memory_limit = nullptr;  // none

/// Counts a request; out_of_memory where the limit refuses it.
inline Status ask_memory_limit(std::string_view what) {
  if (memory_limit == nullptr) return {};
  const std::int64_t request = ++memory_limit->requests;
  if (request < memory_limit->first || request > memory_limit->last) return {};
  return Status::error(StatusCode::out_of_memory, std::string(what) + " was refused: a test limits the memory");
}

}  // namespace lulab::simt
