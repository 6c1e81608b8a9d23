// Solves on the device equal the sequential ones, whatever the schedule, and say what is wrong with values.

#include "solve/device_solver.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "solve/solve_row.h"
#include "solve/triangular.h"
#include "testing/device_memory_limit.h"
#include "testing/launch.h"
#include "testing/made_up_factors.h"

namespace lulab {
namespace {

using testing::make_up_factors;
using testing::PatternForTests;
using testing::patterns_for_tests;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int32_t size = simt::race_detection ? 24 : 80;

template <class S>
std::vector<S> random_columns(std::int32_t n, std::int32_t columns, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<S> b(std::size_t(n) * columns);
  for (std::int32_t c = 0; c < columns; ++c)
    for (std::int32_t i = 0; i < n; ++i)
      b[i + std::size_t(c) * n] =
          static_cast<S>(std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random), 3 * (c % 32)));
  return b;
}

/// Its launch needs all blocks alive at once.
bool is_cooperative(SolveMethod method) { return method == SolveMethod::level_set || method == SolveMethod::chunks; }

/// At most so many blocks alive; 0: all.
int residents(SolveMethod method, std::uint64_t seed) {
  return is_cooperative(method) ? 0 : static_cast<int>(seed % 4);
}

/// A solver and what it works on, on a stream of its own.
template <class T>
struct Device {
  Factors<T> f;
  std::optional<simt::Stream> stream;
  simt::DeviceBuffer<T> d_values;
  std::optional<DeviceSolver<T>> solver;

  Status start(Factors<T> factors, const DeviceSolverOptions& options) {
    f = std::move(factors);
    LULAB_ASSIGN_OR_RETURN(stream, simt::Stream::create());
    LULAB_ASSIGN_OR_RETURN(solver, DeviceSolver<T>::create(f.filled, f.plan, options, *stream));
    return update();
  }
  /// f.values to the device.
  Status update() {
    LULAB_RETURN_IF_ERROR(simt::make(d_values, f.values, *stream));
    LULAB_RETURN_IF_ERROR(solver->update(d_values.data(), *stream));
    return stream->wait();
  }
  /// The solution of a right side, into poisoned memory or in place.
  template <class S>
  Result<std::vector<S>> solve(const std::vector<S>& b, std::int32_t columns, bool transposed, bool in_place = false) {
    simt::DeviceBuffer<S> d_b, d_x;
    LULAB_RETURN_IF_ERROR(simt::make(d_b, b, *stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_x, static_cast<std::int64_t>(b.size())));
    LULAB_RETURN_IF_ERROR(d_x.fill_bytes(0xFF, *stream));
    simt::DeviceBuffer<S>& to = in_place ? d_b : d_x;
    LULAB_RETURN_IF_ERROR(transposed ? solver->solve_transposed(d_b.data(), to.data(), columns, *stream)
                                     : solver->solve(d_b.data(), to.data(), columns, *stream));
    std::vector<S> x(b.size(), static_cast<S>(nan));
    LULAB_RETURN_IF_ERROR(to.download(x, *stream));
    LULAB_RETURN_IF_ERROR(solver->wait(*stream));
    return x;
  }
};

template <class T, class S>
std::vector<S> solve_on_host(const Factors<T>& f, const std::vector<S>& b, std::int32_t columns, bool transposed) {
  const std::size_t n = f.filled.n;
  std::vector<S> x(b.size());
  for (std::int32_t c = 0; c < columns; ++c) {
    const std::vector<double> from(b.begin() + c * n, b.begin() + (c + 1) * n);
    std::vector<double> to(n);
    EXPECT_TRUE((transposed ? solve_transposed_mixed<T>(f, from, to) : solve_mixed<T>(f, from, to)).ok());
    std::copy(to.begin(), to.end(), x.begin() + c * n);
  }
  return x;
}

/// The solutions differ by rounding only: 64 eps of the column's largest entry, for the factors are well conditioned.
template <class T, class S>
void expect_near(const std::vector<S>& x, const std::vector<S>& expected, std::int32_t n) {
  ASSERT_EQ(x.size(), expected.size());
  for (std::size_t begin = 0; begin < x.size(); begin += n) {
    double largest = 0, difference = 0;
    for (std::size_t i = begin; i < begin + n; ++i) {
      ASSERT_TRUE(std::isfinite(x[i])) << i;
      largest = std::max(largest, std::abs(double(expected[i])));
      difference = std::max(difference, std::abs(double(x[i]) - double(expected[i])));
    }
    ASSERT_TRUE(difference <= 64 * double(std::numeric_limits<T>::epsilon()) * largest)
        << difference << " of " << largest << ", column " << begin / n;
  }
}

template <class T>
class DeviceSolverOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceSolverOf, Scalars);

