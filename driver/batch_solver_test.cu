// Every system of a batch is solved as Solver solves it alone, on the device and on the host, whatever its neighbours
// do.

#include "driver/batch_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "core/factorizer.h"
#include "core/matrix/generate.h"
#include "driver/analyze.h"
#include "solve/device_batch_solver.h"
#include "sparse_syncfree/rungs.h"
#include "testing/batch.h"
#include "testing/dense_elimination.h"
#include "testing/device.h"
#include "testing/device_rungs.h"

namespace lulab {

namespace {

using testing::Batch, testing::Trouble, testing::WithTrouble;

constexpr double eps = 0x1p-53;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int32_t size = simt::race_detection ? 20 : 60;

const Rung on_device = testing::one_thread_batch_rung();      // factors stay on the device
const Rung on_host = testing::one_thread_rung(false, false);  // one system after another, solved by the host

/// Every solution as good as it can be.
SolverOptions refined() {
  SolverOptions options;
  options.backward_error = 0;
  return options;
}

SolverOptions natural_pivots(bool repivot = true) {
  SolverOptions options = refined();
  options.preprocess.order = Order::natural;
  options.preprocess.matching = false;
  options.preprocess.scaling = false;
  options.repivot = repivot;
  return options;
}

struct Solved {
  std::vector<Status> statuses;
  std::vector<Result<Refinement>> refined;
  std::vector<double> x;
};

/// Factors and solves into poisoned memory; what failed as a whole fails the test.
template <class T>
Solved run(BatchSolver<T>& solver, Batch& batch) {
  Solved out;
  out.x.assign(batch.b.size(), 1e300);
  auto statuses = solver.factor(batch.values);
  EXPECT_TRUE(statuses.ok()) << statuses.status().to_string();
  if (!statuses.ok()) return out;
  out.statuses = std::move(*statuses);
  auto refined = solver.solve(batch.b, out.x);
  EXPECT_TRUE(refined.ok()) << refined.status().to_string();
  if (refined.ok()) out.refined = std::move(*refined);
  EXPECT_EQ(out.statuses.size(), std::size_t(batch.systems));
  EXPECT_EQ(out.refined.size(), std::size_t(batch.systems));
  return out;
}

std::span<const double> x_of(const Solved& out, const Batch& batch, std::int32_t s) {
  return std::span(out.x).subspan(std::size_t(batch.a.n_cols) * s, batch.a.n_cols);
}

/// x is as good as refinement makes it, and the error that was told is its own.
void expect_solved(const Solved& out, Batch& batch, std::int32_t s) {
  ASSERT_LT(std::size_t(s), out.refined.size());
  EXPECT_TRUE(out.statuses[s].ok()) << s << ": " << out.statuses[s].to_string();
  ASSERT_TRUE(out.refined[s].ok()) << s << ": " << out.refined[s].status().to_string();
  EXPECT_TRUE(out.refined[s]->converged);
  EXPECT_TRUE(out.refined[s]->omega <= 2 * eps) << out.refined[s]->omega;
  const CscMatrix<double> a = batch.matrix(s);
  const double error = componentwise_backward_error(a, x_of(out, batch, s), batch.b_of(s));
  EXPECT_TRUE(error <= 4 * eps) << s << ": " << error;
  // tol: the sums |A||x| of the two are rounded in another order
  EXPECT_TRUE(std::abs(error - out.refined[s]->backward_error) <= 1e-12 * error) << s;
}

void expect_no_x(const Solved& out, const Batch& batch, std::int32_t s) {
  for (const double v : x_of(out, batch, s)) EXPECT_TRUE(std::isnan(v)) << s;
}

std::vector<CscMatrix<double>> matrices() {
  std::vector<CscMatrix<double>> all = {testing::random_dominant(1, 0, 1), testing::random_dominant(size, 0.05, 2),
                                        testing::random_dominant(size / 2, 0.5, 3)};
  for (const char* family :
       {"power_grid", "convection2d", "zero_diagonal", "dense_row", "dense_column", "badly_scaled"})
    all.push_back(*generate(family, {.n = 3 * size, .seed = 5}));
  return all;
}

template <class Scalar, bool device>
struct Place {
  using T = Scalar;
  static constexpr bool is_device = device;
  static const Rung& rung() { return device ? on_device : on_host; }
};

template <class W>
class BatchSolverTest : public ::testing::Test {};
using Places = ::testing::Types<Place<float, true>, Place<double, true>, Place<float, false>, Place<double, false>>;
TYPED_TEST_SUITE(BatchSolverTest, Places);

TYPED_TEST(BatchSolverTest, SolvesEachSystemAsSolverDoesAlone) {
  LULAB_NEED_DEVICE();
  using T = typename TypeParam::T;
  std::uint64_t seed = 0;
  for (const CscMatrix<double>& a : matrices()) {
    const simt::SimulatorScope scope({.seed = ++seed});
    Batch batch(a, 1 + static_cast<std::int32_t>(seed % 4), 10 * seed);
    BatchSolver<T> solver(TypeParam::rung(), refined());
    LULAB_ASSERT_OK(solver.analyze(a, batch.systems));
    const Solved out = run(solver, batch);
    Solver<T> alone(on_host);
    ASSERT_TRUE(alone.analyze(a, solver.analysis()).ok());
    for (std::int32_t s = 0; s < batch.systems; ++s) {
      expect_solved(out, batch, s);
      LULAB_ASSERT_OK(alone.factor(batch.matrix(s)));
      std::vector<double> y(a.n_cols, nan);
      LULAB_ASSERT_OK(alone.solve(batch.b_of(s), y));
      const double growth = solver.statistics(s).pivot_growth;  // tol: two roundings of the scaling
      EXPECT_TRUE(std::abs(growth - alone.statistics().pivot_growth) <= 1e-14 * growth) << growth;
      double largest = 0;
      for (const double v : y) largest = std::max(largest, std::abs(v));
      for (std::int32_t i = 0; i < a.n_cols; ++i)  // tol: both solve to a few eps; condition <= 1e6
        EXPECT_TRUE(std::abs(x_of(out, batch, s)[i] - y[i]) <= 16 * eps * 1e6 * largest) << s << " " << i;
    }
    // A batch of one is no batch: its factors stay on the device.
    EXPECT_EQ(solver.statistics().on_device, TypeParam::is_device || batch.systems == 1);
    EXPECT_EQ(solver.statistics().recovered, 0) << seed;
    EXPECT_EQ(solver.statistics().failed, 0);
    EXPECT_EQ(solver.statistics().systems, batch.systems);
  }
}

TYPED_TEST(BatchSolverTest, OneThatIsSingularLeavesTheOthersAlone) {
  LULAB_NEED_DEVICE();
  using T = typename TypeParam::T;
  for (const bool repivot : {false, true}) {
    Batch batch(testing::random_dominant(size, 0.1, 4), 3, 5);
    BatchSolver<T> solver(TypeParam::rung(), natural_pivots(repivot));
    LULAB_ASSERT_OK(solver.analyze(batch.a, batch.systems));
    const Solved before = run(solver, batch);
    batch.clear_column(1, size / 2);
    const Solved out = run(solver, batch);
    for (const std::int32_t s : {0, 2}) {
      expect_solved(out, batch, s);
      EXPECT_TRUE(std::ranges::equal(x_of(out, batch, s), x_of(before, batch, s))) << s;
    }
    EXPECT_EQ(out.statuses[1].code, repivot ? StatusCode::numerically_singular : StatusCode::needs_repivot);
    EXPECT_EQ(out.statuses[1].where.columns, std::vector<std::int32_t>{size / 2});
    EXPECT_EQ(out.refined[1].status().code, out.statuses[1].code);
    expect_no_x(out, batch, 1);
    EXPECT_EQ(solver.statistics().failed, 1);
    EXPECT_EQ(solver.statistics().recovered, 0);
  }
}

TYPED_TEST(BatchSolverTest, WhatIsNotFiniteIsToldOfItsSystem) {
  LULAB_NEED_DEVICE();
  using T = typename TypeParam::T;
  Batch batch(testing::random_dominant(size, 0.1, 4), 4, 6);
  BatchSolver<T> solver(TypeParam::rung(), refined());
  LULAB_ASSERT_OK(solver.analyze(batch.a, batch.systems));
  Batch spoilt = batch;
  spoilt.set(2, 7, 7, nan);
  spoilt.b_of(1)[3] = std::numeric_limits<double>::infinity();
  const Solved out = run(solver, spoilt);
  for (const std::int32_t s : {0, 3}) expect_solved(out, spoilt, s);
  EXPECT_TRUE(out.statuses[1].ok());
  EXPECT_EQ(out.statuses[2].code, StatusCode::invalid_argument);
  EXPECT_EQ(out.statuses[2].where.columns, std::vector<std::int32_t>{7});
  EXPECT_EQ(out.statuses[2].where.rows, std::vector<std::int32_t>{7});
  EXPECT_EQ(out.refined[1].status().code, StatusCode::invalid_argument);
  EXPECT_EQ(out.refined[1].status().where.rows, std::vector<std::int32_t>{3});
  EXPECT_EQ(out.refined[2].status().code, StatusCode::invalid_argument);
  expect_no_x(out, spoilt, 1);
  expect_no_x(out, spoilt, 2);
  EXPECT_EQ(solver.statistics().recovered, 0);
  const Solved again = run(solver, batch);  // nothing is left of it
  for (std::int32_t s = 0; s < batch.systems; ++s) expect_solved(again, batch, s);
}

TYPED_TEST(BatchSolverTest, PivotsThatDoNotSuitOneSystemAreReplacedThereOrTold) {
  LULAB_NEED_DEVICE();
  using T = typename TypeParam::T;
  for (const double pivot : {0.0, 1e-30}) {
    Batch batch(testing::random_dominant(size, 0.3, 7), 3, 8);
    batch.set(1, 0, 0, pivot);
    BatchSolver<T> refuses(TypeParam::rung(), natural_pivots(false)), recovers(TypeParam::rung(), natural_pivots());
    LULAB_ASSERT_OK(refuses.analyze(batch.a, batch.systems));
    LULAB_ASSERT_OK(recovers.analyze(batch.a, batch.systems));
    const Solved told = run(refuses, batch);
    expect_solved(told, batch, 0);
    expect_solved(told, batch, 2);
    EXPECT_EQ(told.refined[1].status().code, StatusCode::needs_repivot) << pivot;
    expect_no_x(told, batch, 1);
    EXPECT_EQ(refuses.statistics().recovered, 0);
    for (int twice = 0; twice < 2; ++twice) {
      const Solved out = run(recovers, batch);
      for (std::int32_t s = 0; s < batch.systems; ++s) expect_solved(out, batch, s);
      EXPECT_EQ(recovers.statistics().recovered, 1) << pivot;
      EXPECT_EQ(recovers.statistics(1).repivots, 1);
      EXPECT_EQ(recovers.statistics().on_device, TypeParam::is_device);
      EXPECT_FALSE(recovers.statistics(0).repivots == 1);
      EXPECT_GT(recovers.times().pivots, 0);
    }
    std::vector<double> x(batch.b.size(), nan);  // another right-hand side for the same pivots
    batch.b = random_vector(batch.a.n_cols * batch.systems, 99);
    auto more = recovers.solve(batch.b, x);
    LULAB_ASSERT_OK(more);
    const Solved out{std::vector<Status>(3), *more, x};
    for (std::int32_t s = 0; s < batch.systems; ++s) expect_solved(out, batch, s);
  }
}

TYPED_TEST(BatchSolverTest, SolutionsThatAreHandedOutAreRightHoweverSmallThePivot) {
  LULAB_NEED_DEVICE();
  using T = typename TypeParam::T;
  Batch batch(testing::random_dominant(size / 2, 0.3, 7), 12, 8);
  for (std::int32_t s = 0; s < batch.systems; ++s) batch.set(s, 0, 0, std::pow(100.0, -s));
  BatchSolver<T> refuses(TypeParam::rung(), natural_pivots(false)), recovers(TypeParam::rung(), natural_pivots());
  LULAB_ASSERT_OK(refuses.analyze(batch.a, batch.systems));
  LULAB_ASSERT_OK(recovers.analyze(batch.a, batch.systems));
  const Solved told = run(refuses, batch), out = run(recovers, batch);
  std::int32_t refused = 0;
  for (std::int32_t s = 0; s < batch.systems; ++s) {
    expect_solved(out, batch, s);
    if (told.refined[s].ok()) {
      expect_solved(told, batch, s);
      continue;
    }
    ++refused;
    EXPECT_EQ(told.refined[s].status().code, StatusCode::needs_repivot);
    expect_no_x(told, batch, s);
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, batch.systems);
  EXPECT_EQ(recovers.statistics().recovered, refused);
  EXPECT_EQ(recovers.statistics().failed, 0);
}

/// [[2,1],[1,2]] (+) I of n rows in every system, values as they are.
Batch block_beside_identity(std::int32_t n, std::int32_t systems) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = j < 2 ? 0 : j; i <= std::max(j, 1); ++i) {
      a.row_idx.push_back(i);
      a.values.push_back(j >= 2 ? 1 : i == j ? 2 : 1);
    }
    a.col_ptr.push_back(a.nnz());
  }
  Batch batch(a, systems, 1);
  for (std::int32_t s = 0; s < systems; ++s) std::ranges::copy(a.values, batch.values_of(s).begin());
  return batch;
}

