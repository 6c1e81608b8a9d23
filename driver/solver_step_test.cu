// Solver::step() and step_device(): as refactor() and solve(), with one wait or none, and nothing stale.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include "core/matrix/generate.h"
#include "core/timing.h"
#include "driver/solver.h"
#include "sparse_leftlooking/rungs.h"
#include "sparse_syncfree/rungs.h"
#include "testing/bad_pivots.h"
#include "testing/device.h"
#include "testing/device_rungs.h"
#include "testing/schedules.h"

namespace lulab {

namespace {

using testing::natural_pivots, testing::other_values, testing::Trouble, testing::WithTrouble, testing::with_tiny_pivot;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int32_t size = simt::race_detection ? 20 : 60;

const Rung one_thread = testing::one_thread_rung(), reticent = testing::one_thread_rung(true);

bool is_all_nan(const std::vector<double>& x) {
  return std::ranges::all_of(x, [](double v) { return std::isnan(v); });
}

template <class T>
void start(Solver<T>& solver, const CscMatrix<double>& a) {
  LULAB_ASSERT_OK(solver.analyze(a));
  LULAB_ASSERT_OK(solver.factor(a));
}

/// A step through the host, which must succeed.
template <class T>
std::vector<double> step(Solver<T>& solver, const CscMatrix<double>& a, std::span<const double> b) {
  std::vector<double> x(a.n_cols, nan);
  const auto refined = solver.step(a.values, b, x);
  EXPECT_TRUE(refined.ok()) << refined.status().to_string();
  if (!refined.ok()) return x;
  EXPECT_TRUE(refined->converged);
  const double error = componentwise_backward_error(a, x, b);
  EXPECT_TRUE(error <= 1e-12) << error;
  return x;
}

template <class T>
void expect_solves(Solver<T>& solver, const CscMatrix<double>& a) {
  const auto b = random_vector(a.n_cols, 9);
  std::vector<double> x(a.n_cols, nan);
  LULAB_ASSERT_OK(solver.solve(b, x));
  EXPECT_TRUE(componentwise_backward_error(a, x, b) <= 1e-12);
}

/// Values, b and x on the device.
struct OnDevice {
  simt::Stream stream = std::move(*simt::Stream::create());
  simt::DeviceBuffer<double> d_values, d_b, d_x;

  explicit OnDevice(const CscMatrix<double>& a) {
    EXPECT_TRUE(simt::make(d_values, a.nnz()).ok());
    EXPECT_TRUE(simt::make(d_b, a.n_cols).ok());
    EXPECT_TRUE(simt::make(d_x, a.n_cols).ok());
  }
  void set(std::span<const double> values, std::span<const double> b) {
    EXPECT_TRUE(d_values.upload(values, stream).ok());
    EXPECT_TRUE(d_b.upload(b, stream).ok());
    EXPECT_TRUE(d_x.fill_bytes(0xFF, stream).ok());
    EXPECT_TRUE(stream.wait().ok());
  }
  std::vector<double> x() {
    std::vector<double> x(d_x.size(), 0);
    EXPECT_TRUE(d_x.download(x, stream).ok());
    EXPECT_TRUE(stream.wait().ok());
    return x;
  }
  template <class T>
  Status enqueue(Solver<T>& solver) {
    return solver.step_device(d_values.data(), d_b.data(), d_x.data(), stream);
  }
};

template <class T>
class SolverStep : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SolverStep, Scalars);

TYPED_TEST(SolverStep, GivesTheXOfARefactorizationAndASolve) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  std::uint64_t seed = 0;
  for (const char* family : {"power_grid", "dense_row", "dense_column", "badly_scaled", "convection2d"}) {
    const auto a = *generate(family, {.n = 2 * size, .seed = 5});
    const simt::SimulatorScope scope({.seed = ++seed});
    Solver<T> by_steps(one_thread), apart(one_thread), through_host(reticent), device_steps(one_thread);
    OnDevice there(a);
    for (Solver<T>* solver : {&by_steps, &apart, &through_host, &device_steps}) {
      start(*solver, a);
    }
    const int steps = std::is_same_v<T, float> ? 2 : 4;
    double least_share = 1;
    for (int k = 0; k < steps; ++k) {
      SCOPED_TRACE(::testing::Message() << family << ", step " << k);
      const auto next = other_values(a, seed + 10 * k);
      const auto b = random_vector(a.n_cols, seed + k);
      const std::vector<double> x = step(by_steps, next, b);
      (void)step(through_host, next, b);
      const StepTimes& t = by_steps.times();
      if (k > 0) least_share = std::min(least_share, t.solve / (t.upload + t.refactor));
      std::vector<double> y(a.n_cols, nan);
      LULAB_ASSERT_OK(apart.refactor(next));
      LULAB_ASSERT_OK(apart.solve(b, y));
      if (k >= 1) {
        EXPECT_EQ(x, y);
      }
      there.set(next.values, b);
      LULAB_ASSERT_OK(there.enqueue(device_steps));
      const auto refined = device_steps.wait_for_step();
      LULAB_ASSERT_OK(refined);
      EXPECT_TRUE(refined->converged);
      const std::vector<double> z = there.x();
      EXPECT_TRUE(componentwise_backward_error(next, z, b) <= 1e-12);
      if (k >= 1 && refined->iterations <= 1) {
        EXPECT_EQ(z, y);
      }
      for (Solver<T>* solver : {&by_steps, &device_steps}) {
        EXPECT_EQ(solver->statistics().pivot_growth, apart.statistics().pivot_growth);
        EXPECT_EQ(solver->statistics().repivots, 0);
        expect_solves(*solver, next);  // its factors are those of these values
      }
    }
    if constexpr (std::is_same_v<T, double>) {
      EXPECT_LT(least_share, 0.1) << "x is not found in refactor";
    }
  }
}

