#include "driver/pivot_check.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/factors.h"
#include "core/matrix/generate.h"
#include "testing/dense_elimination.h"

namespace lulab {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
class PivotCheckOf : public ::testing::Test {
 protected:
  const PivotCheck<T> check{"test/rung", 1e8};
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PivotCheckOf, Scalars);

void expect_unstable(const Status& s, std::string_view why, const std::vector<std::int32_t>& columns = {}) {
  EXPECT_EQ(s.code, StatusCode::needs_repivot);
  EXPECT_EQ(s.where.columns, columns);
  EXPECT_NE(s.message.find("test/rung: the given pivots are not stable for these values: "), std::string::npos);
  EXPECT_NE(s.message.find(why), std::string::npos) << s.message;
}

TYPED_TEST(PivotCheckOf, NamesTheColumnOfTheFirstValueThatIsNotFinite) {
  auto f = testing::eliminate_densely<TypeParam>(testing::random_dominant(8, 0.4, 1), testing::random_plan(8, 2));
  EXPECT_TRUE(this->check.check_values(f).ok());
  for (const double bad : {nan, infinity, -infinity})
    for (const std::int32_t column : {0, 5}) {
      auto broken = f;
      broken.values[f.filled.diag[column]] = static_cast<TypeParam>(bad);
      expect_unstable(this->check.check_values(broken), "the factors hold", {f.plan.q[column]});
    }
}

TYPED_TEST(PivotCheckOf, LargestEntriesMustBeFinite) {
  EXPECT_TRUE(this->check.check_largest(1, 1e300).ok());
  for (const double bad : {nan, infinity}) {
    expect_unstable(this->check.check_largest(bad, 1), "the factors are not finite");
    expect_unstable(this->check.check_largest(1, bad), "the factors are not finite");
  }
}

TYPED_TEST(PivotCheckOf, GrowthUpToTheLimitPassesUnlessPivotsWerePerturbed) {
  EXPECT_TRUE(this->check.check_growth(1e8, 0).ok());
  expect_unstable(this->check.check_growth(std::nextafter(1e8, 1e9), 0), "the pivot growth is 1e+08");
  expect_unstable(this->check.check_growth(infinity, 0), "the pivot growth is inf");
  EXPECT_TRUE(this->check.check_growth(infinity, 1).ok());
  EXPECT_TRUE(this->check.check_growth(pivot_growth(0, 0), 0).ok());  // A is zero: nothing has grown
}

TYPED_TEST(PivotCheckOf, TheProbeLeavesAResidualOfAtMostTheRootOfEps) {
  const double limit = std::sqrt(std::numeric_limits<TypeParam>::epsilon() / 2.0);
  const ProbeResult good{.norm1_a = 4, .residual = 8 * limit, .solution = 2};
  EXPECT_TRUE(this->check.check_probe(good).ok());
  ProbeResult bad = good;
  bad.residual = std::nextafter(good.residual, 1.0);
  expect_unstable(this->check.check_probe(bad), "a probe solve leaves the residual");
  bad.residual = 16;
  expect_unstable(this->check.check_probe(bad), "a probe solve leaves the residual 2 after scaling");
  for (const ProbeResult& overflow : {ProbeResult{.norm1_a = 1, .residual = infinity, .solution = infinity},
                                      ProbeResult{.norm1_a = 1, .residual = nan, .solution = 1},
                                      ProbeResult{.norm1_a = nan, .residual = 1, .solution = 1}})
    expect_unstable(this->check.check_probe(overflow), "a probe solve leaves the residual");
}

TYPED_TEST(PivotCheckOf, ARefinedProbeMustConverge) {
  EXPECT_TRUE(this->check.check_refined_probe(Refinement{.converged = true}).ok());
  expect_unstable(this->check.check_refined_probe(Refinement{.omega = 0.25}), "stops at the backward error 0.25");
  EXPECT_EQ(this->check.check_refined_probe(Status::error(StatusCode::device_error, "lost")).code,
            StatusCode::device_error);
}

TYPED_TEST(PivotCheckOf, EachSolutionMustConverge) {
  const Refinement good{.converged = true};
  EXPECT_TRUE(this->check.check_solutions({}).ok());
  EXPECT_TRUE(this->check.check_solutions(std::vector{good, good}).ok());
  expect_unstable(this->check.check_solutions(std::vector{good, Refinement{.omega = 0.5}, Refinement{.omega = 2}}),
                  "refinement of x stops at the backward error 0.5");
}

TYPED_TEST(PivotCheckOf, TheHostsProbeSumsAfterScaling) {
  const std::int32_t n = 12;
  auto a = testing::random_dominant(n, 0.3, 3);
  for (double& v : a.values) v *= 0x1p-20;  // a norm below 1
  Plan plan = testing::random_plan(n, 4);
  plan.c[0] = 64;  // which the first column has
  const auto f = testing::eliminate_densely<TypeParam>(a, plan);
  const auto x = probe_solution(n);
  std::vector<double> b(n), y(n), residual(n);
  multiply<double>(a, x, b);
  HostRefiner<TypeParam> refiner(a);
  refiner.solve_unrefined(f, b, y);
  multiply<double>(a, y, residual);
  ProbeResult expected;
  for (std::int32_t i = 0; i < n; ++i) {
    expected.residual += std::abs(f.plan.r[i] * (b[i] - residual[i]));
    expected.solution += std::abs(y[i]) / f.plan.c[i];
    double sum = 0;
    for (std::int64_t k = a.col_ptr[i]; k < a.col_ptr[i + 1]; ++k)
      sum += f.plan.r[a.row_idx[k]] * std::abs(a.values[k]) * f.plan.c[i];
    expected.norm1_a = std::max(expected.norm1_a, sum);
  }
  const auto probe = probe_on_host<TypeParam>(a, f, x, refiner);
  ASSERT_TRUE(probe.ok());
  EXPECT_LT(expected.norm1_a, 1);
  EXPECT_DOUBLE_EQ(probe->norm1_a, expected.norm1_a);
  EXPECT_DOUBLE_EQ(probe->solution, expected.solution);
  // sums in another order differ by rounding of A y
  const double rounding = 4 * n * std::numeric_limits<double>::epsilon() * expected.norm1_a * expected.solution;
  EXPECT_LE(std::abs(probe->residual - expected.residual), rounding);
}

TYPED_TEST(PivotCheckOf, TheHostsProbePassesRightFactorsAndFindsWrongOnes) {
  const std::int32_t n = 30;
  const auto a = testing::random_dominant(n, 0.2, 3);
  auto f = testing::eliminate_densely<TypeParam>(a, Plan::identity(n));
  const auto x = probe_solution(n);
  HostRefiner<TypeParam> refiner(a);
  const auto right = probe_on_host<TypeParam>(a, f, x, refiner);
  ASSERT_TRUE(right.ok());
  EXPECT_GT(right->residual, 0);
  EXPECT_TRUE(this->check.check_probe(*right).ok());
  EXPECT_TRUE(this->check.check_refined_probe(refine_probe_on_host<TypeParam>(a, f, x, refiner)).ok());
  f.values[f.filled.diag[n / 2]] *= TypeParam(0.5);
  const auto wrong = probe_on_host<TypeParam>(a, f, x, refiner);
  ASSERT_TRUE(wrong.ok());
  expect_unstable(this->check.check_probe(*wrong), "a probe solve leaves the residual");
  f.values[f.filled.diag[n / 2]] = TypeParam(0);
  EXPECT_EQ(probe_on_host<TypeParam>(a, f, x, refiner).status().code, StatusCode::numerically_singular);
  EXPECT_EQ(refine_probe_on_host<TypeParam>(a, f, x, refiner).status().code, StatusCode::numerically_singular);
}

TEST(PivotCheck, PivotsByValueHelpWhereGivenOnesFail) {
  EXPECT_TRUE(asks_for_pivots(Status::error(StatusCode::needs_repivot, "")));
  EXPECT_TRUE(asks_for_pivots(Status::error(StatusCode::numerically_singular, "")));
  EXPECT_FALSE(asks_for_pivots({}));
  EXPECT_FALSE(asks_for_pivots(Status::error(StatusCode::out_of_memory, "")));
}

TEST(PivotCheck, WithoutAProbeAFloatIsAllowedLessGrowth) {
  EXPECT_EQ(max_growth_without_probe<double>(1e8), 1e8);
  EXPECT_DOUBLE_EQ(max_growth_without_probe<float>(1e8), 1e8 * std::exp2(-14.5));
}

TEST(PivotCheck, TheProbesSolutionIsOfSizeOneAndAlwaysTheSame) {
  const auto x = probe_solution(100);
  ASSERT_EQ(x.size(), 100U);
  for (const double v : x) EXPECT_TRUE(std::abs(v) >= 0.5 && std::abs(v) <= 1) << v;
  EXPECT_EQ(x, probe_solution(100));
  // SplitMix64 of seed 1: 910a2dec89025cc1, beeb8da1658eec67, f893a2eefb32555e, 71c18690ee42c90b
  const std::vector<double> first = {0x1.910a2dec89026p-1, 0x1.beeb8da1658eep-1, -0x1.f893a2eefb325p-1,
                                     0x1.71c18690ee42cp-1};
  EXPECT_EQ(probe_solution(4), first);
}

}  // namespace
}  // namespace lulab
