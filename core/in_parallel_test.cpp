#include "core/in_parallel.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace lulab {
namespace {

TEST(InParallel, DoesEveryPartOnce) {
  for (const int parts : {0, 1, 2, 17}) {
    std::vector<int> done(parts, 0);
    in_parallel(parts, [&](int part) { ++done[part]; });
    EXPECT_EQ(done, std::vector<int>(parts, 1));
  }
}

TEST(InParallel, ThrowsWhatTheSmallestPartThrewAfterAllAreDone) {
  std::vector<int> done(6, 0);
  std::string caught;
  try {
    in_parallel(6, [&](int part) {
      ++done[part];
      if (part % 2 == 1) throw std::runtime_error("part " + std::to_string(part));
    });
  } catch (const std::runtime_error& e) {
    caught = e.what();
  }
  EXPECT_EQ(caught, "part 1");
  EXPECT_EQ(done, std::vector<int>(6, 1));
}

TEST(ShareOut, DoesEveryItemOnceAndInOrderWithOneThread) {
  for (const int threads : {1, 2, 5}) {
    std::vector<int> done(100, 0), of_thread(threads, 0);
    std::vector<std::int32_t> order;
    share_out(100, threads, [&](std::int32_t item, int thread) {
      ++done[item];
      ++of_thread.at(thread);
      if (threads == 1) order.push_back(item);
    });
    EXPECT_EQ(done, std::vector<int>(100, 1));
    EXPECT_EQ(std::accumulate(of_thread.begin(), of_thread.end(), 0), 100);
    EXPECT_TRUE(std::ranges::is_sorted(order));
  }
  share_out(0, 3, [](std::int32_t, int) { ADD_FAILURE() << "there is no item"; });
  EXPECT_THROW(share_out(4, 2, [](std::int32_t, int) { throw std::runtime_error("an item"); }), std::runtime_error);
}

TEST(ThreadsFor, IsOneForLittleWorkAndLimitedForMuch) {
  EXPECT_EQ(threads_for(0, 100, 8), 1);
  EXPECT_EQ(threads_for(199, 100, 8), 1);
  EXPECT_EQ(threads_for(1'000'000, 100, 1), 1);
  EXPECT_LE(threads_for(1'000'000, 100, 8), 8);
}

}  // namespace
}  // namespace lulab
