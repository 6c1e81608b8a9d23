#include "driver/solver.h"

#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/backend.h"
#include "core/matrix/generate.h"
#include "dense/rungs.h"
#include "driver/analyze.h"
#include "driver/batch_solver.h"
#include "sparse_leftlooking/rungs.h"
#include "testing/bad_pivots.h"
#include "testing/dense_elimination.h"
#include "testing/refused_memory.h"

namespace lulab {

namespace {

using testing::expect_solves, testing::natural_pivots, testing::refined_to_the_end, testing::with_tiny_pivot;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The diagonal as pivots whatever the values: dense elimination on the analyzed plan. A zero pivot gives infinities.
class FixedPivots final : public Backend<double> {
 public:
  Status prepare(const Analysis& analysis, std::int32_t) override {
    analysis_ = &analysis;
    return {};
  }
  Status upload(std::span<const double> values) override {
    values_.assign(values.begin(), values.end());
    return {};
  }
  Status enqueue(Phase) override { return {}; }
  Status collect(std::span<Status>) override { return {}; }
  Result<Factors<double>> download(std::int32_t) override {
    CscMatrix<double> a;
    static_cast<CscPattern&>(a) = analysis_->a;
    a.values = values_;
    return testing::eliminate_densely<double>(a.view(), analysis_->plan);
  }

 private:
  const Analysis* analysis_ = nullptr;
  std::vector<double> values_;
};

Rung fixed_rung() { return rung_in_double<FixedPivots>({.id = "test/fixed_pivots"}); }

TEST(Solver, StablePivotsAreKept) {
  const Rung rung = fixed_rung();
  Solver<double> solver(rung, natural_pivots());
  const auto a = testing::random_dominant(30, 0.2, 1);
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a).ok());
  EXPECT_EQ(solver.factors().statistics.repivots, 0);
  EXPECT_TRUE(solver.repivot_cause().ok());
  EXPECT_LE(solver.factors().statistics.pivot_growth, 2);  // Wilkinson: dominant by columns
  expect_solves(solver, a);
}

TEST(Solver, UnstablePivotsAreReplacedAndCounted) {
  const Rung rung = fixed_rung();
  for (double tiny : {0.0, 1e-300, 1e-14}) {
    const auto a = with_tiny_pivot(tiny);
    Solver<double> solver(rung, natural_pivots());
    ASSERT_TRUE(solver.analyze(a).ok());
    const Status s = solver.factor(a);
    ASSERT_TRUE(s.ok()) << s.to_string();
    EXPECT_EQ(solver.factors().statistics.repivots, 1) << tiny;
    EXPECT_FALSE(solver.repivot_cause().ok());
    EXPECT_LE(solver.factors().statistics.pivot_growth, 100);
    expect_solves(solver, a);
  }
}

// Partial pivoting by column of whatever threshold grows to 2^(n-1); by row it does not.
TEST(Solver, RecoversFromGrowthThatPivotsByColumnKeep) {
  const Rung rung = fixed_rung();
  for (const std::int32_t n : {30, 60}) {
    const auto a = generate("wilkinson_growth", {.n = n}).value();
    Solver<double> solver(rung, natural_pivots());
    ASSERT_TRUE(solver.analyze(a).ok());
    const Status s = solver.factor(a);
    ASSERT_TRUE(s.ok()) << s.to_string();
    EXPECT_EQ(solver.statistics().repivots, 1);
    EXPECT_LE(solver.statistics().pivot_growth, 100);
    expect_solves(solver, a);
    ASSERT_TRUE(solver.refactor(a).ok());
    EXPECT_EQ(solver.statistics().repivots, 0);
    expect_solves(solver, a);
  }
}

TEST(Solver, WithoutRecoveryUnstablePivotsAreAnError) {
  const Rung rung = fixed_rung();
  SolverOptions options = natural_pivots();
  options.repivot = false;
  const auto a = with_tiny_pivot(1e-14);
  Solver<double> solver(rung, options);
  ASSERT_TRUE(solver.analyze(a).ok());
  EXPECT_EQ(solver.factor(a).code, StatusCode::needs_repivot);
  std::vector<double> x(30, 1.0);
  EXPECT_EQ(solver.solve(std::vector<double>(30, 1.0), x).status().code, StatusCode::needs_repivot);
}

TEST(Solver, AfterAnErrorNoOldXIsLeft) {
  const auto a = testing::random_dominant(30, 0.2, 1);
  auto not_finite = a, zero = a;
  not_finite.values[7] = nan;
  std::ranges::fill(zero.values, 0.0);
  const std::vector<double> b(60, 1.0);
  for (const Rung* rung : {&sparse_leftlooking::reference, &sparse_leftlooking::threads}) {
    Solver<double> solver(*rung);
    const auto expect_no_x = [&](const char* state) {
      SCOPED_TRACE(::testing::Message() << rung->facts.id << ", " << state);
      const std::span<const double> one = std::span(b).first(30);
      std::vector<double> x(30, 7.0), many(60, 7.0), transposed(30, 7.0), stepped(30, 7.0), overlapping(31, 7.0);
      EXPECT_FALSE(solver.solve(one, x).ok());
      EXPECT_FALSE(solver.solve(b, many, 2).ok());
      EXPECT_FALSE(solver.solve_transposed(one, transposed).ok());
      EXPECT_FALSE(solver.step(not_finite.values, one, stepped).ok());
      for (const auto* left : {&x, &many, &transposed, &stepped})
        EXPECT_TRUE(std::ranges::all_of(*left, [](double v) { return std::isnan(v); }));
      const auto first = std::span(overlapping).first(30), last = std::span(overlapping).last(30);
      EXPECT_FALSE(solver.solve(first, last).ok());
      EXPECT_FALSE(solver.step(a.values, first, last).ok());
      EXPECT_EQ(overlapping, std::vector<double>(31, 7.0));
    };
    expect_no_x("without an analysis");
    ASSERT_TRUE(solver.analyze(a).ok());
    expect_no_x("without factors");
    EXPECT_FALSE(solver.factor(zero).ok());
    expect_no_x("after a factor() that failed");
    ASSERT_TRUE(solver.factor(a).ok());
    EXPECT_FALSE(solver.refactor(not_finite).ok());
    expect_no_x("after a refactor() that failed");
    EXPECT_FALSE(solver.analyze(not_finite).ok());
    expect_no_x("after an analyze() that failed");
    ASSERT_TRUE(solver.analyze(a).ok());
    ASSERT_TRUE(solver.factor(a).ok());
    expect_solves(solver, a);
    std::vector<double> x(30, 7.0);
    EXPECT_FALSE(solver.solve(b, x).ok());
    EXPECT_FALSE(solver.step(a.values, b, x).ok());
    EXPECT_EQ(x, std::vector<double>(30, 7.0)) << "a wrong size changes nothing";
  }
}

TEST(Solver, RefactorRecoversWhenNewValuesSpoilTheOldPivots) {
  const Rung fixed = fixed_rung();
  for (const Rung* rung : {&fixed, &sparse_leftlooking::reference}) {
    const auto good = testing::random_dominant(30, 0.3, 7), bad = with_tiny_pivot(1e-14);
    Solver<double> solver(*rung, natural_pivots());
    ASSERT_TRUE(solver.analyze(good).ok());
    ASSERT_TRUE(solver.factor(good).ok());
    const Status s = solver.refactor(bad);
    ASSERT_TRUE(s.ok()) << rung->facts.id << ": " << s.to_string();
    EXPECT_EQ(solver.factors().statistics.repivots, 1) << rung->facts.id;
    expect_solves(solver, bad);
    ASSERT_TRUE(solver.refactor(good).ok());
    expect_solves(solver, good);
  }
}

TEST(Solver, AProbeThatOverflowsDoesNotPass) {
  const Rung rung = fixed_rung();
  const auto [good, bad] = testing::probe_that_overflows();
  SolverOptions options = natural_pivots();
  options.repivot = false;
  Solver<double> solver(rung, options);
  ASSERT_TRUE(solver.analyze(good).ok());
  ASSERT_TRUE(solver.factor(good).ok());
  const Status s = solver.refactor(bad);
  EXPECT_EQ(s.code, StatusCode::needs_repivot) << s.to_string();
  EXPECT_NE(s.message.find("a probe solve leaves the residual"), std::string::npos) << s.message;
}

constexpr FirstFactorization every_first[] = {FirstFactorization::rung, FirstFactorization::reference,
                                              FirstFactorization::klu};