template <class S, class T>
void expect_host_solutions(Device<T>& device, std::uint64_t seed) {
  const std::int32_t n = device.f.filled.n;
  for (const bool transposed : {false, true})
    for (const std::int32_t columns : {1, 2, 8, 11}) {
      if (columns > device.solver->max_columns()) continue;
      SCOPED_TRACE(std::string(transposed ? "transposed, " : "") + std::to_string(columns) + " columns");
      const auto b = random_columns<S>(n, columns, seed + columns);
      const auto x = device.solve(b, columns, transposed, seed % 2 == 0);
      LULAB_ASSERT_OK(x);
      expect_near<T>(*x, solve_on_host(device.f, b, columns, transposed), n);
    }
}

TYPED_TEST(DeviceSolverOf, EqualsTheSequentialSolves) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  std::uint64_t seed = 0;
  for (const PatternForTests& pattern : patterns_for_tests(size))
    for (const SolveMethod method : solve_methods)
      for (const int resident : {0, 1, 2}) {
        if (resident > 0 && (simt::machine() == simt::Machine::gpu || is_cooperative(method))) continue;
        ++seed;
        if (simt::instrumented && resident > 0 && seed % 2 == 0) continue;
        const simt::SimulatorScope scope({.seed = seed, .resident_blocks = resident});
        SCOPED_TRACE(pattern.name + ", " + std::string(to_string(method)) + ", resident " + std::to_string(resident));
        Device<T> device;
        LULAB_ASSERT_OK(device.start(make_up_factors<T>(pattern.n, seed, pattern.has),
                                     {.method = method, .max_columns = 11, .warps_per_sm = int(seed % 3) * 4}));
        expect_host_solutions<T>(device, seed);
        if constexpr (std::is_same_v<T, float>) expect_host_solutions<double>(device, seed);
      }
}

// A full last row alone: made symmetric, fronts would have many times the entries.
TYPED_TEST(DeviceSolverOf, SolvesByRowsAndByChunksWhereAPatternIsNoneForFronts) {
  LULAB_NEED_DEVICE();
  constexpr std::int32_t n = 150;
  Device<TypeParam> device;
  LULAB_ASSERT_OK(device.start(make_up_factors<TypeParam>(n, 1, [](auto i, auto) { return i == n - 1; }),
                               {.method = SolveMethod::fronts, .max_columns = 11}));
  EXPECT_FALSE(device.solver->has_fronts());
  expect_host_solutions<TypeParam>(device, 1);
  LULAB_ASSERT_OK(device.solver->use_chunks(device.f.filled, *device.stream));
  LULAB_ASSERT_OK(device.update());
  EXPECT_GT(device.solver->chunk_tasks(), 0);
  expect_host_solutions<TypeParam>(device, 2);
}

TYPED_TEST(DeviceSolverOf, KeepsFrontsWhereThereIsNoMemoryForChunks) {
  LULAB_NEED_DEVICE();
  const auto has = [](auto i, auto j) { return i == j + 1 || (i + j) % 9 == 0; };
  for (const int first_refused : {1, 3, 8, 14}) {
    SCOPED_TRACE(first_refused);
    Device<TypeParam> device;
    LULAB_ASSERT_OK(
        device.start(make_up_factors<TypeParam>(size, 3, has), {.method = SolveMethod::fronts, .max_columns = 11}));
    const std::int64_t bytes = device.solver->bytes();
    {
      const testing::DeviceMemoryLimit nothing_left(first_refused, testing::DeviceMemoryLimit::all);
      LULAB_ASSERT_OK(device.solver->use_chunks(device.f.filled, *device.stream));
    }
    EXPECT_TRUE(device.solver->has_fronts());
    EXPECT_EQ(device.solver->bytes(), bytes);
    LULAB_ASSERT_OK(device.update());
    expect_host_solutions<TypeParam>(device, 4);
  }
}

TYPED_TEST(DeviceSolverOf, SolvesByChunksAfterFronts) {
  LULAB_NEED_DEVICE();
  for (const bool transposed : {false, true}) {
    Device<TypeParam> device;
    LULAB_ASSERT_OK(
        device.start(make_up_factors<TypeParam>(size, 3, [](auto i, auto j) { return i == j + 1 || (i + j) % 9 == 0; }),
                     {.method = SolveMethod::fronts, .max_columns = 11, .transposed = transposed}));
    EXPECT_TRUE(device.solver->has_fronts());
    LULAB_ASSERT_OK(device.solver->use_chunks(device.f.filled, *device.stream));
    EXPECT_FALSE(device.solver->has_fronts());
    LULAB_ASSERT_OK(device.update());
    EXPECT_GT(device.solver->chunk_tasks(), 0);
    const auto b = random_columns<TypeParam>(size, 3, 5);
    Device<TypeParam> other;
    LULAB_ASSERT_OK(
        other.start(device.f, {.method = SolveMethod::chunks, .max_columns = 11, .transposed = transposed}));
    const auto x = device.solve(b, 3, transposed), expected = other.solve(b, 3, transposed);
    LULAB_ASSERT_OK(x);
    LULAB_ASSERT_OK(expected);
    EXPECT_EQ(*x, *expected);
  }
}

