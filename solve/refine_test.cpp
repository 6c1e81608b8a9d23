#include "solve/refine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "solve/triangular.h"
#include "testing/dense_elimination.h"

namespace lulab {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon() / 2;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

CscMatrix<double> matrix(std::int32_t n, std::vector<std::int32_t> rows, std::vector<std::int32_t> cols,
                         std::vector<double> values) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  std::size_t k = 0;
  for (std::int32_t j = 0; j < n; ++j) {  // entries come column by column
    for (; k < cols.size() && cols[k] == j; ++k) {
      a.row_idx.push_back(rows[k]);
      a.values.push_back(values[k]);
    }
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

TEST(Residual, KeepsWhatDoubleArithmeticCancels) {
  // (1 + 2^-40)(1 - 2^-40) - 1 = -2^-80 exactly; plain double gives 0.
  const auto a = matrix(1, {0}, {0}, {1 + 0x1p-40});
  const std::vector<double> x = {1 - 0x1p-40}, b = {1};
  std::vector<double> r = {nan};
  residual(a, x, b, r);
  EXPECT_EQ(r[0], 0x1p-80);
}

TEST(BackwardError, IsTheWorstRowByDefinition) {
  // rows: |2·1 - 4| / (2 + 4) = 1/3;  |3·1 + 1·2 - 5| = 0
  const auto a = matrix(2, {0, 1, 1}, {0, 0, 1}, {2, 3, 1});
  EXPECT_DOUBLE_EQ(componentwise_backward_error(a, std::vector{1.0, 2.0}, std::vector{4.0, 5.0}), 1.0 / 3);
}

TEST(BackwardError, ZeroOverZeroIsZeroAndNanIsNan) {
  const auto a = matrix(2, {0, 1}, {0, 1}, {1, 1});
  EXPECT_EQ(componentwise_backward_error(a, std::vector{0.0, 1.0}, std::vector{0.0, 1.0}), 0);
  EXPECT_EQ(componentwise_backward_error(a, std::vector{0.0, 0.0}, std::vector{0.0, 1.0}), 1);
  for (const auto& x : {std::vector{nan, 1.0}, std::vector{1.0, nan}})
    EXPECT_TRUE(std::isnan(componentwise_backward_error(a, x, std::vector{1.0, 1.0})));
  EXPECT_FALSE(componentwise_backward_error(a, std::vector{infinity, 1.0}, std::vector{1.0, 1.0}) <= 1);
}

TEST(BackwardError, TinyNoiseInAZeroRowGoesToOmega2) {
  // Row 1: x1 = 1e-20 where the solution is 0, far below 1000 n eps max|A(1,:)| max|x|.
  const auto a = matrix(2, {0, 1}, {0, 1}, {1, 1});
  const BackwardErrors e = backward_errors(a, std::vector{1.0, 1e-20}, std::vector{1.0, 0.0});
  EXPECT_EQ(e.componentwise, 1);
  EXPECT_EQ(e.omega1, 0);
  EXPECT_LE(e.omega2, 1e-19);
}

// [[1e-30,1],[1,1]]·1e160 and 1: the sizes of the first rows beside max |x| overflow.
const auto huge_block = matrix(3, {0, 1, 0, 1, 2}, {0, 0, 1, 1, 2}, {1e130, 1e160, 1e160, 1e160, 1});
const std::vector<double> huge_b = {1e307, 2e307, 1e150};

TEST(BackwardError, RowsWhoseSizeOverflowsAreJudged) {
  const BackwardErrors e = backward_errors(huge_block, std::vector{0.0, 1e147, 1e150}, huge_b);
  EXPECT_DOUBLE_EQ(e.omega1, 1.0 / 3);  // |1e307 - 2e307| / (1e307 + 2e307)
  EXPECT_LE(backward_errors(huge_block, std::vector{1e147, 1e147, 1e150}, huge_b).sum(), eps);
}

TEST(BackwardError, WhatOverflowsIsNeverSmall) {
  const auto a = matrix(2, {0, 1}, {0, 1}, {2, 1e200});
  const auto omega = [&](std::vector<double> x, std::vector<double> b) { return backward_errors(a, x, b); };
  // |A||x| + |b| = 3.3e308 alone overflows: 1e307 / 3.3e308
  EXPECT_NEAR(omega({8e307, 1}, {1.7e308, 1e200}).sum(), 1e307 / 3.3e307 / 10, 1e-15);
  EXPECT_EQ(omega({8.5e307, 1}, {1.7e308, 1e200}).sum(), 0);
  for (const double x : {1e150, infinity, nan}) {
    EXPECT_FALSE(omega({1, x}, {2, 1e200}).sum() <= 1) << x;
    EXPECT_FALSE(omega({1, x}, {2, 1e200}).componentwise <= 1) << x;
  }
  EXPECT_FALSE(omega({1, 1}, {2, infinity}).sum() <= 1);
  const auto difference = matrix(2, {0, 0, 1}, {0, 1, 1}, {1.5e308, -1.5e308, 1});
  EXPECT_FALSE(backward_errors(difference, std::vector{1.0, 1.0}, std::vector{0.0, 1.0}).sum() <= 1);
}

template <class T>
class Refine : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Refine, Scalars);

TYPED_TEST(Refine, ReachesDoublePrecisionFromFactorsOfANearbyMatrix) {
  using T = TypeParam;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const std::int32_t n = 40;
    const auto a = testing::random_dominant(n, 0.1, seed);
    auto nearby = a;
    std::mt19937_64 random(seed);
    for (double& v : nearby.values) v *= 1 + 1e-3 * (random() % 2 ? 1 : -1);
    const auto f = testing::eliminate_densely<T>(nearby, testing::random_plan(n, seed));
    const std::vector<double> b = random_vector(n, seed);
    std::vector<double> x(n, nan);
    ASSERT_TRUE(solve_mixed<T>(f, b, x).ok());
    EXPECT_GE(componentwise_backward_error(a, x, b), 1e-5);  // there is something to refine
    const auto refined = refine<T>(a, f, b, x);
    ASSERT_TRUE(refined.ok());
    EXPECT_TRUE(refined->converged);
    EXPECT_GE(refined->iterations, 2);
    EXPECT_LE(componentwise_backward_error(a, x, b), 2 * eps);  // x itself is rounded to double
    EXPECT_EQ(refined->backward_error, componentwise_backward_error(a, x, b));
  }
}