// A row that is small beside max |x| is judged beside max |x|: the backward error alone would hand out x0 = 0.
TYPED_TEST(BatchSolverTest, ALargeUnknownDoesNotHideTheBadPivotsOfAnotherBlock) {
  LULAB_NEED_DEVICE();
  using T = typename TypeParam::T;
  for (const std::int32_t n : {3, size})
    for (const double pivot : {1e-30, 1e-12, 1e-7}) {
      if (pivot == 1e-7 && sizeof(T) == 8) continue;  // good enough there
      Batch batch = block_beside_identity(n, 2);
      batch.set(1, 0, 0, pivot);
      batch.set(1, 1, 1, 1);
      std::ranges::fill(batch.b, 1);
      for (const std::int32_t s : {0, 1}) {
        batch.b_of(s)[1] = 2;
        batch.b_of(s)[n - 1] = 1e17;
      }
      BatchSolver<T> refuses(TypeParam::rung(), natural_pivots(false)), recovers(TypeParam::rung(), natural_pivots());
      LULAB_ASSERT_OK(refuses.analyze(batch.a, batch.systems));
      LULAB_ASSERT_OK(recovers.analyze(batch.a, batch.systems));
      const Solved told = run(refuses, batch), out = run(recovers, batch);
      EXPECT_TRUE(told.statuses[0].ok());
      EXPECT_EQ(told.statuses[1].code, StatusCode::needs_repivot) << pivot;
      EXPECT_NE(told.statuses[1].message.find("the pivot growth is"), std::string::npos) << told.statuses[1].message;
      expect_no_x(told, batch, 1);
      EXPECT_EQ(recovers.statistics().recovered, 1);
      expect_solved(out, batch, 0);
      LULAB_ASSERT_OK(out.refined[1]);
      const double x0 = x_of(out, batch, 1)[0];  // tol: condition 3; refinement need not look at this block
      EXPECT_TRUE(std::abs(x0 - 1 / (1 - pivot)) <= 8 * std::numeric_limits<T>::epsilon()) << x0;
    }
}

