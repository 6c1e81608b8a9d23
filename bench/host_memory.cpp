#include "bench/host_memory.h"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

namespace lulab::bench {
namespace {

/// A line of /proc/self/status in kB.
std::optional<std::int64_t> status_bytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word; status.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    std::int64_t kib = 0;
    if (word == name && status >> kib) return 1024 * kib;
  }
  return std::nullopt;
}

}  // namespace

HostMemoryWatch::HostMemoryWatch() {
  malloc_trim(0);
  // 5: the largest resident size is the present one from now on (proc(5)).
  std::ofstream clear("/proc/self/clear_refs");
  if (clear << 5 << std::flush) before_ = status_bytes("VmRSS:");
}

std::optional<std::int64_t> HostMemoryWatch::most_bytes() const {
  const auto most = status_bytes("VmHWM:");
  if (!before_ || !most) return std::nullopt;
  return std::max<std::int64_t>(*most - *before_, 0);
}

}  // namespace lulab::bench
