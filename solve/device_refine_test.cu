// Refinement on the device reaches what the host's does, column by column.

#include "solve/device_refine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "core/matrix/generate.h"
#include "solve/triangular.h"
#include "testing/dense_elimination.h"
#include "testing/launch.h"

namespace lulab {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon() / 2;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int32_t size = simt::race_detection ? 20 : 60;

std::vector<double> random_columns(std::int32_t n, std::int32_t columns, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> v(std::size_t(n) * columns);
  for (double& x : v) x = std::uniform_real_distribution<double>(-1, 1)(random);
  return v;
}

/// The matrix with each entry moved by this much of itself, up or down.
CscMatrix<double> nearby(const CscMatrix<double>& a, double distance, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  CscMatrix<double> moved = a;
  for (double& v : moved.values) v *= 1 + distance * (random() % 2 ? 1 : -1);
  return moved;
}

/// Rows times powers of ten, and two rows that are nearly the same: condition of about 1e10 and more.
CscMatrix<double> ill_conditioned(std::int32_t n, std::uint64_t seed) {
  CscMatrix<double> a = testing::random_dominant(n, 1.0, seed);
  for (std::int32_t j = 0; j < n; ++j) {
    a.values[a.col_ptr[j] + 1] = a.values[a.col_ptr[j]] * (1 + 1e-7 * (j % 3 - 1));
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) a.values[k] *= std::pow(10.0, a.row_idx[k] % 7 - 3);
  }
  return a;
}

/// A, b and factors on the device, and x.
template <class T>
struct Device {
  std::optional<simt::Stream> stream;
  simt::DeviceBuffer<T> d_values;
  simt::DeviceBuffer<double> d_a, d_b, d_x, d_r;
  std::optional<DeviceSolver<T>> solver;
  std::optional<DeviceRefiner> refiner;
  std::int32_t columns = 1;

  Status start(const CscMatrix<double>& a, const Factors<T>& f, const std::vector<double>& b, std::int32_t columns_of_b,
               const DeviceSolverOptions& options = {}) {
    columns = columns_of_b;
    LULAB_ASSIGN_OR_RETURN(stream, simt::Stream::create());
    DeviceSolverOptions chosen = options;
    chosen.max_columns = columns;
    LULAB_ASSIGN_OR_RETURN(solver, DeviceSolver<T>::create(f.filled, f.plan, chosen, *stream));
    LULAB_ASSIGN_OR_RETURN(refiner, DeviceRefiner::create(a.pattern().view(), columns, *stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_values, f.values, *stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_a, a.values, *stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_b, b, *stream));
    for (auto* buffer : {&d_x, &d_r}) {
      LULAB_RETURN_IF_ERROR(simt::make(*buffer, static_cast<std::int64_t>(b.size())));
      LULAB_RETURN_IF_ERROR(buffer->fill_bytes(0xFF, *stream));
    }
    LULAB_RETURN_IF_ERROR(solver->update(d_values.data(), *stream));
    LULAB_RETURN_IF_ERROR(refiner->update(d_a.data(), *stream));
    return stream->wait();
  }
  Status solve() {
    LULAB_RETURN_IF_ERROR(solver->solve(d_b.data(), d_x.data(), columns, *stream));
    return solver->wait(*stream);
  }
  Result<std::vector<Refinement>> refine(int max_iterations = 10) {
    return refiner->refine(*solver, d_b.data(), d_x.data(), columns, *stream, {RefinementRule::eps, max_iterations});
  }
  std::vector<double> x() {
    std::vector<double> host(d_x.size(), nan);
    EXPECT_TRUE(d_x.download(host, *stream).ok());
    EXPECT_TRUE(stream->wait().ok());
    return host;
  }
};

template <class T>
class DeviceRefineOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceRefineOf, Scalars);

