#include <gtest/gtest.h>

#include "sparse_leftlooking/rungs.h"
#include "symbolic/fill.h"
#include "testing/rungs.h"

namespace lulab::sparse_leftlooking {
namespace {

using testing::factor_with;
using testing::from_rows;
using testing::random_plan;
using testing::random_unsymmetric;

template <class T>
class LeftLookingPruned : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LeftLookingPruned, Scalars);

// Random values leave no ties: same pivots, same pattern, same rounding.
TYPED_TEST(LeftLookingPruned, EqualsTheReferenceBitByBit) {
  for (const double tol : {0.01, 0.5, 1.0})
    for (const int seed : {1, 2, 3}) {
      const auto a = random_unsymmetric<TypeParam>(120, 0.04, 0.5, seed);
      const Plan plan = random_plan(120, false, seed);
      const auto f = factor_with<TypeParam>(pruned, a, plan, {.pivot_tol = tol});
      const auto expected = factor_with<TypeParam>(reference, a, plan, {.pivot_tol = tol});
      ASSERT_TRUE(f.ok()) << f.status().to_string();
      ASSERT_TRUE(expected.ok()) << expected.status().to_string();
      EXPECT_EQ(f->plan.p, expected->plan.p);
      EXPECT_EQ(f->filled, expected->filled);
      EXPECT_EQ(f->values, expected->values);
      EXPECT_EQ(f->statistics.flops, expected->statistics.flops);
    }
}

TYPED_TEST(LeftLookingPruned, PatternIsTheFillOfItsPivots) {
  const auto a = random_unsymmetric<TypeParam>(200, 0.02, 0.5, 5);
  const auto f = factor_with<TypeParam>(pruned, a, random_plan(200, false, 6), {.pivot_tol = 1.0});
  ASSERT_TRUE(f.ok()) << f.status().to_string();
  const auto fill = fill_permuted(a, f->plan.p, f->plan.q);
  ASSERT_TRUE(fill.ok());
  EXPECT_EQ(f->filled, *fill);
}

// Rows 1 to 3 are as good for column 0; row 1 is the diagonal of the earliest column, wherever it stands in A.
TYPED_TEST(LeftLookingPruned, OfEqualPivotsTakesTheEarliestRow) {
  const auto a = from_rows<TypeParam>({{0, 1, 2, 4}, {5, 1, 0, 0}, {5, 0, 1, 0}, {-5, 0, 0, 1}});
  const auto f = factor_with<TypeParam>(pruned, a, Plan::identity(4));
  ASSERT_TRUE(f.ok()) << f.status().to_string();
  EXPECT_EQ(f->plan.p.front(), 1);
  const auto upside_down = from_rows<TypeParam>({{-5, 0, 0, 1}, {5, 0, 1, 0}, {5, 1, 0, 0}, {0, 1, 2, 4}});
  Plan plan = Plan::identity(4);
  plan.p = {3, 2, 1, 0};
  const auto g = factor_with<TypeParam>(pruned, upside_down, plan);
  ASSERT_TRUE(g.ok()) << g.status().to_string();
  EXPECT_EQ(g->plan.p.front(), 2);
}

// Both rungs that choose pivots by value.
template <class T>
class ThresholdPivots : public ::testing::Test {
 protected:
  const Rung* const rungs[2] = {&reference, &pruned};

  void expect_rows(const std::vector<std::vector<double>>& a, double pivot_tol, const Permutation& rows) {
    for (const Rung* rung : rungs) {
      SCOPED_TRACE(rung->facts.id);
      const auto f = factor_with<T>(*rung, from_rows<T>(a), Plan::identity(std::ssize(rows)), {.pivot_tol = pivot_tol});
      ASSERT_TRUE(f.ok()) << f.status().to_string();
      EXPECT_EQ(f->plan.p, rows);
    }
  }

  void expect_singular(const CscMatrix<T>& a, std::int32_t column, const char* why) {
    for (const Rung* rung : rungs) {
      SCOPED_TRACE(rung->facts.id);
      const Status s = factor_with<T>(*rung, a, Plan::identity(a.n_cols), {.pivot_tol = 0.001}).status();
      EXPECT_EQ(s.code, StatusCode::numerically_singular);
      EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{column});
      EXPECT_NE(s.to_string().find(why), std::string::npos) << s.to_string();
    }
  }
};
TYPED_TEST_SUITE(ThresholdPivots, Scalars);

TYPED_TEST(ThresholdPivots, AreOnTheDiagonalAtTheThresholdAndNotBelow) {
  this->expect_rows({{0.5, 1}, {2, 1}}, 0.25, {0, 1});
  this->expect_rows({{0.25, 1}, {2, 1}}, 0.25, {1, 0});
}

TYPED_TEST(ThresholdPivots, AreNotZeroWithoutAThresholdEither) { this->expect_rows({{0, 1}, {2, 1}}, 0, {1, 0}); }

TYPED_TEST(ThresholdPivots, AreMissingWhereZerosAloneAreLeft) {
  this->expect_singular(from_rows<TypeParam>({{1, 2, 0}, {2, 4, 0}, {0, 0, 1}}), 1, "only zeros are left");
}

TYPED_TEST(ThresholdPivots, DoNotHideAnOverflowBesideThem) {
  auto a = from_rows<TypeParam>({{1, 0, 1}, {500, 1, 1}, {0, 0, 1}});  // 1 >= 0.001 · 500: the diagonal is taken
  a.values[3] = std::numeric_limits<TypeParam>::max() / 2;  // A(0,2): U(1,2) = 1 - 500 · A(0,2), which no L multiplies
  this->expect_singular(a, 2, "overflows");
}

TYPED_TEST(ThresholdPivots, AreChosenAnewByEachFactor) {
  const auto a = random_unsymmetric<TypeParam>(90, 0.05, 0.5, 31);
  const auto b = random_unsymmetric<TypeParam>(90, 0.05, 0.01, 31);  // the same pattern
  ASSERT_EQ(a.col_ptr, b.col_ptr);
  ASSERT_EQ(a.row_idx, b.row_idx);
  const Analysis analysis = testing::analysis_of(a, random_plan(90, false, 32));
  for (const Rung* rung : this->rungs) {
    SCOPED_TRACE(rung->facts.id);
    const auto f = rung->make<TypeParam>({.pivot_tol = 1.0});
    ASSERT_TRUE(f->analyze(analysis).ok());
    ASSERT_TRUE(f->upload(a.values).ok());
    ASSERT_TRUE(f->factor().ok());
    const auto first = f->download();
    ASSERT_TRUE(f->upload(b.values).ok());
    ASSERT_TRUE(f->factor().ok());
    const auto again = f->download();
    const auto fresh = factor_with<TypeParam>(*rung, analysis, b.values, {.pivot_tol = 1.0});
    ASSERT_TRUE(first.ok() && again.ok() && fresh.ok());
    EXPECT_NE(first->plan.p, fresh->plan.p);
    EXPECT_EQ(again->plan.p, fresh->plan.p);
    EXPECT_EQ(again->filled, fresh->filled);
    EXPECT_EQ(again->values, fresh->values);
  }
}

}  // namespace
}  // namespace lulab::sparse_leftlooking
