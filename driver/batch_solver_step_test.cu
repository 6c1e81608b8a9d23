// Steps of a batch: new values and right-hand sides in one call, from the host with one wait, and in device memory only
// enqueued, give the x of a factorization and a solve or none.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "core/matrix/generate.h"
#include "core/timing.h"
#include "driver/batch_solver.h"
#include "sparse_leftlooking/rungs.h"
#include "sparse_syncfree/rungs.h"
#include "testing/bad_pivots.h"
#include "testing/batch.h"
#include "testing/device.h"
#include "testing/device_rungs.h"

namespace lulab {

namespace {

using testing::Batch, testing::natural_pivots, testing::Trouble, testing::WithTrouble;
using Solutions = std::vector<Result<Refinement>>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int32_t size = simt::race_detection ? 20 : 40;

const Rung device_batches = testing::one_thread_batch_rung();
const Rung host_batches = testing::one_thread_rung(false, false);

Batch with_values(const Batch& like, std::uint64_t seed) { return Batch(like.a, like.systems, seed); }

/// What a step gave.
struct Stepped {
  Status whole;
  Solutions told;
  std::vector<double> x;

  std::span<const double> x_of(const Batch& batch, std::int32_t s) const {
    return std::span(x).subspan(std::size_t(batch.a.n_cols) * s, batch.a.n_cols);
  }
  void take(Result<Solutions> result) {
    whole = result.status();
    if (result.ok()) told = std::move(*result);
  }
};

template <class T>
Stepped step(BatchSolver<T>& solver, Batch& batch) {
  Stepped out;
  out.x.assign(batch.b.size(), 1e300);
  out.take(solver.step(batch.values, batch.b, out.x));
  return out;
}

/// factor(), then solve().
template <class T>
Stepped apart(BatchSolver<T>& solver, Batch& batch) {
  Stepped out;
  out.x.assign(batch.b.size(), 1e300);
  const auto statuses = solver.factor(batch.values);
  out.whole = statuses.status();
  if (statuses.ok()) out.take(solver.solve(batch.b, out.x));
  return out;
}

bool is_all_nan(const std::vector<double>& x) {
  return std::ranges::all_of(x, [](double v) { return std::isnan(v); });
}

/// Values, b and x on the device; x is poisoned with a number.
struct Arrays {
  simt::Stream stream = std::move(*simt::Stream::create());
  simt::DeviceBuffer<double> d_values, d_b, d_x;

