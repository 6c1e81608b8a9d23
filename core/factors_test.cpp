#include "core/factors.h"
#include "core/uninitialized_vector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lulab {
namespace {

// L = [1 . .; 2 1 .; . 3 1], U = [4 . 5; . 6 7; . . -8], rows of the stored columns shuffled.
Factors<double> small_factors() {
  CscMatrix<double> l, u;
  l.n_rows = l.n_cols = u.n_rows = u.n_cols = 3;
  l.col_ptr = {0, 2, 4, 5};
  l.row_idx = {1, 0, 1, 2, 2};
  l.values = {2, 1, 1, 3, 1};
  u.col_ptr = {0, 1, 2, 5};
  u.row_idx = {0, 1, 2, 0, 1};
  u.values = {4, 6, -8, 5, 7};
  Plan plan = Plan::identity(3);
  plan.q = {2, 0, 1};
  return join_factors(plan, l.view(), u.view());
}

TEST(Factors, JoinPutsUThenTheDiagonalThenL) {
  const auto f = small_factors();
  EXPECT_EQ(f.filled.col_ptr, (std::vector<std::int64_t>{0, 2, 4, 7}));
  EXPECT_EQ(f.filled.row_idx, (UninitializedVector<std::int32_t>{0, 1, 1, 2, 0, 1, 2}));
  EXPECT_EQ(f.filled.diag, (std::vector<std::int64_t>{0, 2, 6}));
  EXPECT_EQ(f.values, (std::vector<double>{4, 2, 6, 3, 5, 7, -8}));
  EXPECT_EQ(f.plan.q, (Permutation{2, 0, 1}));
}

TEST(Factors, JoinIsTheInverseOfExtract) {
  const auto f = small_factors();
  const auto again = join_factors(f.plan, extract_l(f).view(), extract_u(f).view());
  EXPECT_EQ(again.filled, f.filled);
  EXPECT_EQ(again.values, f.values);
}

TEST(Factors, CheckNamesTheColumnOfAThatIsNotFinite) {
  for (double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    auto f = small_factors();
    EXPECT_TRUE(check_factors(f, StatusCode::needs_repivot).ok());
    f.values[3] = bad;  // L(2,1): column 1 of the factors, column q[1] = 0 of A
    const Status s = check_factors(f, StatusCode::needs_repivot);
    EXPECT_EQ(s.code, StatusCode::needs_repivot);
    EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{0});
  }
}

TEST(Factors, CheckNamesTheColumnOfAWithAZeroPivot) {
  auto f = small_factors();
  f.values[6] = 0;
  const Status s = check_factors(f, StatusCode::numerically_singular);
  EXPECT_EQ(s.code, StatusCode::numerically_singular);
  EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{1});
}

TEST(Factors, MeasureReportsGrowthAndPivots) {
  auto f = small_factors();
  f.plan.p = {1, 0, 2};
  measure_factors(f, Plan::identity(3), 2.0);
  EXPECT_EQ(f.statistics.pivot_growth, 8.0 / 2.0);
  EXPECT_EQ(f.statistics.rcond, 4.0 / 8.0);
  EXPECT_EQ(f.statistics.off_diagonal_pivots, 2);
  EXPECT_EQ(f.statistics.numerical_rank, 3);
}

TEST(Factors, MaxAbsKeepsANan) {
  const std::vector<double> values = {-3, 2};
  EXPECT_EQ(max_abs<double>(values), 3);
  EXPECT_EQ(max_abs<double>({}), 0);
  const std::vector<double> spoilt = {1, std::numeric_limits<double>::quiet_NaN(), 5};
  EXPECT_TRUE(std::isnan(max_abs<double>(spoilt)));
}

TEST(Factors, MaxAbsSeesEveryPlace) {
  for (const std::size_t n : {1, 7, 16, 33, 100}) {
    for (std::size_t place = 0; place < n; ++place) {
      std::vector<float> values(n, 0.5F);
      values[place] = -2;
      EXPECT_EQ(max_abs<float>(values), 2);
      values[place] = -std::numeric_limits<float>::infinity();
      EXPECT_EQ(max_abs<float>(values), std::numeric_limits<double>::infinity());
      values[n - 1 - place] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(std::isnan(max_abs<float>(values)));
    }
  }
}

TEST(Factors, PivotGrowthIsTheLargestOfUOverTheLargestOfA) {
  const auto f = small_factors();
  EXPECT_EQ(max_abs_u(f), 8);
  EXPECT_EQ(max_abs_l(f), 3);  // not its unit diagonal
  Plan plan = Plan::identity(2);
  plan.r = {1, 4};
  plan.c = {0.5, 1};
  CscMatrix<double> a;  // [6 .; -2 1]
  a.n_rows = a.n_cols = 2;
  a.col_ptr = {0, 2, 3};
  a.row_idx = {0, 1, 1};
  a.values = {6, -2, 1};
  EXPECT_EQ(max_abs_pracq(a, plan), 4);
  EXPECT_EQ(pivot_growth(8, 4), 2);
  EXPECT_TRUE(std::isnan(pivot_growth(0, 0)));
  a.values[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(max_abs_pracq(a, plan)));
  auto spoilt = f;
  spoilt.values[3] = std::numeric_limits<double>::quiet_NaN();  // in L
  EXPECT_TRUE(std::isnan(max_abs_l(spoilt)));
  EXPECT_EQ(max_abs_u(spoilt), 8);
}

}  // namespace
}  // namespace lulab