TYPED_TEST(SolverStep, IsTheSameUnderEverySchedule) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  const auto b = random_vector(a.n_cols, 3);
  Solver<T> solver(sparse_syncfree::supernode_panels);
  start(solver, a);
  OnDevice there(a);
  for (int k = 0; k < 2; ++k) (void)step(solver, a, b);  // prepared by now
  const auto next = other_values(a, 7);
  std::optional<std::vector<double>> first;
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    (void)step(solver, a, b);  // other values between
    const auto x = step(solver, next, b);
    if (!first) first = x;
    EXPECT_EQ(x, *first) << "seed " << seed;
    there.set(next.values, b);
    LULAB_ASSERT_OK(there.enqueue(solver));
    LULAB_ASSERT_OK(solver.wait_for_step());
    EXPECT_EQ(there.x(), *first) << "seed " << seed;
  }
}

/// Page-locked: steps on it are recorded.
struct OnHost {
  simt::HostBuffer<double> values, b, x;

  explicit OnHost(const CscMatrix<double>& a) {
    for (auto [buffer, size] : {std::pair{&values, a.nnz()}, {&b, std::int64_t{a.n_cols}}, {&x, a.n_cols}}) {
      auto made = simt::HostBuffer<double>::create(size);
      EXPECT_TRUE(made.ok());
      *buffer = std::move(*made);
    }
  }
};

// More sets of arrays than are remembered, too.
TYPED_TEST(SolverStep, ArraysThatComeAgainGiveTheSameXAsNewOnes) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  for (const Rung* rung : {&one_thread, &sparse_syncfree::supernode_panels}) {
    for (const int sets : {1, 3, 6}) {
      if (sets != 3 && (simt::instrumented || std::is_same_v<T, float>)) continue;
      SCOPED_TRACE(::testing::Message() << rung->facts.id << ", " << sets << " sets");
      Solver<T> solver(*rung), apart(*rung);
      for (Solver<T>* s : {&solver, &apart}) {
        start(*s, a);
        (void)step(*s, a, random_vector(a.n_cols, 1));  // prepared by now
      }
      std::vector<OnHost> arrays;
      for (int k = 0; k < sets; ++k) arrays.emplace_back(a);
      for (int k = 0; k < 4 * sets; ++k) {
        OnHost& set = arrays[k % sets];
        const auto next = other_values(a, 50 + k);
        const auto b = random_vector(a.n_cols, 70 + k);
        std::ranges::copy(next.values, set.values.span().begin());
        std::ranges::copy(b, set.b.span().begin());
        std::ranges::fill(set.x.span(), nan);
        LULAB_ASSERT_OK(solver.step(set.values.span(), set.b.span(), set.x.span()));
        std::vector<double> y(a.n_cols, nan);
        LULAB_ASSERT_OK(apart.refactor(next));
        LULAB_ASSERT_OK(apart.solve(b, y));
        EXPECT_EQ(std::vector<double>(set.x.span().begin(), set.x.span().end()), y) << "step " << k;
        if (k % 5 == 4) expect_solves(solver, next);
      }
    }
  }
}