TYPED_TEST(DeviceRefineOf, ReachesDoubleAccuracyFromFactorsOfANearbyMatrix) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const std::int32_t n = size;
  for (const SolveMethod method : solve_methods)
    for (const std::uint64_t seed : {1, 2, 3})
      for (const std::int32_t columns : {1, 3, 9}) {
        if (simt::instrumented && static_cast<int>(seed) != (columns + 2) / 4 + 1) continue;  // each columns once
        const simt::SimulatorScope scope({.seed = seed});
        const auto a = testing::random_dominant(n, 0.1, seed);
        const auto f = testing::eliminate_densely<T>(nearby(a, 1e-3, seed), testing::random_plan(n, seed));
        const auto b = random_columns(n, columns, seed);
        Device<T> device;
        LULAB_ASSERT_OK(device.start(a, f, b, columns, {.method = method}));
        LULAB_ASSERT_OK(device.solve());
        const auto before = device.x();
        const auto refined = device.refine();
        LULAB_ASSERT_OK(refined);
        const auto x = device.x();
        for (std::int32_t c = 0; c < columns; ++c) {
          const auto column = [&](const std::vector<double>& v) {
            return std::span<const double>(v).subspan(std::size_t(c) * n, n);
          };
          EXPECT_GE(componentwise_backward_error(a, column(before), column(b)), 1e-5);  // there is something to refine
          const double error = componentwise_backward_error(a, column(x), column(b));
          EXPECT_TRUE(error <= 2 * eps) << error;  // x itself is rounded to double
          EXPECT_TRUE((*refined)[c].converged);
          EXPECT_GE((*refined)[c].iterations, 2);
          // The sums of both are rounded otherwise: an eps of the denominator.
          EXPECT_TRUE(std::abs((*refined)[c].backward_error - error) <= 1e-3 * eps) << error;
        }
      }
}

TYPED_TEST(DeviceRefineOf, ReachesItOnAnIllConditionedMatrixAsTheHostDoes) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const std::int32_t n = size;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto a = ill_conditioned(n, seed);
    Plan plan = testing::random_plan(n, seed);
    for (std::int32_t i = 0; i < n; ++i)
      plan.r[i] = std::ldexp(1.0, -static_cast<int>(std::lround(3.32 * (i % 7 - 3))));
    const auto f = testing::eliminate_densely<T>(a, plan);
    const auto b = random_columns(n, 2, seed);
    Device<T> device;
    LULAB_ASSERT_OK(device.start(a, f, b, 2));
    LULAB_ASSERT_OK(device.solve());
    const auto refined = device.refine();
    LULAB_ASSERT_OK(refined);
    const auto x = device.x();
    for (std::int32_t c = 0; c < 2; ++c) {
      const auto b_c = std::span<const double>(b).subspan(std::size_t(c) * n, n);
      std::vector<double> host(n);
      ASSERT_TRUE(solve_mixed<T>(f, b_c, host).ok());
      const auto on_host = refine<T>(a, f, b_c, host);
      ASSERT_TRUE(on_host.ok());
      EXPECT_EQ((*refined)[c].converged, on_host->converged);
      if (std::is_same_v<T, double>) {
        EXPECT_TRUE(on_host->converged);
        EXPECT_GT(std::abs(*std::max_element(host.begin(), host.end())), 1e4);  // b is below 1: ill-conditioned indeed
        const double error =
            componentwise_backward_error(a, std::span<const double>(x).subspan(std::size_t(c) * n, n), b_c);
        EXPECT_TRUE(error <= 1e-15) << error;
      }
    }
  }
}

TEST(DeviceRefine, ResidualAndErrorsAreThoseOfTheHost) {
  LULAB_NEED_DEVICE();
  for (const double density : {0.0, 0.05, 0.3, 1.0})  // one lane a row, several, a warp
    for (const std::uint64_t seed : {1, 2}) {
      const simt::SimulatorScope scope({.seed = seed});
      const std::int32_t n = size + 3, columns = 2;
      const auto a = testing::random_dominant(n, density, seed);
      auto f = testing::eliminate_densely<double>(a, Plan::identity(n));
      auto b = random_columns(n, columns, seed);
      const auto x = random_columns(n, columns, seed + 10);
      std::vector<double> near_b(n);
      residual(a, std::span(x).subspan(0, n), std::vector<double>(n, 0.0), near_b);
      for (std::int32_t i = 0; i < n; ++i) b[i] = -near_b[i];  // r = what b was rounded by
      Device<double> device;
      LULAB_ASSERT_OK(device.start(a, f, b, columns));
      LULAB_ASSERT_OK(device.d_x.upload(x, *device.stream));
      const auto errors =
          device.refiner->residual(device.d_x.data(), device.d_b.data(), device.d_r.data(), columns, *device.stream);
      LULAB_ASSERT_OK(errors);
      std::vector<double> r(x.size(), nan);
      LULAB_ASSERT_OK(device.d_r.download(r, *device.stream));
      LULAB_ASSERT_OK(device.stream->wait());
      for (std::int32_t c = 0; c < columns; ++c) {
        const auto x_c = std::span(x).subspan(std::size_t(c) * n, n);
        const auto b_c = std::span<const double>(b).subspan(std::size_t(c) * n, n);
        std::vector<double> expected(n);
        residual(a, x_c, b_c, expected);
        for (std::int32_t i = 0; i < n; ++i)  // tol = what twice double leaves: n eps^2 n max |A|, far below eps
          EXPECT_TRUE(std::abs(r[i + std::size_t(c) * n] - expected[i]) <= 1e-26 + eps * std::abs(expected[i])) << i;
        const BackwardErrors host = backward_errors(a, x_c, b_c);
        EXPECT_TRUE(std::abs((*errors)[c].componentwise - host.componentwise) <= 1e-12 * host.componentwise + 1e-26);
        EXPECT_TRUE(std::abs((*errors)[c].omega1 - host.omega1) <= 1e-12 * host.omega1 + 1e-26);
        EXPECT_TRUE(std::abs((*errors)[c].omega2 - host.omega2) <= 1e-12 * host.omega2 + 1e-26);
      }
      EXPECT_LE((*errors)[0].componentwise, eps);
      EXPECT_GT((*errors)[1].componentwise, 1e-3);
    }
}

