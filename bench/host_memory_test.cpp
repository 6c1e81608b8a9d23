#include "bench/host_memory.h"

#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "testing/schedules.h"

namespace lulab::bench {
namespace {

constexpr std::int64_t MiB = 1 << 20;

std::unique_ptr<char[]> touched(std::int64_t bytes) {
  std::unique_ptr<char[]> memory(new char[bytes]);
  std::memset(memory.get(), 1, bytes);
  return memory;
}

TEST(HostMemoryWatch, TellsTheMostSinceItBegan) {
  const auto before = touched(200 * MiB);
  const HostMemoryWatch watch;
  if (!watch.most_bytes()) GTEST_SKIP() << "the system does not tell the largest resident size";
  EXPECT_LT(*watch.most_bytes(), 8 * MiB) << "what was there before";
  touched(64 * MiB).reset();
  EXPECT_GE(*watch.most_bytes(), 60 * MiB) << "though it is freed";
  if (!simt::instrumented) {  // which keeps a shadow of what is touched
    EXPECT_LT(*watch.most_bytes(), 90 * MiB);
  }
  EXPECT_LT(*HostMemoryWatch().most_bytes(), 8 * MiB);
}

TEST(HostMemoryWatch, CountsMemoryThatIsUsedAgain) {
  if (simt::instrumented) GTEST_SKIP() << "the allocator of a sanitizer keeps what is freed";
  const auto small = [] {
    std::vector<std::unique_ptr<char[]>> pieces;
    for (int k = 0; k < 2000; ++k) pieces.push_back(touched(16 << 10));  // of the heap, which keeps them when freed
  };
  small();
  const HostMemoryWatch watch;
  if (!watch.most_bytes()) GTEST_SKIP() << "the system does not tell the largest resident size";
  small();
  EXPECT_GE(*watch.most_bytes(), 25 * MiB);
}

}  // namespace
}  // namespace lulab::bench
