#include "core/matrix/csc.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "core/matrix/permutation.h"
#include "core/matrix/random.h"

namespace lulab {
namespace {

struct Triplets {
  std::vector<std::int32_t> rows, cols;
  std::vector<double> values;
};

/// Random entries; about one in three repeats an earlier position.
Triplets random_triplets(std::int32_t m, std::int32_t n, int count, Random& random) {
  Triplets t;
  for (int k = 0; k < count && m > 0 && n > 0; ++k) {
    const bool repeat = k > 0 && random.chance(0.33);
    const std::size_t of = repeat ? static_cast<std::size_t>(random.below(k)) : 0;
    t.rows.push_back(repeat ? t.rows[of] : static_cast<std::int32_t>(random.below(m)));
    t.cols.push_back(repeat ? t.cols[of] : static_cast<std::int32_t>(random.below(n)));
    t.values.push_back(random.chance(0.1) ? 0.0 : random.value());
  }
  return t;
}

template <class T>
CscMatrix<T> random_matrix(std::int32_t m, std::int32_t n, int count, std::uint64_t seed) {
  Random random(seed);
  const Triplets t = random_triplets(m, n, count, random);
  const std::vector<T> values(t.values.begin(), t.values.end());
  return from_triplets<T>(m, n, t.rows, t.cols, values);
}

TEST(Csc, FromTripletsEqualsMapThatSumsInOrder) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const auto m = static_cast<std::int32_t>(random.below(round < 100 ? 12 : 400));
    const auto n = static_cast<std::int32_t>(random.below(12));
    const Triplets t = random_triplets(m, n, static_cast<int>(random.below(2000)), random);
    std::map<std::pair<std::int32_t, std::int32_t>, double> model;  // (column, row): iterates in CSC order
    for (std::size_t k = 0; k < t.rows.size(); ++k) {
      const auto [at, is_new] = model.try_emplace({t.cols[k], t.rows[k]}, t.values[k]);
      if (!is_new) at->second += t.values[k];
    }
    const auto a = from_triplets<double>(m, n, t.rows, t.cols, t.values);
    ASSERT_TRUE(check_sorted(a)) << check_sorted(a).to_string();
    ASSERT_EQ(a.n_rows, m);
    ASSERT_EQ(a.n_cols, n);
    ASSERT_EQ(a.nnz(), static_cast<std::int64_t>(model.size()));
    auto expected = model.begin();
    for (std::int32_t j = 0; j < n; ++j) {
      for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k, ++expected) {
        ASSERT_EQ(expected->first, std::make_pair(j, a.row_idx[k]));
        ASSERT_EQ(expected->second, a.values[k]);
      }
    }
  }
}

template <class T>
class CscTyped : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CscTyped, Scalars);

TYPED_TEST(CscTyped, TransposeMovesEveryEntryAndTwiceIsTheSame) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto a = random_matrix<TypeParam>(17, 29, 150, seed);
    const auto t = transpose(a.view());
    ASSERT_TRUE(check_sorted(t));
    EXPECT_FALSE(t.pattern() == a.pattern());
    std::map<std::pair<std::int32_t, std::int32_t>, TypeParam> entries;
    for (std::int32_t j = 0; j < t.n_cols; ++j)
      for (std::int64_t k = t.col_ptr[j]; k < t.col_ptr[j + 1]; ++k) entries[{t.row_idx[k], j}] = t.values[k];
    ASSERT_EQ(static_cast<std::int64_t>(entries.size()), a.nnz());
    for (std::int32_t j = 0; j < a.n_cols; ++j)
      for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
        ASSERT_EQ(entries.at({j, a.row_idx[k]}), a.values[k]);
    EXPECT_TRUE(transpose(t.view()) == a);
    EXPECT_TRUE(transpose(a.pattern().view()) == t.pattern());
  }
}

TYPED_TEST(CscTyped, CsrAndBackIsTheSame) {
  const auto a = random_matrix<TypeParam>(23, 11, 90, 3);
  const auto r = to_csr(a.view());
  EXPECT_EQ(r.row_ptr.size(), 24u);
  EXPECT_EQ(r.nnz(), a.nnz());
  EXPECT_TRUE(to_csc(r) == a);
}