TYPED_TEST(BatchSolverTest, GrowthUpToTheLimitIsTaken) {
  LULAB_NEED_DEVICE();
  using T = typename TypeParam::T;
  Batch batch = block_beside_identity(3, 1);
  batch.set(0, 0, 0, 0x1p-10);  // growth 2^10 / 2
  for (const double below : {1 - 0x1p-8, 1 + 0x1p-8}) {
    SolverOptions options = natural_pivots(false);
    options.max_growth = below * 0x1p9 * (sizeof(T) == 4 ? std::sqrt(0x1p29) : 1);  // max |U| = 2^10 - 2
    BatchSolver<T> solver(TypeParam::rung(), options);
    LULAB_ASSERT_OK(solver.analyze(batch.a, batch.systems));
    const Solved out = run(solver, batch);
    EXPECT_EQ(out.statuses[0].ok(), below > 1);
  }
}

TYPED_TEST(BatchSolverTest, FactorsThatAreSilentlyWrongDoNotPass) {
  LULAB_NEED_DEVICE();
  using T = typename TypeParam::T;
  const WithTrouble infinite(Trouble::silent_infinity);
  Batch batch(testing::random_dominant(size, 0.3, 7), 2, 8);
  BatchSolver<T> refuses(TypeParam::rung(), natural_pivots(false)), recovers(TypeParam::rung(), natural_pivots());
  LULAB_ASSERT_OK(refuses.analyze(batch.a, batch.systems));
  LULAB_ASSERT_OK(recovers.analyze(batch.a, batch.systems));
  const Solved told = run(refuses, batch), out = run(recovers, batch);
  for (std::int32_t s = 0; s < batch.systems; ++s) {
    EXPECT_FALSE(told.refined[s].ok());
    expect_no_x(told, batch, s);
    expect_solved(out, batch, s);
  }
  EXPECT_EQ(recovers.statistics().recovered, 2);
}

