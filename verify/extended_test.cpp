#include "verify/extended.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

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

extern "C" void dgecon_(const char* norm, const int* n, const double* lu, const int* lda, const double* anorm,
                        double* rcond, double* work, int* iwork, int* info, std::size_t);

/// Factors of the full matrix L·U, column by column, with these scalings.
Factors<double> full_factors(std::int32_t n, const std::vector<double>& lu) {
  Factors<double> f;
  f.plan = Plan::identity(n);
  f.filled.n = n;
  for (std::int32_t j = 0; j < n; ++j) {
    f.filled.diag.push_back(std::int64_t(j) * n + j);
    f.filled.col_ptr.push_back(std::int64_t(j + 1) * n);
    for (std::int32_t i = 0; i < n; ++i) f.filled.row_idx.push_back(i);
  }
  f.values = lu;
  return f;
}

// LAPACK's xGECON runs the same algorithm. A step that makes the estimate worse ends both; xLACN2 keeps the worse one,
// so ours may be larger.
TEST(Extended, ConditionEstimateIsThatOfLapack) {
  std::mt19937_64 random(7);
  int larger = 0, cases = 0;
  for (std::int32_t n = 1; n <= 9; ++n)
    for (int seed = 0; seed < 300; ++seed, ++cases) {
      std::vector<double> lu(std::size_t(n) * n);
      const auto entry = [&] { return static_cast<double>(static_cast<int>(random() % 2001) - 1000) / 500; };
      for (double& v : lu) v = random() % 4 == 0 ? 0 : entry();
      for (std::int32_t j = 0; j < n; ++j)
        lu[j + std::size_t(j) * n] = entry() * std::ldexp(1, -int(random() % 9)) + 1e-3;
      Factors<double> f = full_factors(n, lu);
      CscMatrix<double> a;  // any: its norm is divided out
      a.n_rows = a.n_cols = n;
      for (std::int32_t j = 0; j < n; ++j) {
        a.row_idx.push_back(j);
        a.values.push_back(1e6);
        a.col_ptr.push_back(a.nnz());
      }
      const double norm = 1e6;
      double rcond = 0;
      std::vector<double> work(4 * n);
      std::vector<int> iwork(n);
      int info = 0;
      const int order = n;
      dgecon_("1", &order, lu.data(), &order, &norm, &rcond, work.data(), iwork.data(), &info, 1);
      ASSERT_EQ(info, 0);
      const double estimate = extended::estimate_condition(a, f).rcond;
      EXPECT_LE(estimate, std::min(1.0, rcond * (1 + 1e-9))) << n << " " << seed;
      larger += estimate < rcond * (1 - 1e-9);
    }
  EXPECT_LE(larger, cases / 50);
}

TEST(Extended, ScalingsCountInTheConditionOfWhatTheFactorsSee) {
  // A = [1 2; 0 4], r = (8, 1/2), c = (1, 16): R·A·C = [8 256; 0 32], inverse [1/8 -1; 0 1/32].
  Factors<double> f = full_factors(2, {8, 0, 256, 32});
  f.plan.r = {8, 0.5};
  f.plan.c = {1, 16};
  CscMatrix<double> a;
  a.n_rows = a.n_cols = 2;
  a.col_ptr = {0, 1, 3};
  a.row_idx = {0, 0, 1};
  a.values = {1, 2, 4};
  const auto condition = extended::estimate_condition(a, f);
  EXPECT_DOUBLE_EQ(condition.rcond_scaled, 1 / (288 * (1 + 1.0 / 32)));
  EXPECT_DOUBLE_EQ(condition.rcond, 1.0 / 6);  // inverse [1 -1/2; 0 1/4]: norm 1
  const auto empty = extended::estimate_condition(CscMatrix<double>{}, Factors<double>{});
  EXPECT_EQ(empty.rcond, 1);
  EXPECT_EQ(empty.rcond_scaled, 1);
  EXPECT_EQ(extended::max_or_nan(2, 2), 2);
}

