// Solver with factors that stay on the device: as good as on the host, and nothing stale.

#include "driver/solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>

#include "core/matrix/generate.h"
#include "core/timing.h"
#include "sparse_leftlooking/rungs.h"
#include "testing/bad_pivots.h"
#include "testing/dense_elimination.h"
#include "testing/device.h"
#include "testing/device_rungs.h"

namespace lulab {

namespace {

using testing::expect_solves, testing::natural_pivots, testing::other_values, testing::refined_to_the_end,
    testing::Trouble, testing::WithTrouble, testing::with_tiny_pivot;

constexpr double eps = 0x1p-53;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int32_t size = simt::race_detection ? 20 : 60;

const Rung one_thread = testing::one_thread_rung(), reticent = testing::one_thread_rung(true);

/// Solutions of one system that both solve it to a backward error of a few eps.
void expect_near(const std::vector<double>& x, const std::vector<double>& y, double condition) {
  double largest = 0;
  for (const double v : y) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_TRUE(std::abs(x[i] - y[i]) <= 16 * eps * condition * largest) << i << " " << x[i] << " " << y[i];
}

void expect_like(const Statistics& device, const Statistics& host) {
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-14 * b; };  // two roundings of the scaling
  EXPECT_TRUE(near(device.pivot_growth, host.pivot_growth)) << device.pivot_growth << " " << host.pivot_growth;
  EXPECT_TRUE(near(device.rcond, host.rcond)) << device.rcond << " " << host.rcond;
  EXPECT_EQ(device.structural_rank, host.structural_rank);
  EXPECT_EQ(device.numerical_rank, host.numerical_rank);
  EXPECT_EQ(device.off_diagonal_pivots, host.off_diagonal_pivots);
  EXPECT_EQ(device.perturbed_pivots, host.perturbed_pivots);
  EXPECT_EQ(device.repivots, host.repivots);
  EXPECT_GT(device.peak_bytes, 0);
}

std::vector<CscMatrix<double>> matrices() {
  std::vector<CscMatrix<double>> all = {testing::random_dominant(1, 0, 1), testing::random_dominant(size, 0.05, 2),
                                        testing::random_dominant(size / 2, 0.5, 3)};
  for (const char* family :
       {"power_grid", "convection2d", "zero_diagonal", "dense_row", "dense_column", "badly_scaled"})
    all.push_back(*generate(family, {.n = 3 * size, .seed = 5}));
  return all;
}

template <class T>
class SolverOnDevice : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SolverOnDevice, Scalars);

TYPED_TEST(SolverOnDevice, JudgesAndSolvesAsTheHostDoes) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  std::uint64_t seed = 0;
  for (const CscMatrix<double>& a : matrices()) {
    const simt::SimulatorScope scope({.seed = ++seed});
    Solver<T> device(one_thread, refined_to_the_end()), host(reticent, refined_to_the_end());
    ASSERT_TRUE(device.analyze(a).ok());
    ASSERT_TRUE(host.analyze(a).ok());
    for (int step = 0; step < 3; ++step) {
      const auto next = step == 0 ? a : other_values(a, seed + 10 * step);
      LULAB_ASSERT_OK(step == 0 ? device.factor(next) : device.refactor(next));
      LULAB_ASSERT_OK(step == 0 ? host.factor(next) : host.refactor(next));
      expect_like(device.statistics(), host.statistics());
      const auto x = expect_solves(device, next), y = expect_solves(host, next);
      expect_near(x, y, 1e6);
      EXPECT_EQ(device.times().download, 0) << "the factors came to the host";
      EXPECT_GT(device.times().judge, 0);
      EXPECT_GT(host.times().download, 0);
    }
  }
}