  explicit Arrays(const Batch& batch) {
    EXPECT_TRUE(simt::make(d_values, std::ssize(batch.values)).ok());
    EXPECT_TRUE(simt::make(d_b, std::ssize(batch.b)).ok());
    EXPECT_TRUE(simt::make(d_x, std::ssize(batch.b)).ok());
  }
  void set(const Batch& batch) {
    const std::vector<double> poison(batch.b.size(), 1e300);
    EXPECT_TRUE(d_values.upload(batch.values, stream).ok());
    EXPECT_TRUE(d_b.upload(batch.b, stream).ok());
    EXPECT_TRUE(d_x.upload(poison, stream).ok());
    EXPECT_TRUE(stream.wait().ok());
  }
  std::vector<double> x() {
    std::vector<double> x(d_x.size(), 1e300);
    EXPECT_TRUE(d_x.download(x, stream).ok());
    EXPECT_TRUE(stream.wait().ok());
    return x;
  }
  template <class T>
  Status enqueue(BatchSolver<T>& solver) {
    return solver.step_device(d_values.data(), d_b.data(), d_x.data(), stream);
  }
  template <class T>
  Stepped step(BatchSolver<T>& solver, const Batch& batch) {
    set(batch);
    Stepped out;
    out.whole = enqueue(solver);
    if (out.whole.ok()) out.take(solver.wait_for_step());
    out.x = x();
    return out;
  }
};

void expect_solved(const Stepped& out, Batch& batch, std::int32_t s) {
  ASSERT_TRUE(out.whole.ok()) << out.whole.to_string();
  ASSERT_EQ(out.told.size(), std::size_t(batch.systems));
  ASSERT_TRUE(out.told[s].ok()) << s << ": " << out.told[s].status().to_string();
  EXPECT_TRUE(out.told[s]->converged);
  const double error = componentwise_backward_error(batch.matrix(s), out.x_of(batch, s), batch.b_of(s));
  EXPECT_TRUE(error <= SolverOptions().backward_error) << s << ": " << error;
}
void expect_all_solved(const Stepped& out, Batch& batch) {
  for (std::int32_t s = 0; s < batch.systems; ++s) expect_solved(out, batch, s);
}
void expect_error(const Stepped& out, const Batch& batch, std::int32_t s, StatusCode code) {
  ASSERT_EQ(out.told.size(), std::size_t(batch.systems)) << out.whole.to_string();
  EXPECT_EQ(out.told[s].status().code, code) << s << ": " << out.told[s].status().to_string();
  EXPECT_TRUE(std::ranges::all_of(out.x_of(batch, s), [](double v) { return std::isnan(v); })) << s;
}

template <class T>
void start(BatchSolver<T>& solver, Batch& batch) {
  LULAB_ASSERT_OK(solver.analyze(batch.a, batch.systems));
  const auto statuses = solver.factor(batch.values);
  LULAB_ASSERT_OK(statuses);
  for (const Status& s : *statuses) EXPECT_TRUE(s.ok()) << s.to_string();
}

template <class T>
class BatchStep : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BatchStep, Scalars);

TYPED_TEST(BatchStep, GivesTheXOfAFactorizationAndASolve) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  std::uint64_t seed = 0;
  for (const char* family : {"power_grid", "dense_row", "random", "zero_diagonal", "badly_scaled", "convection2d"})
    for (const std::int32_t systems : {1, 3, simt::instrumented ? 5 : 33}) {
      ++seed;
      if (simt::instrumented && seed != 1 && seed != 5 && seed != 9) continue;  // each number of systems once
      if (systems == 33 && seed % 2 == 0) continue;                             // slow
      SCOPED_TRACE(::testing::Message() << family << ", " << systems << " systems");
      const simt::SimulatorScope scope({.seed = seed});
      const std::int32_t n = systems > 3 ? size / 2 : 2 * size;
      const bool random = std::string_view(family) == "random";
      Batch batch(random ? testing::random_dominant(n, 0.2, seed) : *generate(family, {.n = n, .seed = seed}), systems,
                  seed);
      BatchSolver<T> two_calls(device_batches), by_steps(device_batches), on_device(device_batches),
          by_host(host_batches);
      for (auto* solver : {&two_calls, &by_steps, &on_device, &by_host}) start(*solver, batch);
      Arrays there(batch);
      for (int k = 0; k < (systems == 33 ? 1 : 2); ++k) {
        Batch next = with_values(batch, 100 * seed + k);
        const Stepped expected = apart(two_calls, next);
        expect_all_solved(expected, next);
        const Stepped stepped = step(by_steps, next), in_place = there.step(on_device, next);
        expect_all_solved(stepped, next);
        expect_all_solved(in_place, next);
        EXPECT_EQ(stepped.x, expected.x);
        EXPECT_EQ(in_place.x, expected.x);
        if (systems == 3) expect_all_solved(there.step(by_host, next), next);
        for (auto* solver : {&by_steps, &on_device}) {  // the factors are those of these values
          EXPECT_EQ(solver->statistics().failed, 0);
          EXPECT_EQ(solver->statistics(0).pivot_growth, two_calls.statistics(0).pivot_growth);
          std::vector<double> x(next.b.size(), nan);
          LULAB_ASSERT_OK(solver->solve(next.b, x));
          EXPECT_EQ(x, expected.x);
        }
      }
    }
}

