// Sizes and sums of the probe are those that the host finds.

#include "solve/device_probe.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/matrix/generate.h"
#include "solve/condest.h"
#include "solve/triangular.h"
#include "testing/dense_elimination.h"
#include "testing/device.h"

namespace lulab {
namespace {

constexpr std::int32_t size = simt::race_detection ? 40 : 300;  // a line of so many entries is a block's

template <class T>
class DeviceProbeOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceProbeOf, Scalars);

TYPED_TEST(DeviceProbeOf, MeasuresWhatTheHostMeasures) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  std::vector<CscMatrix<double>> matrices = {testing::random_dominant(1, 0, 1), testing::random_dominant(40, 0.2, 2)};
  for (const char* family : {"dense_row", "dense_column"})
    matrices.push_back(*generate(family, {.n = size, .seed = 3}));
  for (const CscMatrix<double>& a : matrices) {
    const std::int32_t n = a.n_cols;
    const auto f = testing::eliminate_densely<T>(a, testing::random_plan(n, 5));
    const std::vector<double> known = random_vector(n, 6);
    simt::DeviceBuffer<double> d_a;
    simt::DeviceBuffer<T> d_lu;
    LULAB_ASSERT_OK(simt::make(d_a, a.values, *stream));
    LULAB_ASSERT_OK(simt::make(d_lu, f.values, *stream));
    auto solver = DeviceSolver<T>::create(f.filled, f.plan, {.transposed = false}, *stream);
    auto refiner = DeviceRefiner::create(a.pattern().view(), 1, *stream);
    auto probe = DeviceProbe::create(a.pattern().view(), f.plan, known, *stream);
    LULAB_ASSERT_OK(solver);
    LULAB_ASSERT_OK(refiner);
    LULAB_ASSERT_OK(probe);
    LULAB_ASSERT_OK(solver->update(d_lu.data(), *stream));
    LULAB_ASSERT_OK(refiner->update(d_a.data(), *stream));
    LULAB_ASSERT_OK(probe->measure(d_a.data(), *stream));
    const auto sizes = probe->result(*stream);
    LULAB_ASSERT_OK(sizes);
    const auto scaled = scale(a.view(), f.plan.r, f.plan.c);
    double largest = 0;
    for (const double v : scaled.values) largest = std::max(largest, std::abs(v));
    EXPECT_TRUE(std::abs(sizes->max_a - largest) <= 4 * 0x1p-53 * largest) << sizes->max_a;
    const double norm = norm1(scaled);  // n roundings
    EXPECT_TRUE(std::abs(sizes->norm1_a - norm) <= n * 0x1p-52 * norm) << sizes->norm1_a << " " << norm;
    EXPECT_EQ(sizes->residual, 0);
    EXPECT_EQ(sizes->solution, 0);

    LULAB_ASSERT_OK(probe->solve(*solver, *refiner, *stream));
    const auto probed = probe->result(*stream);
    LULAB_ASSERT_OK(probed);
    double solution = 0;
    for (std::int32_t i = 0; i < n; ++i) solution += std::abs(known[i] / f.plan.c[i]);
    const double eps = std::numeric_limits<T>::epsilon();  // 64 of them: the matrices are dominant
    EXPECT_TRUE(std::abs(probed->solution - solution) <= 64 * eps * solution) << probed->solution << " " << solution;
    EXPECT_TRUE(probed->residual <= 64 * eps * norm * solution) << probed->residual;
    if (n > 1) {
      EXPECT_GT(probed->residual, 0);  // a solve of this size has roundings
    }

    const auto refined = probe->refine(*solver, *refiner, *stream);
    LULAB_ASSERT_OK(refined);
    EXPECT_TRUE(refined->converged);
  }
}

