#include "solve/triangular.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "testing/dense_elimination.h"

namespace lulab {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> random_vector(std::int32_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> v(n);
  for (double& x : v) x = std::uniform_real_distribution<double>(-1, 1)(random);
  return v;
}

// y = M x or y = Mᵀ x by the definition.
template <class T>
std::vector<T> times(const CscMatrix<T>& m, const std::vector<T>& x, bool transposed) {
  std::vector<T> y(x.size(), T(0));
  for (std::int32_t j = 0; j < m.n_cols; ++j)
    for (std::int64_t k = m.col_ptr[j]; k < m.col_ptr[j + 1]; ++k) {
      if (transposed)
        y[j] += m.values[k] * x[m.row_idx[k]];
      else
        y[m.row_idx[k]] += m.values[k] * x[j];
    }
  return y;
}

template <class T>
class Triangular : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Triangular, Scalars);

TYPED_TEST(Triangular, EachSolveInvertsItsFactor) {
  using T = TypeParam;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const std::int32_t n = 30;
    const auto a = testing::random_dominant(n, 0.15, seed);
    const auto f = testing::eliminate_densely<T>(a, testing::random_plan(n, seed));
    const std::vector<double> wide = random_vector(n, seed + 100);
    const std::vector<T> x(wide.begin(), wide.end());
    const CscMatrix<T> l = extract_l(f), u = extract_u(f);
    const auto check = [&](auto solve, const CscMatrix<T>& m, bool transposed, const char* which) {
      std::vector<T> y = times(m, x, transposed);
      solve(f.filled, std::span<const T>(f.values), std::span<T>(y));
      for (std::int32_t i = 0; i < n; ++i)
        // tol = 8 n eps: the factors of a dominant matrix are well conditioned
        EXPECT_LE(std::abs(y[i] - x[i]), 8 * n * std::numeric_limits<T>::epsilon())
            << which << " entry " << i << " seed " << seed;
    };
    check(solve_lower<T>, l, false, "L");
    check(solve_upper<T>, u, false, "U");
    check(solve_lower_transposed<T>, l, true, "L'");
    check(solve_upper_transposed<T>, u, true, "U'");
  }
}

TYPED_TEST(Triangular, SolvesUndoPermutationsAndScalings) {
  using T = TypeParam;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const std::int32_t n = 40;
    const auto a = testing::random_dominant(n, 0.1, seed);
    const auto f = testing::eliminate_densely<T>(a, testing::random_plan(n, seed));
    const std::vector<double> x = random_vector(n, seed + 100);
    std::vector<double> got(n, nan);
    ASSERT_TRUE(solve_mixed<T>(f, times(a, x, false), got).ok());
    // tol = 8 n eps: A is diagonally dominant
    for (std::int32_t i = 0; i < n; ++i) EXPECT_LE(std::abs(got[i] - x[i]), 8 * n * std::numeric_limits<T>::epsilon());
    std::fill(got.begin(), got.end(), nan);
    ASSERT_TRUE(solve_transposed_mixed<T>(f, times(a, x, true), got).ok());
    for (std::int32_t i = 0; i < n; ++i) EXPECT_LE(std::abs(got[i] - x[i]), 16 * n * std::numeric_limits<T>::epsilon());
    std::vector<T> in_place(n);
    const std::vector<double> b = times(a, x, false);
    std::copy(b.begin(), b.end(), in_place.begin());
    ASSERT_TRUE(solve<T>(f, in_place, in_place).ok());
    for (std::int32_t i = 0; i < n; ++i)
      EXPECT_LE(std::abs(in_place[i] - x[i]), 16 * n * std::numeric_limits<T>::epsilon());
  }
}

TEST(Triangular, FloatFactorsSurviveScalingsOutsideTheRangeOfFloat) {
  CscMatrix<double> a = testing::random_dominant(10, 0.3, 3);
  for (double& v : a.values) v *= 0x1p-400;
  Plan plan = Plan::identity(10);
  for (double& v : plan.r) v = 0x1p200;
  for (double& v : plan.c) v = 0x1p200;
  const auto f = testing::eliminate_densely<float>(a, plan);
  const std::vector<double> x = random_vector(10, 9);
  std::vector<double> got(10, nan);
  ASSERT_TRUE(solve_mixed<float>(f, times(a, x, false), got).ok());
  for (int i = 0; i < 10; ++i) EXPECT_LE(std::abs(got[i] - x[i]), 1e-5);  // 80 eps of float
}

// The scaling alone takes the small entry of the solution below what a double holds.
TEST(Triangular, ASmallScalingDoesNotLoseASmallEntry) {
  CscMatrix<double> a = testing::random_dominant(2, 0, 3);
  a.values = {1, 1};
  auto f = testing::eliminate_densely<double>(a, Plan::identity(2));
  const std::vector<double> b = {0x1p840, 0x1p900};
  std::vector<double> x(2, nan);
  f.plan.c[0] = 0x1p-1022;
  ASSERT_TRUE(solve_mixed<double>(f, b, x).ok());
  EXPECT_EQ(x, (std::vector<double>{0x1p-182, 0x1p900}));
  std::swap(f.plan.c, f.plan.r);
  ASSERT_TRUE(solve_transposed_mixed<double>(f, b, x).ok());
  EXPECT_EQ(x, (std::vector<double>{0x1p-182, 0x1p900}));
}

