#include "model/calibrate.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "testing/device.h"

namespace lulab {
namespace {

TEST(Calibrate, VerifiesEveryKernelAndAnswersPositiveFigures) {
  LULAB_NEED_DEVICE();
  std::vector<std::string> measured;
  const auto c = calibrate([&](std::string_view what) { measured.emplace_back(what); });
  ASSERT_TRUE(c.ok()) << c.status().to_string();
  EXPECT_EQ(measured.size(), 11u);
  EXPECT_EQ(c->measured, simt::machine() == simt::Machine::gpu);
  // Saving fails unless every constant is finite and > 0, so reading back proves that.
  const auto back = constants_from_json(to_json(*c));
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(*back, *c);
  // A hop that also reads a payload costs more than one that does not; half leaves room for noise.
  if (c->measured) {
    EXPECT_GT(c->hop_us, 0.5 * c->flag_hop_us);
  }
}

TEST(Calibrate, ForAChoiceMeasuresHopsAndMultiplyAddsAlone) {
  LULAB_NEED_DEVICE();
  const auto c = calibrate_for_choice();
  ASSERT_TRUE(c.ok()) << c.status().to_string();
  EXPECT_EQ(c->measured, simt::machine() == simt::Machine::gpu);
  EXPECT_GT(c->flag_hop_us, 0);
  EXPECT_GT(c->flops_f64_per_s, 0);
  EXPECT_EQ(c->bandwidth_bytes_per_s, 0);
}

}  // namespace
}  // namespace lulab
