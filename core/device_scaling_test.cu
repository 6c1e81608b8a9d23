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

TYPED_TEST(DeviceScalingOf, RoundsOnceAndInTheOrderOfTheHost) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  constexpr std::int32_t systems = 3;
  const auto a = *generate("power_grid", {.n = 40, .seed = 5});
  std::mt19937_64 random(7);
  const auto any = [&](int exponents) {
    const int exponent = static_cast<int>(random() % (2 * exponents)) - exponents;
    return std::ldexp(std::uniform_real_distribution<double>(0.5, 1)(random), exponent);
  };
  Analysis analysis;
  analysis.a = a.pattern();
  analysis.plan = Plan::identity(a.n_cols);
  for (double& r : analysis.plan.r) r = any(500);  // r · c is out of the range of double
  for (double& c : analysis.plan.c) c = any(900);
  std::vector<double> values(a.nnz() * systems);
  for (double& v : values) v = (random() % 2 == 0 ? -1 : 1) * any(200);
  values[3] = std::numeric_limits<double>::quiet_NaN();

  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  simt::DeviceBuffer<double> d_values;
  LULAB_ASSERT_OK(simt::make(d_values, values, *stream));
  auto scaling = DeviceScaling<T>::create(analysis, systems, *stream);
  LULAB_ASSERT_OK(scaling);
  LULAB_ASSERT_OK(scaling->scale(d_values.data(), *stream));
  std::vector<T> scaled(values.size(), T(-77));
  LULAB_ASSERT_OK(simt::copy_to_host(scaled.data(), scaling->scaled(), scaled.size() * sizeof(T), *stream));
  LULAB_ASSERT_OK(stream->wait());

  int ordinary = 0, infinite = 0;
  for (std::int32_t s = 0; s < systems; ++s)
    for (std::int32_t j = 0; j < a.n_cols; ++j)
      for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
        const std::int64_t v = s * a.nnz() + k;
        const auto expected = static_cast<T>(analysis.plan.r[a.row_idx[k]] * values[v] * analysis.plan.c[j]);
        if (std::isnan(expected))
          ASSERT_TRUE(std::isnan(scaled[v])) << v;
        else
          ASSERT_EQ(scaled[v], expected) << v;
        ordinary += std::isnormal(expected);
        infinite += std::isinf(expected);
      }
  EXPECT_GT(ordinary, 10);
  EXPECT_GT(infinite, 10);
}

TEST(DeviceScaling, OfNothingScalesNothing) {
  LULAB_NEED_DEVICE();
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  auto scaling = DeviceScaling<float>::create(Analysis{}, 1, *stream);
  LULAB_ASSERT_OK(scaling);
  LULAB_ASSERT_OK(scaling->scale(nullptr, *stream));
}

}  // namespace
}  // namespace lulab
