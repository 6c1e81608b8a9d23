#include "model/dense_limits.h"

#include <gtest/gtest.h>

namespace lulab {
namespace {

// 1 flop/s outside tensor cores, 1 byte/s, 1 s per hop.
DeviceConstants constants_of_one() {
  DeviceConstants c;
  c.bandwidth_bytes_per_s = c.flops_f64_per_s = c.flops_f32_per_s = 1;
  c.flag_hop_us = 1e6;
  return c;
}

TEST(DenseLimits, AreTheArithmeticDoneByHand) {
  EXPECT_DOUBLE_EQ(dense_flops({12, 1}), 1152);
  EXPECT_DOUBLE_EQ(dense_flops({12, 10}), 11520);

  const DenseBound large = dense_bound({300, 1}, Scalar::f32, true, constants_of_one());
  EXPECT_EQ(large.by, Bound::flops);
  EXPECT_DOUBLE_EQ(large.ms, 2.0 / 3 * 300 * 300 * 300 * 1e3);
  EXPECT_DOUBLE_EQ(dense_bound({300, 1}, Scalar::f64, true, constants_of_one()).ms, large.ms / 2);

  const DenseBound batch = dense_bound({6, 10}, Scalar::f32, true, constants_of_one());
  EXPECT_EQ(batch.by, Bound::bytes);  // 2 · 4 · 36 · 10 bytes against 144 · 10 flops
  EXPECT_DOUBLE_EQ(batch.ms, 2880e3);
}

TEST(DenseLimits, TheChainOfPivotsIsAHopAColumnAndVanishesInABatch) {
  DeviceConstants c = constants_of_one();
  c.bandwidth_bytes_per_s = c.flops_f64_per_s = 1e30;
  const DenseBound pivoted = dense_bound({256, 1}, Scalar::f64, true, c);
  EXPECT_EQ(pivoted.by, Bound::chain);
  EXPECT_DOUBLE_EQ(pivoted.ms, 256e3);
  EXPECT_DOUBLE_EQ(dense_bound({256, 1}, Scalar::f64, false, c).ms, 2e3);
  EXPECT_LT(dense_bound({256, 100}, Scalar::f64, true, c).ms, 1);
}

}  // namespace
}  // namespace lulab