TYPED_TEST(SolverOnDevice, TimesOfARefactorizationArePartsOfWhatItTakes) {
  LULAB_NEED_DEVICE();
  const auto a = testing::random_dominant(size, 0.1, 1);
  Solver<TypeParam> solver(one_thread);
  ASSERT_TRUE(solver.analyze(a).ok());
  LULAB_ASSERT_OK(solver.factor(a));
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto next = other_values(a, seed);
    const auto start = Clock::now();
    LULAB_ASSERT_OK(solver.refactor(next));
    const StepTimes refactored = solver.times();
    LULAB_ASSERT_OK(solver.download_factors());  // after the probe, which was put off
    const double all_ms = ms_since(start);
    const StepTimes& t = solver.times();
    for (const double part : {refactored.upload, refactored.refactor, refactored.judge, t.judge - refactored.judge})
      EXPECT_GT(part, 0);
    EXPECT_LE(t.prepare + t.pivots + t.upload + t.refactor + t.judge + t.solve + t.download, all_ms);
  }
}

TYPED_TEST(SolverOnDevice, SolvesWithEveryRungThatLeavesItsFactorsThere) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = *generate("power_grid", {.n = size, .seed = 5}), next = other_values(a, 6);
  for (const Rung* rung : {&sparse_leftlooking::pipeline, &sparse_leftlooking::supernode_pipeline}) {
    Solver<T> solver(*rung, refined_to_the_end());
    ASSERT_TRUE(solver.analyze(a).ok());
    LULAB_ASSERT_OK(solver.factor(a));
    expect_solves(solver, a);
    LULAB_ASSERT_OK(solver.refactor(next));
    expect_solves(solver, next);
    EXPECT_EQ(solver.times().download, 0) << rung->facts.id;
  }
}

// The factors that fail the probe are those of values that are on the device alone.
TEST(SolverOnTheDevice, APutOffProbeThatFailsRepivotsForTheValuesOfTheRefactorization) {
  LULAB_NEED_DEVICE();
  SolverOptions options = natural_pivots();
  options.max_growth = std::numeric_limits<double>::infinity();
  const auto good = with_tiny_pivot(40);
  for (const bool asks_first : {true, false}) {
    Solver<double> solver(one_thread, options);
    ASSERT_TRUE(solver.analyze(good).ok());
    LULAB_ASSERT_OK(solver.factor(good));
    auto bad = with_tiny_pivot(1e-14);
    for (double& v : bad.values) v *= 1.25;
    LULAB_ASSERT_OK(solver.refactor(bad));
    EXPECT_TRUE(!asks_first || solver.statistics().repivots == 1);
    expect_solves(solver, bad);
    const auto next = other_values(bad, 3);
    LULAB_ASSERT_OK(solver.refactor(next));
    expect_solves(solver, next);
  }
}

TEST(SolverOnTheDevice, AnXThatIsGoodEnoughIsLeftAlone) {
  LULAB_NEED_DEVICE();
  int steps = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const auto a = testing::random_dominant(size, 0.2, seed);
    const std::vector<double> b = random_vector(a.n_cols, seed);
    for (const double backward_error : {1e-8, 0.0}) {
      SolverOptions options;
      options.backward_error = backward_error;
      Solver<double> solver(one_thread, options);
      ASSERT_TRUE(solver.analyze(a).ok());
      LULAB_ASSERT_OK(solver.factor(a));
      for (int round = 0; round < 3; ++round) {  // by rows, then by chunks
        std::vector<double> x(a.n_cols, nan);
        const auto refined = solver.solve(b, x);
        LULAB_ASSERT_OK(refined);
        EXPECT_TRUE(refined->converged);
        EXPECT_TRUE(componentwise_backward_error(a, x, b) <= (backward_error > 0 ? backward_error : 4 * eps));
        EXPECT_TRUE(backward_error == 0 || refined->iterations == 0) << refined->iterations;
        steps += refined->iterations;
      }
    }
  }
  EXPECT_GT(steps, 0);
}

