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

// Rows 1 to 3 are as good for column 0; row 1 is the diagonal of the earliest column.
TYPED_TEST(LeftLookingPruned, OfEqualPivotsTakesTheEarliestRow) {
  const auto a = from_rows<TypeParam>({{0, 1, 2, 4}, {5, 1, 0, 0}, {5, 0, 1, 0}, {-5, 0, 0, 1}});
  const auto f = factor_with<TypeParam>(pruned, a, Plan::identity(4));
  ASSERT_TRUE(f.ok()) << f.status().to_string();
  EXPECT_EQ(f->plan.p.front(), 1);
}

TYPED_TEST(LeftLookingPruned, NamesTheColumnWithoutAPivot) {
  const auto a = from_rows<TypeParam>({{1, 2, 0}, {2, 4, 0}, {0, 0, 1}});
  const auto f = factor_with<TypeParam>(pruned, a, Plan::identity(3));
  EXPECT_EQ(f.status().code, StatusCode::numerically_singular);
  EXPECT_EQ(f.status().where.columns, std::vector<std::int32_t>{1});
}

}  // namespace
}  // namespace lulab::sparse_leftlooking
