#include "dense/00_reference.h"

#include <gtest/gtest.h>

#include "dense/rungs.h"
#include "testing/rungs.h"

namespace lulab::dense {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
class DenseReference : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DenseReference, Scalars);

// Column-major with two rows of padding that must stay as they are.
template <class T>
struct Padded {
  std::int32_t m, n;
  std::vector<T> data;
  Padded(std::int32_t rows, std::int32_t cols) : m(rows), n(cols), data((rows + 2) * cols, T(nan)) {}
  DenseView<T> view() { return {data.data(), m, n, m + 2}; }
};

template <class T>
Padded<T> random_dense(std::int32_t m, std::int32_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  Padded<T> a(m, n);
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = 0; i < m; ++i) a.view()(i, j) = static_cast<T>(unit(random));
  return a;
}

// ||P·A − L·U||_1 / (max(m,n) eps ||A||_1) with L: m x min(m,n) unit lower trapezoidal, U: min(m,n) x n.
template <class T>
double getrf_error(Padded<T> a, Padded<T> lu, const Permutation& p) {
  double error = 0;
  double norm = 0;
  for (std::int32_t j = 0; j < a.n; ++j) {
    double column_error = 0;
    double column_norm = 0;
    for (std::int32_t i = 0; i < a.m; ++i) {
      double sum = i <= j ? static_cast<double>(lu.view()(i, j)) : 0.0;  // L(i,i) = 1
      for (std::int32_t k = 0; k < std::min({i, j + 1, a.n}); ++k)
        sum += static_cast<double>(lu.view()(i, k)) * static_cast<double>(lu.view()(k, j));
      column_error += std::abs(static_cast<double>(a.view()(p[i], j)) - sum);
      column_norm += std::abs(static_cast<double>(a.view()(i, j)));
    }
    error = testing::larger(error, column_error);
    norm = testing::larger(norm, column_norm);
  }
  return error / (std::max(a.m, a.n) * static_cast<double>(std::numeric_limits<T>::epsilon()) * norm);
}

// Trefethen & Bau, lecture 21: worked by hand there.
TYPED_TEST(DenseReference, TextbookExample) {
  using T = TypeParam;
  std::vector<T> a = {2, 4, 8, 6, 1, 3, 7, 7, 1, 3, 9, 9, 0, 1, 5, 8};
  std::vector<std::int32_t> ipiv(4, -1);
  EXPECT_EQ(getrf_reference(DenseView<T>{a.data(), 4, 4, 4}, std::span(ipiv)), 0);
  EXPECT_EQ(row_permutation_from_ipiv(ipiv, 4), (Permutation{2, 3, 1, 0}));
  const std::vector<double> expected = {8, 3. / 4,  1. / 2,  1. / 4,   //
                                        7, 7. / 4,  -2. / 7, -3. / 7,  //
                                        9, 9. / 4,  -6. / 7, 1. / 3,   //
                                        5, 17. / 4, -2. / 7, 2. / 3};
  const double tol = 8 * std::numeric_limits<T>::epsilon();  // a few roundings of numbers below 10
  for (int k = 0; k < 16; ++k) EXPECT_NEAR(a[k], expected[k], tol) << k;
}

TYPED_TEST(DenseReference, FactorsEveryShapeAndKeepsThePadding) {
  using T = TypeParam;
  for (const auto& [m, n] :
       {std::pair{1, 1}, {7, 7}, {60, 60}, {31, 12}, {12, 31}, {5, 1}, {1, 5}, {0, 0}, {4, 0}, {0, 4}}) {
    const auto a = random_dense<T>(m, n, 100 * m + n);
    auto lu = a;
    std::vector<std::int32_t> ipiv(std::min(m, n), -1);
    EXPECT_EQ(getrf_reference(lu.view(), std::span(ipiv)), 0);
    if (m == 0 || n == 0) continue;
    EXPECT_LE(getrf_error(a, lu, row_permutation_from_ipiv(ipiv, m)), 30.0) << m << " x " << n;
    for (std::int32_t j = 0; j < n; ++j) {
      EXPECT_TRUE(std::isnan(lu.data[j * (m + 2) + m]) && std::isnan(lu.data[j * (m + 2) + m + 1]));
      for (std::int32_t i = j + 1; i < m; ++i) EXPECT_LE(std::abs(lu.view()(i, j)), T(1));  // the pivot was the largest
    }
  }
}