TYPED_TEST(BatchSolverTest, PivotsMayBeChosenByValueBeforehand) {
  LULAB_NEED_DEVICE();
  using T = typename TypeParam::T;
  for (const FirstFactorization first : {FirstFactorization::reference, FirstFactorization::klu}) {
    Batch batch(testing::random_dominant(size, 0.3, 7), 3, 8);
    SolverOptions options = natural_pivots(false);
    options.first = first;
    for (std::int32_t s = 0; s < batch.systems; ++s) batch.set(s, 0, 0, 0);
    BatchSolver<T> solver(TypeParam::rung(), options);
    LULAB_ASSERT_OK(solver.analyze(batch.matrix(0), batch.systems));
    const Solved out = run(solver, batch);
    for (std::int32_t s = 0; s < batch.systems; ++s) expect_solved(out, batch, s);
  }
}

TYPED_TEST(BatchSolverTest, RefusesWrongCallsAndTakesRightOnesAfterwards) {
  LULAB_NEED_DEVICE();
  using T = typename TypeParam::T;
  Batch batch(testing::random_dominant(size, 0.1, 4), 2, 6);
  BatchSolver<T> solver(TypeParam::rung(), refined());
  std::vector<double> x(batch.b.size(), nan);
  const auto is_bad = [](const Status& s) { return s.code == StatusCode::invalid_argument; };
  EXPECT_TRUE(is_bad(solver.factor(batch.values).status()));
  EXPECT_TRUE(is_bad(solver.solve(batch.b, x).status()));
  EXPECT_TRUE(is_bad(solver.analyze(batch.a, 0)));
  EXPECT_TRUE(is_bad(solver.factor(batch.values).status()));
  LULAB_ASSERT_OK(solver.analyze(batch.a, batch.systems));
  EXPECT_TRUE(is_bad(solver.solve(batch.b, x).status()));
  EXPECT_TRUE(is_bad(solver.factor(batch.values_of(0)).status()));
  const Solved out = run(solver, batch);
  for (std::int32_t s = 0; s < batch.systems; ++s) expect_solved(out, batch, s);
  EXPECT_TRUE(is_bad(solver.solve(batch.b_of(0), x).status()));
  EXPECT_TRUE(is_bad(solver.solve(batch.b, std::span(x).first(size)).status()));
  EXPECT_TRUE(is_bad(solver.factor(batch.values_of(0)).status()));
  EXPECT_TRUE(is_bad(solver.solve(batch.b, x).status())) << "factors that another call has replaced";
  {
    const WithTrouble none(Trouble::no_launch);
    const auto statuses = solver.factor(batch.values);  // of a batch of its own: all systems at once
    EXPECT_TRUE(!statuses.ok() || std::ranges::none_of(*statuses, &Status::ok));
  }
  const Solved again = run(solver, batch);
  for (std::int32_t s = 0; s < batch.systems; ++s) expect_solved(again, batch, s);
  Batch other(testing::random_dominant(size / 2, 0.2, 9), 3, 6);
  LULAB_ASSERT_OK(solver.analyze(other.a, other.systems));
  const Solved last = run(solver, other);
  for (std::int32_t s = 0; s < other.systems; ++s) expect_solved(last, other, s);
}