TYPED_TEST(BatchStep, TimesArePartsOfWhatACallTakes) {
  LULAB_NEED_DEVICE();
  const auto expect_parts = [](const StepTimes& t, double all_ms) {
    for (const double part : {t.upload, t.refactor, t.judge}) EXPECT_GT(part, 0);
    EXPECT_LE(t.upload + t.refactor + t.judge + t.solve + t.pivots, all_ms);
  };
  Batch batch(*generate("power_grid", {.n = size, .seed = 5}), 3, 1);
  for (const Rung* rung : {&device_batches, &host_batches}) {
    SCOPED_TRACE(rung->facts.id);
    BatchSolver<TypeParam> solver(*rung);
    LULAB_ASSERT_OK(solver.analyze(batch.a, batch.systems));
    for (int k = 0; k < 2; ++k) {
      const auto start = Clock::now();
      LULAB_ASSERT_OK(solver.factor(batch.values));
      expect_parts(solver.times(), ms_since(start));
      EXPECT_EQ(solver.times().solve, 0);
    }
    for (int k = 0; k < 2; ++k) {
      const auto start = Clock::now();
      const Stepped stepped = step(solver, batch);
      const double all_ms = ms_since(start);
      expect_all_solved(stepped, batch);
      expect_parts(solver.times(), all_ms);
      EXPECT_GT(solver.times().solve, 0);
    }
  }
}

TYPED_TEST(BatchStep, IsTheSameUnderEverySchedule) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  Batch batch(*generate("power_grid", {.n = size, .seed = 5}), 4, 3), next = with_values(batch, 8);
  BatchSolver<T> solver(sparse_syncfree::supernode_panels);
  start(solver, batch);
  Arrays there(batch);
  std::optional<std::vector<double>> first;
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    expect_all_solved(step(solver, batch), batch);  // other values between
    const Stepped stepped = step(solver, next);
    expect_all_solved(stepped, next);
    if (!first) first = stepped.x;
    EXPECT_EQ(stepped.x, *first) << "seed " << seed;
    expect_all_solved(there.step(solver, batch), batch);
    EXPECT_EQ(there.step(solver, next).x, *first) << "seed " << seed;
  }
}

TYPED_TEST(BatchStep, APivotThatVanishesIsReplacedOrRefusedAndTheNextStepIsGood) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  Batch good(testing::random_dominant(size, 0.3, 7), 3, 8);
  BatchSolver<T> recovers(device_batches, natural_pivots()), on_device(device_batches, natural_pivots());
  SolverOptions refusing = natural_pivots();
  refusing.repivot = false;
  BatchSolver<T> refuses(device_batches, refusing);
  for (auto* solver : {&recovers, &on_device, &refuses}) start(*solver, good);
  Arrays there(good);
  for (const double pivot : {0.0, 1e-30, 1e-12}) {
    SCOPED_TRACE(pivot);
    Batch bad = with_values(good, 9);
    bad.set(1, 0, 0, pivot);
    const Stepped told = step(refuses, bad), recovered = step(recovers, bad), in_place = there.step(on_device, bad);
    expect_all_solved(recovered, bad);
    EXPECT_EQ(recovers.statistics().recovered, 1);
    expect_error(told, bad, 1, StatusCode::needs_repivot);
    if (pivot == 0) {
      EXPECT_EQ(told.told[1].status().where.columns, std::vector<std::int32_t>{0});
    }
    expect_error(in_place, bad, 1, StatusCode::needs_repivot);
    EXPECT_EQ(in_place.told[1].status().where, told.told[1].status().where);
    EXPECT_EQ(on_device.statistics().failed, 1);
    EXPECT_EQ(on_device.statistics().recovered, 0);
    for (const std::int32_t s : {0, 2}) {
      expect_solved(told, bad, s);
      expect_solved(in_place, bad, s);
    }
    Stepped after;  // solve() gives the system pivots of its own
    after.x.assign(bad.b.size(), 1e300);
    after.take(on_device.solve(bad.b, after.x));
    expect_all_solved(after, bad);
    EXPECT_EQ(on_device.statistics().recovered, 1);
    Batch next = with_values(good, 10);
    for (auto* solver : {&recovers, &on_device, &refuses}) {
      expect_all_solved(there.step(*solver, next), next);
      EXPECT_EQ(solver->statistics().recovered, 0);
      expect_all_solved(step(*solver, next), next);
    }
  }
}

