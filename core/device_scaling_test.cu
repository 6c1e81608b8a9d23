// R·A·C on the device has the bits of R·A·C on the host.

#include "core/device_scaling.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/matrix/generate.h"
#include "testing/device.h"

namespace lulab {
namespace {

template <class T>
class DeviceScalingOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceScalingOf, Scalars);

/// In [0.5, 1) · 2^e, -exponents <= e < exponents.
double any(std::mt19937_64& random, int exponents) {
  const int exponent = static_cast<int>(random() % (2 * exponents)) - exponents;
  return std::ldexp(std::uniform_real_distribution<double>(0.5, 1)(random), exponent);
}

struct Scaled {
  int ordinary = 0, infinite = 0;
};
/// Expects the bits of the host, of several systems.
template <class T>
Scaled expect_scaled_as_on_the_host(DeviceScaling<T>& scaling, const CscPattern& a, const Plan& plan,
                                    const std::vector<double>& values, simt::Stream& stream) {
  Scaled seen;
  simt::DeviceBuffer<double> d_values;
  EXPECT_TRUE(simt::make(d_values, values, stream).ok());
  EXPECT_TRUE(scaling.scale(d_values.data(), stream).ok());
  std::vector<T> scaled(values.size(), T(-77));
  EXPECT_TRUE(simt::copy_to_host(scaled.data(), scaling.scaled(), scaled.size() * sizeof(T), stream).ok());
  EXPECT_TRUE(stream.wait().ok());
  for (std::size_t first = 0; first < values.size(); first += a.nnz())
    for (std::int32_t j = 0; j < a.n_cols; ++j)
      for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
        const std::size_t v = first + k;
        const auto expected = static_cast<T>(plan.r[a.row_idx[k]] * values[v] * plan.c[j]);
        EXPECT_TRUE(scaled[v] == expected || (std::isnan(expected) && std::isnan(scaled[v])))
            << v << ": " << scaled[v] << " for " << expected;
        seen.ordinary += std::isnormal(expected);
        seen.infinite += std::isinf(expected);
      }
  return seen;
}

TYPED_TEST(DeviceScalingOf, RoundsOnceAndInTheOrderOfTheHostAlsoByScalesThatItTakesLater) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  constexpr std::int32_t systems = 3;
  const auto a = *generate("power_grid", {.n = 40, .seed = 5});
  std::mt19937_64 random(7);
  Analysis analysis;
  analysis.a = a.pattern();
  analysis.plan = Plan::identity(a.n_cols);
  const auto draw_scales = [&] {
    for (double& r : analysis.plan.r) r = any(random, 500);  // r · c is out of the range of double
    for (double& c : analysis.plan.c) c = any(random, 900);
  };
  draw_scales();
  std::vector<double> values(a.nnz() * systems);
  for (double& v : values) v = (random() % 2 == 0 ? -1 : 1) * any(random, 200);
  values[3] = std::numeric_limits<double>::quiet_NaN();

  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  auto scaling = DeviceScaling<T>::create(analysis, systems, *stream);
  LULAB_ASSERT_OK(scaling);
  for (int round = 0; round < 3; ++round) {
    const Scaled seen = expect_scaled_as_on_the_host(*scaling, analysis.a, analysis.plan, values, *stream);
    EXPECT_GT(seen.ordinary, 10);
    EXPECT_GT(seen.infinite, 10);
    draw_scales();
    LULAB_ASSERT_OK(scaling->take_scales(analysis.plan, *stream));
  }
}

TEST(DeviceScaling, OfNothingScalesNothing) {
  LULAB_NEED_DEVICE();
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  auto scaling = DeviceScaling<float>::create(Analysis{}, 1, *stream);
  LULAB_ASSERT_OK(scaling);
  LULAB_ASSERT_OK(scaling->take_scales({}, *stream));
  LULAB_ASSERT_OK(scaling->scale(nullptr, *stream));
}

}  // namespace
}  // namespace lulab