// What refinement cannot judge is told, and does not take the system off the pivots that all have.
TYPED_TEST(BatchSolverTest, ARightHandSideTooSmallToJudgeIsToldAndLeavesThePivotsAlone) {
  LULAB_NEED_DEVICE();
  using T = typename TypeParam::T;
  CscMatrix<double> a;
  a.n_rows = a.n_cols = 2;
  a.col_ptr = {0, 1, 2};
  a.row_idx = {0, 1};
  a.values = {2.5, 4};
  Batch batch(a, 2, 1);
  std::ranges::copy(a.values, batch.values_of(1).begin());
  batch.b_of(1)[0] = 7e-320;  // x0 = 2.8e-320, to a part in 6000
  batch.b_of(1)[1] = 1e-310;
  BatchSolver<T> solver(TypeParam::rung(), natural_pivots());
  LULAB_ASSERT_OK(solver.analyze(batch.a, batch.systems));
  for (int twice = 0; twice < 2; ++twice) {
    const Solved out = run(solver, batch);
    expect_solved(out, batch, 0);
    EXPECT_TRUE(out.statuses[1].ok());
    const Status told = out.refined[1].status();
    EXPECT_EQ(told.code, StatusCode::needs_repivot);
    EXPECT_NE(told.message.find("b or x is too small"), std::string::npos) << told.message;
    EXPECT_NE(told.message.find("with pivots chosen for these values, too"), std::string::npos) << told.message;
    expect_no_x(out, batch, 1);
    EXPECT_EQ(solver.statistics().recovered, 0);
  }
  Batch sound = batch;
  for (double& v : sound.b_of(1)) v = 1;
  const Solved out = run(solver, sound);
  for (const std::int32_t s : {0, 1}) expect_solved(out, sound, s);
  EXPECT_EQ(solver.statistics().recovered, 0);
}

/// No memory: to make it, or in prepare().
template <bool in_constructor>
class NoMemory final : public Backend<double> {
 public:
  NoMemory() {
    if (in_constructor) throw std::bad_alloc();
  }
  Status prepare(const Analysis&, std::int32_t) override { throw std::bad_alloc(); }
  Status upload(std::span<const double>) override { return {}; }
  Status enqueue(Phase) override { return {}; }
  Status collect(std::span<Status>) override { return {}; }
  Result<Factors<double>> download(std::int32_t) override { return Factors<double>{}; }
};

TEST(BatchSolver, WithoutMemoryForAnAnalysisNothingIsLeft) {
  const RungFacts facts = {.id = "test/no_memory", .takes_batches = true};
  const Rung in_factory = rung_in_double<NoMemory<true>>(facts), in_analyze = rung_in_double<NoMemory<false>>(facts);
  Batch batch(testing::random_dominant(5, 0.5, 1), 2, 1);
  for (const Rung* rung : {&in_factory, &in_analyze}) {
    BatchSolver<double> solver(*rung, refined());
    EXPECT_EQ(solver.analyze(batch.a, batch.systems).code, StatusCode::out_of_memory);
    EXPECT_EQ(solver.factor(batch.values).status().code, StatusCode::out_of_memory);
    std::vector<double> x(batch.b.size(), nan);
    EXPECT_EQ(solver.solve(batch.b, x).status().code, StatusCode::out_of_memory);
    EXPECT_EQ(solver.statistics().systems, 0);
  }
}

TEST(BatchSolver, RungsThatChoosePivotsByValueHaveNoBatches) {
  Rung pivots = on_host;
  pivots.facts.pivoting = Pivoting::threshold;
  BatchSolver<double> solver(pivots);
  EXPECT_EQ(solver.analyze(testing::random_dominant(5, 0.5, 1), 2).code, StatusCode::not_implemented);
  SolverOptions perturbed;
  perturbed.factor.perturb_pivots = 1e-8;
  BatchSolver<double> perturbs(on_host, perturbed);
  EXPECT_EQ(perturbs.analyze(testing::random_dominant(5, 0.5, 1), 2).code, StatusCode::invalid_argument);
}

TEST(BatchSolver, GrowthThatPerturbingMakesIsNotJudged) {
  LULAB_NEED_DEVICE();
  const Rung one_by_one = testing::one_thread_rung();
  for (const Rung* rung : {&one_by_one, &sparse_syncfree::supernode_panels}) {
    Batch batch(testing::random_dominant(size, 0.3, 7), 2, 8);
    batch.set(1, 0, 0, 1e-14);
    SolverOptions options = natural_pivots(false);
    options.factor.perturb_pivots = 1e-7;
    options.max_growth = 4;
    BatchSolver<double> solver(*rung, options);
    LULAB_ASSERT_OK(solver.analyze(batch.a, batch.systems));
    const Solved out = run(solver, batch);
    for (const std::int32_t s : {0, 1}) expect_solved(out, batch, s);
    EXPECT_GT(solver.statistics(1).pivot_growth, 1e3) << rung->facts.id;
    EXPECT_EQ(solver.statistics(1).perturbed_pivots, 1);
  }
}

TEST(BatchSolver, AFloatThatOverflowsIsTold) {
  LULAB_NEED_DEVICE();
  for (const Rung* rung : {&on_device, &on_host}) {
    Batch batch(testing::random_dominant(10, 0.3, 7), 2, 8);
    batch.set(1, 4, 4, 1e200);
    BatchSolver<float> solver(*rung, refined());
    LULAB_ASSERT_OK(solver.analyze(batch.a, batch.systems));
    const Solved out = run(solver, batch);
    expect_solved(out, batch, 0);
    EXPECT_EQ(out.statuses[1].code, StatusCode::invalid_argument);
  }
}