TEST(Solver, TheFirstFactorizationChoosesThePivotsThatEveryRefactorizationKeeps) {
  const Rung rung = fixed_rung();
  const auto a = with_tiny_pivot(1e-14), next = with_tiny_pivot(1e-13);
  for (const FirstFactorization first : {FirstFactorization::reference, FirstFactorization::klu}) {
    SolverOptions options = natural_pivots();
    options.first = first;
    options.repivot = false;  // the pivots must be good at the first attempt
    Solver<double> solver(rung, options);
    ASSERT_TRUE(solver.analyze(a).ok());
    const Status s = solver.factor(a);
    ASSERT_TRUE(s.ok()) << to_string(first) << s.to_string();
    EXPECT_EQ(solver.factors().statistics.repivots, 0);
    EXPECT_NE(solver.factors().plan.p, Plan::identity(30).p) << "the tiny pivot was kept";
    EXPECT_GT(solver.times().pivots, 0);
    expect_solves(solver, a);
    const Permutation p = solver.factors().plan.p;
    ASSERT_TRUE(solver.refactor(next).ok());
    EXPECT_EQ(solver.factors().plan.p, p);
    EXPECT_EQ(solver.times().pivots, 0);
    expect_solves(solver, next);
  }
}

TEST(Solver, PivotsThatVanishInTheMiddleOfASequenceAreReplacedOnce) {
  const Rung fixed = fixed_rung();
  for (const Rung* rung : {&fixed, &sparse_leftlooking::reference, &sparse_leftlooking::klu})
    for (const FirstFactorization first : every_first) {
      SolverOptions options = natural_pivots();
      options.first = first;
      Solver<double> solver(*rung, options);
      std::vector<std::int64_t> repivots;
      for (const double pivot : {40.0, -35.0, 0.0, 1e-14, 30.0}) {
        const auto a = with_tiny_pivot(pivot);
        if (repivots.empty()) {
          ASSERT_TRUE(solver.analyze(a).ok());
        }
        const Status s = repivots.empty() ? solver.factor(a) : solver.refactor(a);
        ASSERT_TRUE(s.ok()) << rung->facts.id << to_string(first) << s.to_string();
        repivots.push_back(solver.factors().statistics.repivots);
        expect_solves(solver, a);
      }
      EXPECT_EQ(repivots, (std::vector<std::int64_t>{0, 0, 1, 0, 0})) << rung->facts.id << to_string(first);
    }
}

TEST(Solver, FloatFactorsTakeTheirPivotsFromADoubleChooser) {
  const auto a = with_tiny_pivot(1e-14);
  SolverOptions options = natural_pivots();
  options.first = FirstFactorization::klu;  // has no float
  Solver<float> solver(sparse_leftlooking::reference, options);
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a).ok());
  const std::vector<double> b = random_vector(30, 4);
  std::vector<double> x(30, nan);
  ASSERT_TRUE(solver.solve(b, x).ok());
  EXPECT_LE(componentwise_backward_error(a, x, b), 4 * 0x1p-53);
}

TEST(Solver, TimesArePhaseByPhase) {
  const auto a = testing::random_dominant(50, 0.1, 9);
  Solver<double> solver(sparse_leftlooking::reference);
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a).ok());
  ASSERT_TRUE(solver.refactor(a).ok());
  const StepTimes& t = solver.times();
  EXPECT_EQ(t.pivots, 0);
  EXPECT_GT(t.upload, 0);
  EXPECT_GT(t.refactor, 0);
  EXPECT_GT(t.download, 0);
  EXPECT_EQ(solver.numeric_ms(), t.upload + t.refactor);
}

TEST(Solver, SolvesManyRightHandSidesAndTransposedSystems) {
  const std::int32_t n = 40, columns = 3;
  const auto a = testing::random_dominant(n, 0.1, 9), at = transpose(a.view());
  Solver<double> solver(sparse_leftlooking::reference, refined_to_the_end());
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a).ok());
  const std::vector<double> b = random_vector(n * columns, 4);
  for (const bool transposed : {false, true}) {
    std::vector<double> x(b.size(), nan);
    const auto refined = transposed ? solver.solve_transposed(b, x, columns) : solver.solve(b, x, columns);
    ASSERT_TRUE(refined.ok()) << refined.status().to_string();
    ASSERT_EQ(refined->size(), 3u);
    for (std::int32_t c = 0; c < columns; ++c) {
      const auto b_c = std::span(b).subspan(c * n, n), x_c = std::span<const double>(x).subspan(c * n, n);
      EXPECT_LE(componentwise_backward_error(transposed ? at : a, x_c, b_c), 4 * 0x1p-53);
      EXPECT_TRUE((*refined)[c].converged);
    }
  }
  std::vector<double> x(n, nan);
  const auto one = solver.solve_transposed(std::span(b).first(n), x);
  ASSERT_TRUE(one.ok());
  EXPECT_LE(componentwise_backward_error(at, x, std::span(b).first(n)), 4 * 0x1p-53);
  EXPECT_EQ(solver.solve(b, x, columns).status().code, StatusCode::invalid_argument);
}

TEST(Solver, StatisticsAreThoseOfTheFactorsAndGoWithThem) {
  const auto good = with_tiny_pivot(40), singular = [] {
    auto a = with_tiny_pivot(40);
    std::fill(a.values.begin() + a.col_ptr[3], a.values.begin() + a.col_ptr[4], 0.0);
    return a;
  }();
  Solver<double> solver(sparse_leftlooking::reference, natural_pivots());
  ASSERT_TRUE(solver.analyze(good).ok());
  EXPECT_TRUE(std::isnan(solver.statistics().pivot_growth));
  ASSERT_TRUE(solver.factor(good).ok());
  EXPECT_EQ(solver.statistics().pivot_growth, solver.factors().statistics.pivot_growth);
  EXPECT_GT(solver.statistics().pivot_growth, 0);
  EXPECT_FALSE(solver.refactor(singular).ok());
  EXPECT_TRUE(std::isnan(solver.statistics().pivot_growth));
  EXPECT_EQ(solver.factors().filled.n, 0);
  EXPECT_FALSE(solver.download_factors().ok());
}

TEST(FirstFactorization, ParsingInvertsNaming) {
  for (const FirstFactorization first : every_first) {
    const auto parsed = parse_first_factorization(to_string(first));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, first);
  }
  const auto unknown = parse_first_factorization("KLU");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message.find("rung reference klu"), std::string::npos);
}

TEST(Solver, NumericallySingularStaysSingularAndLeavesNoFactors) {
  auto a = testing::random_dominant(20, 0.3, 2);
  const auto good = a;
  for (std::int64_t k = a.col_ptr[5]; k < a.col_ptr[6]; ++k) a.values[k] = 0;
  const Rung fixed = fixed_rung();
  for (const Rung* rung : {&fixed, &sparse_leftlooking::reference}) {
    Solver<double> solver(*rung, natural_pivots());
    ASSERT_TRUE(solver.analyze(good).ok());
    ASSERT_TRUE(solver.factor(good).ok());
    const Status s = solver.factor(a);
    EXPECT_EQ(s.code, StatusCode::numerically_singular) << s.to_string();
    EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{5});
    std::vector<double> x(20, 1.0);
    EXPECT_EQ(solver.solve(std::vector<double>(20, 1.0), x).status().code, StatusCode::numerically_singular);
    EXPECT_EQ(solver.refactor(a).code, StatusCode::numerically_singular);
    ASSERT_TRUE(solver.refactor(good).ok());
    expect_solves(solver, good);
  }
}

template <class T>
void expect_empty_solutions() {
  CscMatrix<double> a;
  a.col_ptr = {0};
  std::vector<double> none;
  for (const Refine refine : {Refine::automatic, Refine::always, Refine::first}) {
    SolverOptions options;
    options.refine = refine;
    Solver<T> solver(sparse_leftlooking::threads, options);
    ASSERT_TRUE(solver.analyze(a).ok());
    ASSERT_TRUE(solver.factor(a).ok());
    for (int k = 0; k < 2; ++k) {
      EXPECT_TRUE(solver.solve(none, none).ok());
      EXPECT_TRUE(solver.solve_transposed(none, none).ok());
      EXPECT_TRUE(solver.solve(none, none, 3).ok());
    }
  }
}

TEST(Solver, AnEmptyMatrixIsSolvedAgainAndAgain) {
  expect_empty_solutions<double>();
  expect_empty_solutions<float>();
}

TEST(Solver, AGoodRefactorAfterAFailedOneSucceeds) {
  const auto good = testing::random_dominant(20, 0.3, 2);
  auto singular = good, other_pattern = testing::random_dominant(20, 0.3, 3);
  for (std::int64_t k = good.col_ptr[5]; k < good.col_ptr[6]; ++k) singular.values[k] = 0;
  const Rung fixed = fixed_rung();
  for (const Rung* rung : {&fixed, &sparse_leftlooking::reference}) {
    Solver<double> solver(*rung, natural_pivots());
    ASSERT_TRUE(solver.analyze(good).ok());
    ASSERT_TRUE(solver.factor(good).ok());
    EXPECT_EQ(solver.refactor(singular).code, StatusCode::numerically_singular);
    ASSERT_TRUE(solver.refactor(good).ok()) << rung->facts.id;
    expect_solves(solver, good);
    EXPECT_EQ(solver.refactor(other_pattern).code, StatusCode::invalid_argument);
    ASSERT_TRUE(solver.refactor(good).ok()) << rung->facts.id;
    expect_solves(solver, good);
  }
}

