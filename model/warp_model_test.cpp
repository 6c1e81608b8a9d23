#include "model/warp_model.h"

#include <cmath>

#include <gtest/gtest.h>

namespace lulab {
namespace {

// mem_cycle = 600/4 + 200·3/4 = 300, load_bytes = 28/4 · 32 / 4 = 56, MWP = 5.6e10 · 300 / (10 · 1e9 · 56) = 30.
WarpParameters example(double warps, double bandwidth = 5.6e10) {
  WarpParameters p;
  p.global_cycle = 600;
  p.cache_cycle = 200;
  p.miss_rate = 0.25;
  p.comp_cycle = 10;
  p.warps = warps;
  p.peak_bandwidth = bandwidth;
  p.sm_count = 10;
  p.freq = 1e9;
  return p;
}

TEST(WarpModel, Equation1WeighsBothLatencies) { EXPECT_DOUBLE_EQ(mem_cycle(example(1)), 300); }

TEST(WarpModel, Equation3TakesTheMeanOfFourAccesses) {
  EXPECT_DOUBLE_EQ(load_bytes_per_warp(example(1)), 56);
  WarpParameters p = example(1);
  p.value_bytes = 4;
  EXPECT_DOUBLE_EQ(load_bytes_per_warp(p), 32);
}

TEST(WarpModel, Equation2DividesTheBandwidth) {
  EXPECT_DOUBLE_EQ(mwp(example(1)), 30);
  EXPECT_DOUBLE_EQ(mwp(example(1, 2.8e10)), 15);
  WarpParameters p = example(1);
  p.miss_rate = 0;
  EXPECT_TRUE(std::isinf(mwp(p)));
}

TEST(WarpModel, Equation4IsBoundedByTheWarpsThereAre) {
  EXPECT_DOUBLE_EQ(mwp_req(example(20)), 20);
  EXPECT_DOUBLE_EQ(mwp_req(example(64)), 30);
}

TEST(WarpModel, Equation5HidesOnePeriod) { EXPECT_DOUBLE_EQ(warp_exp(example(1)), 31); }

TEST(WarpModel, Equation6CountsInstructionsWhenLatencyIsHidden) {
  EXPECT_EQ(warp_case(example(40)), WarpCase::compute);
  EXPECT_DOUBLE_EQ(cycles_per_warp(example(40), 3), 2 * 10 * 40 + 10 + 300);
}

TEST(WarpModel, Equation7QueuesForTheMemory) {
  EXPECT_EQ(warp_case(example(20, 2.8e10)), WarpCase::bandwidth);
  EXPECT_DOUBLE_EQ(cycles_per_warp(example(20, 2.8e10), 3), 3 * 300 * 20 / 15.0);
  EXPECT_EQ(warp_case(example(40, 2.8e10)), WarpCase::bandwidth);  // with warps enough to hide a latency, too
}

TEST(WarpModel, Equation8WaitsForEveryAccess) {
  EXPECT_EQ(warp_case(example(20)), WarpCase::latency);
  EXPECT_DOUBLE_EQ(cycles_per_warp(example(20), 3), 3 * (10 + 300));
}

TEST(WarpModel, CasesMeetAtTheirBorders) {
  EXPECT_EQ(warp_case(example(30)), WarpCase::latency);
  EXPECT_EQ(warp_case(example(31)), WarpCase::compute);  // MWP = MWP_req = 30: still enough
  EXPECT_DOUBLE_EQ(cycles_per_warp(example(31), 3), cycles_per_warp(example(30), 3));
}

TEST(WarpModel, MissRateUndoesEquation1) {
  EXPECT_DOUBLE_EQ(miss_rate(mem_cycle(example(1)), 200, 600), 0.25);
  EXPECT_EQ(miss_rate(150, 200, 600), 0);
  EXPECT_EQ(miss_rate(900, 200, 600), 1);
  EXPECT_EQ(miss_rate(900, 600, 600), 0);
}

TEST(MissRates, LeaveTheInstructionsOfAPeriodOut) {
  MemoryConstants m;
  m.cache_cycle = 200;
  m.global_cycle = 600;
  EXPECT_EQ(least_period(m), 200);
  m.periods = {{1, 1, 290}, {1, 2, 250}, {1, 4, 450}};  // 50 cycles of instructions
  EXPECT_EQ(least_period(m), 250);
  EXPECT_DOUBLE_EQ(MissRates(m).at(1, 1), 0.1);
  EXPECT_DOUBLE_EQ(MissRates(m).at(1, 2), 0);
  EXPECT_DOUBLE_EQ(MissRates(m).at(1, 4), 0.5);
}

TEST(MissRates, AreInterpolatedBetweenWhatWasMeasured) {
  MemoryConstants m;
  m.cache_cycle = 200;
  m.global_cycle = 600;
  m.periods = {{1, 2, 200}, {1, 8, 400}, {4, 2, 300}, {4, 8, 600}};  // miss rates 0, 1/2, 1/4, 1
  const MissRates rates(m);
  EXPECT_DOUBLE_EQ(rates.at(1, 2), 0);
  EXPECT_DOUBLE_EQ(rates.at(1, 8), 0.5);
  EXPECT_DOUBLE_EQ(rates.at(1, 4), 0.25);    // half way from 2 to 8 in logarithms
  EXPECT_DOUBLE_EQ(rates.at(2, 4), 0.4375);  // half way from 1/4 to (1/4 + 1) / 2
  EXPECT_DOUBLE_EQ(rates.at(0.5, 1), 0);     // the nearest
  EXPECT_DOUBLE_EQ(rates.at(1e12, 1e12), 1);
  EXPECT_EQ(MissRates({}).at(1, 1), 0);
}

}  // namespace
}  // namespace lulab
