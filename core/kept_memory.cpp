#include "core/kept_memory.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "core/large_pages.h"

namespace lulab {

void keep_freed_memory(std::int64_t bytes) noexcept {
  constexpr std::int64_t most = 31 << 20;  // glibc's thresholds do not follow larger blocks
  constexpr std::int64_t two_pages = 1 << 13;
  static std::atomic<std::int64_t> kept = 0;
  bytes = std::min(bytes, most);
  // RACE: two threads that get here at once both free a block; nothing else depends on the order.
  if (bytes <= kept.load(std::memory_order_relaxed)) return;
  kept.store(bytes, std::memory_order_relaxed);
  void* volatile block = std::malloc(static_cast<std::size_t>(bytes));  // volatile: neither call may be left out
  std::free(block);
  // glibc takes blocks below the new threshold from its heap. This one is at its end, where the next ones will be.
  const auto smaller = static_cast<std::size_t>(std::max<std::int64_t>(bytes - two_pages, 0));
  block = std::malloc(smaller);
  if (block != nullptr) (void)ask_for_large_pages(block, smaller);
  std::free(block);
}

}  // namespace lulab
