#include "core/large_pages.h"

#include <cstdint>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace lulab {
namespace {

TEST(LargePages, HoldZerosLikeOthers) {
  for (const std::size_t size : {0u, 1u, (1u << 19) - 1, 1u << 19, (3u << 20) + 7}) {
    SCOPED_TRACE(size);
    std::vector<double> array;
    resize_in_large_pages(array, size);
    ASSERT_EQ(array.size(), size);
    for (const double x : array) ASSERT_EQ(x, 0);
  }
}

#ifdef __linux__
/// Whether the kernel has noted the advice for the mapping with this address.
bool is_advised(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::size_t dash = 0;
    const bool is_range = line.find('-') < line.find(' ') && line.find(':') > line.find(' ');
    if (is_range) {
      const auto begin = std::stoull(line, &dash, 16), end = std::stoull(line.substr(dash + 1), nullptr, 16);
      inside = begin <= at && at < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line.find(" hg") != std::string::npos;
    }
  }
  return false;
}

TEST(LargePages, AreAskedForAndOnlyForLargeArrays) {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) GTEST_SKIP() << "this kernel has none";
  if (!std::ifstream("/proc/self/smaps")) GTEST_SKIP() << "this kernel does not tell";
  constexpr std::size_t bytes = 8 << 20, few = 3 << 20;
  void* const large = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* const small = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_TRUE(large != MAP_FAILED && small != MAP_FAILED);
  bring_large_pages(large, bytes);
  bring_large_pages(small, few);
  EXPECT_TRUE(is_advised(static_cast<char*>(large) + bytes / 2));
  EXPECT_FALSE(is_advised(static_cast<char*>(small) + few / 2));
  munmap(large, bytes);
  munmap(small, bytes);
  std::vector<double> array;
  resize_in_large_pages(array, std::size_t(10) << 20);  // above what malloc() takes from its heap
  EXPECT_TRUE(is_advised(array.data() + array.size() / 2));
}
#endif

}  // namespace
}  // namespace lulab
