#include "core/kept_memory.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

namespace lulab {

void keep_freed_memory(std::int64_t bytes) noexcept {
  constexpr std::int64_t most = 31 << 20;  // glibc's thresholds do not follow larger blocks
  static std::atomic<std::int64_t> kept = 0;
  bytes = std::min(bytes, most);
  // RACE: two threads that get here at once both free a block; nothing else depends on the order.
  if (bytes <= kept.load(std::memory_order_relaxed)) return;
  kept.store(bytes, std::memory_order_relaxed);
  void* volatile block = std::malloc(static_cast<std::size_t>(bytes));  // volatile: neither call may be left out
  std::free(block);
}

}  // namespace lulab