TYPED_TEST(SolverOnDevice, FactorsThatAreAskedForAreThoseOfTheLastRefactorization) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = testing::random_dominant(size, 0.1, 1);
  Solver<T> solver(one_thread, refined_to_the_end());
  ASSERT_TRUE(solver.analyze(a).ok());
  EXPECT_EQ(solver.download_factors().status().code, StatusCode::invalid_argument);
  EXPECT_EQ(solver.factors().filled.n, 0);
  LULAB_ASSERT_OK(solver.factor(a));
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto next = other_values(a, seed);
    LULAB_ASSERT_OK(solver.refactor(next));
    if (seed == 2) continue;  // these factors are never downloaded
    const auto downloaded = solver.download_factors();
    LULAB_ASSERT_OK(downloaded);
    const Factors<T>& f = **downloaded;
    EXPECT_GT(solver.times().download, 0);
    EXPECT_EQ(&f, &solver.factors());
    EXPECT_EQ(f.statistics.pivot_growth, solver.statistics().pivot_growth);
    const auto expected = testing::eliminate_densely<T>(next, f.plan);
    ASSERT_EQ(f.filled, expected.filled);
    for (std::size_t k = 0; k < expected.values.size(); ++k)  // tol: a row of at most n products, dominant
      ASSERT_TRUE(std::abs(f.values[k] - expected.values[k]) <= 8 * size * std::numeric_limits<T>::epsilon()) << k;
  }
}

TYPED_TEST(SolverOnDevice, SolvesManyRightHandSidesAndTransposedSystems) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = *generate("convection2d", {.n = size, .seed = 5});
  for (const Rung* rung : {&one_thread, &reticent}) {
    Solver<T> solver(*rung, refined_to_the_end());
    ASSERT_TRUE(solver.analyze(a).ok());
    LULAB_ASSERT_OK(solver.factor(a));
    for (const std::int32_t columns : {1, 3, 1, 8, 37})
      for (const bool transposed : {false, true}) expect_solves(solver, a, columns, transposed);
    for (const std::uint64_t seed : {1, 2}) {  // what was prepared above gets the new values, too
      const auto next = other_values(a, seed);
      LULAB_ASSERT_OK(solver.refactor(next));
      expect_solves(solver, next, 5);
      expect_solves(solver, next, 2, true);
      expect_solves(solver, next, 1, true);
      expect_solves(solver, next);
    }
    std::vector<double> x(a.n_cols, nan), b(a.n_cols, 1.0);
    ASSERT_TRUE(solver.solve_transposed(b, x).ok());
    EXPECT_TRUE(componentwise_backward_error(transpose(a.view()), x, b) > 1e-3) << "of the first values";
  }
}

TYPED_TEST(SolverOnDevice, PivotsThatVanishInASequenceAreReplacedOnce) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  for (const FirstFactorization first : {FirstFactorization::rung, FirstFactorization::reference}) {
    SolverOptions options = natural_pivots();
    options.first = first;
    Solver<T> solver(one_thread, options);
    std::vector<std::int64_t> repivots;
    for (const double pivot : {40.0, -35.0, 0.0, 30.0, 1e-14, 35.0}) {
      const auto a = with_tiny_pivot(pivot);
      if (repivots.empty()) {
        ASSERT_TRUE(solver.analyze(a).ok());
      }
      LULAB_ASSERT_OK(repivots.empty() ? solver.factor(a) : solver.refactor(a));
      repivots.push_back(solver.statistics().repivots);
      EXPECT_EQ(solver.repivot_cause().ok(), repivots.back() == 0);
      EXPECT_EQ(solver.times().download, 0);
      EXPECT_TRUE(solver.statistics().pivot_growth <= 100);
      expect_solves(solver, a);
      EXPECT_EQ(solver.factors().statistics.repivots, repivots.back());
    }
    EXPECT_EQ(repivots, (std::vector<std::int64_t>{0, 0, 1, 0, 0, 0})) << to_string(first);
  }
}