TYPED_TEST(DenseReference, TheFirstOfEqualCandidatesIsThePivot) {
  using T = TypeParam;
  std::vector<T> a = {1, -2, 2, 0, 1, 0, 0, 0, 1};
  std::vector<std::int32_t> ipiv(3, -1);
  EXPECT_EQ(getrf_reference(DenseView<T>{a.data(), 3, 3, 3}, std::span(ipiv)), 0);
  EXPECT_EQ(ipiv[0], 1);
}

TYPED_TEST(DenseReference, InfoNamesTheFirstZeroPivotAndEliminationGoesOn) {
  using T = TypeParam;
  // [1 2 3; 2 4 1; 3 6 5]: column 1 is twice column 0, so U(1,1) = 0 and step 2 still has its pivot.
  std::vector<T> a = {1, 2, 3, 2, 4, 6, 3, 1, 5};
  std::vector<std::int32_t> ipiv(3, -1);
  EXPECT_EQ(getrf_reference(DenseView<T>{a.data(), 3, 3, 3}, std::span(ipiv)), 2);
  EXPECT_EQ(a[4], T(0));
  EXPECT_NE(a[8], T(0));
  EXPECT_EQ(ipiv[1], 1);
}

TYPED_TEST(DenseReference, ANanIsTakenAsPivotAndSpreads) {
  using T = TypeParam;
  std::vector<T> a = {4, T(nan), 1, 1, 2, 3, 5, 6, 8};
  std::vector<std::int32_t> ipiv(3, -1);
  getrf_reference(DenseView<T>{a.data(), 3, 3, 3}, std::span(ipiv));
  EXPECT_EQ(ipiv[0], 1);
  EXPECT_TRUE(std::isnan(a[8]));
}

TEST(RowPermutationFromIpiv, ReplaysTheSwaps) {
  EXPECT_EQ(row_permutation_from_ipiv(std::vector<std::int32_t>{2, 2}, 4), (Permutation{2, 0, 1, 3}));
  EXPECT_EQ(row_permutation_from_ipiv({}, 3), (Permutation{0, 1, 2}));
  EXPECT_TRUE(row_permutation_from_ipiv({}, 0).empty());
}

TYPED_TEST(DenseReference, RungFactorsScaledAndPermutedMatrices) {
  using T = TypeParam;
  for (const std::int32_t n : {1, 2, 9, 50, 120}) {
    const auto a = testing::random_unsymmetric<T>(n, 0.1, 0.01, n);
    const auto f = testing::factor_with<T>(reference, a, testing::random_plan(n, false, n));
    ASSERT_TRUE(f.ok()) << f.status().to_string();
    testing::expect_well_formed(*f, n);
    EXPECT_EQ(f->filled.nnz(), std::int64_t(n) * n);
    EXPECT_LE(testing::lu_error(a, *f), 30.0) << "n = " << n;
    EXPECT_EQ(f->statistics.numerical_rank, n);
    EXPECT_GT(f->statistics.pivot_growth, 0);
  }
}

TYPED_TEST(DenseReference, RungNamesTheSingularColumnOfA) {
  using T = TypeParam;
  // Columns 0 and 2 of A are equal; in the order q = (1, 2, 0, 3) column 0 is the one that comes too late.
  const auto a = testing::from_rows<T>({{1, 2, 1, 0}, {3, 0, 3, 1}, {0, 1, 0, 4}, {2, 0, 2, 0}});
  Plan plan = Plan::identity(4);
  plan.q = {1, 2, 0, 3};
  const auto f = testing::factor_with<T>(reference, a, plan);
  ASSERT_FALSE(f.ok());
  EXPECT_EQ(f.status().code, StatusCode::numerically_singular);
  EXPECT_EQ(f.status().where.columns, std::vector<std::int32_t>{0});
}

TEST(DenseReferenceRung, SaysHowMuchMemoryALargeMatrixWouldTake) {
  CscPattern a;
  a.n_rows = a.n_cols = 3000;
  for (std::int32_t j = 0; j < 3000; ++j) {
    a.row_idx.push_back(j);
    a.col_ptr.push_back(j + 1);
  }
  const Analysis analysis = testing::analysis_of(a, Plan::identity(3000));
  const Status s = reference.make<double>()->analyze(analysis);
  EXPECT_EQ(s.code, StatusCode::out_of_memory);
  EXPECT_NE(s.message.find("72 MB"), std::string::npos) << s.message;
  EXPECT_EQ(reference.make<double>()->analyze(analysis).code, StatusCode::out_of_memory);
}

}  // namespace
}  // namespace lulab::dense
