#include "sparse_auto/choose.h"

#include <limits>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "symbolic/analyze.h"

namespace lulab::sparse_auto {
namespace {

Rung named(std::string_view id) {
  Rung rung;
  rung.facts.id = id;
  return rung;
}
const Rung cpu = named("test/cpu"), gpu = named("test/gpu");
constexpr Candidates candidates = {.cpu = &cpu, .gpu = &gpu};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Choose, TakesTheFasterOneAndSaysBothTimes) {
  const Choice fast_gpu = choose(candidates, {.cpu_us = 1234, .gpu_us = 56.7});
  EXPECT_EQ(fast_gpu.rung, &gpu);
  EXPECT_LT(fast_gpu.reason.find("0.0567 ms by test/gpu"), fast_gpu.reason.find("1.23 ms by test/cpu"))
      << fast_gpu.reason;
  const Choice fast_cpu = choose(candidates, {.cpu_us = 10, .gpu_us = 60});
  EXPECT_EQ(fast_cpu.rung, &cpu);
  EXPECT_LT(fast_cpu.reason.find("0.01 ms by test/cpu"), fast_cpu.reason.find("0.06 ms by test/gpu"))
      << fast_cpu.reason;
  EXPECT_NE(fast_gpu.reason.find("test/cpu"), std::string::npos);
  EXPECT_NE(fast_cpu.reason.find("test/gpu"), std::string::npos);
}

TEST(Choose, StaysWithTheCpuWhenTimesAreEqualOrUnknown) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(choose(candidates, {.cpu_us = 10, .gpu_us = 10}).rung, &cpu);
  EXPECT_EQ(choose(candidates, {.cpu_us = 10, .gpu_us = nan}).rung, &cpu);
}

TEST(Choose, WithoutAGpuTakesTheCpuAndSaysSo) {
  const Choice choice = choose(candidates, {.cpu_us = 1234, .gpu_us = 56.7, .no_gpu = "no GPU answers"});
  EXPECT_EQ(choice.rung, &cpu);
  for (const char* part : {"no GPU answers", "1.23 ms by test/cpu", "0.0567 ms by test/gpu"})
    EXPECT_TRUE(contains(choice.reason, part)) << choice.reason;
}

TEST(Choose, FallingBackSaysWhatFailed) {
  const Choice choice = fall_back(candidates, {.cpu_us = 1234, .gpu_us = 56.7},
                                  Status::error(StatusCode::out_of_memory, "3 GB were asked for"));
  EXPECT_EQ(choice.rung, &cpu);
  for (const char* part : {"3 GB were asked for", "1.23 ms by test/cpu", "0.0567 ms by test/gpu"})
    EXPECT_TRUE(contains(choice.reason, part)) << choice.reason;
}

/// Would a machine with a GPU take it for this matrix?
bool takes_gpu(const char* family, std::int32_t n, Order order) {
  const auto a = generate(family, {.n = n, .seed = 1});
  EXPECT_TRUE(a.ok()) << a.status().to_string();
  const auto analysis = analyze(*a, {.order = order});
  EXPECT_TRUE(analysis.ok()) << analysis.status().to_string();
  Prospects seen = prospects(analysis->filled, 16);
  EXPECT_GT(seen.cpu_us, 0);
  EXPECT_GT(seen.gpu_us, 0);
  EXPECT_EQ(seen.no_gpu.empty(), simt::machine() == simt::Machine::gpu && simt::device_properties().ok());
  seen.no_gpu.clear();
  return choose(candidates, seen).rung == &gpu;
}

TEST(Prospects, GridsGoToTheGpuChainsAndTinyMatricesToTheCpu) {
  EXPECT_TRUE(takes_gpu("grid2d", 10000, Order::metis));
  EXPECT_TRUE(takes_gpu("grid2d", 10000, Order::amd));
  EXPECT_FALSE(takes_gpu("ladder", 5000, Order::natural));
  EXPECT_FALSE(takes_gpu("random_dominant", 50, Order::amd));
  EXPECT_FALSE(takes_gpu("grid2d", 100, Order::metis));
}

TEST(Prospects, FewerThreadsMakeTheCpuSlower) {
  const auto a = generate("grid2d", {.n = 10000, .seed = 1});
  ASSERT_TRUE(a.ok());
  const auto analysis = analyze(*a, {.order = Order::metis});
  ASSERT_TRUE(analysis.ok());
  EXPECT_LT(prospects(analysis->filled, 16).cpu_us, prospects(analysis->filled, 1).cpu_us);
  EXPECT_EQ(prospects(analysis->filled, 16).gpu_us, prospects(analysis->filled, 1).gpu_us);
}

}  // namespace
}  // namespace lulab::sparse_auto