template <class S>
void expect_like_new(S solver) {
  S other = std::move(solver);
  const auto a = testing::random_dominant(20, 0.3, 2);
  std::vector<double> b(20, 1.0), x(20, nan);
  EXPECT_EQ(solver.analysis().plan.n(), 0);
  EXPECT_EQ(solver.choice().rung, nullptr);
  EXPECT_EQ(solver.times().refactor, 0);
  if constexpr (std::is_same_v<S, Solver<double>>) {
    EXPECT_EQ(solver.factor(a).code, StatusCode::invalid_argument);
    EXPECT_EQ(solver.refactor(a.values).code, StatusCode::invalid_argument);
    EXPECT_EQ(solver.download_factors().status().code, StatusCode::invalid_argument);
    EXPECT_EQ(solver.condition().status().code, StatusCode::invalid_argument);
    EXPECT_EQ(solver.factors().filled.n, 0);
    EXPECT_TRUE(std::isnan(solver.statistics().pivot_growth));
    EXPECT_TRUE(solver.repivot_cause().ok());
    EXPECT_EQ(solver.solve_transposed(b, x).status().code, StatusCode::invalid_argument);
    EXPECT_EQ(solver.solve(b, x).status().code, StatusCode::invalid_argument);
    ASSERT_TRUE(solver.analyze(a).ok());
    ASSERT_TRUE(solver.factor(a).ok());
    expect_solves(solver, a);
  } else {
    EXPECT_EQ(solver.factor(a.values).status().code, StatusCode::invalid_argument);
    EXPECT_EQ(solver.solve(b, x).status().code, StatusCode::invalid_argument);
    EXPECT_EQ(solver.statistics().systems, 0);
    EXPECT_EQ(solver.statistics(0).repivots, 0);
    ASSERT_TRUE(solver.analyze(a, 1).ok());
    ASSERT_TRUE(solver.factor(a.values).ok());
    EXPECT_TRUE(solver.solve(b, x).ok());
  }
}

TEST(Solver, AfterAMoveItIsLikeANewOne) {
  expect_like_new(Solver<double>(sparse_leftlooking::reference));
  expect_like_new(BatchSolver<double>(sparse_leftlooking::reference));
}

TEST(Solver, RightSideAndSolutionMustNotOverlap) {
  const auto a = testing::random_dominant(20, 0.3, 2);
  Solver<double> solver(sparse_leftlooking::reference);
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a).ok());
  std::vector<double> v(60, 1.0);
  const std::span<double> all(v);
  for (const std::size_t first : {0u, 1u, 19u}) {
    EXPECT_EQ(solver.solve(all.first(20), all.subspan(first, 20)).status().code, StatusCode::invalid_argument);
    EXPECT_EQ(solver.solve_transposed(all.subspan(first, 20), all.first(20)).status().code,
              StatusCode::invalid_argument);
  }
  EXPECT_EQ(v, std::vector<double>(60, 1.0));
  EXPECT_TRUE(solver.solve(all.first(20), all.subspan(20, 20)).ok());
  EXPECT_TRUE(solver.solve(all.subspan(40), all.first(20)).ok());
}

TEST(Solver, OptionsOutOfRangeAreRefused) {
  const auto a = testing::random_dominant(20, 0.3, 2);
  for (const double bad : {nan, -1.0, 0.5}) {
    const SolverOptions options = {.max_growth = bad};
    EXPECT_EQ(Solver<double>(sparse_leftlooking::reference, options).analyze(a).code, StatusCode::invalid_argument);
    EXPECT_EQ(Solver<double>(options).analyze(a).code, StatusCode::invalid_argument);
    EXPECT_EQ(BatchSolver<double>(options).analyze(a, 2).code, StatusCode::invalid_argument);
  }
  for (const double bad : {nan, -1.0, 2.0}) {
    const SolverOptions options = {.factor = {.pivot_tol = bad}};
    EXPECT_EQ(Solver<double>(sparse_leftlooking::reference, options).analyze(a).code, StatusCode::invalid_argument);
    EXPECT_EQ(Solver<double>(sparse_leftlooking::klu, options).analyze(a).code, StatusCode::invalid_argument);
    EXPECT_EQ(Solver<double>(options).analyze(a).code, StatusCode::invalid_argument);
    EXPECT_EQ(BatchSolver<double>(options).analyze(a, 2).code, StatusCode::invalid_argument);
  }
  for (const double bad : {nan, 0.0, -1.0}) {
    const SolverOptions options = {.expected_steps = bad};
    EXPECT_EQ(Solver<double>(sparse_leftlooking::reference, options).analyze(a).code, StatusCode::invalid_argument);
  }
  for (const double bad : {nan, -1e-16, 1e-7}) {
    const SolverOptions options = {.backward_error = bad};
    EXPECT_EQ(Solver<double>(sparse_leftlooking::reference, options).analyze(a).code, StatusCode::invalid_argument);
    EXPECT_EQ(BatchSolver<double>(options).analyze(a, 2).code, StatusCode::invalid_argument);
  }
  const SolverOptions unlimited = {.max_growth = std::numeric_limits<double>::infinity()};
  EXPECT_TRUE(Solver<double>(unlimited).analyze(a).ok());
}

TEST(Solver, TheConditionIsOneOverTheDistanceOfTheScaledMatrix) {
  const auto a = testing::random_dominant(20, 0.3, 2);
  for (const Rung* rung : {&sparse_leftlooking::reference, &sparse_leftlooking::klu}) {
    Solver<double> solver(*rung);
    ASSERT_TRUE(solver.analyze(a).ok());
    EXPECT_EQ(solver.condition().status().code, StatusCode::invalid_argument);
    ASSERT_TRUE(solver.factor(a).ok());
    const auto estimate = solver.condition();
    ASSERT_TRUE(estimate.ok());
    EXPECT_GE(estimate->rcond_scaled, 1e-3);  // dominant
    EXPECT_LE(estimate->rcond_scaled, 1);
    EXPECT_TRUE(check_condition(*estimate).ok());
  }
}

/// Three stages in a row, each with a gain and a nearly floating node, as a circuit may have.
TEST(Solver, TheGainOfStagesInARowDoesNotMakeAMatrixSingular) {
  const std::int32_t n = 6;
  const double leak = 1e-10;
  std::vector<double> dense(n * n, 0.0);
  for (std::int32_t s = 0; s < 3; ++s) {
    const std::int32_t i = 2 * s;
    dense[i + n * i] = 1 + leak;  // [1 + leak, -1; -1, 1]
    dense[i + 1 + n * (i + 1)] = 1;
    dense[i + 1 + n * i] = dense[i + n * (i + 1)] = -1;
    if (s > 0) dense[i + n * (i - 1)] = 1;
  }
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i)
      if (dense[i + n * j] != 0) a.row_idx.push_back(i), a.values.push_back(dense[i + n * j]);
    a.col_ptr.push_back(a.nnz());
  }
  Solver<double> solver(sparse_leftlooking::reference);
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a).ok());
  const auto e = solver.condition();
  ASSERT_TRUE(e.ok());
  EXPECT_LE(e->rcond, 1e-28);
  EXPECT_GE(e->rcond_scaled, 1e-12);  // that of one stage is about leak / 4
  EXPECT_LE(e->rcond_scaled, 1e-9);
  EXPECT_TRUE(check_condition(*e).ok());
}

/// diag(size, 2 size), or a 2 x 2 matrix without a zero.
CscMatrix<double> tiny_or_huge(double size, bool full) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = 2;
  a.col_ptr = full ? std::vector<std::int64_t>{0, 2, 4} : std::vector<std::int64_t>{0, 1, 2};
  a.row_idx = full ? std::vector<std::int32_t>{0, 1, 0, 1} : std::vector<std::int32_t>{0, 1};
  a.values = full ? std::vector<double>{2 * size, size, size, 3 * size} : std::vector<double>{size, 2 * size};
  return a;
}