TYPED_TEST(DeviceSolverOf, TakesOtherScales) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  std::uint64_t seed = 0;
  for (const SolveMethod method : solve_methods) {
    const simt::SimulatorScope scope({.seed = ++seed});
    SCOPED_TRACE(to_string(method));
    Device<T> device;
    LULAB_ASSERT_OK(
        device.start(make_up_factors<T>(size, seed, [](auto i, auto j) { return i == j + 1 || (i + 2 * j) % 9 == 0; }),
                     {.method = method, .max_columns = 11}));
    std::mt19937_64 random(seed);
    for (const bool updates : {false, true}) {
      for (auto* scales : {&device.f.plan.r, &device.f.plan.c})
        for (double& s : *scales) s = std::uniform_real_distribution<double>(0.25, 4)(random);
      LULAB_ASSERT_OK(device.solver->take_scales(device.f.plan, *device.stream));
      if (updates) LULAB_ASSERT_OK(device.update());
      expect_host_solutions<T>(device, seed);
    }
  }
}

// Sums are taken in an order of their own, whoever is first.
TYPED_TEST(DeviceSolverOf, GivesTheSameBitsByRowsByChunksOrByFrontsUnderEverySchedule) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  for (const PatternForTests& pattern : patterns_for_tests(size / 2))
    for (const bool transposed : {false, true}) {
      SCOPED_TRACE(pattern.name);
      const auto b = random_columns<T>(pattern.n, 3, 5);
      std::optional<std::vector<T>> by_rows, by_chunks, by_fronts;
      for (const std::uint64_t seed : simt::schedule_seeds())
        for (const SolveMethod method : solve_methods) {
          std::optional<std::vector<T>>& first = method == SolveMethod::chunks                  ? by_chunks
                                                 : method == SolveMethod::fronts && !transposed ? by_fronts
                                                                                                : by_rows;
          const simt::SimulatorScope scope({.seed = seed, .resident_blocks = residents(method, seed)});
          Device<T> device;
          LULAB_ASSERT_OK(
              device.start(make_up_factors<T>(pattern.n, 3, pattern.has), {.method = method, .max_columns = 3}));
          const auto x = device.solve(b, 3, transposed);
          LULAB_ASSERT_OK(x);
          if (!first) first = *x;
          EXPECT_EQ(*x, *first) << to_string(method) << ", seed " << seed;
        }
    }
}

/// Solutions of the first columns of b, each on its own and then so many at once: the same bits.
template <class S, class T>
void expect_the_bits_of_one(Device<T>& device, const std::vector<std::int32_t>& counts, bool transposed) {
  const std::int32_t n = device.f.filled.n, most = std::ranges::max(counts);
  const auto b = random_columns<S>(n, most, 7);
  std::vector<S> one_by_one;
  for (std::int32_t c = 0; c < most; ++c) {
    const auto x = device.solve(std::vector<S>(b.begin() + c * n, b.begin() + (c + 1) * n), 1, transposed);
    LULAB_ASSERT_OK(x);
    one_by_one.insert(one_by_one.end(), x->begin(), x->end());
  }
  for (const std::int32_t columns : counts) {
    const std::vector<S> some(b.begin(), b.begin() + columns * n);
    const auto x = device.solve(some, columns, transposed);
    LULAB_ASSERT_OK(x);
    EXPECT_TRUE(std::equal(x->begin(), x->end(), one_by_one.begin())) << columns << " columns";
    expect_near<T>(*x, solve_on_host(device.f, some, columns, transposed), n);
  }
}

TYPED_TEST(DeviceSolverOf, GivesAColumnTheSameBitsByChunksHoweverManyThereAre) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  std::vector<std::int32_t> counts = {1, 2, 3, 4, 5, 8, 9, 31, 64};
  if (simt::instrumented) counts = simt::race_detection ? std::vector{2, 9} : std::vector{2, 9, 64};
  const auto f = make_up_factors<T>(
      size, 1, [](auto i, auto j) { return std::abs(i - j) <= 2 || (i + 2 * j) % 31 == 0 || i == size - 2; });
  Device<T> device;
  LULAB_ASSERT_OK(device.start(f, {.method = SolveMethod::chunks, .max_columns = 64, .chunk_task_entries = 200}));
  EXPECT_GT(device.solver->chunk_tasks(), 2) << "200 entries a task cut nothing";
  expect_the_bits_of_one<T>(device, counts, false);
  expect_the_bits_of_one<T>(device, {3, 9}, true);
  if constexpr (std::is_same_v<T, float>) expect_the_bits_of_one<double>(device, {3, 9}, false);
}

