#include "model/cache_probe.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "testing/device.h"
#include "testing/launch.h"

namespace lulab {
namespace {

// The probe compares the result of every kernel with its definition and returns an error if they differ.
TEST(CacheProbe, ComputesTheRightThingUnderEverySchedule) {
  LULAB_NEED_DEVICE();
  for (const auto seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    std::vector<std::string> measured;
    const auto m = probe_caches(tiny_cache_probe_sizes(), [&](std::string_view what) { measured.emplace_back(what); });
    ASSERT_TRUE(m.ok()) << m.status().to_string();
    EXPECT_EQ(measured.size(), 3u);
    ASSERT_EQ(m->periods.size(), 4u);
    EXPECT_EQ(m->periods.back().stride, 4);
    EXPECT_EQ(m->periods.back().warps_per_sm, 2);
    EXPECT_EQ(m->sm_count, 2);
  }
}

TEST(CacheProbe, OnAGpuFindsALadderOfLatencies) {
  LULAB_NEED_DEVICE();
  if (simt::machine() != simt::Machine::gpu) GTEST_SKIP() << "the simulator has no caches";
  const auto device = simt::device_properties();
  ASSERT_TRUE(device.ok()) << device.status().to_string();
  const auto m = probe_caches(cache_probe_sizes(*device));
  ASSERT_TRUE(m.ok()) << m.status().to_string();
  EXPECT_GT(m->cache_cycle, 50);  // L1 would be faster
  EXPECT_GT(m->global_cycle, 1.2 * m->cache_cycle);
  EXPECT_GT(m->clock_ghz, 0.3);
  EXPECT_LT(m->clock_ghz, 5);
}

}  // namespace
}  // namespace lulab
