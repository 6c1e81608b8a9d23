// Scaling by powers of two as the kernels do it gives the bits of the standard functions.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "core/power_of_two.h"
#include "testing/launch.h"

namespace lulab {
namespace {

struct ScaledAndExponent {
  double value;
  int exponent_of_value;
};

__global__ void scale_kernel(const double* values, const int* exponents, int n, ScaledAndExponent* out) {
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
    out[i] = {scaled_by_power_of_two(values[i], exponents[i]), exponent_of(bits_of(values[i]))};
}

TEST(PowerOfTwo, ScalesAndIsFoundAsByLdexpAndFrexp) {
  LULAB_NEED_DEVICE();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> values = {
      0.0, -0.0, infinity, -infinity, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308};
  std::mt19937_64 random(11);
  while (values.size() < 3000) {
    const auto any = std::bit_cast<double>(random());
    if (any == any) values.push_back(any);
  }
  std::vector<int> exponents(values.size());
  std::uniform_int_distribution<int> exponent(-1100, 1100), near(-501, 501);
  for (std::size_t i = 0; i < values.size(); ++i) exponents[i] = i % 2 == 0 ? exponent(random) : near(random);
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  simt::DeviceBuffer<double> d_values;
  simt::DeviceBuffer<int> d_exponents;
  LULAB_ASSERT_OK(simt::make(d_values, values, *stream));
  LULAB_ASSERT_OK(simt::make(d_exponents, exponents, *stream));
  LULAB_ASSERT_OK(stream->wait());
  const auto out =
      simt::output_of<ScaledAndExponent>(scale_kernel, {.grid = 1, .block = 64}, values.size(), {}, d_values.data(),
                                         d_exponents.data(), static_cast<int>(values.size()));
  LULAB_ASSERT_OK(out);
  for (std::size_t i = 0; i < values.size(); ++i) {
    int expected = 0;
    if (std::isfinite(values[i])) (void)std::frexp(values[i], &expected);
    EXPECT_EQ((*out)[i].exponent_of_value, expected) << values[i];
    EXPECT_EQ(std::bit_cast<std::uint64_t>((*out)[i].value),
              std::bit_cast<std::uint64_t>(std::ldexp(values[i], exponents[i])))
        << values[i] << " times 2^" << exponents[i];
  }
}

}  // namespace
}  // namespace lulab