TYPED_TEST(BatchStep, ASingularSystemIsNamedAndLeavesTheOthersAlone) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  for (const Rung* rung : {&device_batches, &sparse_syncfree::fan_in, &sparse_syncfree::multifrontal}) {
    Batch good(testing::random_dominant(size, 0.1, 4), 3, 5);
    BatchSolver<T> solver(*rung, natural_pivots());
    start(solver, good);
    Arrays there(good);
    const Stepped before = there.step(solver, good);
    Batch bad = good;
    bad.clear_column(1, size / 2);
    for (const Stepped& out : {there.step(solver, bad), step(solver, bad)}) {
      const bool in_place = out.told[1].status().code == StatusCode::needs_repivot;
      expect_error(out, bad, 1, in_place ? StatusCode::needs_repivot : StatusCode::numerically_singular);
      EXPECT_EQ(out.told[1].status().where.columns, std::vector<std::int32_t>{size / 2});
      for (const std::int32_t s : {0, 2}) {
        expect_solved(out, bad, s);
        EXPECT_TRUE(std::ranges::equal(out.x_of(bad, s), before.x_of(bad, s)));
      }
    }
    (void)there.step(solver, bad);
    std::vector<double> x(bad.b.size(), 1e300);
    const auto solved = solver.solve(bad.b, x);
    LULAB_ASSERT_OK(solved);
    EXPECT_EQ((*solved)[1].status().code, StatusCode::numerically_singular);
    expect_all_solved(there.step(solver, good), good);
  }
}

TYPED_TEST(BatchStep, WhatIsNotFiniteIsToldOfItsSystem) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  for (const Rung* rung : {&device_batches, &sparse_syncfree::supernode_panels, &host_batches}) {
    Batch good(testing::random_dominant(size, 0.1, 4), 5, 6);
    BatchSolver<T> solver(*rung);
    start(solver, good);
    Arrays there(good);
    for (const double wrong : {nan, infinity, -infinity}) {
      Batch spoilt = good;
      spoilt.set(2, 7, 7, wrong);
      spoilt.b_of(1)[3] = spoilt.b_of(1)[size - 1] = wrong;
      spoilt.set(4, 3, 3, wrong);
      spoilt.b_of(4)[0] = wrong;
      for (const Stepped& out : {there.step(solver, spoilt), step(solver, spoilt)}) {
        for (const std::int32_t s : {0, 3}) expect_solved(out, spoilt, s);
        for (const std::int32_t s : {1, 2, 4}) expect_error(out, spoilt, s, StatusCode::invalid_argument);
        EXPECT_EQ(out.told[1].status().where.rows, std::vector<std::int32_t>{3});
        EXPECT_EQ(out.told[2].status().where.rows, std::vector<std::int32_t>{7});
        EXPECT_EQ(out.told[2].status().where.columns, std::vector<std::int32_t>{7});
        EXPECT_EQ(out.told[4].status().where.columns, std::vector<std::int32_t>{3});
      }
      for (const Stepped& out : {there.step(solver, good), step(solver, good)}) expect_all_solved(out, good);
    }
  }
}

// The backward error alone would hand out x0 = 0: its row is small beside max |x|.
TEST(BatchStepOnDevice, PivotsThatGrowAreRefusedAlsoWhereTheBackwardErrorIsSmall) {
  LULAB_NEED_DEVICE();
  CscMatrix<double> a;  // [[2,1],[1,2]] (+) 1
  a.n_rows = a.n_cols = 3;
  a.col_ptr = {0, 2, 4, 5};
  a.row_idx = {0, 1, 0, 1, 2};
  a.values = {2, 1, 1, 2, 1};
  Batch batch(a, 2, 1);
  for (const std::int32_t s : {0, 1}) {
    std::ranges::copy(a.values, batch.values_of(s).begin());
    std::ranges::copy(std::vector<double>{1, 2, 1e17}, batch.b_of(s).begin());
  }
  BatchSolver<double> solver(device_batches, natural_pivots());
  start(solver, batch);
  Arrays there(batch);
  expect_all_solved(there.step(solver, batch), batch);
  batch.set(1, 0, 0, 1e-30);
  batch.set(1, 1, 1, 1);
  const Stepped out = there.step(solver, batch);
  expect_solved(out, batch, 0);
  expect_error(out, batch, 1, StatusCode::needs_repivot);
  EXPECT_NE(out.told[1].status().message.find("the pivot growth is"), std::string::npos);
  const Stepped recovered = step(solver, batch);
  expect_solved(recovered, batch, 0);
  LULAB_ASSERT_OK(recovered.told[1]);
  EXPECT_NEAR(recovered.x_of(batch, 1)[0], 1, 1e-15);  // tol: condition 3
}