TEST(Refine, StopsWhereStepsMakeItWorse) {
  const std::int32_t n = 20;
  const auto a = testing::random_dominant(n, 0.2, 4);
  auto other = a;
  for (double& v : other.values) v *= -0.2;  // corrections point away from the solution
  const auto f = testing::eliminate_densely<double>(other, Plan::identity(n));
  const std::vector<double> b = random_vector(n, 1);
  std::vector<double> x = random_vector(n, 2);
  const auto refined = refine<double>(a, f, b, x);
  ASSERT_TRUE(refined.ok());
  EXPECT_FALSE(refined->converged);
  EXPECT_GE(refined->iterations, RefinementRule::forgiven);      // these are kept,
  EXPECT_LE(refined->iterations, RefinementRule::forgiven + 1);  // and a third may gain a little
  EXPECT_EQ(refined->omega, backward_errors(a, x, b).sum());     // of the x returned
}

TEST(Refine, UndoesAStepThatMakesAGoodXWorse) {
  const std::int32_t n = 20;
  const auto a = testing::random_dominant(n, 0.2, 4);
  auto other = a;
  for (double& v : other.values) v *= -0.2;
  const auto f = testing::eliminate_densely<double>(other, Plan::identity(n));
  const std::vector<double> b = random_vector(n, 1);
  std::vector<double> x(n, nan);
  const auto right = testing::eliminate_densely<double>(a, Plan::identity(n));
  ASSERT_TRUE(solve_mixed<double>(right, b, x).ok());
  ASSERT_TRUE(refine<double>(a, right, b, x)->converged);
  x[0] *= 1 + 8 * eps;
  ASSERT_GT(backward_errors(a, x, b).sum(), eps);  // there is something to refine
  const std::vector<double> before = x;
  const auto refined = refine<double>(a, f, b, x);
  ASSERT_TRUE(refined.ok());
  EXPECT_TRUE(refined->converged);
  EXPECT_EQ(refined->iterations, 0);
  EXPECT_EQ(x, before);
}

TEST(Refine, AnUnknownThatIsSoLargeThatSizesOverflowHidesNoOther) {
  const auto f = testing::eliminate_densely<double>(huge_block, Plan::identity(3));
  std::vector<double> x(3, nan);
  ASSERT_TRUE(solve_mixed<double>(f, huge_b, x).ok());
  EXPECT_EQ(x[0], 0);  // there is something to refine
  const auto refined = refine<double>(huge_block, f, huge_b, x);
  ASSERT_TRUE(refined.ok());
  EXPECT_TRUE(refined->converged) << refined->omega;
  for (int i : {0, 1}) EXPECT_NEAR(x[i] / 1e147, 1, 1e-12) << i;
}

TEST(Refine, NanNeverConverges) {
  const auto a = testing::random_dominant(5, 0.5, 1);
  const auto f = testing::eliminate_densely<double>(a, Plan::identity(5));
  std::vector<double> x(5, nan);
  const auto refined = refine<double>(a, f, std::vector<double>(5, 1.0), x);
  ASSERT_TRUE(refined.ok());
  EXPECT_FALSE(refined->converged);
  EXPECT_FALSE(refined->backward_error <= 1);
}

TEST(Refine, WrongSizesAreRefused) {
  const auto f = testing::eliminate_densely<double>(testing::random_dominant(5, 0.5, 1), Plan::identity(5));
  std::vector<double> x(5);
  EXPECT_EQ(refine<double>(testing::random_dominant(4, 0.5, 1), f, x, x).status().code, StatusCode::invalid_argument);
}

