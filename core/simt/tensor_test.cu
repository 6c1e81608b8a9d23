// Small products by a warp against the plain sums that their comments name.

#include <cmath>
#include <limits>
#include <random>

#include "core/simt/device_tools.h"
#include "core/simt/tensor.h"
#include "testing/launch.h"

namespace lulab::simt {
namespace {

constexpr int rows = 16;  // of A: the upper eight once more by multiply_add_8x8x4()
constexpr int of_a = rows * 4, of_b = 4 * 8, of_d = (rows + 8) * 8;

/// Each warp: D = C; `times` times D += A · B.
/// a: (warps, rows, 4)   b: (warps, 4, 8)   c, d: (warps, rows + 8, 8), all by rows; D's last eight are those of A's
/// first eight
__global__ void multiply_add_kernel(int times, const double* a, const double* b, const double* c, double* d) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = warp_of_block(), at = 8 * (lane / 4) + 2 * (lane % 4);
  c += of_d * warp + at;
  d += of_d * warp + at;
  a += of_a * warp + 4 * (lane / 4) + lane % 4;
  b += of_b * warp + 8 * (lane % 4) + lane / 4;
  double x[6];
  for (int e = 0; e < 6; ++e) x[e] = c[e / 2 * 64 + e % 2];
  for (int time = 0; time < times; ++time) {
    multiply_add_16x8x4(x[0], x[1], x[2], x[3], a[0], a[4 * 8], b[0]);
    multiply_add_8x8x4(x[4], x[5], a[0], b[0]);
  }
  for (int e = 0; e < 6; ++e) d[e / 2 * 64 + e % 2] = x[e];
}

std::vector<double> random_values(std::size_t count, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(count);
  for (double& v : values) v = uniform(random);
  return values;
}

constexpr int warps = 3;

/// What the kernel leaves for one schedule.
Result<std::vector<double>> products(int times, const std::vector<double>& a, const std::vector<double>& b,
                                     const std::vector<double>& c, std::uint64_t seed) {
  LULAB_ASSIGN_OR_RETURN(auto stream, Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto d_a, DeviceBuffer<double>::create(a, stream));
  LULAB_ASSIGN_OR_RETURN(auto d_b, DeviceBuffer<double>::create(b, stream));
  LULAB_ASSIGN_OR_RETURN(auto d_c, DeviceBuffer<double>::create(c, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return output_of<double>(multiply_add_kernel, {.grid = 1, .block = 32 * warps}, of_d * warps, {.seed = seed}, times,
                           d_a.data(), d_b.data(), d_c.data());
}

// Sums of C and of `times` times four products, each rounded at most twice: (8 · times + 1) · eps · the sum of sizes.
TEST(Tensor, MultiplyAddIsTheProductOfSmallMatrices) {
  LULAB_NEED_DEVICE();
  std::mt19937_64 random(7);
  for (const std::uint64_t seed : all_schedule_seeds())
    for (const int times : {1, 5}) {
      const auto a = random_values(of_a * warps, random), b = random_values(of_b * warps, random),
                 c = random_values(of_d * warps, random);
      const auto d = products(times, a, b, c, seed);
      LULAB_ASSERT_OK(d);
      for (int warp = 0; warp < warps; ++warp)
        for (int i = 0; i < rows + 8; ++i)
          for (int j = 0; j < 8; ++j) {
            const int at = of_d * warp + 8 * i + j;
            double sum = c[at], size = std::abs(c[at]);
            for (int k = 0; k < 4; ++k) {
              const double product = a[of_a * warp + 4 * (i % rows) + k] * b[of_b * warp + 8 * k + j];
              sum += times * product;
              size += times * std::abs(product);
            }
            EXPECT_LE(std::abs((*d)[at] - sum), (8 * times + 1) * std::numeric_limits<double>::epsilon() * size)
                << "warp " << warp << ", entry " << i << " " << j << ", seed " << seed;
          }
    }
}

// Small whole numbers have exact sums in any order.
TEST(Tensor, MultiplyAddOfWholeNumbersIsExact) {
  LULAB_NEED_DEVICE();
  std::mt19937_64 random(8);
  std::vector<double> a(of_a * warps), b(of_b * warps), c(of_d * warps);
  for (auto* values : {&a, &b, &c})
    for (double& v : *values) v = double(random() % 2001) - 1000;
  const auto d = products(1, a, b, c, 1);
  LULAB_ASSERT_OK(d);
  for (int e = 0; e < of_d * warps; ++e) {
    const int warp = e / of_d, i = e / 8 % (rows + 8), j = e % 8;
    double sum = c[e];
    for (int k = 0; k < 4; ++k) sum += a[of_a * warp + 4 * (i % rows) + k] * b[of_b * warp + 8 * k + j];
    EXPECT_EQ((*d)[e], sum) << "warp " << warp << ", entry " << i << " " << j;
  }
}

// A row of A that is not finite spoils its row of D alone, likewise a column of B its column.
TEST(Tensor, WhatIsNotFiniteStaysInItsRowAndColumn) {
  LULAB_NEED_DEVICE();
  std::mt19937_64 random(9);
  auto a = random_values(of_a * warps, random), b = random_values(of_b * warps, random);
  const auto c = random_values(of_d * warps, random);
  a[of_a + 4 * 3 + 2] = a[of_a + 4 * 12 + 1] = std::numeric_limits<double>::infinity();
  b[of_b + 8 * 1 + 6] = std::numeric_limits<double>::quiet_NaN();
  const auto d = products(1, a, b, c, 2);
  LULAB_ASSERT_OK(d);
  for (int e = 0; e < of_d * warps; ++e) {
    const int i = e / 8 % (rows + 8) % rows;
    EXPECT_EQ(std::isfinite((*d)[e]), e / of_d != 1 || (i != 3 && i != 12 && e % 8 != 6)) << e;
  }
}

}  // namespace
}  // namespace lulab::simt