TEST(DeviceSolver, TakesFewerColumnsAtOnceWhereATaskHasManyInputsAndRowsWhereItHasTooMany) {
  LULAB_NEED_SIMULATOR();  // that is where shared memory is known
  if (simt::race_detection) GTEST_SKIP() << "takes long, and is what smaller ones do";
  const auto hub = [](std::int32_t n) {
    return make_up_factors<double>(n, 3, [n](auto i, auto j) { return i == n - 1 || j == n - 1 || i - j == 1; });
  };
  Device<double> device;
  LULAB_ASSERT_OK(device.start(hub(1500), {.method = SolveMethod::chunks, .max_columns = 9}));
  for (const bool transposed : {false, true}) expect_the_bits_of_one<double>(device, {9}, transposed);

  const std::int32_t n = 4000;
  const auto b = random_columns<double>(n, 5, 4);
  std::vector<std::vector<double>> one, five;
  for (const SolveMethod method : {SolveMethod::sync_free, SolveMethod::chunks}) {
    LULAB_ASSERT_OK(device.start(hub(n), {.method = method, .max_columns = 5}));
    const auto x = device.solve(std::vector<double>(b.begin(), b.begin() + n), 1, false);
    const auto many = device.solve(b, 5, false);
    LULAB_ASSERT_OK(x);
    LULAB_ASSERT_OK(many);
    expect_near<double>(*many, solve_on_host(device.f, b, 5, false), n);
    one.push_back(*x);
    five.push_back(*many);
  }
  EXPECT_NE(one[0], one[1]);
  EXPECT_EQ(five[0], five[1]);
}

TYPED_TEST(DeviceSolverOf, TakesMoreRowsThanWarpsAreResident) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const std::int32_t n = simt::race_detection ? 300 : simt::machine() == simt::Machine::gpu ? 2500 : 1250;
  std::uint64_t seed = 0;
  for (const std::int32_t distance : {1, 3, 500})  // a chain, three of them, wide levels in which rows share a warp
    for (const SolveMethod method : solve_methods)
      for (const int resident : {0, 1}) {
        if (resident > 0 && is_cooperative(method)) continue;
        const simt::SimulatorScope scope({.seed = ++seed, .resident_blocks = resident});
        SCOPED_TRACE(std::to_string(distance) + ", " + std::string(to_string(method)));
        Device<T> device;
        LULAB_ASSERT_OK(device.start(make_up_factors<T>(n, 3,
                                                        [=](std::int32_t i, std::int32_t j) {
                                                          return std::abs(i - j) % distance == 0 &&
                                                                 std::abs(i - j) <= 2 * distance;
                                                        }),
                                     {.method = method, .max_columns = 2, .warps_per_sm = 4}));
        for (const std::int32_t columns : {1, 2}) {
          const auto b = random_columns<T>(n, columns, 4);
          const auto x = device.solve(b, columns, false);
          LULAB_ASSERT_OK(x);
          expect_near<T>(*x, solve_on_host(device.f, b, columns, false), n);
        }
      }
}

TEST(DeviceSolver, NewValuesReplaceTheOldOnes) {
  LULAB_NEED_DEVICE();
  const PatternForTests pattern = patterns_for_tests(size)[8];
  for (const SolveMethod method : solve_methods) {
    Device<double> device;
    LULAB_ASSERT_OK(device.start(make_up_factors<double>(pattern.n, 1, pattern.has), {.method = method}));
    const auto b = random_columns<double>(pattern.n, 1, 4);
    for (const std::uint64_t seed : {2, 3}) {
      device.f.values = make_up_factors<double>(pattern.n, seed, pattern.has).values;
      LULAB_ASSERT_OK(device.update());
      for (const bool transposed : {false, true, false}) {
        const auto x = device.solve(b, 1, transposed);
        LULAB_ASSERT_OK(x);
        expect_near<double>(*x, solve_on_host(device.f, b, 1, transposed), pattern.n);
      }
    }
  }
}