// 1e-50 is zero in float, 1e50 infinite; after scaling neither is.
TEST(Solver, FloatFactorsTakeValuesOutsideTheRangeOfFloat) {
  for (const double size : {1e-300, 1e-50, 1e-30, 1e30, 1e50, 1e300})
    for (const bool full : {false, true}) {
      const auto a = tiny_or_huge(size, full), next = tiny_or_huge(3 * size, full);
      const std::vector<double> b = {size, -size};
      std::vector<double> x(2, nan);
      Solver<float> solver(sparse_leftlooking::reference);
      ASSERT_TRUE(solver.analyze(a).ok());
      for (const bool again : {false, true}) {
        const Status status = again ? solver.refactor(next) : solver.factor(a);
        ASSERT_TRUE(status.ok()) << size << ": " << status.to_string();
        const auto solved = solver.solve(b, x);
        ASSERT_TRUE(solved.ok() && solved->converged) << size;
        const double scale = again ? 3 : 1;
        EXPECT_NEAR(scale * x[0], full ? 0.8 : 1, 1e-15) << size;
        EXPECT_NEAR(scale * x[1], full ? -0.6 : -0.5, 1e-15) << size;
      }
      EXPECT_TRUE(check_condition(*solver.condition()).ok()) << size;
    }
}

/// Rows differ by 10^16 in size; what float factors leave of the large ones must not spoil the small ones.
TEST(Solver, FloatFactorsAreRefinedToDoubleWhereRowsDifferInSize) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto a = generate("badly_scaled", {.n = 1000, .seed = seed}).value();
    std::vector<double> b(1000), x(1000, nan);
    multiply<double>(a, random_vector(1000, seed), b);
    Solver<float> solver(sparse_leftlooking::reference);
    ASSERT_TRUE(solver.analyze(a).ok());
    ASSERT_TRUE(solver.factor(a).ok());
    const auto solved = solver.solve(b, x);
    ASSERT_TRUE(solved.ok()) << solved.status().to_string();
    EXPECT_TRUE(solved->converged) << "seed " << seed << ": " << solved->omega;
    EXPECT_FALSE(!(backward_errors(a, x, b).sum() <= RefinementRule::limit)) << "seed " << seed;
  }
}

template <class T>
class SolverByEachRung : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SolverByEachRung, Scalars);

/// A rung may keep its factors where the Solver reads them, and may have got R·A·C without knowing of R and C.
TYPED_TEST(SolverByEachRung, SolvesWhateverTheScalesOfRowsAndColumns) {
  for (const Rung* rung : {&sparse_leftlooking::reference, &sparse_leftlooking::pruned, &sparse_leftlooking::threads,
                           &sparse_leftlooking::klu, &sparse_leftlooking::eigen_sparselu, &dense::reference})
    for (const int exponent : {0, 3, 40, 300}) {
      if (!rung->supports<TypeParam>()) continue;
      SCOPED_TRACE(fmt::format("{}, rows and columns times 2^±{}", rung->facts.id, exponent));
      auto a = generate("random", {.n = 60, .seed = 5}).value();
      for (std::int32_t j = 0; j < a.n_cols; ++j)
        for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
          a.values[k] = std::ldexp(a.values[k], a.row_idx[k] % 3 ? -exponent : j % 2 ? exponent : 0);
      Solver<TypeParam> solver(*rung);
      std::vector<double> b(a.n_cols), x(a.n_cols);
      const auto expect_solved = [&](bool transposed) {
        const auto of = transposed ? transpose(a.view()) : a;
        multiply<double>(of, random_vector(a.n_cols, 6), b);
        std::ranges::fill(x, nan);
        const auto solved = transposed ? solver.solve_transposed(b, x) : solver.solve(b, x);
        ASSERT_TRUE(solved.ok()) << solved.status().to_string();
        EXPECT_TRUE(solved->converged) << solved->omega;
        EXPECT_FALSE(!(backward_errors(of, x, b).sum() <= 1e-12));
      };
      ASSERT_TRUE(solver.analyze(a).ok());
      ASSERT_TRUE(solver.factor(a).ok());
      expect_solved(false);
      expect_solved(true);
      for (double& v : a.values) v *= 0.75;
      ASSERT_TRUE(solver.refactor(a).ok());
      expect_solved(false);
    }
}

/// By the pivots and scales of the first values float factors of the second ones pass a probe, and refinement comes to
/// 1e-11 in ten steps.
TEST(Solver, PivotsByWhichFloatFactorsAreRefinedTooSlowlyAreReplaced) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = 5;
  a.col_ptr = {0, 3, 6, 9, 12, 14};
  a.row_idx = {2, 3, 4, 0, 3, 4, 0, 1, 3, 0, 1, 3, 1, 3};
  a.values = {1, 15.5, 15.5, 1, 15.5, 15.5, 1e-8, 1, 15.5, 1, 1, 15.5, 1e-8, 15.5};
  auto next = a;
  for (const auto& [k, v] : {std::pair(6, 1.0), {7, 1e-8}, {8, 1.0}, {12, 1.0}, {13, 1e-8}}) next.values[k] = v;
  const std::vector<double> b = {1, 0, 0, 0, 1};
  Solver<float> solver(sparse_leftlooking::threads, {.preprocess = {.order = Order::amd}});
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a).ok());
  ASSERT_TRUE(solver.refactor(next).ok());
  std::vector<double> x(5, nan);
  for (const double bad : {nan, std::numeric_limits<double>::infinity()}) {
    (void)solver.solve(std::vector<double>{1, bad, 0, 0, 1}, x);
    EXPECT_TRUE(solver.repivot_cause().ok()) << "b is to blame, not the pivots";
  }
  const auto solved = solver.solve(b, x);
  ASSERT_TRUE(solved.ok()) << solved.status().to_string();
  EXPECT_TRUE(solved->converged) << solved->omega;
  EXPECT_FALSE(!(backward_errors(next, x, b).sum() <= RefinementRule::limit));
  EXPECT_NE(solver.repivot_cause().message.find("refinement of x stops"), std::string::npos)
      << solver.repivot_cause().to_string();
}

/// With a row that is a sum of others but for 2^-22 to 2^-45: pivots by value may come to a zero in float.
TEST(Solver, WhereAFloatFindsNoOtherPivotsTheOldOnesAreKept) {
  int not_converged = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> u(-1, 1);
    const auto n = static_cast<std::int32_t>(3 + random() % 6);
    std::vector<double> dense(n * n), b(n), x(n, nan);
    for (double& v : dense) v = random() % 3 ? static_cast<double>(random() % 7) - 3 : 0;
    const auto r = static_cast<std::int32_t>(random() % n);
    const double distance = std::ldexp(1.0, -static_cast<int>(20 + random() % 25));
    CscMatrix<double> a;
    a.n_rows = a.n_cols = n;
    for (std::int32_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int32_t i = 0; i < n; ++i) sum += i == r ? 0 : dense[i + n * j] * ((i * 7 + seed) % 5 - 2);
      dense[r + n * j] = sum + distance * u(random);
      for (std::int32_t i = 0; i < n; ++i)
        if (dense[i + n * j] != 0) a.row_idx.push_back(i), a.values.push_back(dense[i + n * j]);
      a.col_ptr.push_back(a.nnz());
    }
    Solver<float> solver(sparse_leftlooking::threads);
    if (!solver.analyze(a).ok() || !solver.factor(a).ok()) continue;
    for (double& v : b) v = u(random);
    const auto solved = solver.solve(b, x);
    EXPECT_TRUE(solved.ok()) << seed << ": " << solved.status().to_string();
    not_converged += solved.ok() && !solved->converged;
  }
  EXPECT_GT(not_converged, 50);
}

/// x = (1, 1) is a float, and often what they find.
TEST(Solver, TrustsNoFloatFactors) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto a = testing::random_dominant(2, 1, seed);
    SolverOptions options;
    options.refine = Refine::first;
    Solver<float> solver(sparse_leftlooking::threads, options);
    ASSERT_TRUE(solver.analyze(a).ok());
    ASSERT_TRUE(solver.factor(a).ok());
    std::vector<double> b(2), x(2, nan);
    multiply<double>(a, std::vector<double>{1, 1}, b);
    for (int k = 0; k < 5; ++k) {
      ASSERT_TRUE(solver.solve(b, x).ok());
      EXPECT_FALSE(!(componentwise_backward_error(a, x, b) <= 1e-12)) << seed << ", " << k;
      if (k > 0) b = random_vector(2, k);
    }
  }
}

TEST(Solver, NewPivotsThatDoNotHelpFloatFactorsAreTakenOnce) {
  constexpr std::int32_t n = 9;
  CscMatrix<double> a;  // Hilbert's: condition 5e11
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i) a.row_idx.push_back(i), a.values.push_back(1.0 / (i + j + 1));
    a.col_ptr.push_back(n * (j + 1));
  }
  Solver<float> solver(sparse_leftlooking::threads, {.preprocess = {.order = Order::amd}});
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a).ok());
  const std::vector<double> b = random_vector(n, 4);
  for (int step = 0; step < 3; ++step) {
    for (double& v : a.values) v *= 1.01;
    ASSERT_TRUE(solver.refactor(a).ok());
    std::vector<double> x(n, nan);
    const auto solved = solver.solve(b, x);
    ASSERT_TRUE(solved.ok()) << solved.status().to_string();
    EXPECT_FALSE(solved->converged);
    EXPECT_EQ(solver.statistics().repivots, step == 0 ? 1 : 0) << step;
  }
}