TEST(Refine, FactorsWithAZeroPivotAreRefused) {
  const auto a = testing::random_dominant(5, 0.5, 1);
  auto f = testing::eliminate_densely<double>(a, Plan::identity(5));
  f.values[f.filled.diag[3]] = 0;
  const std::vector<double> b(5, 1.0);
  std::vector<double> x(5, 1.0);
  EXPECT_EQ(refine<double>(a, f, b, x).status().code, StatusCode::numerically_singular);
}

TYPED_TEST(Refine, OneRefinerServesManySystemsAndTheTransposedOnes) {
  using T = TypeParam;
  const std::int32_t n = 43;
  const auto a = testing::random_dominant(n, 0.1, 6);
  HostRefiner<T> plain(a), of_transposed(a, true);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    auto now = a;
    std::mt19937_64 random(seed);
    for (double& v : now.values) v *= 1 + 0.1 * static_cast<double>(random() % 3);
    const auto f = testing::eliminate_densely<T>(now, testing::random_plan(n, seed));
    const std::vector<double> b = random_vector(n, seed);
    for (const bool transposed : {false, true}) {
      auto& refiner = transposed ? of_transposed : plain;
      const CscMatrix<double> m = transposed ? transpose(now.view()) : now;
      std::vector<double> x(n, nan), r(n, nan);
      const Refinement refined = refiner.solve(now.values, f, b, x, RefinementRule::eps);
      EXPECT_TRUE(refined.converged);
      EXPECT_LE(componentwise_backward_error(m, x, b), RefinementRule::limit);
      EXPECT_EQ(refined.omega, backward_errors(m, x, b).sum());
      refiner.residual(now.values, x, b, r);
      std::vector<double> want(n, nan);
      residual(m, x, b, want);
      EXPECT_EQ(r, want);
    }
  }
}

TEST(Refine, AQuickResidualIsEnoughForAnXThatItShowsToBeGood) {
  const std::int32_t n = 43;
  const auto a = testing::random_dominant(n, 0.1, 6);
  const auto f = testing::eliminate_densely<double>(a, testing::random_plan(n, 1));
  const std::vector<double> b = random_vector(n, 1);
  HostRefiner<double> refiner(a);
  std::vector<double> x(n, nan);
  const Refinement good = refiner.solve(a.values, f, b, x, 1e-12);
  EXPECT_TRUE(good.converged);
  EXPECT_EQ(good.iterations, 0);
  EXPECT_EQ(good.omega, good.backward_error);
  // tol: the unit roundoff for each entry of the longest row and two more
  EXPECT_LE(std::abs(good.omega - componentwise_backward_error(a, x, b)), (n + 2) * eps);
  for (int again = 0; again < 6; ++again)  // by columns, then by rows
    EXPECT_EQ(refiner.solve(a.values, f, b, x, 1e-12).omega, good.omega) << again;
  const auto off = [&](double by) {
    return [&, by](std::span<const double> from, std::span<double> to) {
      refiner.solve_unrefined(f, from, to);
      for (double& v : to) v *= 1 + by;
    };
  };
  std::ranges::fill(x, nan);
  const Refinement refined = refiner.solve_by(off(1e-11), a.values, b, x, 1e-12);
  EXPECT_GE(refined.iterations, 1);
  EXPECT_LE(backward_errors(a, x, b).sum(), 1e-12);
  std::ranges::fill(x, nan);
  EXPECT_EQ(refiner.solve_by(off(1e-14), a.values, b, x, 1e-12).iterations, 0);
  EXPECT_GT(backward_errors(a, x, b).sum(), RefinementRule::limit);
}

TEST(Refine, AnXThatIsGoodEnoughIsLeftAlone) {
  const std::int32_t n = 20;
  const auto a = testing::random_dominant(n, 0.2, 4);
  const auto f = testing::eliminate_densely<double>(a, Plan::identity(n));
  const std::vector<double> b = random_vector(n, 1);
  std::vector<double> x(n, nan);
  HostRefiner<double> refiner(a);
  refiner.solve(a.values, f, b, x, RefinementRule::eps);
  x[0] *= 1 + 8 * eps;
  ASSERT_GT(backward_errors(a, x, b).sum(), eps);
  const std::vector<double> before = x;
  EXPECT_EQ(refiner.refine(a.values, f, b, x, RefinementRule::limit).iterations, 0);
  EXPECT_EQ(x, before);
  EXPECT_EQ(refiner.refine(a.values, f, b, x, RefinementRule::eps).iterations, 1);
  EXPECT_NE(x, before);
}

TEST(Overlap, IsAnySharedNumber) {
  std::vector<double> v(6, 1.0);
  const std::span<double> all(v);
  EXPECT_TRUE(overlap(all, all));
  EXPECT_TRUE(overlap(all.first(3), all.subspan(2)));
  EXPECT_TRUE(overlap(all.subspan(2), all.first(3)));
  EXPECT_FALSE(overlap(all.first(3), all.subspan(3)));
  EXPECT_FALSE(overlap(all.subspan(3), all.first(3)));
  EXPECT_FALSE(overlap(all.first(0), all));
}

}  // namespace
}  // namespace lulab
