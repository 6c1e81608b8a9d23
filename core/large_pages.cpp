#include "core/large_pages.h"

#include <cstdint>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace lulab {

void ask_for_large_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef __linux__
  constexpr std::uintptr_t page = 2 << 20;
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t from = (first + page - 1) / page * page, to = (first + bytes) / page * page;
  if (bytes < 2 * page || from >= to) return;
  (void)madvise(static_cast<char*>(begin) + (from - first), to - from, MADV_HUGEPAGE);  // without it all is as before
#endif
}

}  // namespace lulab
