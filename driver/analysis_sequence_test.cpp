#include "driver/analysis_sequence.h"

#include <cmath>
#include <random>

#include "symbolic/analyze_with_plan.h"
#include "testing/bad_pivots.h"
#include "testing/matrices.h"

namespace lulab {
namespace {

using testing::other_values, testing::random_matrix;

CscMatrix<double> one_of(std::uint64_t seed, std::int32_t n = 80) {
  return random_matrix(seed, {.n = n, .density = 0.04, .decades = 2, .full_rank = true});
}

/// An analysis, as Solver keeps it.
struct Sequence {
  AnalysisSequence sequence;
  Analysis analysis = {};
  bool is_known = false, kept = false, new_scales = false;

  explicit Sequence(const PreprocessOptions& options = {}) : sequence(options, default_expected_steps) {}

  Status next(const CscView<double>& a) {
    auto result = sequence.next(a, is_known ? &analysis : nullptr);
    if (!result.ok()) return result.status();
    kept = !result->anew;
    new_scales = result->new_scales;
    if (result->anew) analysis = std::move(result->anew->analysis);
    is_known = true;
    return {};
  }
};

void expect_equal(const Analysis& s, const Analysis& t) {
  EXPECT_EQ(s.plan.order, t.plan.order);
  EXPECT_EQ(s.plan.p, t.plan.p);
  EXPECT_EQ(s.plan.q, t.plan.q);
  EXPECT_EQ(s.plan.r, t.plan.r);
  EXPECT_EQ(s.plan.c, t.plan.c);
  EXPECT_EQ(s.filled, t.filled);
  EXPECT_EQ(s.a, t.a);
  EXPECT_EQ(s.a_to_filled, t.a_to_filled);
}

/// |diagonal| of P·R·A·C·Q in [½, 2], every other |entry| <= 2.
void expect_scaled(const CscMatrix<double>& a, const Plan& plan) {
  const auto b = apply(plan, a.view());
  std::int32_t diagonals = 0;
  for (std::int32_t j = 0; j < b.n_cols; ++j)
    for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) {
      EXPECT_TRUE(std::abs(b.values[k]) <= 2 + 1e-12);
      if (b.row_idx[k] != j) continue;
      ++diagonals;
      EXPECT_TRUE(std::abs(b.values[k]) >= 0.5 - 1e-12) << b.values[k];
    }
  EXPECT_EQ(diagonals, a.n_cols);
}

TEST(AnalysisSequence, NewValuesOfAKnownPatternKeepOrderAndFill) {
  int kept = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Sequence s;
    const auto a = one_of(seed);
    ASSERT_TRUE(s.next(a).ok());
    EXPECT_FALSE(s.kept);
    expect_equal(s.analysis, *analyze(a));
    const Analysis first = s.analysis;
    for (int step = 0; step < 4; ++step) {
      auto next = a;
      std::mt19937_64 random(100 * seed + step);
      for (double& v : next.values) v *= std::uniform_real_distribution<double>(0.95, 1.05)(random);
      ASSERT_TRUE(s.next(next).ok());
      expect_scaled(next, s.analysis.plan);
      kept += s.kept;
      if (!s.kept) break;
      EXPECT_EQ(s.analysis.plan.p, first.plan.p);
      EXPECT_EQ(s.analysis.plan.q, first.plan.q);
      EXPECT_EQ(s.analysis.filled, first.filled);
    }
  }
  EXPECT_GE(kept, 60);
}

// Rows that grow want other row scalings, which a matching finds; the rows are the same.
TEST(AnalysisSequence, TheSameRowsWithOtherScalingsKeepTheRest) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Sequence s;
    const auto a = one_of(seed);
    ASSERT_TRUE(s.next(a).ok());
    auto next = a;
    for (std::size_t k = 0; k < next.values.size(); ++k) next.values[k] *= std::exp2(5 * (next.row_idx[k] % 7));
    ASSERT_TRUE(s.next(next).ok());
    EXPECT_TRUE(s.kept && s.new_scales);
    expect_equal(s.analysis, *analyze(next));
  }
}

TEST(AnalysisSequence, OtherRowsAreAnalyzedAnew) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Sequence s;
    const auto a = one_of(seed);
    ASSERT_TRUE(s.next(a).ok());
    const Permutation rows = s.analysis.plan.p;
    auto next = a;
    std::mt19937_64 random(seed);
    for (double& v : next.values) v = std::exp2(std::uniform_real_distribution<double>(-20, 20)(random));
    ASSERT_TRUE(s.next(next).ok());
    EXPECT_FALSE(s.kept);
    expect_equal(s.analysis, *analyze(next));
  }
}

TEST(AnalysisSequence, PivotsChosenByValueAreNotThoseOfTheNextAnalysis) {
  Sequence s;
  const auto a = one_of(3);
  ASSERT_TRUE(s.next(a).ok());
  const Analysis first = s.analysis;
  Plan other = first.plan;
  std::swap(other.p[1], other.p[5]);
  s.analysis = *analyze_with_plan(a, other);
  ASSERT_TRUE(s.next(a).ok());
  EXPECT_FALSE(s.kept);
  expect_equal(s.analysis, first);
  ASSERT_TRUE(s.next(a).ok());
  EXPECT_TRUE(s.kept && !s.new_scales);
}

TEST(AnalysisSequence, WithoutRoundedScalingsItIsAFreshAnalysis) {
  for (const PreprocessOptions& options :
       {PreprocessOptions{.power_of_two = false}, {.scaling = false}, {.matching = false}, {.order = Order::colamd}}) {
    Sequence s(options);
    const auto a = one_of(4);
    ASSERT_TRUE(s.next(a).ok());
    const auto next = other_values(a, 9);
    ASSERT_TRUE(s.next(next).ok());
    if (options.order != Order::colamd) {
      expect_equal(s.analysis, *analyze(next, options));
    }
    EXPECT_EQ(s.analysis.plan.order, options.order == Order::colamd ? "colamd" : s.analysis.plan.order);
  }
}

TEST(AnalysisSequence, AnErrorLeavesTheEarlierAnalysisAsItWas) {
  Sequence s;
  const auto a = one_of(5);
  ASSERT_TRUE(s.next(a).ok());
  const Analysis first = s.analysis;
  auto bad = a;
  bad.values[3] = std::nan("");
  EXPECT_EQ(s.next(bad).code, StatusCode::invalid_argument);
  expect_equal(s.analysis, first);
  bad = a;
  for (std::int64_t k = a.col_ptr[7]; k < a.col_ptr[8]; ++k) bad.values[k] = 0;
  const Status singular = s.next(bad);
  EXPECT_EQ(singular.code, StatusCode::structurally_singular);
  EXPECT_EQ(singular.where.columns, std::vector<std::int32_t>({7}));
  expect_equal(s.analysis, first);
  ASSERT_TRUE(s.next(a).ok());
  expect_equal(s.analysis, first);
}

TEST(AnalysisSequence, AnAnalysisFromElsewhereIsNoOrderToKeep) {
  Sequence s;
  const auto a = one_of(6);
  ASSERT_TRUE(s.next(a).ok());
  s.sequence.forget();
  s.analysis = *analyze(a, {.order = Order::natural});
  ASSERT_TRUE(s.next(a).ok());
  EXPECT_FALSE(s.kept);
  expect_equal(s.analysis, *analyze(a));
}

}  // namespace
}  // namespace lulab
