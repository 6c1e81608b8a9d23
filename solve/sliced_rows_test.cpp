#include "solve/sliced_rows.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "core/factors.h"
#include "core/matrix/generate.h"

namespace lulab {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// m x n with rows of every length, empty ones too, and values of every size.
CscMatrix<double> ragged(std::int32_t m, std::int32_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  CscMatrix<double> a;
  a.n_rows = m;
  a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < m; ++i) {
      if (static_cast<std::int32_t>(random() % 12) >= i % 13) continue;
      a.row_idx.push_back(i);
      a.values.push_back(std::ldexp(unit(random), static_cast<int>(random() % 60) - 30));
    }
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

/// The same, column by column, by the definition.
BackwardErrors expected(const CscMatrix<double>& a, const std::vector<double>& x, const std::vector<double>& b,
                        double good, std::vector<double>& r) {
  std::vector<double> sum = b, lost(a.n_rows, 0.0), ax(a.n_rows, 0.0), largest(a.n_rows, 0.0);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const std::int32_t i = a.row_idx[k];
      const double product = -a.values[k] * x[j], s = sum[i] + product, z = s - sum[i];
      lost[i] += (sum[i] - (s - z)) + (product - z) + std::fma(-a.values[k], x[j], -product);
      sum[i] = s;
      ax[i] += std::abs(a.values[k]) * std::abs(x[j]);
      largest[i] = larger_or_nan(largest[i], std::abs(a.values[k]));
    }
  BackwardErrors e;
  const double x_max = max_abs(std::span<const double>(x));
  r.resize(a.n_rows);
  for (std::int32_t i = 0; i < a.n_rows; ++i) {
    r[i] = std::isfinite(lost[i]) ? sum[i] + lost[i] : sum[i];
    const RowError row = row_error(std::abs(r[i]), ax[i], std::abs(b[i]), largest[i] * x_max, a.n_rows);
    e.componentwise = larger_or_nan(e.componentwise, row.componentwise);
    double& omega = row.nearly_zero ? e.omega2 : e.omega1;
    omega = larger_or_nan(omega, row.omega);
    if (row.componentwise <= good) r[i] = 0;
  }
  return e;
}

void expect_same(double got, double want) { EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << got; }

/// Every pass, each on A and on Aᵀ as the transposed of Aᵀ.
void expect_passes_equal_definition(const CscMatrix<double>& a, const std::vector<double>& x,
                                    const std::vector<double>& b, double good) {
  std::vector<double> want;
  const BackwardErrors errors = expected(a, x, b, good, want);
  const CscMatrix<double> at = transpose(a.view());
  ASSERT_FALSE(residual_passes().empty());
  for (const ResidualPass pass : residual_passes())
    for (const bool transposed : {false, true}) {
      const SlicedRows rows = transposed ? sliced_rows_of_transposed(at) : sliced_rows(a);
      std::vector<double> r(a.n_rows, nan);
      const BackwardErrors got = pass(rows, transposed ? at.values.data() : a.values.data(), x.data(),
                                      max_abs(std::span<const double>(x)), b.data(), good, r.data());
      expect_same(got.omega1, errors.omega1);
      expect_same(got.omega2, errors.omega2);
      expect_same(got.componentwise, errors.componentwise);
      for (std::int32_t i = 0; i < a.n_rows; ++i) expect_same(r[i], want[i]);
    }
}

TEST(SlicedRows, HoldEveryEntryOnceInTheOrderOfItsRow) {
  for (const std::int32_t m : {0, 1, 3, 4, 5, 30}) {
    const auto a = ragged(m, 20, m);
    const SlicedRows s = sliced_rows(a);
    EXPECT_TRUE(std::ranges::is_sorted(s.length, std::greater<>()));
    auto entries = s.from;
    std::ranges::sort(entries);
    for (std::int64_t k = 0; k < a.nnz(); ++k) {
      ASSERT_EQ(entries[k], k);
      EXPECT_GE(s.from[k], a.col_ptr[s.column[k]]);
      EXPECT_LT(s.from[k], a.col_ptr[s.column[k] + 1]);
    }
    auto rows = s.row;
    std::ranges::sort(rows);
    for (std::int32_t i = 0; i < m; ++i) EXPECT_EQ(rows[i], i);
  }
}