TYPED_TEST(SolverOnDevice, RefusesUnstablePivotsInTheWordsOfTheHost) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto good = with_tiny_pivot(40), bad = with_tiny_pivot(1e-14);
  const auto status_of = [&](const Rung& rung, SolverOptions options, const CscMatrix<double>& a) {
    options.repivot = false;
    Solver<T> solver(rung, options);
    EXPECT_TRUE(solver.analyze(good).ok());
    EXPECT_TRUE(solver.factor(good).ok());
    const Status s = solver.refactor(a);
    std::vector<double> x(good.n_cols, nan);
    EXPECT_EQ(solver.solve(std::vector<double>(good.n_cols, 1.0), x).status().message, s.message);
    EXPECT_TRUE(std::isnan(x[0]));
    EXPECT_TRUE(std::isnan(solver.statistics().pivot_growth));
    EXPECT_EQ(solver.factors().filled.n, 0);
    return s;
  };
  const auto expect_same = [&](SolverOptions options, const char* words, const CscMatrix<double>& a) {
    Status on_device = status_of(one_thread, options, a), on_host = status_of(reticent, options, a);
    EXPECT_EQ(on_device.code, StatusCode::needs_repivot) << on_device.to_string();
    EXPECT_EQ(on_host.code, StatusCode::needs_repivot);
    EXPECT_NE(on_device.message.find(words), std::string::npos) << on_device.message;
    EXPECT_NE(on_host.message.find(words), std::string::npos) << on_host.message;
    EXPECT_EQ(on_device.where, on_host.where);
  };
  SolverOptions options = natural_pivots();
  expect_same(options, "the pivot growth is", bad);
  options.max_growth = std::numeric_limits<double>::infinity();
  expect_same(options, "a probe solve leaves the residual", bad);
  expect_same(options, "is zero", with_tiny_pivot(0));
}

TEST(SolverOnDevice, AProbeThatOverflowsDoesNotPass) {
  LULAB_NEED_DEVICE();
  const auto [good, bad] = testing::probe_that_overflows();
  SolverOptions options = natural_pivots();
  options.repivot = false;
  for (const Rung* rung : {&one_thread, &reticent}) {
    Solver<double> solver(*rung, options);
    ASSERT_TRUE(solver.analyze(good).ok());
    LULAB_ASSERT_OK(solver.factor(good));
    const Status s = solver.refactor(bad);
    EXPECT_EQ(s.code, StatusCode::needs_repivot) << s.to_string();
    EXPECT_NE(s.message.find("a probe solve leaves the residual"), std::string::npos) << s.message;
  }
}

TYPED_TEST(SolverOnDevice, FindsAnInfinityThatTheRungDidNotReport) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = testing::random_dominant(size, 0.3, 2);
  SolverOptions options = natural_pivots();
  options.repivot = false;
  for (const Rung* rung : {&one_thread, &reticent}) {
    Solver<T> solver(*rung, options);
    ASSERT_TRUE(solver.analyze(a).ok());
    LULAB_ASSERT_OK(solver.factor(a));
    const WithTrouble infinity(Trouble::silent_infinity);
    const Status s = solver.refactor(a);
    EXPECT_EQ(s.code, StatusCode::needs_repivot) << s.to_string();
    EXPECT_NE(s.message.find("the factors hold inf"), std::string::npos) << s.message;
    EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{0});
  }
}

TYPED_TEST(SolverOnDevice, WithoutProbeOnlySizesAreJudged) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto bad = with_tiny_pivot(1e-14);
  for (const Rung* rung : {&one_thread, &reticent})
    for (const bool probe : {true, false}) {
      SolverOptions options = natural_pivots();
      options.max_growth = std::numeric_limits<double>::infinity();
      options.probe = probe;
      Solver<T> solver(*rung, options);
      ASSERT_TRUE(solver.analyze(bad).ok());
      LULAB_ASSERT_OK(solver.factor(bad));
      EXPECT_EQ(solver.statistics().repivots, probe ? 1 : 0);
      EXPECT_EQ(solver.statistics().pivot_growth > 1e10, !probe);
      options.max_growth = 1e8;
      Solver<T> strict(*rung, options);
      ASSERT_TRUE(strict.analyze(bad).ok());
      LULAB_ASSERT_OK(strict.factor(bad));
      EXPECT_EQ(strict.statistics().repivots, 1);
    }
}