TEST(Solver, AnOverflowInFloatNamesTheEntry) {
  SolverOptions options;
  options.preprocess.scaling = false;
  Solver<float> solver(sparse_leftlooking::reference, options);
  const auto a = tiny_or_huge(1e50, false);
  ASSERT_TRUE(solver.analyze(a).ok());
  const Status status = solver.factor(a);
  EXPECT_EQ(status.code, StatusCode::invalid_argument);
  EXPECT_NE(status.message.find("1e+50, which overflows in f32"), std::string::npos) << status.message;
  EXPECT_EQ(status.where.columns, std::vector<std::int32_t>{0});
}

TEST(Solver, WrongOrderOfCallsAndOtherPatternsAreRefused) {
  const auto a = testing::random_dominant(20, 0.3, 2), other = testing::random_dominant(20, 0.3, 3);
  Solver<double> solver(sparse_leftlooking::reference);
  std::vector<double> x(20, 1.0);
  EXPECT_EQ(solver.factor(a).code, StatusCode::invalid_argument);
  EXPECT_EQ(solver.refactor(a).code, StatusCode::invalid_argument);
  EXPECT_EQ(solver.solve(x, x).status().code, StatusCode::invalid_argument);
  ASSERT_TRUE(solver.analyze(a).ok());
  EXPECT_EQ(solver.solve(x, x).status().code, StatusCode::invalid_argument);
  EXPECT_EQ(solver.factor(other).code, StatusCode::invalid_argument);
  ASSERT_TRUE(solver.factor(a).ok());
  expect_solves(solver, a);
}

TEST(Solver, ValuesAloneAreTakenOnTheAnalyzedPattern) {
  const auto a = testing::random_dominant(20, 0.3, 2);
  Solver<double> solver(sparse_leftlooking::reference);
  EXPECT_EQ(solver.factor(a.values).code, StatusCode::invalid_argument);
  ASSERT_TRUE(solver.analyze(a).ok());
  EXPECT_EQ(solver.refactor(a.values).code, StatusCode::invalid_argument);
  ASSERT_TRUE(solver.factor(a.values).ok());
  expect_solves(solver, a);
  auto next = a;
  for (double& v : next.values) v *= 1.5;
  ASSERT_TRUE(solver.refactor(next.values).ok());
  expect_solves(solver, next);
  next.values.pop_back();
  EXPECT_EQ(solver.refactor(next.values).code, StatusCode::invalid_argument);
  std::vector<double> x(20, 1.0);
  EXPECT_EQ(solver.solve(x, x).status().code, StatusCode::invalid_argument);
}

// The GPU's rung of RungChooser: has no room where told so.
StatusCode gpu_error = StatusCode::ok;
class FakeGpu final : public Backend<double> {
 public:
  Status prepare(const Analysis& analysis, std::int32_t systems) override {
    if (gpu_error != StatusCode::ok) return Status::error(gpu_error, "3 GB were asked for");
    return inner_.prepare(analysis, systems);
  }
  Status upload(std::span<const double> values) override { return inner_.upload(values); }
  Status enqueue(Phase phase) override { return inner_.enqueue(phase); }
  Status collect(std::span<Status> statuses) override { return inner_.collect(statuses); }
  Result<Factors<double>> download(std::int32_t system) override { return inner_.download(system); }

 private:
  FixedPivots inner_;
};

class SolverThatChooses : public ::testing::Test {
 protected:
  void SetUp() override { gpu_error = StatusCode::ok; }
  const Rung cpu_ = fixed_rung(), gpu_ = rung_in_double<FakeGpu>({.id = "test/gpu"});
  const CscMatrix<double> a_ = testing::random_dominant(20, 0.3, 2);

  template <bool gpu_wins>
  RungChooser chooser() const {
    return {cpu_, gpu_, [](const FilledPattern&, int, const Workload&, const KnownCosts&) {
              return gpu_wins ? Prospects{.cpu_us = 2, .gpu_us = 1} : Prospects{.cpu_us = 1, .gpu_us = 2};
            }};
  }
};

TEST_F(SolverThatChooses, TakesTheRungThatIsPredictedToBeFaster) {
  for (const bool on_gpu : {false, true}) {
    Solver<double> solver(on_gpu ? chooser<true>() : chooser<false>());
    EXPECT_EQ(solver.choice().rung, nullptr);
    ASSERT_TRUE(solver.analyze(a_).ok());
    EXPECT_EQ(solver.choice().rung, on_gpu ? &gpu_ : &cpu_);
    EXPECT_NE(solver.choice().reason.find("is predicted to take"), std::string::npos);
    ASSERT_TRUE(solver.factor(a_).ok());
    ASSERT_TRUE(solver.refactor(a_).ok());
    expect_solves(solver, a_);
  }
}

TEST_F(SolverThatChooses, WhereTheGpuHasNoRoomForAllStepsTheCpuGoesOn) {
  const auto predict = [](const FilledPattern&, int, const Workload&, const KnownCosts&) {
    return Prospects{.cpu_us = 10, .gpu_us = 1, .gpu_setup_us = 20};
  };
  gpu_error = StatusCode::out_of_memory;
  Solver<double> solver(RungChooser(cpu_, gpu_, predict), {.preprocess = {.order = Order::amd}});
  ASSERT_TRUE(solver.analyze(a_).ok());
  ASSERT_TRUE(solver.factor(a_).ok());
  ASSERT_TRUE(solver.refactor(a_).ok());
  EXPECT_EQ(solver.times().prepare, 0);
  ASSERT_TRUE(solver.refactor(a_).ok());
  EXPECT_GT(solver.times().prepare, 0);
  EXPECT_EQ(solver.choice().rung, &cpu_);
  EXPECT_NE(solver.choice().reason.find("could not be prepared"), std::string::npos) << solver.choice().reason;
  expect_solves(solver, a_);
}

// Those by which the order was chosen. Other pivots fill in other entries.
std::optional<PanelCosts> given_costs;
std::optional<CpuCosts> given_cpu_costs;
TEST_F(SolverThatChooses, GivesTheCostsThatItKnows) {
  const auto predict = [](const FilledPattern&, int, const Workload&, const KnownCosts& known) {
    given_costs = known.gpu;
    given_cpu_costs = known.cpu;
    return Prospects{.cpu_us = 1, .gpu_us = 2};
  };
  const auto a = generate("grid2d", {.n = 2500, .seed = 1}).value();
  const SolverOptions at_once = {.expected_steps = 1e6, .prepare_at_once = true};
  Solver<double> solver(RungChooser(sparse_leftlooking::reference, gpu_, predict), at_once);
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(given_costs);
  EXPECT_EQ(given_costs->predicted_us, panel_costs(solver.analysis().filled).predicted_us);
  Solver<double> for_one_step(RungChooser(sparse_leftlooking::reference, gpu_, predict),
                              SolverOptions{.expected_steps = 1});
  ASSERT_TRUE(for_one_step.analyze(a).ok());
  EXPECT_FALSE(given_costs);
  ASSERT_TRUE(given_cpu_costs);
  EXPECT_EQ(given_cpu_costs->work_us, cpu_costs(for_one_step.analysis().filled, 1).work_us);
  const auto large = generate("grid3d", {.n = 10000, .seed = 1}).value();  // found in two threads, if there are
  ASSERT_TRUE(solver.analyze(large).ok());
  ASSERT_GT(solver.analysis().filled.nnz(), 1'000'000);
  ASSERT_TRUE(given_costs);
  EXPECT_EQ(given_costs->predicted_us, panel_costs(solver.analysis().filled).predicted_us);
  if (given_cpu_costs) {
    EXPECT_EQ(given_cpu_costs->work_us, cpu_costs(solver.analysis().filled, 1).work_us);
  }
  ASSERT_TRUE(solver.analyze(a, solver.analysis()).ok());
  EXPECT_FALSE(given_costs || given_cpu_costs);
  auto tiny = testing::random_dominant(30, 0.3, 7);
  for (std::int32_t j = 0; j < 30; ++j)
    for (std::int64_t k = tiny.col_ptr[j]; k < tiny.col_ptr[j + 1]; ++k)
      if (tiny.row_idx[k] == j) tiny.values[k] *= 1e-12;
  SolverOptions options = natural_pivots();
  options.preprocess.order = Order::automatic;
  options.expected_steps = 1e6;
  options.prepare_at_once = true;
  options.first = FirstFactorization::reference;
  Solver<double> repivoting(RungChooser(cpu_, gpu_, predict), options);
  ASSERT_TRUE(repivoting.analyze(tiny).ok());
  EXPECT_TRUE(given_costs);
  ASSERT_TRUE(repivoting.factor(tiny).ok());
  EXPECT_NE(repivoting.analysis().plan.p, repivoting.analysis().plan.q);
  EXPECT_FALSE(given_costs);
}