TYPED_TEST(SolverStep, IsEnqueuedInTheOrderOfTheCallersStream) {
  LULAB_NEED_DEVICE();
  const auto a = *generate("power_grid", {.n = 3 * size, .seed = 5});
  Solver<TypeParam> solver(one_thread);
  start(solver, a);
  OnDevice one(a), other(a);
  const auto b = random_vector(a.n_cols, 3), c = random_vector(a.n_cols, 4);
  const auto next = other_values(a, 8);
  one.set(a.values, b);
  other.set(next.values, c);
  // Two steps and a copy of new values between them, without a wait.
  for (int round = 0; round < 2; ++round) {
    LULAB_ASSERT_OK(solver.step_device(one.d_values.data(), one.d_b.data(), one.d_x.data(), one.stream));
    LULAB_ASSERT_OK(other.d_values.upload(next.values, one.stream));
    LULAB_ASSERT_OK(solver.step_device(other.d_values.data(), other.d_b.data(), other.d_x.data(), one.stream));
  }
  LULAB_ASSERT_OK(one.stream.wait());
  EXPECT_TRUE(componentwise_backward_error(a, one.x(), b) <= 1e-12);
  EXPECT_TRUE(componentwise_backward_error(next, other.x(), c) <= 1e-12);
  LULAB_ASSERT_OK(solver.wait_for_step());
  expect_solves(solver, next);
}

// Enqueued one by one, then recorded.
TYPED_TEST(SolverStep, ValuesMayChangeOnceAStepIsOver) {
  LULAB_NEED_DEVICE();
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  for (const Rung* rung : {&one_thread, &sparse_syncfree::supernode_panels}) {
    Solver<TypeParam> solver(*rung);
    start(solver, a);
    OnDevice there(a);
    for (int k = 0; k < 4; ++k) {
      SCOPED_TRACE(::testing::Message() << rung->facts.id << ", step " << k);
      const auto next = other_values(a, 30 + k);
      const auto b = random_vector(a.n_cols, 40 + k);
      there.set(next.values, b);
      LULAB_ASSERT_OK(there.enqueue(solver));
      LULAB_ASSERT_OK(there.d_values.fill_bytes(0xFF, there.stream));
      LULAB_ASSERT_OK(there.d_b.fill_bytes(0xFF, there.stream));
      LULAB_ASSERT_OK(solver.wait_for_step());
      EXPECT_TRUE(componentwise_backward_error(next, there.x(), b) <= 1e-12);
      std::vector<double> y(a.n_cols, nan);
      LULAB_ASSERT_OK(solver.solve_transposed(b, y));
      EXPECT_TRUE(componentwise_backward_error(transpose(next.view()), y, b) <= 1e-12);
      expect_solves(solver, next);
    }
  }
}

TYPED_TEST(SolverStep, RefinesAsAsked) {
  LULAB_NEED_DEVICE();
  constexpr bool is_double = std::is_same_v<TypeParam, double>;
  const auto a = *generate("power_grid", {.n = 3 * size, .seed = 5}), next = other_values(a, 2);
  const auto b = random_vector(a.n_cols, 3);
  for (const Rung* rung : {&one_thread, &sparse_syncfree::fan_in, &sparse_leftlooking::threads}) {
    SCOPED_TRACE(rung->facts.id);
    Refinement of[3];
    for (const Refine refine : {Refine::automatic, Refine::always, Refine::never}) {
      Solver<TypeParam> solver(*rung, {.backward_error = 1e-10, .refine = refine, .prepare_at_once = true});
      start(solver, a);
      std::vector<double> x(a.n_cols, nan);
      const auto solved = solver.solve(b, x);
      LULAB_ASSERT_OK(solved);
      for (int k = 0; k < 2; ++k) {
        std::ranges::fill(x, nan);
        const auto stepped = solver.step(next.values, b, x);
        LULAB_ASSERT_OK(stepped);
        of[static_cast<int>(refine)] = *stepped;
        EXPECT_TRUE(stepped->converged);
        const double error = componentwise_backward_error(next, x, b);
        EXPECT_TRUE(error <= (refine == Refine::never ? 1e-3 : 1e-10)) << error;
        EXPECT_EQ(solved->iterations == 0, stepped->iterations == 0);
      }
      OnDevice there(a);
      there.set(next.values, b);
      LULAB_ASSERT_OK(there.enqueue(solver));
      const auto waited = solver.wait_for_step();
      LULAB_ASSERT_OK(waited);
      EXPECT_TRUE(waited->converged);
      if (refine == Refine::never || (is_double && refine == Refine::automatic)) {
        EXPECT_EQ(waited->iterations, 0);
      } else {
        EXPECT_GE(waited->iterations, 1);
      }
      const double error = componentwise_backward_error(next, there.x(), b);
      EXPECT_TRUE(error <= (refine == Refine::never ? 1e-3 : 1e-10)) << error;
    }
    const auto& [automatic, always, never] = of;
    EXPECT_EQ(never.iterations, 0);
    EXPECT_EQ(automatic.iterations, is_double ? 0 : always.iterations);
    EXPECT_GE(always.iterations, 1);
    EXPECT_TRUE(always.omega < never.omega);
  }
}