// A row of hundreds of entries among short ones is a block's; of the transpose it is a column.
TEST(DeviceRefine, LongRowsAndTransposesAreLikeTheHosts) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = simt::race_detection ? 40 : 600, columns = 2;
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  for (const char* family : {"dense_row", "dense_column"})
    for (const bool transposed : {false, true}) {
      const auto a = *generate(family, {.n = n, .seed = 4});
      const auto of = transposed ? transpose(a.view()) : a;
      const auto b = random_columns(n, columns, 1), x = random_columns(n, columns, 2);
      simt::DeviceBuffer<double> d_a, d_b, d_x, d_r;
      LULAB_ASSERT_OK(simt::make(d_a, a.values, *stream));
      LULAB_ASSERT_OK(simt::make(d_b, b, *stream));
      LULAB_ASSERT_OK(simt::make(d_x, x, *stream));
      LULAB_ASSERT_OK(simt::make(d_r, n * columns));
      auto refiner = DeviceRefiner::create(a.pattern().view(), columns, *stream, transposed);
      LULAB_ASSERT_OK(refiner);
      LULAB_ASSERT_OK(refiner->update(d_a.data(), *stream));
      for (const bool has_b : {true, false}) {
        LULAB_ASSERT_OK(d_r.fill_bytes(0xFF, *stream));
        if (has_b) {
          const auto errors = refiner->residual(d_x.data(), d_b.data(), d_r.data(), columns, *stream);
          LULAB_ASSERT_OK(errors);
          for (std::int32_t c = 0; c < columns; ++c) {
            const auto host = backward_errors(of, std::span(x).subspan(c * n, n), std::span(b).subspan(c * n, n));
            EXPECT_TRUE(std::abs((*errors)[c].componentwise - host.componentwise) <= 1e-12 * host.componentwise);
            EXPECT_TRUE(std::abs((*errors)[c].sum() - host.sum()) <= 1e-12 * host.sum());
          }
        } else {
          LULAB_ASSERT_OK(refiner->enqueue_residual(d_x.data(), nullptr, d_r.data(), columns, *stream));
        }
        std::vector<double> r(x.size(), nan), expected(n);
        LULAB_ASSERT_OK(d_r.download(r, *stream));
        LULAB_ASSERT_OK(stream->wait());
        for (std::int32_t c = 0; c < columns; ++c) {
          const std::vector<double> none(n, 0.0);
          residual(of, std::span(x).subspan(c * n, n), has_b ? std::span(b).subspan(c * n, n) : std::span(none),
                   expected);
          for (std::int32_t i = 0; i < n;
               ++i)  // what twice double leaves of sums of n terms below 10, and one rounding
            ASSERT_TRUE(std::abs(r[c * n + i] - expected[i]) <= 1e-26 + 2 * eps * std::abs(expected[i])) << i;
        }
      }
    }
}