TEST(BatchSolver, EmptySystemsAreSolved) {
  LULAB_NEED_DEVICE();
  CscMatrix<double> empty;
  BatchSolver<double> solver(on_host, refined());
  LULAB_ASSERT_OK(solver.analyze(empty, 2));
  const auto statuses = solver.factor({});
  LULAB_ASSERT_OK(statuses);
  EXPECT_EQ(statuses->size(), 2u);
  const auto solved = solver.solve({}, {});
  LULAB_ASSERT_OK(solved);
  for (const auto& s : *solved) EXPECT_TRUE(s.ok() && s->converged);
}

TEST(BatchSolver, SolvesWhereARungLeavesItsBatches) {
  LULAB_NEED_DEVICE();
  for (const char* family : {"power_grid", "convection2d"})
    for (const Rung* rung :
         {&sparse_syncfree::supernode_panels, &sparse_syncfree::fan_in, &sparse_syncfree::multifrontal}) {
      SCOPED_TRACE(rung->facts.id);
      Batch batch(*generate(family, {.n = 2 * size, .seed = 5}), 4, 6);
      batch.clear_column(2, size);
      BatchSolver<double> solver(*rung, refined());
      BatchSolver<float> narrow(*rung);
      LULAB_ASSERT_OK(solver.analyze(batch.a, batch.systems));
      LULAB_ASSERT_OK(narrow.analyze(batch.a, batch.systems));
      const Solved out = run(solver, batch), of_floats = run(narrow, batch);
      for (const std::int32_t s : {0, 1, 3}) {
        expect_solved(out, batch, s);
        expect_solved(of_floats, batch, s);
      }
      EXPECT_EQ(out.statuses[2].code, StatusCode::numerically_singular) << out.statuses[2].to_string();
      EXPECT_TRUE(solver.statistics().on_device && narrow.statistics().on_device);
      EXPECT_EQ(solver.statistics().recovered, 0);
      EXPECT_GT(solver.statistics().peak_bytes, 0);
    }
}

// Where Solver ends, by the same options; float factors as far as it goes.
TYPED_TEST(BatchSolverTest, CorrectsAsFarAsItsOptionsSay) {
  LULAB_NEED_DEVICE();
  using T = typename TypeParam::T;
  Batch batch(testing::random_dominant(size, 0.2, 3), 3, 4);
  batch.set(1, 0, 0, 1e-3);  // its first x is a little worse
  SolverOptions by_default = natural_pivots(false), never = by_default;
  by_default.backward_error = SolverOptions().backward_error;
  never.refine = Refine::never;
  BatchSolver<T> refines(TypeParam::rung(), natural_pivots(false)), ends(TypeParam::rung(), by_default),
      leaves(TypeParam::rung(), never);
  for (BatchSolver<T>* solver : {&refines, &ends, &leaves}) {
    LULAB_ASSERT_OK(solver->analyze(batch.a, batch.systems));
    const Solved out = run(*solver, batch);
    for (std::int32_t s = 0; s < batch.systems; ++s) {
      LULAB_ASSERT_OK(out.refined[s]);
      const int steps = out.refined[s]->iterations;
      if (solver == &refines && !simt::race_detection) {  // there A is so small that the first x is good
        EXPECT_GT(steps, 0);
      } else if (solver == &ends) {
        EXPECT_EQ(steps > 0, sizeof(T) == 4);
      } else if (solver == &leaves) {
        EXPECT_EQ(steps, 0);
      }
      const double error = componentwise_backward_error(batch.matrix(s), x_of(out, batch, s), batch.b_of(s));
      EXPECT_TRUE(error <= (solver == &leaves ? (sizeof(T) == 4 ? max_float_error : max_backward_error)
                                              : SolverOptions().backward_error))
          << error;
    }
  }
}

TEST(BatchSolver, ChoosesItsRungWhereNoneIsNamed) {
  LULAB_NEED_DEVICE();
  Batch batch(testing::random_dominant(size, 0.2, 3), 3, 4);
  BatchSolver<double> solver(refined());
  EXPECT_EQ(solver.choice().rung, nullptr);
  LULAB_ASSERT_OK(solver.analyze(batch.a, batch.systems));
  const Solved out = run(solver, batch);
  for (std::int32_t s = 0; s < batch.systems; ++s) expect_solved(out, batch, s);
  ASSERT_NE(solver.choice().rung, nullptr);
  EXPECT_FALSE(solver.choice().reason.empty());
}

TEST(BatchSolver, FallsBackWhereTheGpuHasNoRoom) {
  LULAB_NEED_DEVICE();
  const Rung no_memory = rung_in_double<NoMemory<false>>({.id = "test/no_memory", .takes_batches = true});
  const RungChooser chooser(on_host, no_memory, [](const FilledPattern&, int, const Workload&, const KnownCosts&) {
    return Prospects{.cpu_us = 1, .gpu_us = 2};
  });
  Batch batch(testing::random_dominant(size, 0.2, 3), 3, 4);
  BatchSolver<double> solver(chooser, refined());
  LULAB_ASSERT_OK(solver.analyze(batch.a, batch.systems));
  const Solved out = run(solver, batch);
  for (std::int32_t s = 0; s < batch.systems; ++s) expect_solved(out, batch, s);
  EXPECT_EQ(solver.choice().rung, &on_host);
  EXPECT_NE(solver.choice().reason.find("test/no_memory could not be prepared"), std::string::npos)
      << solver.choice().reason;
}

