#include "solve/refinement_rule.h"

#include <cmath>

#include <gtest/gtest.h>

namespace lulab {
namespace {

constexpr double eps = RefinementRule::eps;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(RefinementRule, StopsOnceOmegaIsBelowTheUnitRoundoff) {
  EXPECT_FALSE(RefinementRule(eps, 10).wants_step());
  EXPECT_TRUE(RefinementRule(std::nextafter(eps, 1.0), 10).wants_step());
  RefinementRule rule(1e-3, 10);
  ASSERT_TRUE(rule.accepts(eps));
  EXPECT_FALSE(rule.wants_step());
  EXPECT_EQ(rule.result(0.5).iterations, 1);
  EXPECT_EQ(rule.result(0.5).omega, eps);
  EXPECT_EQ(rule.result(0.5).backward_error, 0.5);
}

TEST(RefinementRule, StopsWhereTheCallerHasEnough) {
  constexpr double enough = 30 * eps;
  EXPECT_FALSE(RefinementRule(enough, 10, enough).wants_step());
  EXPECT_TRUE(RefinementRule(std::nextafter(enough, 1.0), 10, enough).wants_step());
  RefinementRule rule(1e-7, 10, enough);
  ASSERT_TRUE(rule.accepts(1e-12));
  EXPECT_TRUE(rule.wants_step());
  ASSERT_TRUE(rule.accepts(20 * eps));
  EXPECT_FALSE(rule.wants_step());
  EXPECT_EQ(rule.result(0).iterations, 2);
}

TEST(RefinementRule, ConvergedMeansThirtyTimesTheUnitRoundoff) {
  EXPECT_TRUE(RefinementRule(30 * eps, 0).result(0).converged);
  EXPECT_FALSE(RefinementRule(std::nextafter(30 * eps, 1.0), 0).result(0).converged);
  EXPECT_FALSE(RefinementRule(nan, 0).result(0).converged);
}

TEST(RefinementRule, AStepThatMakesAGoodXWorseIsUndoneAndTheLast) {
  for (const double next : {10 * eps, 20 * eps, 1e-3, infinity, nan}) {
    RefinementRule rule(10 * eps, 10);
    EXPECT_FALSE(rule.accepts(next)) << next;
    EXPECT_FALSE(rule.wants_step()) << next;
    EXPECT_EQ(rule.result(0).iterations, 0);
    EXPECT_EQ(rule.result(0).omega, 10 * eps);
  }
}

TEST(RefinementRule, TwoStepsThatMakeABadXWorseAreForgiven) {
  RefinementRule rule(1e-7, 10);
  EXPECT_TRUE(rule.accepts(1e-4));
  EXPECT_TRUE(rule.accepts(1e-8));
  EXPECT_TRUE(rule.accepts(1e-8));
  EXPECT_TRUE(rule.wants_step());
  RefinementRule arrives = rule;
  EXPECT_TRUE(arrives.accepts(2 * eps));
  EXPECT_EQ(arrives.result(0).iterations, 4);
  EXPECT_TRUE(arrives.result(0).converged);
  EXPECT_FALSE(rule.accepts(1e-7));
  EXPECT_FALSE(rule.wants_step());
  EXPECT_EQ(rule.result(0).omega, 1e-8);
  RefinementRule last_step(1e-7, 1);
  EXPECT_FALSE(last_step.accepts(1e-4));  // no step is left to mend it
  EXPECT_EQ(last_step.result(0).omega, 1e-7);
  for (const double next : {infinity, nan}) {
    RefinementRule diverges(1e-7, 10);
    EXPECT_FALSE(diverges.accepts(next)) << next;
    EXPECT_FALSE(diverges.wants_step()) << next;
  }
}

TEST(RefinementRule, AStepThatGainsLessThanATenthIsKeptAndTheLast) {
  RefinementRule slow(10 * eps, 10), fast(10 * eps, 10), bad(1, 10);
  EXPECT_TRUE(slow.accepts(std::nextafter(9 * eps, 1.0)));
  EXPECT_FALSE(slow.wants_step());
  EXPECT_EQ(slow.result(0).iterations, 1);
  EXPECT_TRUE(fast.accepts(8 * eps));
  EXPECT_TRUE(fast.wants_step());
  for (const double next : {0.95, 0.94}) {  // before x is good, two of them are forgiven
    EXPECT_TRUE(bad.accepts(next));
    EXPECT_TRUE(bad.wants_step());
  }
  EXPECT_TRUE(bad.accepts(0.93));
  EXPECT_FALSE(bad.wants_step());
}

TEST(RefinementRule, TakesAtMostMaxIterations) {
  RefinementRule rule(1.0, 2);
  ASSERT_TRUE(rule.wants_step());
  ASSERT_TRUE(rule.accepts(0.5));
  ASSERT_TRUE(rule.wants_step());
  ASSERT_TRUE(rule.accepts(0.25));
  EXPECT_FALSE(rule.wants_step());
  EXPECT_FALSE(RefinementRule(1.0, 0).wants_step());
}

TEST(RefinementRule, NanStopsAtOnce) { EXPECT_FALSE(RefinementRule(nan, 10).wants_step()); }

TEST(RowError, DividesByTheSizeOfTheRow) {
  const RowError e = row_error(1, 2, 4, 100, 2);
  EXPECT_EQ(e.componentwise, 1.0 / 6);
  EXPECT_EQ(e.omega, 1.0 / 6);
  EXPECT_FALSE(e.nearly_zero);
}

TEST(RowError, ARowThatIsNearlyZeroIsComparedWithItsLargestEntryTimesTheLargestUnknown) {
  const RowError e = row_error(1e-20, 1e-20, 0, 1, 2);
  EXPECT_EQ(e.componentwise, 1);
  EXPECT_TRUE(e.nearly_zero);
  EXPECT_EQ(e.omega, 1e-20);
  EXPECT_FALSE(row_error(1e-20, 1e-20, 0, infinity, 2).nearly_zero);
}

TEST(RowError, ZeroOverZeroIsZeroAndWhatIsNotFiniteIsNan) {
  EXPECT_EQ(row_error(0, 0, 0, 0, 1).componentwise, 0);
  EXPECT_EQ(row_error(1, 0, 0, 0, 1).componentwise, infinity);
  EXPECT_NEAR(row_error(1e307, 1.6e308, 1.7e308, 1, 1).componentwise, 1e307 / 3.3e307 / 10,
              1e-15);  // a sum beyond 1.8e308
  EXPECT_TRUE(std::isnan(row_error(1, infinity, 1, 1, 1).componentwise));
  EXPECT_TRUE(std::isnan(row_error(nan, 1, 1, 1, 1).omega));
}

}  // namespace
}  // namespace lulab