TEST(DeviceRefine, ARowThatIsNearlyNothingCountsAsOmega2) {
  LULAB_NEED_DEVICE();
  CscMatrix<double> a = testing::random_dominant(5, 1.0, 3);
  const auto f = testing::eliminate_densely<double>(a, Plan::identity(5));
  std::vector<double> b(5, 0.0), x = {0, 1, 0, 0, 0};
  a.values[a.col_ptr[1] + 3] = 1e-30;  // row 3: |A||x| + |b| is far below its size
  for (std::int32_t i = 0; i < 5; ++i) b[i] = i == 3 ? 0 : a.values[a.col_ptr[1] + i];
  Device<double> device;
  LULAB_ASSERT_OK(device.start(a, f, b, 1));
  LULAB_ASSERT_OK(device.d_x.upload(x, *device.stream));
  const auto errors =
      device.refiner->residual(device.d_x.data(), device.d_b.data(), device.d_r.data(), 1, *device.stream);
  LULAB_ASSERT_OK(errors);
  const BackwardErrors host = backward_errors(a, x, b);
  EXPECT_GT(host.omega2, 0);
  EXPECT_EQ((*errors)[0].omega2, host.omega2);
  EXPECT_EQ((*errors)[0].omega1, 0);
  EXPECT_EQ((*errors)[0].componentwise, 1);
}

TEST(DeviceRefine, SizesThatOverflowAreJudgedAsOnTheHost) {
  LULAB_NEED_DEVICE();
  CscMatrix<double> a;  // [[1e-30,1],[1,1]]·1e160 and 2
  a.n_rows = a.n_cols = 3;
  a.col_ptr = {0, 2, 4, 5};
  a.row_idx = {0, 1, 0, 1, 2};
  a.values = {1e130, 1e160, 1e160, 1e160, 2};
  const std::vector<double> x = {0,     1e147, 1e150, 1e147, 1e147, 1e150,    // wrong and right beside a large unknown
                                 1e147, 1e147, 8e307, 1e147, 1e147, 8.5e307,  // |A||x| + |b| overflows: wrong and right
                                 1e150, 1e147, 1e150, 1e147, 1e147, 1e308};   // |A||x| overflows
  std::vector<double> b;
  for (const double last : {2e150, 2e150, 1.7e308, 1.7e308, 2e150, 1e150})
    for (const double v : {1e307, 2e307, last}) b.push_back(v);
  Device<double> device;
  LULAB_ASSERT_OK(device.start(a, testing::eliminate_densely<double>(a, Plan::identity(3)), b, 6));
  LULAB_ASSERT_OK(device.d_x.upload(x, *device.stream));
  const auto errors =
      device.refiner->residual(device.d_x.data(), device.d_b.data(), device.d_r.data(), 6, *device.stream);
  LULAB_ASSERT_OK(errors);
  for (std::int32_t c = 0; c < 6; ++c) {
    const BackwardErrors host = backward_errors(a, std::span(x).subspan(3 * c, 3), std::span(b).subspan(3 * c, 3));
    const auto same = [](double p, double q) { return p == q || (std::isnan(p) && std::isnan(q)); };
    EXPECT_TRUE(same((*errors)[c].omega1, host.omega1)) << c << " " << (*errors)[c].omega1 << " " << host.omega1;
    EXPECT_TRUE(same((*errors)[c].omega2, host.omega2)) << c << " " << (*errors)[c].omega2 << " " << host.omega2;
    EXPECT_TRUE(same((*errors)[c].componentwise, host.componentwise)) << c;
    EXPECT_EQ(host.sum() <= 2 * eps, c == 1 || c == 3) << c << " " << host.sum();
  }
}

TEST(DeviceRefine, StopsWhereStepsMakeItWorse) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 20;
  const auto a = testing::random_dominant(n, 0.2, 4);
  auto other = a;
  for (double& v : other.values) v *= -0.2;  // corrections point away from the solution
  const auto f = testing::eliminate_densely<double>(other, Plan::identity(n));
  const auto b = random_columns(n, 2, 1);
  Device<double> device;
  LULAB_ASSERT_OK(device.start(a, f, b, 2));
  LULAB_ASSERT_OK(device.d_x.upload(random_columns(n, 2, 2), *device.stream));
  const auto refined = device.refine();
  LULAB_ASSERT_OK(refined);
  const auto x = device.x();
  for (const std::size_t c : {0, 1}) {
    EXPECT_FALSE((*refined)[c].converged);
    EXPECT_GE((*refined)[c].iterations, RefinementRule::forgiven);      // these are kept,
    EXPECT_LE((*refined)[c].iterations, RefinementRule::forgiven + 1);  // and a third may gain a little
    const double omega = backward_errors(a, std::span(x).subspan(c * n, n), std::span(b).subspan(c * n, n)).sum();
    EXPECT_NEAR((*refined)[c].omega / omega, 1, 1e-12);  // of the x returned
  }
}

