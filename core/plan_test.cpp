#include "core/plan.h"

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "core/matrix/random.h"
#include "testing/to_dense.h"

namespace lulab {
namespace {

Plan random_plan(std::int32_t n, std::uint64_t seed) {
  Random random(seed);
  Plan plan = Plan::identity(n);
  for (std::int64_t i = n - 1; i > 0; --i) {
    std::swap(plan.p[i], plan.p[random.below(i + 1)]);
    std::swap(plan.q[i], plan.q[random.below(i + 1)]);
  }
  for (std::int32_t i = 0; i < n; ++i) {
    plan.r[i] = random.uniform(0.5, 2.0);
    plan.c[i] = random.uniform(0.5, 2.0);
  }
  return plan;
}

template <class T>
void expect_the_one_equation(std::uint64_t seed) {
  const auto a = convert<T>(generate("random", {.n = 40, .seed = seed})->view());
  const Plan plan = random_plan(40, seed + 1);
  const auto b = apply(plan, a.view());
  ASSERT_TRUE(check_sorted(b));
  ASSERT_EQ(b.nnz(), a.nnz());
  const auto da = testing::to_dense(a), db = testing::to_dense(b);
  for (std::int32_t i = 0; i < 40; ++i) {
    for (std::int32_t j = 0; j < 40; ++j) {
      const double expected = plan.r[plan.p[i]] * da(plan.p[i], plan.q[j]) * plan.c[plan.q[j]];
      ASSERT_EQ(db(i, j), static_cast<T>(expected)) << "entry " << i << ", " << j;
    }
  }
}

TEST(Plan, ApplyIsTheOneEquationEntryByEntry) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    expect_the_one_equation<double>(seed);
    expect_the_one_equation<float>(seed);
  }
}

TEST(Plan, IdentityChangesNothing) {
  const auto a = generate("random", {.n = 30, .seed = 2}).value();
  EXPECT_TRUE(apply(Plan::identity(30), a.view()) == a);
  EXPECT_EQ(Plan::identity(30).n(), 30);
}

/// A full 3 x 3 pattern but for (2,0), with values 1, 2, ... in storage order.
Factors<double> factors_in_storage_order() {
  Factors<double> f;
  f.plan = Plan::identity(3);
  f.filled = {3, {0, 2, 5, 8}, {0, 1, 0, 1, 2, 0, 1, 2}, {0, 3, 7}};
  f.values = {1, 2, 3, 4, 5, 6, 7, 8};
  return f;
}

TEST(Factors, SplitIntoUnitLowerAndUpper) {
  const auto f = factors_in_storage_order();
  EXPECT_EQ(f.filled.nnz_u(), 6);
  EXPECT_EQ(f.filled.nnz_l(), 2);
  const auto l = extract_l(f), u = extract_u(f);
  ASSERT_TRUE(check_sorted(l));
  ASSERT_TRUE(check_sorted(u));
  const auto dl = testing::to_dense(l), du = testing::to_dense(u);
  const double expected_l[3][3] = {{1, 0, 0}, {2, 1, 0}, {0, 5, 1}};
  const double expected_u[3][3] = {{1, 3, 6}, {0, 4, 7}, {0, 0, 8}};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(dl(i, j), expected_l[i][j]);
      EXPECT_EQ(du(i, j), expected_u[i][j]);
    }
  }
  EXPECT_EQ(l.nnz(), f.filled.nnz_l() + 3);
  EXPECT_EQ(u.nnz(), f.filled.nnz_u());
}

}  // namespace
}  // namespace lulab