TYPED_TEST(SolverStep, IsReplayedAsPartOfTheCallersGraph) {
  LULAB_NEED_DEVICE();
  const auto a = *generate("power_grid", {.n = 3 * size, .seed = 5});
  for (const Rung* rung :
       {&one_thread, &sparse_syncfree::supernode_panels, &sparse_syncfree::fan_in, &sparse_syncfree::multifrontal}) {
    Solver<TypeParam> solver(*rung);
    start(solver, a);
    OnDevice there(a);
    const auto b = random_vector(a.n_cols, 3);
    there.set(a.values, b);
    LULAB_ASSERT_OK(there.enqueue(solver));  // prepares
    LULAB_ASSERT_OK(solver.wait_for_step());
    LULAB_ASSERT_OK(simt::Graph::begin_capture(there.stream));
    LULAB_ASSERT_OK(there.enqueue(solver));
    auto graph = simt::Graph::end_capture(there.stream);
    LULAB_ASSERT_OK(graph);
    std::vector<double> x(a.n_cols, nan);
    EXPECT_EQ(solver.solve(b, x).status().code, StatusCode::invalid_argument) << "the graph has not run";
    EXPECT_EQ(solver.wait_for_step().status().code, StatusCode::invalid_argument);
    EXPECT_EQ(solver.factors().filled.n, 0);
    for (const std::uint64_t seed : {1, 2, 3}) {
      const auto next = other_values(a, seed);
      const auto c = random_vector(a.n_cols, seed);
      there.set(next.values, c);
      LULAB_ASSERT_OK(graph->launch(there.stream));
      EXPECT_TRUE(componentwise_backward_error(next, there.x(), c) <= 1e-12) << rung->facts.id << " " << seed;
    }
    there.set(a.values, b);
    LULAB_ASSERT_OK(there.enqueue(solver));
    LULAB_ASSERT_OK(solver.wait_for_step());
    EXPECT_TRUE(componentwise_backward_error(a, there.x(), b) <= 1e-12);
    expect_solves(solver, a);
  }
}

TYPED_TEST(SolverStep, ThatGoesThroughTheHostCannotBeCaptured) {
  LULAB_NEED_DEVICE();
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  Solver<TypeParam> solver(reticent);
  start(solver, a);
  OnDevice there(a);
  there.set(a.values, random_vector(a.n_cols, 3));
  LULAB_ASSERT_OK(simt::Graph::begin_capture(there.stream));
  const Status refused = there.enqueue(solver);
  LULAB_ASSERT_OK(simt::Graph::end_capture(there.stream));
  EXPECT_EQ(refused.code, StatusCode::invalid_argument) << refused.to_string();
  expect_solves(solver, a);
}