TEST(DeviceProbe, TakesOtherScales) {
  LULAB_NEED_DEVICE();
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  const std::int32_t n = 40;
  const auto a = testing::random_dominant(n, 0.2, 2);
  const std::vector<double> known = random_vector(n, 6);
  Plan plan = testing::random_plan(n, 5);
  auto probe = DeviceProbe::create(a.pattern().view(), plan, known, *stream);
  LULAB_ASSERT_OK(probe);
  simt::DeviceBuffer<double> d_a;
  LULAB_ASSERT_OK(simt::make(d_a, a.values, *stream));
  for (std::int32_t i = 0; i < n; ++i) plan.r[i] *= 1 + i % 3, plan.c[i] /= 1 + i % 5;
  LULAB_ASSERT_OK(probe->take_scales(plan, *stream));
  auto fresh = DeviceProbe::create(a.pattern().view(), plan, known, *stream);
  LULAB_ASSERT_OK(fresh);
  const auto f = testing::eliminate_densely<double>(a, plan);
  simt::DeviceBuffer<double> d_lu;
  LULAB_ASSERT_OK(simt::make(d_lu, f.values, *stream));
  auto solver = DeviceSolver<double>::create(f.filled, plan, {}, *stream);
  auto refiner = DeviceRefiner::create(a.pattern().view(), 1, *stream);
  LULAB_ASSERT_OK(solver);
  LULAB_ASSERT_OK(refiner);
  LULAB_ASSERT_OK(solver->update(d_lu.data(), *stream));
  LULAB_ASSERT_OK(refiner->update(d_a.data(), *stream));
  std::vector<ProbeResult> results;
  for (DeviceProbe* of : {&*probe, &*fresh}) {
    LULAB_ASSERT_OK(of->measure(d_a.data(), *stream));
    LULAB_ASSERT_OK(of->solve(*solver, *refiner, *stream));
    const auto result = of->result(*stream);
    LULAB_ASSERT_OK(result);
    results.push_back(*result);
  }
  EXPECT_EQ(results[0].max_a, results[1].max_a);
  EXPECT_EQ(results[0].norm1_a, results[1].norm1_a);
  EXPECT_EQ(results[0].residual, results[1].residual);
  EXPECT_EQ(results[0].solution, results[1].solution);
  EXPECT_TRUE(results[0].max_a > 0 && results[0].solution > 0);
}

TEST(DeviceProbe, ResidualOfWrongFactorsIsTheirDistance) {
  LULAB_NEED_DEVICE();
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  const std::int32_t n = size;
  const auto a = testing::random_dominant(n, 0.05, 2);
  const Plan plan = testing::random_plan(n, 5);
  const auto f = testing::eliminate_densely<double>(a, plan);
  const std::vector<double> known = random_vector(n, 6);
  auto other = a;
  for (double& v : other.values) v *= 1.25;  // the factors stay those of A
  simt::DeviceBuffer<double> d_a, d_lu;
  LULAB_ASSERT_OK(simt::make(d_a, other.values, *stream));
  LULAB_ASSERT_OK(simt::make(d_lu, f.values, *stream));
  auto solver = DeviceSolver<double>::create(f.filled, f.plan, {}, *stream);
  auto refiner = DeviceRefiner::create(a.pattern().view(), 1, *stream);
  auto probe = DeviceProbe::create(a.pattern().view(), plan, known, *stream);
  LULAB_ASSERT_OK(solver);
  LULAB_ASSERT_OK(refiner);
  LULAB_ASSERT_OK(probe);
  LULAB_ASSERT_OK(solver->update(d_lu.data(), *stream));
  LULAB_ASSERT_OK(refiner->update(d_a.data(), *stream));
  LULAB_ASSERT_OK(probe->measure(d_a.data(), *stream));
  LULAB_ASSERT_OK(probe->solve(*solver, *refiner, *stream));
  const auto probed = probe->result(*stream);
  LULAB_ASSERT_OK(probed);
  // y = 1.25 x, b - A y = -0.25 b
  std::vector<double> b(n);
  multiply<double>(other, known, b);
  double residual = 0, solution = 0;
  for (std::int32_t i = 0; i < n; ++i) {
    residual += std::abs(plan.r[i] * b[i]) / 4;
    solution += std::abs(known[i] / plan.c[i]) * 1.25;
  }
  EXPECT_TRUE(std::abs(probed->residual - residual) <= 1e-12 * residual) << probed->residual << " " << residual;
  EXPECT_TRUE(std::abs(probed->solution - solution) <= 1e-12 * solution) << probed->solution << " " << solution;
}

}  // namespace
}  // namespace lulab
