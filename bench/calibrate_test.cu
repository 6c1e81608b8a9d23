#include "bench/calibrate.h"

#include <cstdlib>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/simt/device.h"

namespace lulab::bench {
namespace {

TEST(Calibrate, VerifiesEveryKernelAndAnswersPositiveFigures) {
  const auto device = simt::device_properties();
  if (!device.ok()) {
    const char* required = std::getenv("LULAB_REQUIRE_GPU");
    if (required != nullptr && std::string_view(required) == "1") FAIL() << device.status().to_string();
    GTEST_SKIP() << device.status().to_string();
  }
  std::vector<std::string> measured;
  const auto c = calibrate([&](std::string_view what) { measured.emplace_back(what); });
  ASSERT_TRUE(c.ok()) << c.status().to_string();
  EXPECT_EQ(measured.size(), 8u);
  EXPECT_EQ(c->measured, simt::machine() == simt::Machine::gpu);
  // Saving refuses what is not > 0 and finite, so reading back proves that every figure is.
  const auto back = constants_from_json(to_json(*c));
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(*back, *c);
  // A hop that also reads a payload costs more than one that does not; half leaves room for noise.
  if (c->measured) {
    EXPECT_GT(c->hop_us, 0.5 * c->flag_hop_us);
  }
}

}  // namespace
}  // namespace lulab::bench