TEST(BatchStepOnDevice, GrowthThatPerturbingMakesIsNotJudged) {
  LULAB_NEED_DEVICE();
  Batch good(testing::random_dominant(size, 0.3, 7), 2, 8);
  SolverOptions options = natural_pivots();
  options.repivot = false;
  options.factor.perturb_pivots = 1e-7;
  options.max_growth = 4;
  BatchSolver<double> solver(sparse_syncfree::supernode_panels, options);
  start(solver, good);
  Arrays there(good);
  Batch tiny = with_values(good, 9);
  tiny.set(1, 0, 0, 1e-14);
  for (const Stepped& out : {there.step(solver, tiny), step(solver, tiny)}) {
    expect_all_solved(out, tiny);
    EXPECT_EQ(solver.statistics(1).perturbed_pivots, 1);
    EXPECT_GT(solver.statistics(1).pivot_growth, 1e3);
  }
}

TEST(BatchStepOnDevice, AnXThatDoesNotConvergeIsRefused) {
  LULAB_NEED_DEVICE();
  CscMatrix<double> a;
  a.n_rows = a.n_cols = 2;
  a.col_ptr = {0, 1, 2};
  a.row_idx = {0, 1};
  a.values = {2.5, 4};
  Batch batch(a, 2, 1);
  std::ranges::copy(a.values, batch.values_of(1).begin());
  BatchSolver<double> solver(device_batches, natural_pivots());
  start(solver, batch);
  Arrays there(batch);
  Batch small = batch;
  small.b_of(1)[0] = 7e-320;  // x0 = 2.8e-320, to a part in 6000
  small.b_of(1)[1] = 1e-310;
  for (const Stepped& out : {there.step(solver, small), step(solver, small)}) {
    expect_solved(out, small, 0);
    expect_error(out, small, 1, StatusCode::needs_repivot);
    EXPECT_EQ(solver.statistics().recovered, 0);
    EXPECT_EQ(solver.statistics().failed, 0) << "its factors are good";
  }
  expect_all_solved(there.step(solver, batch), batch);
}

TYPED_TEST(BatchStep, IsEnqueuedInTheOrderOfTheCallersStream) {
  LULAB_NEED_DEVICE();
  Batch batch(*generate("power_grid", {.n = 2 * size, .seed = 5}), 3, 4), next = with_values(batch, 5);
  BatchSolver<TypeParam> solver(device_batches);
  start(solver, batch);
  Arrays one(batch), other(batch);
  one.set(batch);
  other.set(batch);
  const std::int64_t held = simt::allocated_bytes();
  // Two steps and copies of new values between them, without a wait.
  for (int round = 0; round < 2; ++round) {
    LULAB_ASSERT_OK(one.enqueue(solver));
    LULAB_ASSERT_OK(other.d_values.upload(next.values, one.stream));
    LULAB_ASSERT_OK(other.d_b.upload(next.b, one.stream));
    LULAB_ASSERT_OK(solver.step_device(other.d_values.data(), other.d_b.data(), other.d_x.data(), one.stream));
    LULAB_ASSERT_OK(one.d_b.fill_bytes(0, one.stream));
    LULAB_ASSERT_OK(one.d_b.upload(batch.b, one.stream));
  }
  EXPECT_EQ(simt::allocated_bytes(), held);
  Stepped first, last;
  last.take(solver.wait_for_step());
  first.told = last.told;
  first.x = one.x();
  last.x = other.x();
  expect_all_solved(first, batch);
  expect_all_solved(last, next);
  const auto again = solver.wait_for_step();
  LULAB_ASSERT_OK(again);
  EXPECT_EQ(again->size(), std::size_t(batch.systems));
  std::vector<double> x(next.b.size(), nan);
  LULAB_ASSERT_OK(solver.solve(next.b, x));
  EXPECT_EQ(x, last.x);
}