TYPED_TEST(SolverStep, PivotsThatVanishAreReplacedOrTheStepFails) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  Solver<T> solver(one_thread, natural_pivots()), on_device(one_thread, natural_pivots());
  const auto good = with_tiny_pivot(40);
  const auto b = random_vector(good.n_cols, 3);
  OnDevice there(good);
  for (Solver<T>* s : {&solver, &on_device}) {
    start(*s, good);
  }
  for (int k = 0; k < 3; ++k) (void)step(solver, good, b);
  std::vector<std::int64_t> repivots;
  for (const double pivot : {-35.0, 0.0, 30.0, 1e-14, 35.0}) {
    const auto a = with_tiny_pivot(pivot);
    (void)step(solver, a, b);
    repivots.push_back(solver.statistics().repivots);
    there.set(a.values, b);
    const Status enqueued = there.enqueue(on_device);
    const auto refined = on_device.wait_for_step();
    if (std::abs(pivot) > 1) {
      LULAB_ASSERT_OK(enqueued);
      LULAB_ASSERT_OK(refined);
      EXPECT_TRUE(componentwise_backward_error(a, there.x(), b) <= 1e-12) << pivot;
    } else {
      EXPECT_EQ(refined.status().code, StatusCode::needs_repivot) << refined.status().to_string();
      EXPECT_TRUE(pivot != 0 || is_all_nan(there.x()));
      std::vector<double> x(a.n_cols, 1.0);
      EXPECT_EQ(on_device.solve(b, x).status().code, StatusCode::needs_repivot);
    }
  }
  EXPECT_EQ(repivots, (std::vector<std::int64_t>{0, 1, 0, 0, 0}));
  LULAB_ASSERT_OK(on_device.refactor(with_tiny_pivot(1e-14)));  // new pivots
  expect_solves(on_device, with_tiny_pivot(1e-14));
}

TYPED_TEST(SolverStep, ValuesAndRightSidesThatAreNotNumbersLeaveNoX) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  const auto b = random_vector(a.n_cols, 3);
  Solver<T> solver(one_thread);
  start(solver, a);
  OnDevice there(a);
  for (int k = 0; k < 4; ++k) {
    (void)step(solver, a, b);
    auto wrong = a;
    wrong.values[wrong.nnz() / 2] = k % 2 == 0 ? nan : std::numeric_limits<double>::infinity();
    std::vector<double> x(a.n_cols, 1.0);
    EXPECT_FALSE(solver.step(wrong.values, b, x).ok());
    EXPECT_TRUE(is_all_nan(x));
    (void)step(solver, a, b);  // takes pivots anew
    there.set(wrong.values, b);
    (void)there.enqueue(solver);
    EXPECT_FALSE(solver.wait_for_step().ok());
    EXPECT_TRUE(is_all_nan(there.x()));
    there.set(a.values, b);
    LULAB_ASSERT_OK(there.enqueue(solver));
    LULAB_ASSERT_OK(solver.wait_for_step());
    EXPECT_TRUE(componentwise_backward_error(a, there.x(), b) <= 1e-12);
    auto not_numbers = b;
    not_numbers[3] = nan;
    const auto refined = solver.step(a.values, not_numbers, x);
    EXPECT_TRUE(!refined.ok() || !refined->converged);
    EXPECT_TRUE(std::ranges::any_of(x, [](double v) { return std::isnan(v); }));
  }
}

// Of values in the range of double.
TEST(SolverStep, ValuesThatOverflowAFloatOnceScaledLeaveNoX) {
  LULAB_NEED_DEVICE();
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  const auto b = random_vector(a.n_cols, 3);
  Solver<float> solver(one_thread);
  start(solver, a);
  OnDevice there(a);
  for (int k = 0; k < 3; ++k) {
    (void)step(solver, a, b);
    auto wrong = a;
    wrong.values[wrong.nnz() / 2] = 1e200;
    there.set(wrong.values, b);
    LULAB_ASSERT_OK(there.enqueue(solver));
    EXPECT_EQ(solver.wait_for_step().status().code, StatusCode::needs_repivot);
    EXPECT_TRUE(is_all_nan(there.x()));
    std::vector<double> x(a.n_cols, 1.0);
    const Status refused = solver.step(wrong.values, b, x).status();
    EXPECT_EQ(refused.code, StatusCode::invalid_argument) << refused.to_string();
    EXPECT_NE(refused.message.find("overflows in f32"), std::string::npos) << refused.to_string();
    EXPECT_TRUE(is_all_nan(x));
  }
  (void)step(solver, a, b);
}

