#include "core/plan_gather.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace lulab {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// 3 x 3, unsymmetric, and a plan that moves and scales every entry differently.
CscMatrix<double> small_matrix() {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = 3;
  a.col_ptr = {0, 2, 3, 5};
  a.row_idx = {0, 2, 1, 0, 1};
  a.values = {1, 2, 3, 4, 5};
  return a;
}
Plan small_plan() { return {{2, 0, 1}, {1, 2, 0}, {2, 3, 5}, {7, 11, 13}, "given"}; }

TEST(PlanGather, PlacesAndScalesEachEntry) {
  const auto a = small_matrix();
  auto g = PlanGather::create(a, small_plan());
  ASSERT_TRUE(g.ok()) << g.status().to_string();
  std::vector<double> values(5, nan);
  const auto largest = g->gather<double>(a.values, values);
  ASSERT_TRUE(largest.ok()) << largest.status().to_string();
  EXPECT_EQ(*largest, 3 * 5 * 13);
  // rows of P·A: 2, 0, 1; columns of A·Q: 1, 2, 0
  EXPECT_EQ(g->pattern().col_ptr, (std::vector<std::int64_t>{0, 1, 3, 5}));
  EXPECT_EQ(g->pattern().row_idx, (std::vector<std::int32_t>{2, 1, 2, 0, 1}));
  EXPECT_EQ(values, (std::vector<double>{3 * 3 * 11, 2 * 4 * 13, 3 * 5 * 13, 5 * 2 * 7, 2 * 1 * 7}));
}

TEST(PlanGather, TakesOtherScales) {
  const auto a = small_matrix();
  Plan plan = small_plan();
  for (const GatheredRows rows : {GatheredRows::sorted, GatheredRows::any}) {
    auto g = PlanGather::create(a, small_plan(), rows);
    ASSERT_TRUE(g.ok()) << g.status().to_string();
    plan.r = {1, 0.5, -4};
    plan.c = {3, 0.25, 1.0 / 3};
    g->take_scales(plan);
    const auto fresh = PlanGather::create(a, plan, rows);
    ASSERT_TRUE(fresh.ok()) << fresh.status().to_string();
    std::vector<double> values(5, nan), expected(5, nan);
    const auto largest = g->gather<double>(a.values, values), of_fresh = fresh->gather<double>(a.values, expected);
    ASSERT_TRUE(largest.ok() && of_fresh.ok());
    EXPECT_EQ(values, expected);
    EXPECT_EQ(*largest, *of_fresh);
  }
}

template <class T>
class PlanGatherTyped : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PlanGatherTyped, Scalars);

TYPED_TEST(PlanGatherTyped, IsBitwiseWhatApplyGives) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(0.1, 3);
  const std::int32_t n = 40;
  CscMatrix<TypeParam> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i) {
      if (random() % 5 != 0) continue;
      a.row_idx.push_back(i);
      a.values.push_back(static_cast<TypeParam>(unit(random)));
    }
    a.col_ptr.push_back(a.nnz());
  }
  Plan plan = Plan::identity(n);
  std::shuffle(plan.p.begin(), plan.p.end(), random);
  std::shuffle(plan.q.begin(), plan.q.end(), random);
  for (double& s : plan.r) s = unit(random);
  for (double& s : plan.c) s = unit(random);

  for (const GatheredRows rows : {GatheredRows::sorted, GatheredRows::any}) {
    auto g = PlanGather::create(a, plan, rows);
    ASSERT_TRUE(g.ok()) << g.status().to_string();
    CscMatrix<TypeParam> b{g->pattern(),
                           std::vector<TypeParam>(a.values.size(), std::numeric_limits<TypeParam>::quiet_NaN())};
    ASSERT_TRUE(g->template gather<TypeParam>(a.values, b.values).ok());
    EXPECT_EQ(check_sorted(b).ok(), rows == GatheredRows::sorted);
    if (rows == GatheredRows::any) b = transpose(transpose(b.view()).view());  // sorts the rows
    EXPECT_EQ(b, apply(plan, a.view()));
  }
}

TEST(PlanGather, NamesTheEntryOfAThatIsNotFinite) {
  for (const GatheredRows rows : {GatheredRows::sorted, GatheredRows::any}) {
    const auto g = PlanGather::create(small_matrix(), small_plan(), rows);
    ASSERT_TRUE(g.ok());
    const std::int32_t row_of[] = {0, 2, 1, 0, 1}, column_of[] = {0, 0, 1, 2, 2};
    for (int k = 0; k < 5; ++k) {
      auto a = small_matrix();
      a.values[k] = nan;
      std::vector<double> values(5);
      const Status s = g->gather<double>(a.values, values).status();
      EXPECT_EQ(s.code, StatusCode::invalid_argument);
      EXPECT_EQ(s.where.rows, std::vector<std::int32_t>{row_of[k]});
      EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{column_of[k]});
      EXPECT_NE(s.message.find("is not a number"), std::string::npos) << s.message;
    }
  }
}

TEST(PlanGather, ScalingThatOverflowsIsAnError) {
  auto a = small_matrix();
  const auto g = PlanGather::create(a, small_plan());
  ASSERT_TRUE(g.ok());
  a.values[1] = 1e308;  // entry (2, 0), scaled by 5 · 7
  std::vector<double> values(5);
  const Status s = g->gather<double>(a.values, values).status();
  EXPECT_EQ(s.code, StatusCode::invalid_argument);
  EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{0});
}

TEST(PlanGather, RefusesValuesOfAnotherLength) {
  const auto g = PlanGather::create(small_matrix(), small_plan());
  ASSERT_TRUE(g.ok());
  std::vector<double> few(4), values(5);
  EXPECT_EQ(g->gather<double>(few, values).status().code, StatusCode::invalid_argument);
  EXPECT_EQ(g->gather<double>(values, few).status().code, StatusCode::invalid_argument);
}

TEST(PlanGather, RefusesAPlanThatDoesNotFit) {
  const auto a = small_matrix();
  const auto refuses = [&](auto&& spoil) {
    Plan plan = small_plan();
    spoil(plan);
    const auto g = PlanGather::create(a, plan);
    return !g.ok() && g.status().code == StatusCode::invalid_argument;
  };
  EXPECT_FALSE(refuses([](Plan&) {}));
  EXPECT_TRUE(refuses([](Plan& p) { p.p = {0, 0, 1}; }));
  EXPECT_TRUE(refuses([](Plan& p) { p.q = {0, 3, 1}; }));
  EXPECT_TRUE(refuses([](Plan& p) { p.q.pop_back(); }));
  EXPECT_TRUE(refuses([](Plan& p) { p.r[1] = 0; }));
  EXPECT_TRUE(refuses([](Plan& p) { p.c[2] = nan; }));
  CscPattern wide = a;
  wide.n_rows = 4;
  EXPECT_FALSE(PlanGather::create(wide, small_plan()).ok());
}

TEST(PlanGather, EmptyMatrix) {
  const CscPattern a;
  const auto g = PlanGather::create(a, Plan::identity(0));
  ASSERT_TRUE(g.ok()) << g.status().to_string();
  EXPECT_EQ(g->pattern(), a);
  EXPECT_EQ(g->gather<double>({}, {}).value(), 0);
}

}  // namespace
}  // namespace lulab