TEST(ResidualPass, EqualsTheSumsColumnByColumnBitForBit) {
  for (const std::int32_t m : {1, 2, 3, 4, 5, 7, 8, 40, 123})
    for (const double good : {-1.0, 0x1p-53, 0.5}) {
      const auto a = ragged(m, m, m);
      auto b = random_vector(m, 2);
      for (std::int32_t i = 0; i < m; i += 3) b[i] = 0;
      expect_passes_equal_definition(a, random_vector(m, 1), b, good);
    }
  expect_passes_equal_definition(ragged(9, 30, 5), random_vector(30, 1), random_vector(9, 2), -1);
}

TEST(QuickErrorPass, IsTheErrorButForRoundingAndTheSameOnEveryProcessor) {
  for (const std::int32_t m : {1, 2, 3, 4, 5, 7, 8, 40, 123})
    for (const double off : {0.0, 1e-10, 1.0}) {
      const auto a = ragged(m, m, m);
      const auto x = random_vector(m, 1);
      std::vector<double> b(m, 0.0), r;
      for (std::int32_t j = 0; j < m; ++j)
        for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) b[a.row_idx[k]] += a.values[k] * x[j];
      for (std::int32_t i = 1; i < m; i += 3) b[i] *= 1 + off;
      const double want = expected(a, x, b, -1, r).componentwise;
      const SlicedRows rows = sliced_rows(a);
      const double tol = (m + 2) * RefinementRule::eps;  // the longest row has at most m entries
      const double first = quick_error_passes().front()(rows, a.values.data(), x.data(), b.data());
      EXPECT_LE(std::abs(first - want), tol) << m << " " << off;
      for (const QuickErrorPass pass : quick_error_passes())
        EXPECT_EQ(pass(rows, a.values.data(), x.data(), b.data()), first);
      const QuickError by_columns = quick_error_by_columns(a, x, b);
      EXPECT_EQ(by_columns.error, first);
      EXPECT_EQ(by_columns.longest_row, rows.length[0]);
    }
}

TEST(QuickErrorPass, KnowsNothingOfWhatIsNotFiniteOrUnderflows) {
  const auto a = ragged(41, 41, 3);
  const SlicedRows rows = sliced_rows(a);
  const std::vector<double> good_x = random_vector(41, 1), good_b = random_vector(41, 2);
  using Error = std::function<double(const std::vector<double>& x, const std::vector<double>& b)>;
  std::vector<Error> errors = {[&](const auto& x, const auto& b) { return quick_error_by_columns(a, x, b).error; }};
  for (const QuickErrorPass pass : quick_error_passes())
    errors.push_back(
        [&, pass](const auto& x, const auto& b) { return pass(rows, a.values.data(), x.data(), b.data()); });
  for (const Error& error : errors) {
    EXPECT_TRUE(std::isfinite(error(good_x, good_b)));
    EXPECT_EQ(error(std::vector<double>(41, 0.0), std::vector<double>(41, 0.0)), 0);
    for (const double bad : {nan, infinity, -infinity})
      for (const std::int32_t place : {0, 17, 40}) {
        auto b = good_b;
        b[place] = bad;
        EXPECT_EQ(error(good_x, b), infinity) << bad << " " << place;
        auto x = good_x;
        x[place] = bad;
        if (a.col_ptr[place] < a.col_ptr[place + 1]) {
          EXPECT_EQ(error(x, good_b), infinity) << bad << " " << place;
        }
      }
    EXPECT_EQ(error(std::vector<double>(41, 1e-300), std::vector<double>(41, 0.0)), infinity);
  }
}

TEST(ResidualPass, RowsThatAreNearlyZeroOrOutOfRangeAreJudgedOneByOne) {
  const auto a = ragged(40, 40, 3);
  for (const double odd : {nan, infinity, -infinity, 1e308, 1e-320, 0.0})
    for (const std::int32_t place : {0, 17, 39}) {
      auto x = random_vector(40, 1), b = random_vector(40, 2);
      x[place] = odd;
      expect_passes_equal_definition(a, x, b, 0x1p-53);
      x[place] = 1e-25;
      b[place] = odd;
      expect_passes_equal_definition(a, x, b, 0x1p-53);
    }
  expect_passes_equal_definition(a, std::vector<double>(40, 0.0), std::vector<double>(40, 0.0), 0x1p-53);
}

}  // namespace
}  // namespace lulab
