#include "core/large_pages.h"

#include <cstdint>

#include "core/in_parallel.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace lulab {

namespace {

constexpr std::size_t page = 2 << 20;

}  // namespace

std::span<char> ask_for_large_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef __linux__
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t from = (first + page - 1) / page * page, to = (first + bytes) / page * page;
  if (bytes < 2 * page || from >= to) return {};
  char* const pages = static_cast<char*>(begin) + (from - first);
  if (madvise(pages, to - from, MADV_HUGEPAGE) == 0) return {pages, to - from};
#endif
  return {};
}

void bring_large_pages(void* begin, std::size_t bytes) {
  constexpr std::int64_t pages_a_thread = 4;  // the system clears one in a tenth of a millisecond
  constexpr int most_threads = 8;
  const std::span<char> pages = ask_for_large_pages(begin, bytes);
  const auto count = static_cast<std::int32_t>(pages.size() / page);
  const int threads = threads_for(count, pages_a_thread, most_threads);
  if (threads > 1)
    share_out(count, threads, [&](std::int32_t k, int) { pages[page * static_cast<std::size_t>(k)] = 0; });
}

}  // namespace lulab