TEST(DeviceSolver, ACorrectionAddsOrLeavesXAsItIs) {
  LULAB_NEED_DEVICE();
  const PatternForTests pattern = patterns_for_tests(size)[9];
  const std::int32_t n = pattern.n;
  for (const SolveMethod method : solve_methods)
    for (const std::int32_t columns : {1, 3}) {
      SCOPED_TRACE(std::string(to_string(method)) + ", " + std::to_string(columns) + " columns");
      Device<double> device;
      LULAB_ASSERT_OK(
          device.start(make_up_factors<double>(n, 1, pattern.has), {.method = method, .max_columns = columns}));
      simt::Stream& stream = *device.stream;
      const auto b = random_columns<double>(n, columns, 4), x = random_columns<double>(n, columns, 5);
      const auto d = device.solve(b, columns, false);
      LULAB_ASSERT_OK(d);
      simt::DeviceBuffer<double> d_b, d_onto, d_x;
      simt::DeviceBuffer<std::int32_t> d_wanted;
      simt::DeviceBuffer<unsigned long long> d_max;
      LULAB_ASSERT_OK(simt::make(d_b, b, stream));
      LULAB_ASSERT_OK(simt::make(d_onto, x, stream));
      LULAB_ASSERT_OK(simt::make(d_x, x, stream));
      LULAB_ASSERT_OK(simt::make(d_wanted, std::vector<std::int32_t>{0}, stream));
      LULAB_ASSERT_OK(simt::make(d_max, std::vector<unsigned long long>{0}, stream));
      SolveAsCorrection<double> how = {d_wanted.data(), d_onto.data(), columns == 1 ? d_max.data() : nullptr};
      for (const bool wanted : {false, true, false}) {
        LULAB_ASSERT_OK(d_wanted.upload(std::vector<std::int32_t>{wanted}, stream));
        LULAB_ASSERT_OK(device.solver->solve(d_b.data(), d_x.data(), columns, stream, how));
        std::vector<double> to(b.size(), nan);
        std::vector<unsigned long long> max_bits(1, ~0ull);
        LULAB_ASSERT_OK(d_x.download(to, stream));
        LULAB_ASSERT_OK(d_max.download(max_bits, stream));
        LULAB_ASSERT_OK(device.solver->wait(stream));
        double largest = 0;
        for (std::size_t i = 0; i < to.size(); ++i) {
          EXPECT_EQ(to[i], wanted ? x[i] + (*d)[i] : x[i]) << i;
          largest = std::max(largest, std::abs(to[i]));
        }
        EXPECT_EQ(std::bit_cast<double>(max_bits[0]), wanted && columns == 1 ? largest : 0);
        LULAB_ASSERT_OK(d_x.upload(x, stream));
        LULAB_ASSERT_OK(d_max.fill_bytes(0, stream));
        LULAB_ASSERT_OK(stream.wait());
      }
      how.d_x_max = d_max.data();
      const StatusCode expected = columns > 1 ? StatusCode::invalid_argument : StatusCode::ok;
      EXPECT_EQ(device.solver->solve(d_b.data(), d_x.data(), columns, stream, how).code, expected);
    }
}

TEST(DeviceSolver, FloatFactorsSurviveScalingsOutsideTheRangeOfFloat) {
  LULAB_NEED_DEVICE();
  auto f = make_up_factors<float>(10, 3, [](auto i, auto j) { return (i + j) % 3 == 0; });
  for (double& v : f.plan.r) v *= 0x1p200;
  for (double& v : f.plan.c) v *= 0x1p-180;
  for (const SolveMethod method : solve_methods) {
    Device<float> device;
    LULAB_ASSERT_OK(device.start(f, {.method = method}));
    const auto b = random_columns<double>(10, 1, 4);
    const auto x = device.solve(b, 1, false);
    LULAB_ASSERT_OK(x);
    expect_near<float>(*x, solve_on_host(f, b, 1, false), 10);
  }
}

TEST(DeviceSolver, ASmallScalingDoesNotLoseASmallEntry) {
  LULAB_NEED_DEVICE();
  auto f = make_up_factors<double>(2, 3, [](auto, auto) { return false; });
  f.values = {1, 1};
  f.plan = Plan::identity(2);
  f.plan.c[0] = f.plan.r[0] = 0x1p-1022;
  const std::vector<double> b = {1, 0x1p900};  // the first entry becomes 2^-1022 of the 2^900 that the second is
  for (const bool transposed : {false, true}) {
    Factors<double> one_sided = f;
    (transposed ? one_sided.plan.c : one_sided.plan.r)[0] = 0x1p840;  // that comes back as 2^-182
    Device<double> device;
    LULAB_ASSERT_OK(device.start(one_sided, {}));
    const auto x = device.solve(b, 1, transposed);
    LULAB_ASSERT_OK(x);
    EXPECT_EQ(*x, (std::vector<double>{0x1p-182, 0x1p900}));
  }
}

TEST(DeviceSolver, TellsTheMagnitudesOfWhatItTook) {
  LULAB_NEED_DEVICE();
  const auto f = make_up_factors<double>(size, 3, [](auto i, auto j) { return (i + 2 * j) % 7 == 0; });
  FactorMagnitudes expected;
  expected.min_pivot = infinity;
  for (std::int32_t j = 0; j < size; ++j)
    for (std::int64_t k = f.filled.col_ptr[j]; k < f.filled.col_ptr[j + 1]; ++k) {
      const double v = std::abs(f.values[k]);
      double& largest = f.filled.row_idx[k] > j ? expected.max_l : expected.max_u;
      largest = std::max(largest, v);
      if (k == f.filled.diag[j]) {
        expected.max_pivot = std::max(expected.max_pivot, v);
        expected.min_pivot = std::min(expected.min_pivot, v);
      }
    }
  Device<double> device;
  LULAB_ASSERT_OK(device.start(f, {}));
  const auto seen = device.solver->magnitudes(*device.stream);
  LULAB_ASSERT_OK(seen);
  EXPECT_EQ(seen->max_l, expected.max_l);
  EXPECT_EQ(seen->max_u, expected.max_u);
  EXPECT_EQ(seen->max_pivot, expected.max_pivot);
  EXPECT_EQ(seen->min_pivot, expected.min_pivot);
  const std::int64_t in_l = f.filled.col_ptr[3] - 1, in_u = f.filled.diag[size - 1] - 1;
  ASSERT_GT(in_l, f.filled.diag[2]);
  for (const double bad : {infinity, -infinity, nan})
    for (const std::int64_t at : {in_l, in_u}) {
      device.f.values = f.values;
      device.f.values[at] = bad;
      LULAB_ASSERT_OK(device.update());
      const auto now = device.solver->magnitudes(*device.stream);
      LULAB_ASSERT_OK(now);
      EXPECT_EQ(std::isfinite(now->max_l), at != in_l);
      EXPECT_EQ(std::isfinite(now->max_u), at != in_u);
      EXPECT_EQ(std::isnan(now->max_l) || std::isnan(now->max_u), std::isnan(bad));
      EXPECT_EQ(now->min_pivot, expected.min_pivot);
    }
}

