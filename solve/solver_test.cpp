#include "solve/solver.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "solve/dense_elimination_for_tests.h"
#include "symbolic/analyze.h"

namespace lulab {

namespace sparse_leftlooking {
extern const Rung reference;
extern const Rung klu;
}  // namespace sparse_leftlooking

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The diagonal as pivots whatever the values: dense elimination on the analyzed plan. A zero pivot gives infinities.
class FixedPivots : public Factorizer<double> {
 public:
  Status analyze(const Analysis& analysis) override {
    analysis_ = &analysis;
    return {};
  }
  Status upload(std::span<const double> values) override {
    values_.assign(values.begin(), values.end());
    return {};
  }
  Status factor() override { return {}; }
  Result<Factors<double>> download() override {
    CscMatrix<double> a;
    static_cast<CscPattern&>(a) = analysis_->a;
    a.values = values_;
    return testing::eliminate_densely<double>(a.view(), analysis_->plan);
  }

 private:
  const Analysis* analysis_ = nullptr;
  std::vector<double> values_;
};

Rung fixed_rung() {
  Rung rung;
  rung.facts.id = "test/fixed_pivots";
  rung.facts.pivoting = Pivoting::fixed;
  rung.make_double = [](const FactorOptions&) -> std::unique_ptr<Factorizer<double>> {
    return std::make_unique<FixedPivots>();
  };
  return rung;
}

// No matching, no scaling: the diagonal of A supplies the pivots.
SolverOptions natural_pivots() {
  SolverOptions options;
  options.preprocess.order = Order::natural;
  options.preprocess.matching = false;
  options.preprocess.scaling = false;
  return options;
}

// Dominant but for one tiny pivot that only a row exchange avoids.
CscMatrix<double> with_tiny_pivot(double tiny) {
  CscMatrix<double> a = testing::random_dominant(30, 0.3, 7);
  for (std::int64_t k = a.col_ptr[0]; k < a.col_ptr[1]; ++k)
    if (a.row_idx[k] == 0) a.values[k] = tiny;
  return a;
}

void expect_solves(const Solver<double>& solver, const CscMatrix<double>& a) {
  const std::vector<double> b = random_vector(a.n_cols, 4);
  std::vector<double> x(a.n_cols, nan);
  const auto refined = solver.solve(b, x);
  ASSERT_TRUE(refined.ok()) << refined.status().to_string();
  EXPECT_LE(componentwise_backward_error(a, x, b), 4 * 0x1p-53);  // x is rounded to double; refinement does the rest
}

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

// x0 overflows, and so do its residual and the size that it is compared with. No factor is large.
TEST(Solver, AProbeThatOverflowsDoesNotPass) {
  const Rung rung = fixed_rung();
  CscMatrix<double> good;
  good.n_rows = good.n_cols = 4;
  good.col_ptr = {0, 1, 3, 5, 7};
  good.row_idx = {0, 0, 1, 0, 2, 0, 3};
  good.values = {4, 1, 4, 1, 4, 1, 4};
  auto bad = good;
  bad.values = {1e-323, 1.4e4, 0.23, -1.3e4, 0.39, 0.3e4, 0.18};  // rounding leaves row 0 of the probe a residual
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
  Solver<double> solver(sparse_leftlooking::reference);
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
    EXPECT_FALSE(solver.refactor(good).ok());
    ASSERT_TRUE(solver.factor(good).ok());
    expect_solves(solver, good);
  }
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

// Stands for others, as sparse_auto's rungs do.
class Chooser final : public FixedPivots {
 public:
  Status analyze(const Analysis& analysis) override {
    static const Rung chosen = fixed_rung();
    choice_ = {&chosen, "there is no other"};
    return FixedPivots::analyze(analysis);
  }
  const Choice* choice() const override { return choice_.rung ? &choice_ : nullptr; }

 private:
  Choice choice_;
};

TEST(Solver, ARungThatChoosesIsJudgedByWhatItChose) {
  Rung rung;
  rung.facts.id = "test/chooser";
  rung.facts.pivoting = Pivoting::partial;  // of the chosen one they are fixed
  rung.facts.perturbs_pivots = true;        // the chosen one does not
  rung.make_double = [](const FactorOptions&) -> std::unique_ptr<Factorizer<double>> {
    return std::make_unique<Chooser>();
  };
  const auto a = with_tiny_pivot(1e-14);
  SolverOptions options = natural_pivots();
  Solver<double> solver(rung, options);
  EXPECT_EQ(solver.choice(), nullptr);
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_NE(solver.choice(), nullptr);
  EXPECT_EQ(solver.choice()->reason, "there is no other");
  ASSERT_TRUE(solver.factor(a).ok());
  EXPECT_EQ(solver.statistics().repivots, 1);  // given pivots are judged
  expect_solves(solver, a);
  options.factor.perturb_pivots = 1e-8;
  Solver<double> perturbing(rung, options);
  const Status s = perturbing.analyze(a);
  EXPECT_EQ(s.code, StatusCode::invalid_argument);
  EXPECT_NE(s.message.find("test/fixed_pivots does not perturb"), std::string::npos) << s.message;
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