TEST(Extended, NormsAreSumsOfMagnitudes) {
  CscMatrix<double> a;  // [-7 1; 2 -3; 0 1]
  a.n_rows = 3;
  a.n_cols = 2;
  a.col_ptr = {0, 2, 5};
  a.row_idx = {0, 1, 0, 1, 2};
  a.values = {-7, 2, 1, -3, 1};
  EXPECT_EQ(extended::norm1(a.view()), 9);
  EXPECT_EQ(extended::norm_inf(a.view()), 8);
  EXPECT_EQ(extended::norm1({-1, 2, -4}), 7);
  EXPECT_EQ(extended::norm_inf({-5, 2, 4}), 5);
}

TEST(Extended, BackwardErrorIsItsDefinition) {
  CscMatrix<double> a;  // [2 -4; 0 1]
  a.n_rows = a.n_cols = 2;
  a.col_ptr = {0, 1, 3};
  a.row_idx = {0, 0, 1};
  a.values = {2, -4, 1};
  // x = (3, -1/2), b = (9, -1/4): r = (1, 1/4); |A||x| = (8, 1/2)
  auto error = extended::backward_error(a, {3, -0.5L}, {9, -0.25L});
  EXPECT_EQ(error.componentwise, Real(1) / 3);
  EXPECT_EQ(error.omega1, Real(1) / 3);
  EXPECT_EQ(error.omega2, 0);
  // Row 2 all but vanishes beside max|A(2,:)| max|x| = 3: |r| = |x_2 - b_2| over |x_2| + 3.
  const Real tiny = 0x1p-50L;
  error = extended::backward_error(a, {3, tiny}, {7, -tiny});
  EXPECT_EQ(error.omega2, 2 * tiny / (tiny + 3));
  EXPECT_EQ(error.componentwise, 1);
  EXPECT_EQ(error.omega1, (1 + 4 * tiny) / (13 + 4 * tiny));
  EXPECT_EQ(error.omega, error.omega1 + error.omega2);
  // It vanishes where |A||x| + |b| <= 1000 n eps (max|A(i,:)| max|x| + |b|); here 2000 eps (3 + small), n = 2.
  const Real eps = 0x1p-53L;
  for (const bool vanishes : {true, false}) {
    const Real b = (vanishes ? 5999 : 6001) * eps;
    error = extended::backward_error(a, {3, 0}, {6, -b});
    EXPECT_EQ(error.omega2, vanishes ? b / 3 : 0) << vanishes;
    EXPECT_EQ(error.omega1, vanishes ? 0 : 1) << vanishes;
  }
  // In a row of b alone b counts on both sides.
  CscMatrix<double> zero = a;
  zero.values = {2, -4, 0};
  error = extended::backward_error(zero, {3, -0.5L}, {8, 0});
  EXPECT_EQ(error.componentwise, 0) << "0/0 = 0";
  error = extended::backward_error(zero, {3, -0.5L}, {8, 1});
  EXPECT_EQ(error.omega1, 1);
}

TEST(Extended, RefinementKeepsStepsThatHelpAndNoOthers) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = 1;
  a.col_ptr = {0, 1};
  a.row_idx = {0};
  a.values = {1};
  const auto kept = [&](double u) {  // x = 1 / u; each step multiplies the error by 1 - 1/u
    Vector x{1 / Real(u)};
    const int steps = extended::refine(a, full_factors(1, {u}), {1}, x);
    return std::pair(steps, static_cast<double>(1 - x[0]));
  };
  EXPECT_EQ(kept(1), std::pair(0, 0.0));
  EXPECT_EQ(kept(2), std::pair(10, 0x1p-11));  // at most ten, each halves
  EXPECT_EQ(kept(1024).first, 1);              // gains less than a tenth: kept, and the last
  EXPECT_NEAR(kept(1024).second, (1 - 0x1p-10) * (1 - 0x1p-10), 1e-15);
  EXPECT_EQ(kept(-2), std::pair(0, 1.5));  // worse: undone
  EXPECT_EQ(kept(1 + 0x1p-30), std::pair(1, 0.0));
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