TYPED_TEST(SolverOnDevice, NumericallySingularStaysSingularAndLeavesNoFactors) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto good = testing::random_dominant(20, 0.3, 2);
  auto singular = good;
  for (std::int64_t k = good.col_ptr[5]; k < good.col_ptr[6]; ++k) singular.values[k] = 0;
  Solver<T> solver(one_thread, natural_pivots());
  ASSERT_TRUE(solver.analyze(good).ok());
  LULAB_ASSERT_OK(solver.factor(good));
  const Status s = solver.refactor(singular);
  EXPECT_EQ(s.code, StatusCode::numerically_singular) << s.to_string();
  EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{5});
  std::vector<double> x(20, nan);
  EXPECT_EQ(solver.solve(std::vector<double>(20, 1.0), x).status().code, StatusCode::numerically_singular);
  EXPECT_EQ(solver.download_factors().status().code, StatusCode::numerically_singular);
  LULAB_ASSERT_OK(solver.refactor(good));
  expect_solves(solver, good);
}

// Whatever a kernel leaves behind, the solutions are not those of the values before.
TEST(SolverOnDevice, AfterAKernelThatFailsNothingIsSolved) {
  LULAB_NEED_SIMULATOR();
  const simt::SimulatorScope scope({.max_switches = 10'000'000});
  const auto a = testing::random_dominant(20, 0.3, 2);
  for (const Trouble trouble : {Trouble::no_launch, Trouble::endless_wait}) {
    Solver<double> solver(one_thread);
    ASSERT_TRUE(solver.analyze(a).ok());
    LULAB_ASSERT_OK(solver.factor(a));
    expect_solves(solver, a);
    {
      const WithTrouble now(trouble);
      const Status s = solver.refactor(other_values(a, 1));
      EXPECT_EQ(s.code, trouble == Trouble::no_launch ? StatusCode::invalid_argument : StatusCode::deadlock)
          << s.to_string();
      std::vector<double> x(20, nan);
      for (const Status& answer :
           {solver.solve(std::vector<double>(20, 1.0), x).status(),
            solver.solve_transposed(std::vector<double>(20, 1.0), x).status(), solver.download_factors().status()})
        EXPECT_EQ(answer.message, s.message);
      EXPECT_TRUE(std::all_of(x.begin(), x.end(), [](double v) { return std::isnan(v); }));
      EXPECT_EQ(solver.factors().filled.n, 0);
    }
    LULAB_ASSERT_OK(solver.factor(a));
    expect_solves(solver, a);
  }
}

TEST(SolverOnDevice, RefusesWrongSizesAndOtherPatterns) {
  LULAB_NEED_DEVICE();
  const auto a = testing::random_dominant(20, 0.3, 2), other = testing::random_dominant(20, 0.3, 3);
  Solver<double> solver(one_thread);
  ASSERT_TRUE(solver.analyze(a).ok());
  LULAB_ASSERT_OK(solver.factor(a));
  std::vector<double> x(20, nan), y(40, nan);
  const std::vector<double> b(20, 1.0);
  EXPECT_EQ(solver.solve(b, y).status().code, StatusCode::invalid_argument);
  EXPECT_EQ(solver.solve(b, x, 2).status().code, StatusCode::invalid_argument);
  EXPECT_EQ(solver.solve(b, x, 0).status().code, StatusCode::invalid_argument);
  EXPECT_EQ(solver.solve_transposed(b, x, -1).status().code, StatusCode::invalid_argument);
  EXPECT_TRUE(std::isnan(x[0]));
  expect_solves(solver, a);
  EXPECT_EQ(solver.refactor(other).code, StatusCode::invalid_argument);
  EXPECT_EQ(solver.solve(b, x).status().code, StatusCode::invalid_argument);
}

