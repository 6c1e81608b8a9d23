#pragma once
// The most memory of this process.

#include <cstdint>
#include <optional>

namespace lulab::bench {

/// How much more host memory this process has had since the watch began, at the most. There is one watch at a time.
class HostMemoryWatch {
 public:
  /// Gives freed memory back to the system first, so that memory used again counts.
  HostMemoryWatch();
  /// nullopt: the system does not say (/proc/self/clear_refs, /proc/self/status).
  std::optional<std::int64_t> most_bytes() const;

 private:
  std::optional<std::int64_t> before_;
};

}  // namespace lulab::bench