/// DeviceBatchSolver alone, with right factors.
template <class T>
struct OnDevice {
  Batch batch;
  Analysis analysis;
  Factorizer<T> factors{std::make_unique<testing::OneThread<T>>(FactorOptions{}), on_device.facts};
  simt::DeviceBuffer<double> d_a, d_b, d_x;
  std::unique_ptr<DeviceBatchSolver<T>> solver;

  explicit OnDevice(Batch of) : batch(std::move(of)) {}
  Status start(const PreprocessOptions& options = {}, const BatchSolveOptions& solve = {}) {
    LULAB_ASSIGN_OR_RETURN(analysis, analyze(batch.a, options));
    LULAB_RETURN_IF_ERROR(factors.analyze(analysis, batch.systems));
    const std::vector<T> values(batch.values.begin(), batch.values.end());
    LULAB_RETURN_IF_ERROR(factors.upload(values));
    LULAB_RETURN_IF_ERROR(factors.factor());
    LULAB_RETURN_IF_ERROR(factors.wait());
    LULAB_RETURN_IF_ERROR(simt::make(d_a, batch.values, *factors.stream()));
    LULAB_RETURN_IF_ERROR(simt::make(d_b, batch.b, *factors.stream()));
    LULAB_RETURN_IF_ERROR(simt::make(d_x, std::int64_t(batch.b.size())));
    LULAB_RETURN_IF_ERROR(factors.stream()->wait());
    LULAB_ASSIGN_OR_RETURN(solver, DeviceBatchSolver<T>::create(analysis, batch.systems, *factors.stream(), solve));
    return {};
  }
  Result<std::vector<double>> solve(std::span<const std::int32_t> which, int max_iterations = 10) {
    LULAB_RETURN_IF_ERROR(d_x.fill_bytes(0xFF, *factors.stream()));
    LULAB_ASSIGN_OR_RETURN(const auto refined,
                           solver->solve(d_a.data(), factors.device_arrays().lu, which, d_b.data(), d_x.data(),
                                         *factors.stream(), {RefinementRule::eps, max_iterations}));
    for (const Refinement& r : refined) EXPECT_TRUE(max_iterations == 0 ? r.iterations == 0 : r.converged) << r.omega;
    std::vector<double> x(batch.b.size(), nan);
    LULAB_RETURN_IF_ERROR(d_x.download(x, *factors.stream()));
    LULAB_RETURN_IF_ERROR(factors.stream()->wait());
    return x;
  }
};

template <class T>
class DeviceBatchSolverTest : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceBatchSolverTest, Scalars);

TYPED_TEST(DeviceBatchSolverTest, GivesEqualBitsUnderEveryScheduleAndInEveryCompany) {
  LULAB_NEED_DEVICE();
  OnDevice<TypeParam> device(Batch(*generate("dense_row", {.n = 2 * size, .seed = 5}), 3, 4));
  LULAB_ASSERT_OK(device.start());
  const auto all = device.solve(std::vector<std::int32_t>{0, 1, 2});
  LULAB_ASSERT_OK(all);
  for (const double v : *all) ASSERT_TRUE(std::isfinite(v));
  const std::size_t n = device.batch.a.n_cols;
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto some = device.solve(std::vector<std::int32_t>{0, 2});
    LULAB_ASSERT_OK(some);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ((*some)[i], (*all)[i]) << i;
      ASSERT_EQ((*some)[2 * n + i], (*all)[2 * n + i]) << i;
      ASSERT_TRUE(std::isnan((*some)[n + i])) << "x of a system that was not asked for";
    }
  }
}

// Several launches, of groups that a block takes one after another, or that several blocks share with one left over.
TYPED_TEST(DeviceBatchSolverTest, GivesEqualBitsInAnyWorkspaceByAnyNumberOfBlocks) {
  LULAB_NEED_DEVICE();
  const std::int32_t systems = simt::race_detection ? 34 : 70, n = simt::instrumented ? 12 : 30;
  const Batch batch(testing::random_dominant(n, 0.2, 6), systems, 4);
  std::vector<std::int32_t> all, some;
  for (std::int32_t s = 0; s < systems; ++s) {
    all.push_back(s);
    if (s % 3 != 1) some.push_back(s);
  }
  std::vector<double> first;
  for (const BatchSolveOptions& options : std::initializer_list<BatchSolveOptions>{
           {}, {.max_blocks = 1}, {.max_blocks = 4}, {.max_workspace_bytes = 1}, {.max_workspace_bytes = 1 << 16}}) {
    if (simt::race_detection && options.max_workspace_bytes == 1) continue;
    OnDevice<TypeParam> device(batch);
    LULAB_ASSERT_OK(device.start({}, options));
    const auto x = device.solve(all);
    LULAB_ASSERT_OK(x);
    for (const double v : *x) ASSERT_TRUE(std::isfinite(v));
    if (first.empty()) first = *x;
    EXPECT_EQ(*x, first);
    const auto of_some = device.solve(some);
    LULAB_ASSERT_OK(of_some);
    for (std::int32_t s = 0; s < systems; ++s)
      for (std::int32_t i = 0; i < n; ++i) {
        const double found = (*of_some)[std::size_t(n) * s + i];
        ASSERT_TRUE(s % 3 != 1 ? found == first[std::size_t(n) * s + i] : std::isnan(found)) << s << " " << i;
      }
  }
}