// Where x is worse only in one column, the others get theirs.
TEST(DeviceRefine, StopsForTheColumnThatStepsMakeWorse) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 20;
  auto a = testing::random_dominant(n, 0.4, 4);
  auto other = a;
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {  // two blocks, the factors of the first one wrong
      if ((a.row_idx[k] < n / 2) != (j < n / 2)) a.values[k] = other.values[k] = 0;
      other.values[k] *= j < n / 2 ? -0.2 : 1.001;
    }
  auto b = random_columns(n, 3, 1), before = random_columns(n, 3, 2);
  for (std::int32_t i = 0; i < n; ++i)
    for (const std::int32_t c : {0, 1, 2})
      if ((i < n / 2) != (c == 1)) b[i + c * n] = before[i + c * n] = 0;
  Device<double> device;
  LULAB_ASSERT_OK(device.start(a, testing::eliminate_densely<double>(other, Plan::identity(n)), b, 3));
  LULAB_ASSERT_OK(device.d_x.upload(before, *device.stream));
  const auto refined = device.refine();
  LULAB_ASSERT_OK(refined);
  const auto x = device.x();
  EXPECT_FALSE((*refined)[1].converged);
  EXPECT_GE((*refined)[1].iterations, RefinementRule::forgiven);
  EXPECT_LE((*refined)[1].iterations, RefinementRule::forgiven + 1);
  const double omega = backward_errors(a, std::span(x).subspan(n, n), std::span(b).subspan(n, n)).sum();
  EXPECT_NEAR((*refined)[1].omega / omega, 1, 1e-12);  // of the x returned
  for (const int c : {0, 2}) {
    EXPECT_TRUE((*refined)[c].converged) << c;
    EXPECT_GE((*refined)[c].iterations, 3);
  }
}

TEST(DeviceRefine, StopsAfterStepsThatGainLessThanATenth) {
  LULAB_NEED_DEVICE();
  const auto a = testing::random_dominant(12, 0.3, 4);
  auto larger = a;
  for (double& v : larger.values) v *= 20;  // a twentieth of each correction
  const auto f = testing::eliminate_densely<double>(larger, Plan::identity(12));
  const auto b = random_columns(12, 1, 1);
  std::vector<double> host(12, 0.0);
  const auto on_host = refine<double>(a, f, b, host);
  Device<double> device;
  LULAB_ASSERT_OK(device.start(a, f, b, 1));
  LULAB_ASSERT_OK(device.d_x.upload(std::vector<double>(12, 0.0), *device.stream));
  const auto refined = device.refine();
  LULAB_ASSERT_OK(refined);
  ASSERT_TRUE(on_host.ok());
  EXPECT_EQ(on_host->iterations, RefinementRule::forgiven + 1);
  EXPECT_EQ((*refined)[0].iterations, RefinementRule::forgiven + 1);
  EXPECT_FALSE((*refined)[0].converged);
}

// One column is exact already, one is not a number, one needs several steps: none looks at another.
TEST(DeviceRefine, EachColumnEndsByItself) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 24;
  const auto a = testing::random_dominant(n, 0.2, 4);
  const auto f = testing::eliminate_densely<double>(nearby(a, 1e-2, 4), testing::random_plan(n, 4));
  auto b = random_columns(n, 4, 1);
  for (std::int32_t i = 0; i < n; ++i) b[i] = 0;
  b[n + 3] = nan;
  Device<double> device;
  LULAB_ASSERT_OK(device.start(a, f, b, 4));
  std::vector<double> x(b.size(), 0.0);
  for (std::int32_t i = 0; i < n; ++i) x[n + i] = i == 5 ? nan : 1;
  LULAB_ASSERT_OK(device.d_x.upload(x, *device.stream));
  const auto refined = device.refine();
  LULAB_ASSERT_OK(refined);
  EXPECT_TRUE((*refined)[0].converged);
  EXPECT_EQ((*refined)[0].iterations, 0);
  EXPECT_FALSE((*refined)[1].converged);
  EXPECT_FALSE((*refined)[1].backward_error <= 1);
  const auto got = device.x();
  for (std::int32_t i = 0; i < n; ++i) {
    EXPECT_EQ(got[i], 0);
    if (i != 5) {
      EXPECT_EQ(got[n + i], 1);
    }
  }
  for (const int c : {2, 3}) {
    EXPECT_TRUE((*refined)[c].converged);
    EXPECT_GE((*refined)[c].iterations, 3);
  }
}