TEST_F(SolverThatChooses, FallsBackWhereTheGpuHasNoRoom) {
  for (const StatusCode code : {StatusCode::out_of_memory, StatusCode::device_error}) {
    gpu_error = code;
    Solver<double> solver(chooser<true>());
    ASSERT_TRUE(solver.analyze(a_).ok());
    EXPECT_EQ(solver.choice().rung, &cpu_);
    EXPECT_NE(solver.choice().reason.find("test/gpu could not be prepared (3 GB were asked for)"), std::string::npos)
        << solver.choice().reason;
    ASSERT_TRUE(solver.factor(a_).ok());
    expect_solves(solver, a_);
    gpu_error = StatusCode::ok;  // the next pattern may fit
    ASSERT_TRUE(solver.analyze(a_).ok());
    EXPECT_EQ(solver.choice().rung, &gpu_);
  }
}

TEST_F(SolverThatChooses, KeepsItsRungForAKnownPattern) {
  Solver<double> solver(chooser<true>());
  ASSERT_TRUE(solver.analyze(a_).ok());
  gpu_error = StatusCode::deadlock;  // of what is prepared
  ASSERT_TRUE(solver.analyze(a_).ok());
  EXPECT_EQ(solver.choice().rung, &gpu_);
  ASSERT_TRUE(solver.factor(a_).ok());
  expect_solves(solver, a_);
}

TEST_F(SolverThatChooses, OtherErrorsOfAnalyzeLeaveNothingBehind) {
  Solver<double> solver(chooser<true>());
  ASSERT_TRUE(solver.analyze(a_).ok());
  gpu_error = StatusCode::deadlock;
  EXPECT_EQ(solver.analyze(testing::random_dominant(20, 0.3, 3)).code, StatusCode::deadlock);
  EXPECT_EQ(solver.choice().rung, nullptr);
  EXPECT_EQ(solver.factor(a_).code, StatusCode::deadlock);
}

TEST_F(SolverThatChooses, IsJudgedByTheRungThatItChose) {
  const Rung partial = rung_in_double<FakeGpu>({.id = "test/partial", .pivoting = Pivoting::partial});
  const auto predict = [](const FilledPattern&, int, const Workload&, const KnownCosts&) {
    return Prospects{.cpu_us = 1, .gpu_us = 2};
  };
  const auto a = with_tiny_pivot(1e-14);
  SolverOptions options = natural_pivots();
  Solver<double> solver(RungChooser(cpu_, partial, predict), options);
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a).ok());
  EXPECT_EQ(solver.statistics().repivots, 1);  // its pivots are fixed: they are checked
  EXPECT_NE(solver.repivot_cause().message.find("test/fixed_pivots: the given pivots"), std::string::npos);
  expect_solves(solver, a);
  options.factor.perturb_pivots = 1e-8;
  Solver<double> perturbing(RungChooser(cpu_, partial, predict), options);
  const Status s = perturbing.analyze(a);
  EXPECT_EQ(s.code, StatusCode::invalid_argument);
  EXPECT_NE(s.message.find("test/fixed_pivots does not perturb"), std::string::npos) << s.message;
}

TEST(Solver, ChoosesItsRungWhereNoneIsNamed) {
  const auto a = testing::random_dominant(20, 0.3, 2);
  Solver<double> solver;
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_NE(solver.choice().rung, nullptr);
  EXPECT_FALSE(solver.choice().reason.empty());
  ASSERT_TRUE(solver.factor(a).ok());
  expect_solves(solver, a);
  Solver<double> wrong({.factor = {.perturb_pivots = -1}});
  EXPECT_EQ(wrong.analyze(a).code, StatusCode::invalid_argument);
}

TEST(Solver, ARungThatIsNamedIsTakenWithoutAReason) {
  const auto a = testing::random_dominant(20, 0.3, 2);
  Solver<double> solver(sparse_leftlooking::reference);
  ASSERT_TRUE(solver.analyze(a).ok());
  EXPECT_EQ(solver.choice().rung, &sparse_leftlooking::reference);
  EXPECT_EQ(solver.choice().reason, "");
}

// Dense elimination whose next `spoiled` factorizations have a wrong entry of U: no growth, but a wrong solution.
double wrong_by = 0;
int spoiled = 0;
class WrongNowAndThen final : public Backend<double> {
 public:
  Status prepare(const Analysis& analysis, std::int32_t systems) override { return inner_.prepare(analysis, systems); }
  Status upload(std::span<const double> values) override { return inner_.upload(values); }
  Status enqueue(Phase) override {
    wrong_ = spoiled-- > 0;
    return {};
  }
  Status collect(std::span<Status>) override { return {}; }
  Result<Factors<double>> download(std::int32_t system) override {
    auto f = inner_.download(system);
    if (f.ok() && wrong_) f->values[f->filled.diag[f->filled.n / 2]] *= 1 + wrong_by;
    return f;
  }

 private:
  FixedPivots inner_;
  bool wrong_ = false;
};

class SolverThatPutsTheProbeOff : public ::testing::Test {
 protected:
  void SetUp() override {
    spoiled = 0;
    ASSERT_TRUE(solver_.analyze(a_).ok());
    ASSERT_TRUE(solver_.factor(a_).ok());
  }
  void refactor_wrongly(double by, int times, bool again = true) {
    wrong_by = by;
    spoiled = times;
    const Status s = again ? solver_.refactor(a_) : solver_.factor(a_);
    EXPECT_TRUE(s.ok()) << s.to_string();
  }
  const Rung rung_ = rung_in_double<WrongNowAndThen>({.id = "test/wrong"});
  const CscMatrix<double> a_ = testing::random_dominant(30, 0.3, 7);
  Solver<double> solver_{rung_, natural_pivots()};
};

TEST_F(SolverThatPutsTheProbeOff, ASolveThatConvergesShowsAsMuch) {
  for (const bool again : {true, false}) {
    refactor_wrongly(1e-4, 1, again);  // the probe would fail; refinement mends it
    expect_solves(solver_, a_);
    EXPECT_EQ(solver_.statistics().repivots, 0);
    EXPECT_TRUE(solver_.repivot_cause().ok());
  }
}

TEST_F(SolverThatPutsTheProbeOff, WhoAsksForTheFactorsGetsJudgedOnes) {
  for (int round = 0; round < 10; ++round) {
    const int call = round % 5;
    refactor_wrongly(1e-4, 1, round < 5);
    if (call == 0) {
      EXPECT_EQ(solver_.statistics().repivots, 1);
    }
    if (call == 1) {
      EXPECT_NE(solver_.repivot_cause().message.find("a probe solve leaves the residual"), std::string::npos);
    }
    if (call == 2) {
      EXPECT_EQ(solver_.factors().statistics.repivots, 1);
    }
    if (call == 3) {
      ASSERT_TRUE(solver_.download_factors().ok());
    }
    if (call == 4) {
      EXPECT_TRUE(solver_.condition().ok());
    }
    EXPECT_EQ(solver_.statistics().repivots, 1) << call;
    expect_solves(solver_, a_);
    EXPECT_EQ(solver_.statistics().repivots, 1) << call;
  }
}

TEST_F(SolverThatPutsTheProbeOff, ASolveThatDoesNotConvergeTakesNewPivotsAndSolvesAgain) {
  for (const int round : {0, 1, 2, 3}) {
    const bool many = round % 2 == 1;
    refactor_wrongly(-1.9, 1, round < 2);
    if (many) {
      std::vector<double> b = random_vector(90, 4), x(90, nan);
      std::fill_n(b.begin(), 30, 0.0);  // converges at once and shows nothing
      const auto refined = solver_.solve(b, x, 3);
      ASSERT_TRUE(refined.ok()) << refined.status().to_string();
      for (const Refinement& r : *refined) EXPECT_TRUE(r.converged);
      for (const std::size_t c : {0, 1, 2})
        EXPECT_LE(componentwise_backward_error(a_, std::span<const double>(x).subspan(30 * c, 30),
                                               std::span<const double>(b).subspan(30 * c, 30)),
                  4 * 0x1p-53);
    }
    expect_solves(solver_, a_);
    EXPECT_EQ(solver_.statistics().repivots, 1);
    EXPECT_EQ(solver_.repivot_cause().code, StatusCode::needs_repivot);
  }
}

TEST_F(SolverThatPutsTheProbeOff, AZeroRightSideProvesNothing) {
  refactor_wrongly(-1.9, 1);
  std::vector<double> x(30, nan);
  ASSERT_TRUE(solver_.solve(std::vector<double>(30, 0.0), x).ok());
  EXPECT_EQ(x, std::vector<double>(30, 0.0));
  expect_solves(solver_, a_);
  EXPECT_EQ(solver_.statistics().repivots, 1);
}