TYPED_TEST(BatchStep, IsReplayedAsPartOfTheCallersGraph) {
  LULAB_NEED_DEVICE();
  for (const Rung* rung : {&device_batches, &sparse_syncfree::fan_in, &sparse_syncfree::multifrontal}) {
    Batch batch(*generate("power_grid", {.n = 2 * size, .seed = 5}), 3, 4);
    BatchSolver<TypeParam> solver(*rung);
    start(solver, batch);
    Arrays there(batch);
    there.set(batch);
    LULAB_ASSERT_OK(simt::Graph::begin_capture(there.stream));
    LULAB_ASSERT_OK(there.enqueue(solver));
    auto graph = simt::Graph::end_capture(there.stream);
    LULAB_ASSERT_OK(graph);
    std::vector<double> x(batch.b.size(), nan);
    const Status unknown = solver.solve(batch.b, x).status();
    EXPECT_EQ(unknown.code, StatusCode::invalid_argument) << "the graph has not run";
    EXPECT_NE(unknown.message.find("captured in a graph"), std::string::npos) << unknown.message;
    EXPECT_EQ(solver.wait_for_step().status().code, StatusCode::invalid_argument);
    for (const std::uint64_t seed : {1, 2, 3}) {
      Batch next = with_values(batch, 20 + seed);
      if (seed == 2) next.clear_column(1, 3);
      there.set(next);
      LULAB_ASSERT_OK(graph->launch(there.stream));
      Stepped out;
      out.told = Solutions(3, Refinement{.converged = true});
      if (seed == 2) out.told[1] = Status::error(StatusCode::needs_repivot, "");
      out.x = there.x();
      for (std::int32_t s = 0; s < batch.systems; ++s)
        if (out.told[s].ok())
          expect_solved(out, next, s);
        else
          expect_error(out, next, s, StatusCode::needs_repivot);
    }
    expect_all_solved(there.step(solver, batch), batch);
    LULAB_ASSERT_OK(solver.solve(batch.b, x));
  }
}

TYPED_TEST(BatchStep, RefusesWrongCallsAndTakesRightOnesAfterwards) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto is_bad = [](const Status& s) { return s.code == StatusCode::invalid_argument; };
  for (const Rung* rung : {&device_batches, &host_batches}) {
    Batch batch(testing::random_dominant(size, 0.1, 4), 2, 6);
    Arrays there(batch);
    there.set(batch);
    BatchSolver<T> solver(*rung);
    const auto refuses_steps = [&](bool analyzed = true) {
      std::vector<double> x(batch.b.size(), 7.0), y = x;
      EXPECT_TRUE(is_bad(solver.step(batch.values, batch.b, x).status()));
      EXPECT_TRUE(is_bad(solver.solve(batch.b, y).status()));
      there.set(batch);
      EXPECT_TRUE(is_bad(there.enqueue(solver)));
      EXPECT_TRUE(is_all_nan(x) && is_all_nan(y));
      EXPECT_EQ(is_all_nan(there.x()), analyzed);
      std::vector<double> overlapping(x.size() + 1, 7.0);
      const auto first = std::span(overlapping).first(x.size()), last = std::span(overlapping).last(x.size());
      EXPECT_TRUE(is_bad(solver.step(batch.values, first, last).status()));
      EXPECT_TRUE(is_bad(solver.solve(first, last).status()));
      EXPECT_EQ(overlapping, std::vector<double>(x.size() + 1, 7.0));
    };
    refuses_steps(false);
    EXPECT_TRUE(is_bad(solver.wait_for_step().status()));
    LULAB_ASSERT_OK(solver.analyze(batch.a, batch.systems));
    refuses_steps();
    start(solver, batch);
    std::vector<double> x(batch.b.size(), 7.0);
    EXPECT_TRUE(is_bad(solver.wait_for_step().status())) << "no step yet";
    EXPECT_TRUE(is_bad(solver.step(batch.values_of(0), batch.b, x).status()));
    EXPECT_TRUE(is_bad(solver.step(batch.values, batch.b_of(0), x).status()));
    EXPECT_TRUE(is_bad(solver.step(batch.values, batch.b, std::span(x).first(size)).status()));
    EXPECT_TRUE(is_bad(solver.step(batch.values, x, x).status()));
    double *v = there.d_values.data(), *b = there.d_b.data(), *d_x = there.d_x.data();
    EXPECT_TRUE(is_bad(solver.step_device(nullptr, b, d_x, there.stream)));
    EXPECT_TRUE(is_bad(solver.step_device(v, nullptr, d_x, there.stream)));
    EXPECT_TRUE(is_bad(solver.step_device(v, b, nullptr, there.stream)));
    EXPECT_TRUE(is_bad(solver.step_device(v, b, b + size, there.stream)));
    EXPECT_EQ(x, std::vector<double>(x.size(), 7.0)) << "a wrong size changes nothing";
    LULAB_ASSERT_OK(solver.solve(batch.b, x));
    expect_all_solved(step(solver, batch), batch);
    expect_all_solved(there.step(solver, batch), batch);
    EXPECT_TRUE(is_bad(solver.factor(batch.values_of(0)).status()));
    refuses_steps();  // the last factor() failed
    start(solver, batch);
    LULAB_ASSERT_OK(there.enqueue(solver));  // in flight while the next call comes
    Batch other(testing::random_dominant(size / 2, 0.2, 9), 3, 6);
    start(solver, other);
    expect_all_solved(step(solver, other), other);
    BatchSolver<T> moved = std::move(solver);
    expect_all_solved(step(moved, other), other);
    EXPECT_TRUE(is_bad(solver.wait_for_step().status()));  // NOLINT(bugprone-use-after-move): it is like a new one
  }
}