TYPED_TEST(CscTyped, MultiplyEqualsDenseSum) {
  const auto a = random_matrix<TypeParam>(31, 19, 200, 5);
  Random random(6);
  std::vector<TypeParam> x(19), y(31, std::numeric_limits<TypeParam>::quiet_NaN());
  for (TypeParam& v : x) v = static_cast<TypeParam>(random.value());
  multiply(a.view(), std::span<const TypeParam>(x), std::span<TypeParam>(y));
  const auto r = to_csr(a.view());
  for (std::int32_t i = 0; i < 31; ++i) {
    long double sum = 0, size = 0;
    for (std::int64_t k = r.row_ptr[i]; k < r.row_ptr[i + 1]; ++k) {
      sum += static_cast<long double>(r.values[k]) * x[r.col_idx[k]];
      size += std::abs(static_cast<long double>(r.values[k]) * x[r.col_idx[k]]);
    }
    // tol = (entries of the row) eps sum |a x|: rounding of a sum in any order
    const long double tol = 20 * std::numeric_limits<TypeParam>::epsilon() * size;
    EXPECT_TRUE(std::abs(sum - y[i]) <= tol) << "row " << i;
  }
}

TEST(Csc, ConvertKeepsPatternAndRoundsValues) {
  const auto a = random_matrix<double>(9, 9, 40, 1);
  const auto f = convert<float>(a.view());
  EXPECT_TRUE(f.pattern() == a.pattern());
  for (std::size_t k = 0; k < a.values.size(); ++k) EXPECT_EQ(f.values[k], static_cast<float>(a.values[k]));
}

TEST(Csc, EmptyAndOneByOneMatricesWork) {
  const auto none = from_triplets<double>(0, 0, {}, {}, {});
  EXPECT_TRUE(check_sorted(none));
  EXPECT_TRUE(transpose(none.view()) == none);
  const std::vector<std::int32_t> zero = {0};
  const std::vector<double> five = {5.0};
  const auto one = from_triplets<double>(1, 1, zero, zero, five);
  EXPECT_TRUE(check_sorted(one));
  EXPECT_TRUE(transpose(one.view()) == one);
}

TEST(CheckSorted, NamesTheOffendingColumn) {
  const CscPattern good{3, 3, {0, 2, 3, 4}, {0, 2, 1, 2}};
  ASSERT_TRUE(check_sorted(good));
  const auto broken = [&](auto&& change) {
    CscPattern a = good;
    change(a);
    const Status s = check_sorted(a);
    EXPECT_EQ(s.code, StatusCode::invalid_argument);
    EXPECT_FALSE(s.message.empty());
    return s.where;
  };
  broken([](CscPattern& a) { a.n_rows = -1; });
  broken([](CscPattern& a) { a.col_ptr.pop_back(); });
  broken([](CscPattern& a) { a.col_ptr.clear(); });
  broken([](CscPattern& a) { a.col_ptr[0] = 1; });
  broken([](CscPattern& a) { a.col_ptr[3] = 5; });
  EXPECT_EQ(broken([](CscPattern& a) { a.col_ptr = {0, 3, 2, 4}; }).columns, std::vector<std::int32_t>{1});
  EXPECT_EQ(broken([](CscPattern& a) { a.col_ptr = {0, 1000000, 3, 4}; }).columns, std::vector<std::int32_t>{1});
  EXPECT_EQ(broken([](CscPattern& a) { a.col_ptr = {0, -1000000, 3, 4}; }).columns, std::vector<std::int32_t>{0});
  EXPECT_EQ(broken([](CscPattern& a) { a.row_idx[3] = 3; }).columns, std::vector<std::int32_t>{2});
  EXPECT_EQ(broken([](CscPattern& a) { a.row_idx[2] = -1; }).columns, std::vector<std::int32_t>{1});
  EXPECT_EQ(broken([](CscPattern& a) { a.row_idx[1] = 0; }).columns, std::vector<std::int32_t>{0});
  EXPECT_EQ(broken([](CscPattern& a) { std::swap(a.row_idx[0], a.row_idx[1]); }).columns, std::vector<std::int32_t>{0});
}

// Every way of putting four entries with rows -1 to 3 into three columns of three rows.
TEST(CheckSorted, IsTheDefinitionOnAllSmallPatterns) {
  int sorted = 0;
  for (std::int64_t first = 0; first <= 4; ++first)
    for (std::int64_t second = first; second <= 4; ++second)
      for (int digits = 0; digits < 5 * 5 * 5 * 5; ++digits) {
        CscPattern a{3, 3, {0, first, second, 4}, {}};
        for (int rest = digits, k = 0; k < 4; ++k, rest /= 5) a.row_idx.push_back(rest % 5 - 1);
        bool good = true;
        for (std::int32_t j = 0; j < 3; ++j)
          for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
            good =
                good && a.row_idx[k] >= 0 && a.row_idx[k] < 3 && (k == a.col_ptr[j] || a.row_idx[k - 1] < a.row_idx[k]);
        EXPECT_EQ(check_sorted(a).ok(), good) << first << " " << second << " " << digits;
        sorted += good;
      }
  EXPECT_EQ(sorted, 126);  // choices of 4 of the 9 entries
}

}  // namespace
}  // namespace lulab
