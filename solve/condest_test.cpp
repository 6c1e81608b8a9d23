#include "solve/condest.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "solve/triangular.h"
#include "testing/dense_elimination.h"

namespace lulab {
namespace {

// ||A⁻¹||_1 by solving for every unit vector.
double inverse_norm1(const Factors<double>& f) {
  double norm = 0;
  for (std::int32_t j = 0; j < f.filled.n; ++j) {
    std::vector<double> e(f.filled.n, 0.0);
    e[j] = 1;
    EXPECT_TRUE(solve<double>(f, e, e).ok());
    double sum = 0;
    for (double v : e) sum += std::abs(v);
    norm = std::max(norm, sum);
  }
  return norm;
}

TEST(ConditionEstimate, IsALowerBoundWithinAFactorThreeOfTheTruth) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::int32_t n = 30;
    auto a = testing::random_dominant(n, 0.15, seed);
    for (std::int64_t k = a.col_ptr[7]; k < a.col_ptr[8]; ++k) a.values[k] *= 1e-6;  // condition about 1e6
    const auto f = testing::eliminate_densely<double>(a, testing::random_plan(n, seed));
    const double truth = 1 / (norm1(a) * inverse_norm1(f));
    const double estimate = estimate_condition(a, f).rcond;
    EXPECT_GE(estimate, truth * (1 - 1e-10));  // solves round: n eps times the condition
    EXPECT_LE(estimate, 3 * truth);
    EXPECT_LE(truth, 1e-5);
  }
}

TEST(ConditionEstimate, ScaledIsFreeOfBadScaling) {
  const std::int32_t n = 12;
  const auto good = testing::random_dominant(n, 0.3, 2);
  std::vector<double> r(n), r_inverse(n), one(n, 1.0);
  for (std::int32_t i = 0; i < n; ++i) r_inverse[i] = std::ldexp(1.0, 5 * (i - 6)), r[i] = 1 / r_inverse[i];
  const auto bad = scale(good.view(), r_inverse, one);
  Plan plan = Plan::identity(n);
  const double rcond_good = estimate_condition(good, testing::eliminate_densely<double>(good, plan)).rcond;
  plan.r = r;
  const auto f = testing::eliminate_densely<double>(bad, plan);
  const ConditionEstimate e = estimate_condition(bad, f);
  EXPECT_NEAR(e.rcond_scaled / rcond_good, 1, 1e-9);
  EXPECT_LE(e.rcond, 1e-9);
}

TEST(ConditionEstimate, ZeroPivotAndNanGiveZero) {
  const auto a = testing::random_dominant(8, 0.3, 2);
  for (double bad : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
    auto f = testing::eliminate_densely<double>(a, Plan::identity(8));
    f.values[f.filled.diag[3]] = bad;
    EXPECT_EQ(estimate_condition(a, f).rcond, 0);
  }
  auto f = testing::eliminate_densely<double>(a, Plan::identity(8));
  f.values[f.filled.col_ptr[7]] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(estimate_condition(a, f).rcond, 0);
}

TEST(ConditionEstimate, IdentityAndSmallSizes) {
  for (std::int32_t n : {1, 2, 5}) {
    CscMatrix<double> a;
    a.n_rows = a.n_cols = n;
    for (std::int32_t j = 0; j < n; ++j) {
      a.row_idx.push_back(j);
      a.values.push_back(1);
      a.col_ptr.push_back(a.nnz());
    }
    EXPECT_EQ(estimate_condition(a, testing::eliminate_densely<double>(a, Plan::identity(n))).rcond, 1) << n;
  }
  EXPECT_EQ(estimate_condition(CscMatrix<double>{}, Factors<double>{}).rcond, 1);
}

TEST(CheckCondition, BelowTheSpacingOfDoublesIsSingular) {
  constexpr double eps = 0x1p-52, nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(check_condition({.rcond = 0, .rcond_scaled = eps}).ok()) << "only the scaled one is judged";
  for (const double small : {0.99 * eps, 0.0, nan})
    EXPECT_EQ(check_condition({.rcond = 1, .rcond_scaled = small}).code, StatusCode::numerically_singular);
}

}  // namespace
}  // namespace lulab
