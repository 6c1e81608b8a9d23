#include "verify/extended.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "testing/dense_elimination.h"

namespace lulab {
namespace {

using extended::Real;
using extended::Vector;

Vector right_side(std::int32_t n) {
  Vector b(n);
  for (std::int32_t i = 0; i < n; ++i) b[i] = (i % 3 ? 1 : -1) * (1 + 0.25 * (i % 7));
  return b;
}

TEST(Extended, SolvesWithBothTriangles) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto a = testing::random_dominant(40, 0.1, seed);
    const auto f = testing::eliminate_densely<double>(a, testing::random_plan(40, seed));
    const Vector b = right_side(40);
    const Vector x = extended::solve(f, b), y = extended::solve_transposed(f, b);
    // The factors are those of a matrix within 40 eps of A; A is diagonally dominant.
    EXPECT_TRUE(extended::norm1(extended::residual(a, x, b)) <= 1e-12L * extended::norm1(b));
    EXPECT_TRUE(extended::norm1(extended::residual(transpose(a.view()), y, b)) <= 1e-12L * extended::norm1(b));
  }
}

TEST(Extended, ResidualKeepsWhatDoubleLoses) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = 1;
  a.col_ptr = {0, 1};
  a.row_idx = {0};
  a.values = {1 + 0x1p-52};
  EXPECT_EQ(extended::residual(a, {1 - 0x1p-11L}, {1})[0], 0x1p-11L - 0x1p-52L + 0x1p-63L);
}

TEST(Extended, RefinesFloatFactorsToDoubleAccuracy) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto a = testing::random_dominant(40, 0.1, seed);
    const auto f = testing::eliminate_densely<float>(a, testing::random_plan(40, seed));
    const Vector b = right_side(40);
    Vector x = extended::solve(f, b);
    EXPECT_TRUE(extended::backward_error(a, x, b).omega >= 1e-10L) << "nothing is left to refine";
    EXPECT_GE(extended::refine(a, f, b, x), 1);
    EXPECT_TRUE(extended::backward_error(a, x, b).omega <= 0x1p-52L);
    for (const Real v : x) EXPECT_EQ(v, static_cast<double>(v));
  }
}

TEST(Extended, ARowThatVanishesIsJudgedByOmega) {
  CscMatrix<double> a;  // A = I, b = (1, 0), x = (1, 2^-60): the componentwise error of row 1 is 1
  a.n_rows = a.n_cols = 2;
  a.col_ptr = {0, 1, 2};
  a.row_idx = {0, 1};
  a.values = {1, 1};
  const auto error = extended::backward_error(a, {1, 0x1p-60L}, {1, 0});
  EXPECT_EQ(error.componentwise, 1);
  EXPECT_TRUE(error.omega <= 0x1p-59L);
}

TEST(Extended, NanAnywhereIsNan) {
  const auto a = testing::random_dominant(5, 0.5, 1);
  const Vector b = right_side(5);
  for (int k = 0; k < 5; ++k) {
    Vector x(5, 1);
    x[k] = std::numeric_limits<Real>::quiet_NaN();
    EXPECT_FALSE(extended::norm1(x) <= 1e300L);
    EXPECT_FALSE(extended::norm_inf(x) <= 1e300L);
    EXPECT_FALSE(extended::backward_error(a, x, b).componentwise <= 1e300L);
    EXPECT_FALSE(extended::backward_error(a, x, b).omega <= 1e300L);
  }
}

// ||A⁻¹||_1 column by column.
TEST(Extended, ConditionEstimateIsWithinAFactorThree) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    auto a = testing::random_dominant(30, 0.1, seed);
    for (std::int64_t k = a.col_ptr[7]; k < a.col_ptr[8]; ++k) a.values[k] *= 1e-6;  // condition about 1e6
    const auto f = testing::eliminate_densely<double>(a, testing::random_plan(30, seed));
    Real inverse_norm = 0;
    for (std::int32_t j = 0; j < 30; ++j) {
      Vector e(30, 0);
      e[j] = 1;
      inverse_norm = std::max(inverse_norm, extended::norm1(extended::solve(f, e)));
    }
    const double rcond = static_cast<double>(1 / (extended::norm1(a.view()) * inverse_norm));
    const auto estimate = extended::estimate_condition(a, f);
    EXPECT_LE(rcond, estimate.rcond * (1 + 1e-9));
    EXPECT_LE(estimate.rcond, 3 * rcond);
  }
}

TEST(Extended, ASingularFactorHasNoCondition) {
  const auto a = testing::random_dominant(10, 0.3, 1);
  auto f = testing::eliminate_densely<double>(a, testing::random_plan(10, 1));
  f.values[f.filled.diag[4]] = 0;
  EXPECT_EQ(extended::estimate_condition(a, f).rcond, 0);
  EXPECT_EQ(extended::estimate_condition(a, f).rcond_scaled, 0);
}

}  // namespace
}  // namespace lulab