TEST(DeviceRefine, TakesNoMoreStepsThanAllowed) {
  LULAB_NEED_DEVICE();
  const auto a = testing::random_dominant(12, 0.3, 4);
  const auto f = testing::eliminate_densely<double>(nearby(a, 1e-2, 4), Plan::identity(12));
  Device<double> device;
  LULAB_ASSERT_OK(device.start(a, f, random_columns(12, 1, 1), 1));
  LULAB_ASSERT_OK(device.solve());
  const auto first = device.x();
  const auto none = device.refine(0);
  LULAB_ASSERT_OK(none);
  EXPECT_EQ((*none)[0].iterations, 0);
  EXPECT_EQ(device.x(), first);
  const auto one = device.refine(1);
  LULAB_ASSERT_OK(one);
  EXPECT_EQ((*one)[0].iterations, 1);
  EXPECT_LT((*one)[0].omega, (*none)[0].omega);
}

TEST(DeviceRefine, RefusesWhatDoesNotFit) {
  LULAB_NEED_DEVICE();
  const auto a = testing::random_dominant(6, 0.4, 1);
  auto f = testing::eliminate_densely<double>(a, Plan::identity(6));
  Device<double> device;
  LULAB_ASSERT_OK(device.start(a, f, random_columns(6, 2, 1), 2));
  simt::Stream& stream = *device.stream;
  const auto code = [&](DeviceRefiner& refiner, std::int32_t columns) {
    return refiner.refine(*device.solver, device.d_b.data(), device.d_x.data(), columns, stream).status().code;
  };
  for (const std::int32_t columns : {0, 3}) {
    EXPECT_EQ(code(*device.refiner, columns), StatusCode::invalid_argument);
    EXPECT_EQ(device.refiner->residual(device.d_x.data(), device.d_b.data(), device.d_r.data(), columns, stream)
                  .status()
                  .code,
              StatusCode::invalid_argument);
  }
  auto without_values = DeviceRefiner::create(a.pattern().view(), 2, stream);
  LULAB_ASSERT_OK(without_values);
  EXPECT_EQ(code(*without_values, 1), StatusCode::invalid_argument);
  auto smaller = DeviceRefiner::create(testing::random_dominant(5, 0.4, 1).pattern().view(), 9, stream);
  LULAB_ASSERT_OK(smaller);
  LULAB_ASSERT_OK(smaller->update(device.d_a.data(), stream));
  EXPECT_EQ(code(*smaller, 1), StatusCode::invalid_argument);
  auto wider = DeviceRefiner::create(a.pattern().view(), 9, stream);
  LULAB_ASSERT_OK(wider);
  LULAB_ASSERT_OK(wider->update(device.d_a.data(), stream));
  EXPECT_EQ(code(*wider, 3), StatusCode::invalid_argument);  // more than the solver takes
  CscPatternView oblong = a.pattern().view();
  oblong.n_rows = 7;
  EXPECT_EQ(DeviceRefiner::create(oblong, 1, stream).status().code, StatusCode::invalid_argument);
  EXPECT_EQ(DeviceRefiner::create(a.pattern().view(), 0, stream).status().code, StatusCode::invalid_argument);
  EXPECT_GE(device.refiner->bytes(), 20 * a.nnz());

  f.values[f.filled.diag[4]] = 0;
  LULAB_ASSERT_OK(device.d_values.upload(f.values, stream));
  LULAB_ASSERT_OK(device.solver->update(device.d_values.data(), stream));
  EXPECT_EQ(code(*device.refiner, 1), StatusCode::numerically_singular);
}

TEST(DeviceRefine, OfNothingConverges) {
  LULAB_NEED_DEVICE();
  Device<double> device;
  LULAB_ASSERT_OK(device.start({}, {}, {}, 1));
  const auto refined = device.refine();
  LULAB_ASSERT_OK(refined);
  EXPECT_TRUE((*refined)[0].converged);
}

}  // namespace
}  // namespace lulab