TEST(DeviceSolver, IsReplayedFromAGraph) {
  LULAB_NEED_DEVICE();
  const PatternForTests pattern = patterns_for_tests(size)[9];
  for (const SolveMethod method : solve_methods) {
    Device<double> device;
    LULAB_ASSERT_OK(device.start(make_up_factors<double>(pattern.n, 1, pattern.has), {.method = method}));
    simt::Stream& stream = *device.stream;
    simt::DeviceBuffer<double> d_b;
    LULAB_ASSERT_OK(simt::make(d_b, pattern.n));
    LULAB_ASSERT_OK(simt::Graph::begin_capture(stream));
    LULAB_ASSERT_OK(device.solver->solve(d_b.data(), d_b.data(), 1, stream));
    auto graph = simt::Graph::end_capture(stream);
    LULAB_ASSERT_OK(graph);
    for (const std::uint64_t seed : {4, 5}) {
      const auto b = random_columns<double>(pattern.n, 1, seed);
      std::vector<double> x(b.size(), nan);
      LULAB_ASSERT_OK(d_b.upload(b, stream));
      LULAB_ASSERT_OK(graph->launch(stream));
      LULAB_ASSERT_OK(d_b.download(x, stream));
      LULAB_ASSERT_OK(device.solver->wait(stream));
      expect_near<double>(x, solve_on_host(device.f, b, 1, false), pattern.n);
    }
  }
}

TYPED_TEST(DeviceSolverOf, NamesTheFirstBadPivotByItsColumnInAAndNeverHangs) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  std::uint64_t seed = 0;
  for (const SolveMethod method : solve_methods)
    for (const double bad : {0.0, -0.0, nan, infinity, -infinity})
      for (const std::int32_t pivot : {0, 4, size - 1}) {
        const simt::SimulatorScope scope({.seed = ++seed});
        auto f = make_up_factors<T>(size, 2, [](auto i, auto j) { return std::abs(i - j) < 3; });
        f.values[f.filled.diag[pivot]] = static_cast<T>(bad);
        f.values[f.filled.diag[size - 1]] = static_cast<T>(bad);
        Device<T> device;
        LULAB_ASSERT_OK(device.start(f, {.method = method, .max_columns = 2}));
        for (const bool transposed : {false, true}) {
          const auto x = device.solve(random_columns<T>(size, 2, 1), 2, transposed);
          EXPECT_EQ(x.status().code, StatusCode::numerically_singular) << x.status().to_string();
          EXPECT_EQ(x.status().where.columns, std::vector<std::int32_t>{f.plan.q[pivot]});
        }
        EXPECT_EQ(device.solver->wait_for_pivots(*device.stream).code, StatusCode::numerically_singular);
        device.f = make_up_factors<T>(size, 2, [](auto i, auto j) { return std::abs(i - j) < 3; });
        LULAB_ASSERT_OK(device.update());  // nothing is left of it
        LULAB_ASSERT_OK(device.solve(random_columns<T>(size, 2, 1), 2, false));
      }
}

TEST(DeviceSolver, EntriesThatAreNotFiniteAreNeverAnOkSolution) {
  LULAB_NEED_DEVICE();
  for (const SolveMethod method : solve_methods)
    for (const double bad : {nan, infinity}) {
      const auto made = make_up_factors<double>(size, 2, [](auto i, auto j) { return std::abs(i - j) < 3; });
      Device<double> device;
      LULAB_ASSERT_OK(device.start(made, {.method = method, .max_columns = 3}));
      auto b = random_columns<double>(size, 3, 1);
      b[size + 7] = b[size + 9] = bad;
      for (const bool transposed : {false, true}) {
        const Status s = device.solve(b, 3, transposed).status();
        EXPECT_EQ(s.code, StatusCode::invalid_argument);
        EXPECT_TRUE(simt::contains(s.message, "entry 8 of b")) << s.message;
      }
      b = random_columns<double>(size, 3, 1);
      LULAB_ASSERT_OK(device.solve(b, 3, false));
      device.f.values[device.f.filled.diag[5] + 1] = bad;  // of L
      LULAB_ASSERT_OK(device.update());
      EXPECT_EQ(device.solve(b, 3, false).status().code, StatusCode::numerically_singular);
      EXPECT_EQ(device.solve(b, 3, false).status().where.columns.size(), 1u);
      EXPECT_EQ(device.solve(b, 3, true).status().where.rows.size(), 1u);
    }
}