// There R·A·C is formed before the rung gets it.
TYPED_TEST(SolverStep, ScalingsWhoseProductIsOutOfRangeAreAppliedOnTheDevice) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  auto a = *generate("power_grid", {.n = size, .seed = 5});
  auto b = random_vector(a.n_cols, 3);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      a.values[k] *= (a.row_idx[k] == 3 ? 0x1p-515 : 1) * (j == 3 ? 0x1p-515 : 1);
  b[3] *= 0x1p-515;
  Solver<T> solver(one_thread), apart(one_thread);
  for (Solver<T>* s : {&solver, &apart}) {
    start(*s, a);
  }
  EXPECT_FALSE(std::isfinite(solver.analysis().plan.r[3] * solver.analysis().plan.c[3]));
  OnDevice there(a);
  for (int k = 0; k < 4; ++k) {
    std::vector<double> x(a.n_cols, nan), y(a.n_cols, nan);
    LULAB_ASSERT_OK(apart.refactor(a));
    LULAB_ASSERT_OK(apart.solve(b, y));
    LULAB_ASSERT_OK(solver.step(a.values, b, x));
    there.set(a.values, b);
    LULAB_ASSERT_OK(there.enqueue(solver));
    LULAB_ASSERT_OK(solver.wait_for_step());
    if (k == 0) continue;  // by rows, then by chunks
    EXPECT_EQ(x, y);
    EXPECT_EQ(there.x(), y);
  }
}

TYPED_TEST(SolverStep, RefusesWhatDoesNotFitAndStaysUsable) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  const auto b = random_vector(a.n_cols, 3);
  OnDevice there(a);
  there.set(a.values, b);
  Solver<T> solver(one_thread);
  std::vector<double> x(a.n_cols, 7.0);
  EXPECT_EQ(solver.step(a.values, b, x).status().code, StatusCode::invalid_argument);
  EXPECT_EQ(there.enqueue(solver).code, StatusCode::invalid_argument);
  EXPECT_TRUE(there.d_x.upload(b, there.stream).ok());  // an old x
  EXPECT_EQ(solver.wait_for_step().status().code, StatusCode::invalid_argument);
  ASSERT_TRUE(solver.analyze(a).ok());
  EXPECT_EQ(solver.step(a.values, b, x).status().code, StatusCode::invalid_argument) << "before factor()";
  EXPECT_EQ(there.enqueue(solver).code, StatusCode::invalid_argument);
  EXPECT_TRUE(is_all_nan(there.x()));
  LULAB_ASSERT_OK(solver.factor(a));
  for (int k = 0; k < 3; ++k) {
    std::ranges::fill(x, 7.0);
    const std::span<const double> values = a.values, all_b = b;
    for (const auto& s :
         {solver.step(values.first(values.size() - 1), all_b, x), solver.step(values, all_b.first(b.size() - 1), x),
          solver.step(values, all_b, std::span(x).first(x.size() - 1)), solver.step(values, x, x)})
      EXPECT_EQ(s.status().code, StatusCode::invalid_argument);
    EXPECT_EQ(x, std::vector<double>(a.n_cols, 7.0)) << "a wrong size changes nothing";
    const double* d_values = there.d_values.data();
    double* d_x = there.d_x.data();
    for (const Status& s : {solver.step_device(nullptr, there.d_b.data(), d_x, there.stream),
                            solver.step_device(d_values, nullptr, d_x, there.stream),
                            solver.step_device(d_values, there.d_b.data(), nullptr, there.stream),
                            solver.step_device(d_values, d_x, d_x, there.stream),
                            solver.step_device(d_values, there.d_b.data(), there.d_values.data() + 1, there.stream)})
      EXPECT_EQ(s.code, StatusCode::invalid_argument);
    (void)step(solver, a, b);
  }
}

// The CPU is faster here, as long as the values come from the host.
RungChooser chooser_of_cpu() {
  return {reticent, one_thread, [](const FilledPattern&, int, const Workload& work, const KnownCosts&) {
            return Prospects{.cpu_us = work.scalars_on_device > 0 ? 3.0 : 1.0, .gpu_us = 2};
          }};
}

/// The CPU's rung goes first, and one_thread on from the first step with values in device memory, good or bad.
template <class T>
void expect_steps_move_there(const RungChooser& chooser) {
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  const auto b = random_vector(a.n_cols, 3);
  OnDevice there(a);
  Solver<T> solver(chooser);
  start(solver, a);
  (void)step(solver, other_values(a, 1), b);
  EXPECT_EQ(solver.choice().rung, &reticent);
  auto bad = other_values(a, 2);
  bad.values[3] = nan;
  there.set(bad.values, b);
  (void)there.enqueue(solver);
  EXPECT_FALSE(solver.wait_for_step().ok());
  EXPECT_TRUE(is_all_nan(there.x()));
  for (int k = 0; k < 3; ++k) {
    const auto next = other_values(a, 10 + k);
    there.set(next.values, b);
    LULAB_ASSERT_OK(there.enqueue(solver));
    LULAB_ASSERT_OK(solver.wait_for_step());
    EXPECT_EQ(solver.choice().rung, &one_thread);
    EXPECT_NE(solver.choice().reason.find("in device memory"), std::string::npos) << solver.choice().reason;
    EXPECT_TRUE(componentwise_backward_error(next, there.x(), b) <= 1e-12);
    expect_solves(solver, next);
  }
  ASSERT_TRUE(solver.analyze(*generate("dense_row", {.n = size, .seed = 6})).ok());
  EXPECT_EQ(solver.choice().rung, &one_thread) << "its steps are there, too";
}