TYPED_TEST(BatchStep, AFaultOfTheDeviceIsTold) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  Batch batch(testing::random_dominant(size, 0.1, 4), 2, 6);
  BatchSolver<T> solver(device_batches);
  start(solver, batch);
  Arrays there(batch);
  {
    const WithTrouble refused(Trouble::no_launch);
    const Stepped out = step(solver, batch);
    EXPECT_FALSE(out.whole.ok());
    EXPECT_TRUE(is_all_nan(out.x));
    std::vector<double> x(batch.b.size(), 1.0);
    EXPECT_FALSE(solver.solve(batch.b, x).ok());
    EXPECT_FALSE(there.enqueue(solver).ok());
    EXPECT_FALSE(solver.wait_for_step().ok());
    EXPECT_FALSE(solver.solve(batch.b, x).ok());
  }
  expect_all_solved(there.step(solver, batch), batch);
  expect_all_solved(step(solver, batch), batch);
  {
    const WithTrouble infinite(Trouble::silent_infinity);
    const Stepped out = there.step(solver, batch);
    for (std::int32_t s = 0; s < batch.systems; ++s) expect_error(out, batch, s, StatusCode::needs_repivot);
  }
  expect_all_solved(there.step(solver, batch), batch);
}

TEST(BatchStepOnHost, ARungOnTheHostTakesTheWayThroughTheHost) {
  LULAB_NEED_DEVICE();
  Batch good(*generate("power_grid", {.n = size, .seed = 5}), 3, 4);
  BatchSolver<double> solver(sparse_syncfree::reference);
  start(solver, good);
  Arrays there(good);
  for (const std::uint64_t seed : {1, 2}) {
    Batch next = with_values(good, 30 + seed);
    const Stepped in_place = there.step(solver, next);
    expect_all_solved(in_place, next);
    EXPECT_EQ(step(solver, next).x, in_place.x);
    next.clear_column(1, 4);
    for (const Stepped& out : {there.step(solver, next), step(solver, next)}) {
      expect_error(out, next, 1, StatusCode::numerically_singular);
      expect_solved(out, next, 0);
      expect_solved(out, next, 2);
    }
  }
}

TEST(BatchStepOnHost, EmptySystemsTakeSteps) {
  LULAB_NEED_DEVICE();
  BatchSolver<double> solver(host_batches);
  LULAB_ASSERT_OK(solver.analyze(CscMatrix<double>(), 2));
  LULAB_ASSERT_OK(solver.factor({}));
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  LULAB_ASSERT_OK(solver.step_device(nullptr, nullptr, nullptr, *stream));
  const auto told = solver.wait_for_step();
  LULAB_ASSERT_OK(told);
  EXPECT_EQ(told->size(), 2u);
}

}  // namespace
}  // namespace lulab