TEST(DeviceSolver, ASolutionThatOverflowsIsNamed) {
  LULAB_NEED_DEVICE();
  for (const SolveMethod method : solve_methods) {
    auto f = make_up_factors<double>(6, 2, [](auto, auto) { return false; });
    f.plan = Plan::identity(6);
    f.values[2] = 0x1p-1000;
    Device<double> device;
    LULAB_ASSERT_OK(device.start(f, {.method = method}));
    const Status s = device.solve(std::vector<double>(6, 0x1p500), 1, false).status();
    EXPECT_EQ(s.code, StatusCode::numerically_singular);
    EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{2});
    EXPECT_EQ(device.solve(std::vector<double>(6, 0x1p500), 1, true).status().where.rows, std::vector<std::int32_t>{2});
    f.values[2] = 0x1p-1024;  // 1 / U(2,2) is infinite, x(2) is not
    device.f = f;
    LULAB_ASSERT_OK(device.update());
    const auto x = device.solve(std::vector<double>(6, 0x1p-60), 1, false);
    LULAB_ASSERT_OK(x);
    EXPECT_EQ((*x)[2], 0x1p964);
  }
}

TEST(DeviceSolver, RefusesWhatItWasNotMadeFor) {
  LULAB_NEED_DEVICE();
  const auto f = make_up_factors<double>(6, 2, [](auto, auto) { return true; });
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  simt::DeviceBuffer<double> d_b;
  LULAB_ASSERT_OK(simt::make(d_b, 18));
  for (const std::int32_t columns : {0, -1, 65536})
    EXPECT_EQ(DeviceSolver<double>::create(f.filled, f.plan, {.max_columns = columns}, *stream).status().code,
              StatusCode::invalid_argument);
  EXPECT_EQ(DeviceSolver<double>::create(f.filled, Plan::identity(5), {}, *stream).status().code,
            StatusCode::invalid_argument);
  auto solver = DeviceSolver<double>::create(f.filled, f.plan, {.max_columns = 2, .transposed = false}, *stream);
  LULAB_ASSERT_OK(solver);
  const Status early = solver->solve(d_b.data(), d_b.data(), 1, *stream);
  EXPECT_EQ(early.code, StatusCode::invalid_argument);
  EXPECT_TRUE(simt::contains(early.message, "update()")) << early.message;
  simt::DeviceBuffer<double> d_values;
  LULAB_ASSERT_OK(simt::make(d_values, f.values, *stream));
  LULAB_ASSERT_OK(solver->update(d_values.data(), *stream));
  for (const std::int32_t columns : {0, -1, 3})
    EXPECT_EQ(solver->solve(d_b.data(), d_b.data(), columns, *stream).code, StatusCode::invalid_argument);
  EXPECT_EQ(solver->solve_transposed(d_b.data(), d_b.data(), 1, *stream).code, StatusCode::invalid_argument);
  EXPECT_EQ(solver->levels(), 12);
  EXPECT_EQ(solver->levels_transposed(), 0);
  EXPECT_GE(solver->bytes(), 20 * f.filled.nnz());
  LULAB_ASSERT_OK(stream->wait());
}

TEST(DeviceSolver, SolvesRowsWhereAnInverseOfAChunkIsTooLarge) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 60;
  for (const double below : {-0.6, -1.0}) {  // the inverse of 48 columns of L has entries up to 0.6 · 1.6^46, 2^46
    auto f = make_up_factors<double>(n, 3, [](auto i, auto j) { return i >= j; });
    f.plan = Plan::identity(n);
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int64_t k = f.filled.col_ptr[j]; k < f.filled.col_ptr[j + 1]; ++k)
        f.values[k] = f.filled.row_idx[k] == j ? 1.0 : below;
    for (const std::int32_t columns : {1, 5})
      for (const bool transposed : {false, true}) {
        const auto b = random_columns<double>(n, columns, 4);
        std::vector<std::vector<double>> x;
        for (const SolveMethod method : {SolveMethod::sync_free, SolveMethod::chunks}) {
          Device<double> device;
          LULAB_ASSERT_OK(device.start(f, {.method = method, .max_columns = columns}));
          const auto solved = device.solve(b, columns, transposed);
          LULAB_ASSERT_OK(solved);
          x.push_back(*solved);
        }
        EXPECT_EQ(x[0], x[1]) << columns << " columns" << (transposed ? ", transposed" : "");
      }
  }
}

TEST(DeviceSolver, TakesUpChunksLater) {
  LULAB_NEED_DEVICE();
  const PatternForTests pattern = patterns_for_tests(size)[8];
  Device<double> device;
  LULAB_ASSERT_OK(device.start(make_up_factors<double>(pattern.n, 1, pattern.has), {.max_columns = 2}));
  EXPECT_EQ(device.solver->chunk_tasks(), 0);
  const std::int64_t bytes = device.solver->bytes();
  LULAB_ASSERT_OK(device.solver->use_chunks(device.f.filled, *device.stream));
  EXPECT_GT(device.solver->chunk_tasks(), 0);
  EXPECT_GT(device.solver->bytes(), bytes);
  const auto b = random_columns<double>(pattern.n, 2, 4);
  EXPECT_EQ(device.solve(b, 2, false).status().code, StatusCode::invalid_argument);  // it has no values of them yet
  LULAB_ASSERT_OK(device.update());
  expect_host_solutions<double>(device, 2);
}

