#include "bench/host_threads.h"

#include <algorithm>
#include <chrono>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "core/timing.h"

namespace lulab::bench {
namespace {

cpu_set_t affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

TEST(HostThreads, CountsThoseThatStillRun) {
  const NewThreads started;
  EXPECT_EQ(started.with_caller(), 1);
  std::latch counted(1);
  std::thread one([&] { counted.wait(); }), two([&] { counted.wait(); });
  EXPECT_EQ(started.with_caller(), 3);
  counted.count_down();
  one.join();
  two.join();
}

TEST(HostThreads, NeverCountsLessThanTheCaller) {
  std::latch counted(1);
  std::thread one([&] { counted.wait(); });
  const NewThreads started;
  counted.count_down();
  one.join();
  EXPECT_EQ(started.with_caller(), 1);
}

TEST(WarmUp, RunsFortyTimesOrAFewLongOnesAndEndsWithTheFirstFailure) {
  int runs = 0;
  const auto start = Clock::now();
  ASSERT_TRUE(warm_up(3, [&] { return ++runs, Status{}; }).ok());
  const bool stood_still = ms_since(start) >= 200;
  EXPECT_TRUE(runs == 40 || stood_still) << runs;
  for (const int at_least : {1, 7}) {
    runs = 0;
    const auto long_run = [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(110));
      ++runs;
      return Status{};
    };
    ASSERT_TRUE(warm_up(at_least, long_run).ok());
    EXPECT_EQ(runs, std::max(at_least, 2));
  }
  runs = 0;
  const auto failing = [&] { return ++runs < 3 ? Status{} : Status::error(StatusCode::needs_repivot, "zero"); };
  EXPECT_EQ(warm_up(7, failing).message, "zero");
  EXPECT_EQ(runs, 3);
}

TEST(StayOnCore, HoldsTheThreadOnOneCoreUntilTheEndOfTheScope) {
  const cpu_set_t before = affinity();
  if (sched_setaffinity(0, sizeof before, &before) != 0) GTEST_SKIP() << "the system lets no thread choose its cores";
  {
    const StayOnCore no(false);
    const cpu_set_t same = affinity();
    EXPECT_TRUE(CPU_EQUAL(&same, &before));
  }
  {
    const StayOnCore yes(true);
    const cpu_set_t here = affinity();
    EXPECT_EQ(CPU_COUNT(&here), 1);
  }
  const cpu_set_t after = affinity();
  EXPECT_TRUE(CPU_EQUAL(&after, &before));
}

}  // namespace
}  // namespace lulab::bench