TEST(Triangular, ZeroOrNanPivotIsNamedByItsColumnInA) {
  const auto a = testing::random_dominant(6, 0.4, 1);
  for (double bad : {0.0, nan, std::numeric_limits<double>::infinity()}) {
    auto f = testing::eliminate_densely<double>(a, testing::random_plan(6, 2));
    f.values[f.filled.diag[4]] = bad;
    std::vector<double> x(6, 1.0);
    const Status s = solve<double>(f, x, x);
    EXPECT_EQ(s.code, StatusCode::numerically_singular);
    EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{f.plan.q[4]});
    EXPECT_EQ(solve_transposed<double>(f, x, x).code, StatusCode::numerically_singular);
  }
}

TEST(Triangular, WrongLengthsAreRefused) {
  const auto f = testing::eliminate_densely<double>(testing::random_dominant(6, 0.4, 1), Plan::identity(6));
  std::vector<double> five(5), six(6);
  EXPECT_EQ(solve<double>(f, five, six).code, StatusCode::invalid_argument);
  EXPECT_EQ(solve<double>(f, six, five).code, StatusCode::invalid_argument);
}

TEST(Triangular, EmptyMatrixSolvesNothing) {
  Factors<double> f;
  EXPECT_TRUE(solve<double>(f, {}, {}).ok());
}

// Where the power of two leaves the range of normal numbers, the product is not formed.
TYPED_TEST(Triangular, RightSidesAndScalingsOfAnySizeAreSolved) {
  using T = TypeParam;
  const std::int32_t n = 3;
  const auto a = testing::random_dominant(n, 1.0, 3);
  SolveWork<T> work;
  for (const int of_b : {-1070, -1022, -300, 0, 300, 1020, 1023})
    for (const int of_c : {-1070, -1000, 0, 1000}) {
      auto f = testing::eliminate_densely<T>(a, Plan::identity(n));
      std::vector<double> plain(n, nan), b(n, 1.0), x(n, nan);
      ASSERT_TRUE(solve_mixed<T>(f, b, plain).ok());
      if (std::abs(of_b + of_c) > 1000) continue;  // x is out of range
      for (double& v : b) v = std::ldexp(v, of_b);
      for (double& c : f.plan.c) c = std::ldexp(1.0, of_c);
      solve_checked<T>(f, b, x, 1, false, work);
      for (std::int32_t i = 0; i < n; ++i) EXPECT_EQ(x[i], std::ldexp(plain[i], of_b + of_c)) << of_b << " " << of_c;
    }
}

TYPED_TEST(Triangular, OneWorkspaceServesSystemsOfAnySize) {
  using T = TypeParam;
  SolveWork<T> work;
  for (const std::int32_t n : {40, 7, 60, 1}) {
    const auto a = testing::random_dominant(n, 0.2, n);
    const auto f = testing::eliminate_densely<T>(a, testing::random_plan(n, n));
    const std::vector<double> b = random_vector(n, 5);
    std::vector<double> want(n, nan), got(n, nan);
    ASSERT_TRUE(solve_mixed<T>(f, b, want).ok());
    solve_checked<T>(f, b, got, 1, false, work);
    EXPECT_EQ(got, want);
    ASSERT_TRUE(solve_transposed_mixed<T>(f, b, want).ok());
    solve_checked<T>(f, b, got, 1, true, work);
    EXPECT_EQ(got, want);
  }
}

TYPED_TEST(Triangular, EachOfSeveralRightSidesHasTheBitsThatItHasAlone) {
  using T = TypeParam;
  const std::int32_t n = 37;
  const auto a = testing::random_dominant(n, 0.2, 11);
  auto f = testing::eliminate_densely<T>(a, testing::random_plan(n, 12));
  f.plan.c[5] = 0x1p-1060;  // x(5) is scaled apart
  SolveWork<T> work;
  for (const std::int32_t columns : {1, 2, 3, 4, 5, 8, 15}) {
    std::vector<double> b = random_vector(n * columns, 13), want(b.size(), nan), got(b.size(), nan);
    for (std::int32_t c = 0; c < columns; ++c)
      for (std::int32_t i = 0; i < n; ++i) b[n * c + i] = std::ldexp(b[n * c + i], 100 * c - 700);
    for (const bool transposed : {false, true}) {
      for (std::int32_t c = 0; c < columns; ++c) {
        const auto from = std::span<const double>(b).subspan(n * c, n);
        const auto to = std::span(want).subspan(n * c, n);
        ASSERT_TRUE((transposed ? solve_transposed_mixed<T>(f, from, to) : solve_mixed<T>(f, from, to)).ok());
      }
      solve_checked<T>(f, b, got, columns, transposed, work);
      EXPECT_EQ(got, want) << columns << " columns, transposed: " << transposed;
      std::ranges::fill(got, nan);
      std::ranges::fill(want, nan);
    }
    std::vector<double> in_place = b;
    solve_checked<T>(f, in_place, in_place, columns, false, work);
    solve_checked<T>(f, b, got, columns, false, work);
    EXPECT_EQ(in_place, got);
  }
}

}  // namespace
}  // namespace lulab
