// Solver::analyze() of a pattern that it knows: as a new Solver with that analysis, and nothing stale.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "core/matrix/generate.h"
#include "driver/solver.h"
#include "sparse_leftlooking/rungs.h"
#include "sparse_syncfree/rungs.h"
#include "testing/bad_pivots.h"
#include "testing/device.h"
#include "testing/device_rungs.h"

namespace lulab {

namespace {

using testing::expect_solves, testing::natural_pivots, testing::other_values, testing::refined_to_the_end,
    testing::Trouble, testing::WithTrouble, testing::with_tiny_pivot;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int32_t size = simt::race_detection ? 20 : 60;

const Rung one_thread = testing::one_thread_rung(), reticent = testing::one_thread_rung(true);
const Rung* const rungs[] = {&one_thread, &reticent, &sparse_syncfree::supernode_panels, &sparse_leftlooking::threads,
                             &sparse_leftlooking::reference};

/// A with its rows times powers of two, which other scalings make up for: the rows that are matched stay.
CscMatrix<double> rows_scaled(CscMatrix<double> a, std::int32_t step) {
  for (std::size_t k = 0; k < a.values.size(); ++k) a.values[k] *= std::exp2(3 * ((a.row_idx[k] + step) % 5));
  return a;
}

/// Values that change by a few per cent.
CscMatrix<double> nearly(CscMatrix<double> a, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (double& v : a.values) v *= std::uniform_real_distribution<double>(0.97, 1.03)(random);
  return a;
}

template <class T>
class KnownPattern : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(KnownPattern, Scalars);

TYPED_TEST(KnownPattern, IsFactoredAsByANewSolver) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = *generate("power_grid", {.n = 2 * size, .seed = 5});
  for (const Rung* rung : rungs) {
    SCOPED_TRACE(rung->facts.id);
    Solver<T> solver(*rung, refined_to_the_end());
    ASSERT_TRUE(solver.analyze(a).ok());
    const Permutation q = solver.analysis().plan.q;
    const Analysis* const kept = &solver.analysis();
    for (int step = 0; step < 4; ++step) {
      const auto next = step % 2 ? rows_scaled(a, step) : nearly(a, step);
      LULAB_ASSERT_OK(solver.analyze(next));
      EXPECT_EQ(solver.analysis().plan.q, q);
      EXPECT_EQ(&solver.analysis(), kept);
      EXPECT_FALSE(solver.refactor(next).ok());
      std::vector<double> x(a.n_cols, 1.0);
      EXPECT_EQ(solver.solve(random_vector(a.n_cols, 1), x).status().code, StatusCode::invalid_argument);
      EXPECT_EQ(solver.factors().plan.n(), 0);
      LULAB_ASSERT_OK(solver.factor(next));
      Solver<T> fresh(*rung, refined_to_the_end());
      ASSERT_TRUE(fresh.analyze(next, solver.analysis()).ok());
      LULAB_ASSERT_OK(fresh.factor(next));
      EXPECT_EQ(solver.factors().values, fresh.factors().values) << step;
      EXPECT_EQ(solver.factors().plan.r, fresh.factors().plan.r);
      EXPECT_EQ(solver.factors().plan.c, fresh.factors().plan.c);
      EXPECT_EQ(solver.statistics().pivot_growth, fresh.statistics().pivot_growth);
      EXPECT_EQ(solver.statistics().rcond, fresh.statistics().rcond);
      expect_solves(solver, next);
      expect_solves(solver, next, 1, true);
      const auto again = other_values(next, 20 + step);
      LULAB_ASSERT_OK(solver.refactor(again));
      expect_solves(solver, again);
    }
  }
}

/// A without the entries (i,j) and (j,i), or with other values there.
CscMatrix<double> with_line(const CscMatrix<double>& a, std::int32_t i, std::int32_t j, double value) {
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  const auto add = [&](std::int32_t row, std::int32_t column, double v) {
    rows.push_back(row);
    columns.push_back(column);
    values.push_back(v);
  };
  for (std::int32_t c = 0; c < a.n_cols; ++c)
    for (std::int64_t k = a.col_ptr[c]; k < a.col_ptr[c + 1]; ++k)
      if (const std::int32_t r = a.row_idx[k]; std::minmax(r, c) != std::minmax(i, j)) add(r, c, a.values[k]);
  if (value != 0) add(i, j, value), add(j, i, -value);
  return from_triplets<double>(a.n_rows, a.n_cols, rows, columns, values);
}

TYPED_TEST(KnownPattern, ALineThatIsSwitchedKeepsTheOrder) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = generate("grid2d", {.n = size, .seed = 3}).value();
  for (const Rung* rung : rungs) {
    SCOPED_TRACE(rung->facts.id);
    Solver<T> solver(*rung, refined_to_the_end());
    ASSERT_TRUE(solver.analyze(a).ok());
    LULAB_ASSERT_OK(solver.factor(a));
    const Permutation q = solver.analysis().plan.q;
    int kept = 0;
    for (const auto& next : {with_line(a, 0, 5, 0.1), a, with_line(a, a.row_idx[1], 0, 0), a}) {
      LULAB_ASSERT_OK(solver.analyze(next));
      kept += solver.analysis().plan.q == q;
      LULAB_ASSERT_OK(solver.factor(next));
      expect_solves(solver, next);
      Solver<T> fresh(*rung, refined_to_the_end());
      ASSERT_TRUE(fresh.analyze(next, solver.analysis()).ok());
      LULAB_ASSERT_OK(fresh.factor(next));
      EXPECT_EQ(solver.factors().values, fresh.factors().values);
      const auto again = nearly(next, 7);
      LULAB_ASSERT_OK(solver.refactor(again));
      expect_solves(solver, again);
    }
    EXPECT_GE(kept, 2);
  }
}