TYPED_TEST(SolverStep, TheFirstInDeviceMemoryMovesTheSolverThere) {
  LULAB_NEED_DEVICE();
  expect_steps_move_there<TypeParam>(chooser_of_cpu());
}

TYPED_TEST(SolverStep, TheFirstInDeviceMemoryPreparesForAll) {
  LULAB_NEED_DEVICE();
  const auto predict = [](const FilledPattern&, int, const Workload&, const KnownCosts&) {
    return Prospects{.cpu_us = 3, .gpu_us = 2, .gpu_setup_us = 100};
  };
  expect_steps_move_there<TypeParam>(RungChooser(reticent, one_thread, predict));
}

TYPED_TEST(SolverStep, OnesByTheFirstOrderAreCountedUntilAnotherOnePays) {
  LULAB_NEED_DEVICE();
  if (simt::race_detection) GTEST_SKIP() << "a matrix that takes long";
  const auto a = *generate("grid2d", {.n = 400, .seed = 5});
  const auto b = random_vector(a.n_cols, 3);
  const auto predict = [](const FilledPattern&, int, const Workload&, const KnownCosts&) {
    return Prospects{.cpu_us = 1e9, .gpu_us = 1000};  // 3000 are taken for another order's tables
  };
  Solver<TypeParam> solver(RungChooser(reticent, one_thread, predict));
  ASSERT_TRUE(solver.analyze(a).ok());
  EXPECT_EQ(solver.choice().rung, &one_thread);
  LULAB_ASSERT_OK(solver.factor(a));
  expect_solves(solver, a);
  for (int made = 1; made < 10; ++made) {
    const auto next = other_values(a, made);
    (void)step(solver, next, b);
    EXPECT_EQ(solver.times().prepare > 0, made == 7) << made;
  }
}

TYPED_TEST(SolverStep, OneThatIsMeantToBeTheOnlyOneMovesNothing) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  const auto b = random_vector(a.n_cols, 3);
  OnDevice there(a);
  there.set(a.values, b);
  Solver<T> solver(chooser_of_cpu(), SolverOptions{.expected_steps = 1});
  start(solver, a);
  LULAB_ASSERT_OK(there.enqueue(solver));
  LULAB_ASSERT_OK(solver.wait_for_step());
  EXPECT_EQ(solver.choice().rung, &reticent);
  EXPECT_TRUE(componentwise_backward_error(a, there.x(), b) <= 1e-12);
}

TYPED_TEST(SolverStep, AFaultOfTheDeviceIsTold) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  const auto b = random_vector(a.n_cols, 3);
  OnDevice there(a);
  there.set(a.values, b);
  Solver<T> solver(one_thread);
  start(solver, a);
  for (int k = 0; k < 3; ++k) (void)step(solver, a, b);
  std::vector<double> x(a.n_cols, 1.0);
  {
    const WithTrouble refused(Trouble::no_launch);
    EXPECT_EQ(solver.step(a.values, b, x).status().code, StatusCode::invalid_argument);
    EXPECT_TRUE(is_all_nan(x));
    EXPECT_EQ(solver.solve(b, x).status().code, StatusCode::invalid_argument);
    EXPECT_FALSE(there.enqueue(solver).ok());
    EXPECT_FALSE(solver.wait_for_step().ok());
  }
  (void)step(solver, a, b);
  LULAB_ASSERT_OK(there.enqueue(solver));
  LULAB_ASSERT_OK(solver.wait_for_step());
  EXPECT_TRUE(componentwise_backward_error(a, there.x(), b) <= 1e-12);
}

TEST(SolverStepOnDevice, ARungOnTheHostTakesTheWayThroughTheHost) {
  LULAB_NEED_DEVICE();
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  Solver<double> solver(sparse_leftlooking::reference);
  start(solver, a);
  OnDevice there(a);
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto next = other_values(a, seed);
    const auto b = random_vector(a.n_cols, seed);
    there.set(next.values, b);
    LULAB_ASSERT_OK(there.enqueue(solver));
    LULAB_ASSERT_OK(solver.wait_for_step());
    EXPECT_TRUE(componentwise_backward_error(next, there.x(), b) <= 1e-12);
    EXPECT_EQ(step(solver, next, b), there.x());
  }
}

