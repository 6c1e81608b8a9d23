#include "core/kept_memory.h"

#include <sys/resource.h>

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lulab {
namespace {

/// Pages that are mapped while 6 MiB are allocated, written and freed.
long pages_mapped() {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  {
    std::vector<std::vector<char>> blocks(100);
    for (auto& block : blocks) block.assign(60'000, 'x');
  }
  getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

TEST(KeptMemory, IsNotMappedAgain) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another allocator than glibc's";
#else
  keep_freed_memory(8 << 20);
  (void)pages_mapped();
  EXPECT_LT(pages_mapped(), 6'000'000 / 4096 / 10);
#endif
}

TEST(KeptMemory, ComesInLargePages) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another allocator than glibc's";
#else
  std::string choice;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), choice);
  if (choice.empty() || choice.find("[never]") != std::string::npos) GTEST_SKIP() << "the system has no large pages";
  keep_freed_memory(20 << 20);
  EXPECT_LT(pages_mapped(), 6'000'000 / 4096 / 2);
#endif
}

TEST(KeptMemory, TakesAnySize) {
  for (const std::int64_t bytes : {std::int64_t(-1), std::int64_t(0), std::int64_t(1), std::int64_t(1) << 60})
    keep_freed_memory(bytes);
}

}  // namespace
}  // namespace lulab