// Steps are recorded as graphs; those from before the analysis hold the old scalings. Float factors are of values that
// are scaled on the device.
TYPED_TEST(KnownPattern, StepsAfterItTakeTheNewScalings) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = *generate("power_grid", {.n = 2 * size, .seed = 5});
  const auto b = random_vector(a.n_cols, 9);
  for (const Rung* rung : {&one_thread, &sparse_syncfree::supernode_panels}) {
    Solver<T> solver(*rung);
    simt::Stream stream = std::move(*simt::Stream::create());
    simt::DeviceBuffer<double> d_values, d_b, d_x;
    ASSERT_TRUE(simt::make(d_values, a.nnz()).ok());
    ASSERT_TRUE(simt::make(d_b, b, stream).ok());
    ASSERT_TRUE(simt::make(d_x, a.n_cols).ok());
    for (int round = 0; round < 3; ++round) {
      const auto now = rows_scaled(a, round);
      LULAB_ASSERT_OK(solver.analyze(now));
      EXPECT_FALSE(solver.step_device(d_values.data(), d_b.data(), d_x.data(), stream).ok());
      LULAB_ASSERT_OK(solver.factor(now));
      for (int step = 0; step < 3; ++step) {
        const auto next = other_values(now, 10 * round + step);
        ASSERT_TRUE(d_values.upload(next.values, stream).ok());
        ASSERT_TRUE(d_x.fill_bytes(0xFF, stream).ok());
        LULAB_ASSERT_OK(solver.step_device(d_values.data(), d_b.data(), d_x.data(), stream));
        LULAB_ASSERT_OK(solver.wait_for_step());
        std::vector<double> x(a.n_cols, nan);
        ASSERT_TRUE(d_x.download(x, stream).ok());
        ASSERT_TRUE(stream.wait().ok());
        EXPECT_TRUE(componentwise_backward_error(next, x, b) <= 1e-12);
      }
    }
  }
}

TYPED_TEST(KnownPattern, PivotsAreThoseOfAFreshAnalysisAgain) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto bad = with_tiny_pivot(1e-14), good = with_tiny_pivot(40);
  for (const Rung* rung : rungs) {
    Solver<T> solver(*rung, natural_pivots());
    ASSERT_TRUE(solver.analyze(bad).ok());
    for (const CscMatrix<double>& a : {bad, good, bad}) {
      LULAB_ASSERT_OK(solver.analyze(a));
      EXPECT_EQ(solver.analysis().plan.p, identity_permutation(30));
      LULAB_ASSERT_OK(solver.factor(a));
      expect_solves(solver, a);
      Solver<T> fresh(*rung, natural_pivots());
      ASSERT_TRUE(fresh.analyze(a).ok());
      LULAB_ASSERT_OK(fresh.factor(a));
      EXPECT_EQ(solver.statistics().repivots, fresh.statistics().repivots);
      EXPECT_EQ(solver.factors().plan.p, fresh.factors().plan.p);
      EXPECT_EQ(solver.factors().values, fresh.factors().values);
    }
  }
}

TEST(KnownPattern, AfterAFaultOfTheDeviceAllIsPreparedAnew) {
  LULAB_NEED_SIMULATOR();
  const simt::SimulatorScope scope({.max_switches = 10'000'000});
  const auto a = testing::random_dominant(20, 0.3, 2);
  Solver<double> solver(one_thread);
  ASSERT_TRUE(solver.analyze(a).ok());
  LULAB_ASSERT_OK(solver.factor(a));
  {
    const WithTrouble now(Trouble::endless_wait);
    EXPECT_EQ(solver.refactor(a).code, StatusCode::deadlock);
  }
  LULAB_ASSERT_OK(solver.analyze(a));
  LULAB_ASSERT_OK(solver.factor(a));
  expect_solves(solver, a);
}

TEST(KnownPattern, AnErrorForgetsIt) {
  LULAB_NEED_DEVICE();
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  auto bad = a;
  bad.values[2] = nan;
  Solver<double> solver;
  ASSERT_TRUE(solver.analyze(a).ok());
  LULAB_ASSERT_OK(solver.factor(a));
  EXPECT_EQ(solver.analyze(bad).code, StatusCode::invalid_argument);
  EXPECT_EQ(solver.analysis().plan.n(), 0);
  EXPECT_EQ(solver.factor(a).code, StatusCode::invalid_argument);
  LULAB_ASSERT_OK(solver.analyze(a));
  LULAB_ASSERT_OK(solver.factor(a));
}

}  // namespace
}  // namespace lulab