TEST(SolverStepOnDevice, ErrorsOfValuesThatTakeTheWayThroughTheHostAreThoseOfTheWait) {
  LULAB_NEED_DEVICE();
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  const auto b = random_vector(a.n_cols, 3);
  Solver<double> solver(sparse_leftlooking::reference);
  start(solver, a);
  OnDevice there(a);
  auto bad = a;
  bad.values[0] = nan;
  for (const bool is_bad : {true, false}) {
    there.set((is_bad ? bad : a).values, b);
    LULAB_ASSERT_OK(there.enqueue(solver));
    EXPECT_NE(solver.wait_for_step().ok(), is_bad);
    EXPECT_EQ(is_all_nan(there.x()), is_bad);
  }
}

TYPED_TEST(SolverStep, AfterItNothingIsOfTheFactorsBefore) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  const auto b = random_vector(a.n_cols, 3);
  Solver<T> solver(one_thread);
  start(solver, a);
  for (const std::uint64_t seed : {1, 2, 3}) {
    LULAB_ASSERT_OK(solver.download_factors());
    auto next = other_values(a, seed);
    for (std::int64_t k = a.col_ptr[7]; k < a.col_ptr[8]; ++k) next.values[k] *= 1e-3;
    (void)step(solver, next, b);
    Solver<T> fresh(one_thread);
    start(fresh, a);
    LULAB_ASSERT_OK(fresh.refactor(next));
    EXPECT_EQ(solver.statistics().pivot_growth, fresh.statistics().pivot_growth);
    const auto factors = solver.download_factors(), expected = fresh.download_factors();
    LULAB_ASSERT_OK(factors);
    LULAB_ASSERT_OK(expected);
    EXPECT_EQ((*factors)->values, (*expected)->values);
    const auto condition = solver.condition(), of_next = fresh.condition();
    LULAB_ASSERT_OK(condition);
    LULAB_ASSERT_OK(of_next);
    EXPECT_EQ(condition->rcond, of_next->rcond);
  }
}

TYPED_TEST(SolverStep, ItsTimesArePartsOfWhatItTakes) {
  LULAB_NEED_DEVICE();
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  const auto b = random_vector(a.n_cols, 3);
  Solver<TypeParam> solver(one_thread);
  start(solver, a);
  for (int k = 0; k < 3; ++k) {
    const auto start = Clock::now();
    (void)step(solver, a, b);
    const double all_ms = ms_since(start);
    const StepTimes& t = solver.times();
    for (const double part : {t.upload, t.refactor, t.judge, t.solve}) EXPECT_GT(part, 0);
    EXPECT_LE(t.pivots + t.prepare + t.upload + t.refactor + t.judge + t.download + t.solve, all_ms);
  }
}

// The x of b = 0 is right by whatever pivots.
TYPED_TEST(SolverStep, AZeroRightSideProvesNothing) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  SolverOptions options = natural_pivots();
  options.max_growth = std::numeric_limits<double>::infinity();
  options.refine = Refine::never;
  Solver<T> solver(one_thread, options);
  const auto good = with_tiny_pivot(40), bad = with_tiny_pivot(1e-14);
  const auto b = random_vector(good.n_cols, 3);
  const std::vector<double> zero(good.n_cols, 0.0);
  start(solver, good);
  std::vector<double> x(good.n_cols, nan);
  for (int k = 0; k < 2; ++k) LULAB_ASSERT_OK(solver.step(good.values, b, x));
  LULAB_ASSERT_OK(solver.step(bad.values, zero, x));
  EXPECT_EQ(x, zero);
  EXPECT_EQ(solver.statistics().repivots, 1);

  options.repivot = false;  // then pivots are judged before x is given
  Solver<T> keeps(one_thread, options);
  start(keeps, good);
  for (int k = 0; k < 2; ++k) LULAB_ASSERT_OK(keeps.step(good.values, b, x));
  EXPECT_EQ(keeps.step(bad.values, zero, x).status().code, StatusCode::needs_repivot);
  EXPECT_TRUE(is_all_nan(x));
}

}  // namespace
}  // namespace lulab