TEST(DeviceBatchSolver, AnUnknownThatIsSoLargeThatSizesOverflowHidesNoOther) {
  LULAB_NEED_DEVICE();
  Batch batch = block_beside_identity(3, 1);  // [[1e-30,1],[1,1]]·1e160 and 1
  batch.values = {1e130, 1e160, 1e160, 1e160, 1};
  batch.b = {1e307, 2e307, 1e150};
  OnDevice<double> device(batch);
  LULAB_ASSERT_OK(device.start(natural_pivots().preprocess));
  const auto x = device.solve(std::vector<std::int32_t>{0}, 0);
  LULAB_ASSERT_OK(x);
  EXPECT_EQ((*x)[0], 0);  // there is something to refine
  const auto refined = device.solver->solve(device.d_a.data(), device.factors.device_arrays().lu, std::vector{0},
                                            device.d_b.data(), device.d_x.data(), *device.factors.stream());
  LULAB_ASSERT_OK(refined);
  EXPECT_TRUE((*refined)[0].converged) << (*refined)[0].omega;
  std::vector<double> better(3, nan);
  LULAB_ASSERT_OK(device.d_x.download(std::span(better), *device.factors.stream()));
  LULAB_ASSERT_OK(device.factors.stream()->wait());
  for (int i : {0, 1}) EXPECT_NEAR(better[i] / 1e147, 1, 1e-12) << i;
}

TYPED_TEST(DeviceBatchSolverTest, FirstSolutionsAreNotWorseThanOnTheHost) {
  LULAB_NEED_DEVICE();
  OnDevice<TypeParam> device(Batch(testing::random_dominant(size, 0.1, 4), 2, 4));
  LULAB_ASSERT_OK(device.start());
  const auto x = device.solve(std::vector<std::int32_t>{0, 1}, 0);
  LULAB_ASSERT_OK(x);
  for (std::int32_t s = 0; s < 2; ++s) {
    const double error = componentwise_backward_error(
        device.batch.matrix(s), std::span<const double>(*x).subspan(std::size_t(size) * s, size), device.batch.b_of(s));
    // tol: dominant, so each of n sums rounds a few times
    EXPECT_TRUE(error <= 10 * size * std::numeric_limits<TypeParam>::epsilon()) << error;
  }
}

TYPED_TEST(DeviceBatchSolverTest, AStepRefusesWhatTheRungOrTheSizesRefuse) {
  LULAB_NEED_DEVICE();
  Batch batch = block_beside_identity(3, 5);
  for (std::int32_t s = 0; s < batch.systems; ++s) batch.b_of(s)[2] = 0;
  OnDevice<TypeParam> device(batch);
  LULAB_ASSERT_OK(device.start(natural_pivots().preprocess));
  simt::Stream& stream = *device.factors.stream();
  const DeviceArrays<TypeParam> given = device.factors.device_arrays();
  std::vector<TypeParam> lu(5 * batch.systems);
  LULAB_ASSERT_OK(simt::copy_to_host(lu.data(), given.lu, lu.size() * sizeof(TypeParam), stream));
  LULAB_ASSERT_OK(stream.wait());
  lu[5 * 2 + 4] = std::numeric_limits<TypeParam>::infinity();  // the last pivot of system 2: x2 = 0, as it should be
  for (const std::int32_t s : {3, 4}) lu[5 * s + 4] = 1e3;
  const std::vector<std::int32_t> failed = {3, 1, 3, 3, 3}, perturbed = {0, 0, 1, 1, 0};
  simt::DeviceBuffer<TypeParam> d_lu;
  simt::DeviceBuffer<std::int32_t> d_failed, d_perturbed;
  LULAB_ASSERT_OK(simt::make(d_lu, lu, stream));
  LULAB_ASSERT_OK(simt::make(d_failed, failed, stream));
  LULAB_ASSERT_OK(simt::make(d_perturbed, perturbed, stream));
  const std::vector<double> poison(batch.b.size(), 1e300);
  LULAB_ASSERT_OK(device.d_x.upload(poison, stream));
  LULAB_ASSERT_OK(device.solver->enqueue_step(
      device.d_a.data(), {.lu = d_lu.data(), .failed_column = d_failed.data(), .perturbed = d_perturbed.data()}, 100,
      device.d_b.data(), device.d_x.data(), stream));
  std::vector<double> x(batch.b.size(), 0);
  LULAB_ASSERT_OK(device.d_x.download(std::span(x), stream));
  LULAB_ASSERT_OK(stream.wait());
  for (std::int32_t s = 0; s < batch.systems; ++s) {
    const bool good = s == 0 || s == 3;  // 1: a column failed, 2: not finite, 4: grew
    const SystemSolution& found = device.solver->found_solutions()[s];
    EXPECT_EQ(found.refined.converged, good) << s;
    EXPECT_EQ(found.not_finite, -1);
    for (std::int32_t i = 0; i < 3; ++i) EXPECT_EQ(std::isnan(x[3 * s + i]), !good) << s << " " << x[3 * s + i];
  }
  EXPECT_EQ(device.solver->found_sizes()[4].u, 1e3);
}

}  // namespace
}  // namespace lulab