TEST(SolverOnDevice, AnEmptyMatrixIsFactored) {
  LULAB_NEED_DEVICE();
  CscMatrix<double> none;
  none.col_ptr = {0};
  Solver<double> solver(one_thread);
  ASSERT_TRUE(solver.analyze(none).ok());
  LULAB_ASSERT_OK(solver.factor(none));
  EXPECT_TRUE(solver.solve({}, {}).ok());
}

TYPED_TEST(SolverOnDevice, PerturbedPivotsAreCountedAndRefinementMakesUpForThem) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  for (const Rung* rung : {&one_thread, &reticent})
    for (const double tiny : {0.0, 1e-14, -1e-14}) {
      SolverOptions options = natural_pivots();
      options.factor.perturb_pivots = std::is_same_v<T, float> ? 1e-3 : 1e-7;
      options.max_growth = 4;  // what perturbing makes of it is not judged
      const auto a = with_tiny_pivot(tiny);
      Solver<T> solver(*rung, options);
      ASSERT_TRUE(solver.analyze(a).ok());
      LULAB_ASSERT_OK(solver.factor(a));
      EXPECT_EQ(solver.statistics().perturbed_pivots, 1);
      EXPECT_EQ(solver.statistics().repivots, 0);
      EXPECT_GT(solver.statistics().pivot_growth, 4);
      EXPECT_EQ(solver.factors().statistics.perturbed_pivots, 1);
      expect_solves(solver, a);
      const auto next = with_tiny_pivot(40);
      LULAB_ASSERT_OK(solver.refactor(next));
      EXPECT_EQ(solver.statistics().perturbed_pivots, 0);
      expect_solves(solver, next);
    }
}

TYPED_TEST(SolverOnDevice, PerturbedPivotsThatRefinementCannotMakeUpForAreReplaced) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = with_tiny_pivot(1e-14);
  for (const Rung* rung : {&one_thread, &reticent})
    for (const bool repivot : {true, false}) {
      SolverOptions options = natural_pivots();
      options.factor.perturb_pivots = 0.03;  // of a matrix far away; pivots chosen by value are larger
      options.repivot = repivot;
      Solver<T> solver(*rung, options);
      ASSERT_TRUE(solver.analyze(a).ok());
      const Status s = solver.factor(a);
      EXPECT_NE((repivot ? solver.repivot_cause() : s).message.find("pivots were perturbed"), std::string::npos)
          << s.to_string();
      if (repivot) {
        LULAB_ASSERT_OK(s);
        EXPECT_EQ(solver.statistics().repivots, 1);
        expect_solves(solver, a);
      } else {
        EXPECT_EQ(s.code, StatusCode::needs_repivot);
      }
      options.probe = false;
      Solver<T> trusting(*rung, options);
      ASSERT_TRUE(trusting.analyze(a).ok());
      LULAB_ASSERT_OK(trusting.factor(a));
      EXPECT_EQ(trusting.statistics().repivots, 0);
      EXPECT_EQ(trusting.statistics().perturbed_pivots, 1);
    }
}

TEST(SolverOnDevice, ARungThatDoesNotPerturbPivotsSaysSo) {
  LULAB_NEED_DEVICE();
  const Rung rung = testing::one_thread_rung(false, false);
  SolverOptions options;
  options.factor.perturb_pivots = 1e-8;
  Solver<double> solver(rung, options);
  const auto a = testing::random_dominant(20, 0.3, 2);
  const Status s = solver.analyze(a);
  EXPECT_EQ(s.code, StatusCode::invalid_argument);
  EXPECT_NE(s.message.find("test/one_thread does not perturb"), std::string::npos) << s.message;
  EXPECT_EQ(solver.factor(a).message, s.message);
}

}  // namespace
}  // namespace lulab