TEST(DeviceSolver, OfNothingSolvesNothing) {
  LULAB_NEED_DEVICE();
  for (const SolveMethod method : solve_methods) {
    Device<double> device;
    LULAB_ASSERT_OK(device.start({}, {.method = method}));
    for (const bool transposed : {false, true}) {
      const auto x = device.solve(std::vector<double>{}, 1, transposed);
      LULAB_ASSERT_OK(x);
      EXPECT_TRUE(x->empty());
    }
    EXPECT_EQ(device.solver->levels(), 0);
  }
}

// What the methods rest on: without it a schedule exists that fails.

/// L y = b for one right-hand side with a task a warp, dealt beforehand as if every warp were resident.
/// view: see below
template <class Words>
__global__ void dealt_kernel(SolveView<double, double> v, Words words) {
  const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (warp < static_cast<unsigned>(v.triangle[0].n_tasks)) solve_task<0>(v, warp, words, words);
}

template <template <class> class Words>
Status solve_dealt(std::int32_t n, simt::SimulatorOptions options) {
  const simt::SimulatorScope scope(options);
  const auto f = make_up_factors<double>(n, 1, [](auto i, auto j) { return i - j == 1; });
  const Triangle t = make_triangle(f.filled, TriangleSide::lower);
  const TriangleTasks tasks = make_tasks(t, 1, 1000);
  std::vector<double> values;
  const EntriesByRows by_rows = entries_by_rows(f.filled, TriangleSide::lower, t);
  for (const std::int64_t from : by_rows.from) values.push_back(f.values[from]);
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  simt::DeviceBuffer<TriangleRow> d_rows;
  simt::DeviceBuffer<TriangleTask> d_tasks;
  simt::DeviceBuffer<std::int32_t> d_column;
  simt::DeviceBuffer<double> d_values, d_b;
  simt::DeviceBuffer<unsigned long long> d_largest, d_words;
  LULAB_RETURN_IF_ERROR(simt::make(d_rows, t.rows, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_tasks, tasks.tasks, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_column, by_rows.column, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_values, values, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_b, random_columns<double>(n, 1, 1), stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_largest, std::vector<unsigned long long>{0}, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_words, n));
  LULAB_RETURN_IF_ERROR(d_words.fill_bytes(0xFF, stream));
  SolveView<double, double> v = {};
  v.triangle[0] = {.rows = d_rows.data(),
                   .tasks = d_tasks.data(),
                   .level_ptr = nullptr,
                   .n_tasks = static_cast<std::int32_t>(tasks.tasks.size()),
                   .n_levels = t.n_levels(),
                   .column = d_column.data(),
                   .values = d_values.data(),
                   .inverse = nullptr,
                   .step = 1};
  v.n = n;
  v.columns = v.ld = v.rhs_lanes = 1;
  v.b = d_b.data();
  v.largest = d_largest.data();
  LULAB_RETURN_IF_ERROR(simt::launch(dealt_kernel<Words<double>>, {.grid = static_cast<unsigned>(n), .block = 32},
                                     stream, v, Words<double>{d_words.data(), 1}));
  return stream.wait();
}

TEST(DeviceSolver, TasksDealtToWarpsThatAreNotResidentWouldDeadlock) {
  LULAB_NEED_SIMULATOR();
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const Status s = solve_dealt<Awaited>(24, {.seed = seed, .resident_blocks = 2});
    EXPECT_EQ(s.code, StatusCode::deadlock) << "seed " << seed << ": " << s.to_string();
    EXPECT_TRUE(simt::contains(s.message, "only 2 can be resident")) << s.message;
    LULAB_ASSERT_OK(solve_dealt<Awaited>(24, {.seed = seed}));
  }
}

TEST(DeviceSolverDeathTest, RowsThatReadOthersWithoutWaitingAreARace) {
  if (!simt::race_detection) GTEST_SKIP() << "needs the preset sim-tsan";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto all_seeds = [&](auto run) {
    for (const std::uint64_t seed : simt::schedule_seeds()) (void)run(simt::SimulatorOptions{.seed = seed});
    std::exit(0);  // ThreadSanitizer answers 66 instead when it has reported
  };
  EXPECT_EXIT(all_seeds([](simt::SimulatorOptions options) { return solve_dealt<Awaited>(24, options); }),
              ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(all_seeds([](simt::SimulatorOptions options) { return solve_dealt<Finished>(24, options); }),
              ::testing::ExitedWithCode(66), "data race[^$]*solve_row.h");
}

}  // namespace
}  // namespace lulab