TEST_F(SolverThatPutsTheProbeOff, WhereNewPivotsDoNotHelpThereIsNoX) {
  for (const bool again : {true, false}) {
    refactor_wrongly(-1.9, 100, again);
    const std::vector<double> b = random_vector(30, 4);
    std::vector<double> x(30, 1.0);
    EXPECT_EQ(solver_.solve(b, x).status().code, StatusCode::needs_repivot);
    for (const double v : x) EXPECT_TRUE(std::isnan(v));
    EXPECT_EQ(solver_.solve(b, x).status().code, StatusCode::needs_repivot);
    EXPECT_EQ(solver_.download_factors().status().code, StatusCode::needs_repivot);
    spoiled = 0;
    ASSERT_TRUE(solver_.refactor(a_).ok());
    expect_solves(solver_, a_);
  }
}

TEST_F(SolverThatPutsTheProbeOff, AnXThatIsNotFiniteDoesNotBlameGoodPivots) {
  ASSERT_TRUE(solver_.refactor(a_).ok());
  std::vector<double> b = random_vector(30, 4), x(30, 1.0);
  b[3] = nan;
  const auto refined = solver_.solve(b, x);
  ASSERT_TRUE(refined.ok());
  EXPECT_FALSE(refined->converged);
  EXPECT_EQ(solver_.statistics().repivots, 0);
  expect_solves(solver_, a_);
}

TEST(Solver, WithoutRecoveryAFactorizationSolvesTheProbeAtOnce) {
  const Rung rung = rung_in_double<WrongNowAndThen>({.id = "test/wrong"});
  const auto a = testing::random_dominant(30, 0.3, 7);
  SolverOptions options = natural_pivots();
  options.repivot = false;
  Solver<double> solver(rung, options);
  spoiled = 0;
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a).ok());
  wrong_by = 1e-4, spoiled = 1;
  EXPECT_EQ(solver.refactor(a).code, StatusCode::needs_repivot);
  spoiled = 1;
  EXPECT_EQ(solver.factor(a).code, StatusCode::needs_repivot);
}

/// Of the rung that `auto` takes for small matrices: it keeps its factors where the Solver reads them.
TEST(Solver, EveryStepEqualsThatOfANewSolver) {
  const auto a = generate("logic_rent", {.n = 300, .seed = 3}).value();
  const std::vector<double> b = random_vector(a.n_cols, 4);
  const SolverOptions with_lists = {.prepare_at_once = true};
  Solver<double> solver(sparse_leftlooking::threads, with_lists);
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a).ok());
  for (int step = 0; step < 6; ++step) {
    auto now = a;
    for (std::size_t k = 0; k < now.values.size(); ++k)
      now.values[k] *= 1 + 1e-2 * static_cast<double>((k + 31 * step) % 7);
    Solver<double> fresh(sparse_leftlooking::threads, with_lists);
    ASSERT_TRUE(fresh.analyze(a, solver.analysis()).ok());
    ASSERT_TRUE(fresh.factor(now).ok());
    if (step != 3) {  // there solver factors anew, too
      ASSERT_TRUE(fresh.refactor(now.values).ok());
    }
    ASSERT_TRUE(solver.refactor(now.values).ok());
    if (step == 3) {
      auto bad = now;
      bad.values[5] = nan;
      EXPECT_EQ(solver.refactor(bad.values).code, StatusCode::invalid_argument);
      std::vector<double> x(a.n_cols, 1.0);
      EXPECT_EQ(solver.solve(b, x).status().code, StatusCode::invalid_argument);
      EXPECT_TRUE(std::ranges::all_of(x, [](double v) { return std::isnan(v); }));
      EXPECT_TRUE(std::isnan(solver.statistics().pivot_growth));
      ASSERT_TRUE(solver.refactor(now.values).ok());
    }
    for (const bool transposed : {false, true}) {
      std::vector<double> x(a.n_cols, nan), want(a.n_cols, nan);
      const auto refined = transposed ? solver.solve_transposed(b, x) : solver.solve(b, x);
      const auto expected = transposed ? fresh.solve_transposed(b, want) : fresh.solve(b, want);
      ASSERT_TRUE(refined.ok() && expected.ok());
      EXPECT_TRUE(refined->converged);
      EXPECT_EQ(x, want) << step;
      EXPECT_LE(componentwise_backward_error(transposed ? transpose(now.view()) : now, x, b), RefinementRule::limit);
    }
    if (step % 2 == 0) {  // a copy that a caller had asked for is not handed out again
      EXPECT_EQ(solver.factors().values, fresh.factors().values) << step;
      EXPECT_EQ(solver.factors().filled, fresh.factors().filled);
      EXPECT_EQ(solver.statistics().pivot_growth, fresh.statistics().pivot_growth);
      EXPECT_EQ(solver.statistics().rcond, fresh.statistics().rcond);
      EXPECT_EQ(solver.factors().statistics.pivot_growth, solver.statistics().pivot_growth);
    }
  }
}

TEST(Solver, PivotsThatVanishForTheFastRungAreReplacedAndGoodValuesWorkAgain) {
  SolverOptions options = natural_pivots();
  options.prepare_at_once = true;  // by flat lists, too
  Solver<double> solver(sparse_leftlooking::threads, options);
  std::vector<std::int64_t> repivots;
  for (const double pivot : {40.0, -35.0, 0.0, 1e-14, 30.0}) {
    const auto a = with_tiny_pivot(pivot);
    if (repivots.empty()) {
      ASSERT_TRUE(solver.analyze(a).ok());
    }
    const Status s = repivots.empty() ? solver.factor(a) : solver.refactor(a.values);
    ASSERT_TRUE(s.ok()) << s.to_string();
    expect_solves(solver, a);
    repivots.push_back(solver.statistics().repivots);
  }
  EXPECT_EQ(repivots, (std::vector<std::int64_t>{0, 0, 1, 0, 0}));
}

TEST(Solver, GrowthBeyondTheLimitIsFoundInTheArraysOfTheRung) {
  const auto good = with_tiny_pivot(40), bad = with_tiny_pivot(1e-4);
  for (const double max_growth : {10.0, 1e8}) {
    SolverOptions options = natural_pivots();
    options.repivot = options.probe = false;
    options.max_growth = max_growth;
    Solver<double> solver(sparse_leftlooking::threads, options);
    ASSERT_TRUE(solver.analyze(good).ok());
    ASSERT_TRUE(solver.factor(good).ok());
    const Status s = solver.refactor(bad);
    EXPECT_EQ(s.code, max_growth == 10 ? StatusCode::needs_repivot : StatusCode::ok) << s.to_string();
    if (s.ok()) {
      EXPECT_GT(solver.statistics().pivot_growth, 10);
    } else {
      EXPECT_NE(s.message.find("the pivot growth is"), std::string::npos) << s.message;
    }
  }
}

TEST(Solver, AnXThatIsGoodAtOnceIsNotRefinedUnlessAskedTo) {
  const auto a = generate("logic_rent", {.n = 300, .seed = 3}).value();
  const std::vector<double> b = random_vector(a.n_cols, 4);
  for (const bool further : {false, true}) {
    Solver<double> solver(sparse_leftlooking::threads, further ? refined_to_the_end() : SolverOptions());
    ASSERT_TRUE(solver.analyze(a).ok());
    ASSERT_TRUE(solver.factor(a).ok());
    std::vector<double> x(a.n_cols, nan);
    const auto refined = solver.solve(b, x);
    ASSERT_TRUE(refined.ok());
    EXPECT_TRUE(refined->converged);
    EXPECT_EQ(refined->iterations > 0, further);
  }
}

TEST(Solver, GivesPivotsWithoutScaling) {
  for (const Rung* rung : {&sparse_leftlooking::reference, &sparse_leftlooking::threads}) {
    Solver<double> solver(*rung, {.prepare_at_once = true});
    const auto a = testing::random_dominant(40, 0.2, 3);
    std::vector<double> pivots(40, nan);
    EXPECT_EQ(solver.pivots(pivots).code, StatusCode::invalid_argument);
    ASSERT_TRUE(solver.analyze(a).ok());
    ASSERT_TRUE(solver.factor(a).ok());
    EXPECT_EQ(solver.pivots(std::span(pivots).first(39)).code, StatusCode::invalid_argument);
    for (const bool by_lists : {false, true}) {
      const auto now = by_lists ? testing::other_values(a, 1) : a;
      ASSERT_TRUE((by_lists ? solver.refactor(now) : solver.factor(now)).ok());
      pivots.assign(40, nan);
      ASSERT_TRUE(solver.pivots(pivots).ok());
      const auto f = solver.factors();
      ASSERT_EQ(f.filled.n, 40);
      for (std::int32_t k = 0; k < 40; ++k) {
        const std::int32_t j = f.plan.q[k];
        const double expected = f.values[f.filled.diag[k]] / f.plan.r[f.plan.p[k]] / f.plan.c[j];
        // the lists sum in another order
        EXPECT_TRUE(std::abs(pivots[j] - expected) <= 1e-10 * std::abs(expected)) << pivots[j] << ", " << expected;
      }
    }
  }
}

TEST(Solver, TrustsFactorsOfAGoodSolutionWhereAskedTo) {
  for (const Rung* rung : {&sparse_leftlooking::reference, &sparse_leftlooking::threads}) {
    Solver<double> solver(*rung, {.refine = Refine::first, .prepare_at_once = true});
    const auto a = testing::random_dominant(30, 0.2, 1);
    ASSERT_TRUE(solver.analyze(a).ok());
    ASSERT_TRUE(solver.factor(a).ok());
    const std::vector<double> b = random_vector(90, 2), zero(30);
    std::vector<double> x(90, nan);
    for (const auto& now : {a, testing::other_values(a, 5)}) {
      ASSERT_TRUE(solver.refactor(now).ok());
      const std::span<double> one = std::span(x).first(30);
      EXPECT_EQ(solver.solve(zero, one)->backward_error, 0);  // shows nothing
      const auto refined = solver.solve(b, x, 3);
      ASSERT_TRUE(refined.ok());
      EXPECT_TRUE((*refined)[0].backward_error <= 1e-14) << (*refined)[0].backward_error;
      for (const int c : {1, 2}) EXPECT_TRUE(std::isnan((*refined)[c].backward_error));
      EXPECT_TRUE(std::isnan(solver.solve_transposed(std::span(b).first(30), one)->backward_error));
      EXPECT_TRUE(componentwise_backward_error(transpose(now.view()), one, std::span(b).first(30)) <= 1e-14);
      EXPECT_TRUE(std::isnan(solver.solve(std::span(b).last(30), one)->backward_error));
      EXPECT_TRUE(componentwise_backward_error(now, one, std::span(b).last(30)) <= 1e-14);
    }
  }
}

TEST(Solver, ASolutionWithZerosShowsNothingOfTheFactors) {
  const auto matrix = [](double a22, double a23, double a32, double a33) {
    return from_triplets<double>(3, 3, std::vector{0, 1, 1, 2, 2}, std::vector{0, 1, 2, 1, 2},
                                 std::vector{49.0, a22, a23, a32, a33});
  };
  // The growth is just allowed, and the second pivot of the block lost all digits.
  Solver<double> solver(sparse_leftlooking::reference, {.refine = Refine::first});
  ASSERT_TRUE(solver.analyze(matrix(2, 1, 1, 2)).ok());
  ASSERT_TRUE(solver.factor(matrix(2, 1, 1, 2)).ok());
  ASSERT_TRUE(solver.refactor(matrix(1e-24, 1e-8, 1e-8, 1e-24)).ok());
  std::vector<double> x(3, nan);
  ASSERT_TRUE(solver.solve(std::vector{1.0, 0.0, 0.0}, x).ok());
  ASSERT_TRUE(solver.solve(std::vector{0.0, 1e-8, 2e-8}, x).ok());
  EXPECT_TRUE(std::abs(x[1] - 2) <= 1e-14) << x[1];
  EXPECT_TRUE(std::abs(x[2] - 1) <= 1e-14) << x[2];
}

TEST(Solver, AnotherSolutionShowsWhatOneWithZerosDoesNot) {
  const auto a = from_triplets<double>(3, 3, std::vector{0, 1, 1, 2, 2}, std::vector{0, 1, 2, 1, 2},
                                       std::vector{49.0, 2.0, 1.0, 1.0, 2.0});
  Solver<double> solver(sparse_leftlooking::reference, {.refine = Refine::first});
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a).ok());
  const std::vector<double> b = {1, 0, 0, 49, 3, 3, 98, 4, 5};
  std::vector<double> x(9, nan);
  const auto refined = solver.solve(b, x, 3);
  ASSERT_TRUE(refined.ok());
  EXPECT_TRUE((*refined)[0].backward_error <= 1e-14) << (*refined)[0].backward_error;
  for (const int c : {1, 2}) EXPECT_TRUE(std::isnan((*refined)[c].backward_error));  // not looked at
  const std::vector<double> expected = {1.0 / 49, 0, 0, 1, 1, 1, 2, 1, 2};
  for (std::size_t k = 0; k < x.size(); ++k) EXPECT_TRUE(std::abs(x[k] - expected[k]) <= 1e-15) << k << ": " << x[k];
}

TEST(Solver, OneGoodSolutionBySmallPivotsMayBeLuck) {
  const auto matrix = [](double a00, double a11) {
    return from_triplets<double>(3, 3, std::vector{0, 0, 1, 1, 2}, std::vector{0, 1, 0, 1, 2},
                                 std::vector{a00, 1.0, 1.0, a11, 49.0});
  };
  const auto a = matrix(0x1p-23, 1);
  for (const Rung* rung : {&sparse_leftlooking::reference, &sparse_leftlooking::threads}) {
    Solver<double> solver(*rung, {.refine = Refine::first, .prepare_at_once = true});
    ASSERT_TRUE(solver.analyze(matrix(2, 2)).ok());
    ASSERT_TRUE(solver.factor(matrix(2, 2)).ok());
    ASSERT_TRUE(solver.refactor(a).ok());
    const std::vector<double> lucky = {1 + 0x1p-23, 2, 1}, b = {0.3, 0.7, 1};
    std::vector<double> x(3, nan);
    EXPECT_TRUE(solver.solve(lucky, x)->backward_error <= 1e-14);
    ASSERT_TRUE(solver.solve(b, x).ok());
    EXPECT_TRUE(componentwise_backward_error(a, x, b) <= 1e-12) << componentwise_backward_error(a, x, b);
  }
}

// Where all that follows is refused too, the message may throw.
TEST(Solver, AStepWithoutHostMemorySaysSoAndTheNextOneWorks) {
  const auto a = *generate("power_grid", {.n = 60, .seed = 5});
  const auto b = random_vector(a.n_cols, 3);
  const auto is_all_nan = [](const std::vector<double>& x) {
    return std::ranges::all_of(x, [](double v) { return std::isnan(v); });
  };
  for (const Rung* rung : {&sparse_leftlooking::reference, &sparse_leftlooking::threads}) {
    for (const bool once : {false, true}) {
      int failed = 0;
      bool was_refused = true;
      for (int allocations = 0; was_refused; ++allocations) {
        SCOPED_TRACE(::testing::Message() << rung->facts.id << " after " << allocations << " allocations, " << once);
        Solver<double> solver(*rung);
        ASSERT_TRUE(solver.analyze(a).ok());
        ASSERT_TRUE(solver.factor(a).ok());
        std::vector<double> x(a.n_cols, 1.0);
        Status done;
        bool threw = false;
        const auto step_or_throw = [&] {
          try {
            done = solver.step(a.values, b, x).status();
          } catch (const std::bad_alloc&) {
            done.code = StatusCode::out_of_memory;
            threw = true;
          }
        };
        was_refused = testing::without_memory_after(allocations, step_or_throw, once);
        EXPECT_FALSE(threw && once);
        EXPECT_TRUE(threw || done.ok() != is_all_nan(x));
        if (!done.ok()) {
          EXPECT_TRUE(was_refused);
          EXPECT_EQ(done.code, StatusCode::out_of_memory) << done.to_string();
          EXPECT_EQ(solver.solve(b, x).status().code, StatusCode::out_of_memory);
          EXPECT_TRUE(is_all_nan(x));
          EXPECT_FALSE(solver.wait_for_step().ok());
          ++failed;
        }
        const auto stepped = solver.step(a.values, b, x);
        ASSERT_TRUE(stepped.ok()) << stepped.status().to_string();
        EXPECT_TRUE(componentwise_backward_error(a, x, b) <= 1e-12);
      }
      EXPECT_GT(failed, 2) << rung->facts.id;
    }
  }
}

TEST(Solver, UnknownScalarTypeIsNotImplemented) {
  const Rung rung = fixed_rung();
  Solver<float> solver(rung);
  EXPECT_EQ(solver.analyze(testing::random_dominant(5, 0.3, 2)).code, StatusCode::not_implemented);
}

TEST(Solver, FloatFactorsSolveToDoublePrecision) {
  const auto a = testing::random_dominant(50, 0.1, 9);
  Solver<float> solver(sparse_leftlooking::reference);
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a).ok());
  const std::vector<double> b = random_vector(50, 4);
  std::vector<double> x(50, nan);
  ASSERT_TRUE(solver.solve(b, x).ok());
  EXPECT_LE(componentwise_backward_error(a, x, b), 4 * 0x1p-53);
}

}  // namespace
}  // namespace lulab
