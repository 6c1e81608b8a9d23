#include "preprocess/matching.h"

#include <limits>
#include <numbers>
#include <numeric>
#include <set>

#include "testing/matrices.h"

namespace lulab {
namespace {

using testing::random_matrix;
using testing::RandomMatrix;

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr double scaling_edge = 1.0715086071862673e301;  // 2^1000, where scalings end

struct Scaled {
  double least_diagonal = std::numeric_limits<double>::infinity();
  double largest = 0;
  bool finite = true;  // also in the product's intermediate r·a
  bool cut_off = false;
  double tolerance = 0;
};

// tolerance of the diagonal: the duals are sums and differences of logarithms, each rounded to eps times its size;
// log2 of the largest scaling and entry bounds those sizes, 64 the number of operations that matter.
Scaled scaled_entries(const CscMatrix<double>& a, const Matching& m) {
  Scaled s;
  double size = 1;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const double partial = m.r[a.row_idx[k]] * std::abs(a.values[k]);
      const double entry = partial * m.c[j];
      s.finite = s.finite && std::isfinite(partial) && std::isfinite(entry);
      s.largest = std::max(s.largest, entry);
      if (a.row_idx[k] == m.row_of_column[j]) s.least_diagonal = std::min(s.least_diagonal, entry);
      if (a.values[k] != 0) size = std::max(size, std::abs(std::log2(std::abs(a.values[k]))));
    }
  }
  for (const auto& scaling : {m.r, m.c}) {
    for (const double x : scaling) {
      s.finite = s.finite && std::isfinite(x) && x > 0;
      s.cut_off = s.cut_off || x >= scaling_edge / 2 || x <= 2 / scaling_edge;
      size = std::max(size, std::abs(std::log2(x)));
    }
  }
  s.tolerance = 64 * eps * size;
  return s;
}

void expect_unit_diagonal(const CscMatrix<double>& a, const Matching& m) {
  EXPECT_TRUE(is_permutation(m.row_of_column));
  const Scaled s = scaled_entries(a, m);
  EXPECT_TRUE(s.finite);
  EXPECT_LE(s.largest, 1 + 2 * eps);
  EXPECT_GE(s.least_diagonal, 1 - s.tolerance);
}

double log_product(const CscMatrix<double>& a, const Permutation& row_of_column) {
  double sum = 0;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    double entry = 0;
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      if (a.row_idx[k] == row_of_column[j]) entry = std::abs(a.values[k]);
    sum += std::log2(entry);  // -inf where there is no entry
  }
  return sum;
}

double best_log_product(const CscMatrix<double>& a) {
  Permutation p = identity_permutation(a.n_cols);
  double best = -std::numeric_limits<double>::infinity();
  do best = std::max(best, log_product(a, p));
  while (std::next_permutation(p.begin(), p.end()));
  return best;
}

std::int32_t matched_columns(const CscPattern& a) {
  const std::vector<std::int32_t> rows = maximum_matching(a);
  return static_cast<std::int32_t>(a.n_cols - std::count(rows.begin(), rows.end(), -1));
}

// As many rows and columns are reported as the rank is short, and the rest can be matched completely.
void expect_deficiency(const CscMatrix<double>& a, const Status& status) {
  EXPECT_EQ(status.code, StatusCode::structurally_singular) << status.to_string();
  const CscMatrix<double> entries = testing::drop_zeros(a);
  const std::int32_t rank = matched_columns(entries);
  EXPECT_LT(rank, a.n_cols);
  const std::set<std::int32_t> rows(status.where.rows.begin(), status.where.rows.end());
  const std::set<std::int32_t> columns(status.where.columns.begin(), status.where.columns.end());
  EXPECT_EQ(rows.size(), a.n_cols - rank);
  EXPECT_EQ(columns.size(), a.n_cols - rank);
  CscPattern rest;
  rest.n_rows = a.n_rows;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    if (columns.count(j)) continue;
    for (std::int64_t k = entries.col_ptr[j]; k < entries.col_ptr[j + 1]; ++k)
      if (!rows.count(entries.row_idx[k])) rest.row_idx.push_back(entries.row_idx[k]);
    rest.col_ptr.push_back(rest.nnz());
    ++rest.n_cols;
  }
  EXPECT_EQ(matched_columns(rest), rank);
}

CscMatrix<double> growing_ratios() {
  // Upper bidiagonal: r(i)·1e-150·c(i) = 1 and r(i)·1e150·c(i+1) <= 1 ask for ratios of 1e300 from row to row.
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  for (std::int32_t j = 0; j < 20; ++j) {
    if (j > 0) rows.push_back(j - 1), columns.push_back(j), values.push_back(1e150);
    rows.push_back(j), columns.push_back(j), values.push_back(1e-150);
  }
  return from_triplets<double>(20, 20, rows, columns, values);
}

TEST(Matching, ProductIsTheLargestOverAllPermutations) {
  int matched = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const std::int32_t n = 1 + static_cast<std::int32_t>(seed % 7);
    const double decades = seed % 3 == 0 ? 200 : 2;
    const auto a =
        random_matrix(seed, {.n = n, .density = 0.2 + 0.1 * (seed % 8), .decades = decades, .explicit_zeros = 0.1});
    const double best = best_log_product(a);
    const auto m = maximum_product_matching(a);
    EXPECT_EQ(m.ok(), std::isfinite(best)) << "seed " << seed << ": " << m.status().to_string();
    if (!m.ok()) {
      expect_deficiency(a, m.status());
      continue;
    }
    ++matched;
    const double tol = 64 * eps * n * 665;  // n logarithms of at most log2(1e200) = 665, each sum rounded
    EXPECT_GE(log_product(a, m->row_of_column), best - tol) << "seed " << seed;
  }
  EXPECT_GT(matched, 100);
  EXPECT_LT(matched, 390);
}

TEST(Matching, ScaledMatrixHasUnitDiagonalAndNoLargerEntry) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const RandomMatrix kind{.n = 5 + static_cast<std::int32_t>(seed),
                            .density = 6.0 / (5 + seed),
                            .zero_diagonal = 0.7,
                            .decades = 1 + 0.2 * seed,
                            .explicit_zeros = 0.05,
                            .full_rank = true};
    const auto a = random_matrix(seed, kind);
    const auto m = maximum_product_matching(a);
    ASSERT_TRUE(m.ok()) << m.status().to_string();
    expect_unit_diagonal(a, *m);
  }
}

TEST(Matching, UndoesBadScalingOverFourHundredDecades) {
  int exact = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    auto a = random_matrix(seed, {.n = 60, .density = 0.08, .decades = 200, .full_rank = true});
    const auto m = maximum_product_matching(a);
    ASSERT_TRUE(m.ok()) << m.status().to_string();
    const Scaled s = scaled_entries(a, *m);
    EXPECT_TRUE(s.finite);
    EXPECT_LE(s.largest, 1 + 2 * eps);
    if (!s.cut_off) {
      EXPECT_GE(s.least_diagonal, 1 - s.tolerance);
    }
    exact += !s.cut_off;
    // B = D1 A D2 with A of one decade and D within 1e±100: its scalings always fit.
    auto b = random_matrix(seed, {.n = 60, .density = 0.08, .decades = 1, .full_rank = true});
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> exponent(-100, 100);
    std::vector<double> d1(60), d2(60);
    for (double& x : d1) x = std::pow(10, exponent(random));
    for (double& x : d2) x = std::pow(10, exponent(random));
    b = scale(b.view(), d1, d2);
    const auto mb = maximum_product_matching(b);
    ASSERT_TRUE(mb.ok()) << mb.status().to_string();
    expect_unit_diagonal(b, *mb);
  }
  EXPECT_GT(exact, 0);
}

TEST(Matching, ScalingsStayFiniteWhereNoDoubleCouldHoldThem) {
  const auto a = growing_ratios();
  const auto m = maximum_product_matching(a);
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->row_of_column, identity_permutation(20));
  const Scaled s = scaled_entries(a, *m);
  EXPECT_TRUE(s.finite);
  EXPECT_TRUE(s.cut_off);
  EXPECT_LE(s.largest, 1 + 2 * eps);
}

TEST(Matching, TakesTheSmallestAndLargestNumbers) {
  const double tiny = std::numeric_limits<double>::denorm_min(), huge = std::numeric_limits<double>::max();
  // Three components: all tiny, all huge, both.
  const std::vector<std::int32_t> rows = {0, 1, 0, 1, 2, 3, 3, 4, 5, 4, 5}, columns = {0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 5};
  const std::vector<double> values = {tiny, tiny, -tiny, 8 * tiny, huge, huge, -huge, tiny, huge, 1, tiny};
  const auto a = from_triplets<double>(6, 6, rows, columns, values);
  const auto m = maximum_product_matching(a);
  ASSERT_TRUE(m.ok()) << m.status().to_string();
  expect_unit_diagonal(a, *m);
  EXPECT_EQ(m->row_of_column, (Permutation{0, 1, 2, 3, 5, 4}));
}

TEST(Matching, StructurallySingularNamesDeficientRowsAndColumns) {
  int singular = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const auto a = random_matrix(seed, {.n = 40, .density = 0.04, .explicit_zeros = 0.2});
    const auto m = maximum_product_matching(a);
    if (m.ok()) {
      expect_unit_diagonal(a, *m);
    } else {
      expect_deficiency(a, m.status());
      ++singular;
    }
  }
  EXPECT_GT(singular, 100);
}

TEST(Matching, ThousandsOfDeficientColumnsAreFoundInLinearTime) {
  // Every column has entries in the first ten rows only: 19990 columns cannot be matched.
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  for (std::int32_t j = 0; j < 20000; ++j)
    for (std::int32_t i = 0; i < 10; ++i) rows.push_back(i), columns.push_back(j), values.push_back(1 + (i * j) % 7);
  const auto m = maximum_product_matching(from_triplets<double>(20000, 20000, rows, columns, values));
  ASSERT_EQ(m.status().code, StatusCode::structurally_singular);
  EXPECT_EQ(m.status().where.columns.size(), 19990);
  EXPECT_EQ(m.status().where.rows.size(), 19990);
}

TEST(Matching, RefusesWhatItCannotMatch) {
  auto a = random_matrix(1, {.n = 5, .full_rank = true});
  a.values[3] = std::numeric_limits<double>::quiet_NaN();
  const auto nan = maximum_product_matching(a);
  EXPECT_EQ(nan.status().code, StatusCode::invalid_argument);
  EXPECT_EQ(nan.status().where.rows, std::vector<std::int32_t>{a.row_idx[3]});
  CscMatrix<double> wide;
  wide.n_rows = 1, wide.n_cols = 2, wide.col_ptr = {0, 0, 0};
  EXPECT_EQ(maximum_product_matching(wide).status().code, StatusCode::invalid_argument);
  EXPECT_TRUE(maximum_product_matching(CscMatrix<double>{}).ok());
}

TEST(Matching, SharedMatricesGetAUnitDiagonal) {
  int seen = 0;
  for (const char* name :
       {"add20", "add32", "circuit_1", "memplus", "rajat11", "rajat19", "fpga_dcop_01", "oscil_dcop_01", "west0479",
        "west0497", "mna5_A", "mna5_E", "bp_1000", "gent113", "plsk1919",

        "seq_nr_case_ACTIVSg2000/A_00", "seq_resolve_ScaleMicrogrid_N1000/A_01", "seq_hykkt_ACTIVSg2000/A_09",
        "tumorAntiAngiogenesis_2"}) {
    SCOPED_TRACE(name);
    const auto a = testing::read_shared(name);
    if (!a) continue;
    ++seen;
    const auto m = maximum_product_matching(*a);
    if (m.ok()) {
      expect_unit_diagonal(*a, *m);
    } else {
      expect_deficiency(*a, m.status());
    }
  }
  if (seen == 0) GTEST_SKIP() << "the shared matrices are not here";
}

// Of the magnitudes rounded to the nearest powers of two.
CscMatrix<double> rounded(CscMatrix<double> a) {
  for (double& x : a.values)
    if (x != 0) x = std::exp2(std::round(std::log2(std::abs(x))));
  return a;
}

void expect_rounded_diagonal(const CscMatrix<double>& a, const Matching& m) {
  EXPECT_TRUE(is_permutation(m.row_of_column));
  const Scaled s = scaled_entries(a, m);
  EXPECT_TRUE(s.finite);
  EXPECT_LE(s.largest, std::numbers::sqrt2);
  EXPECT_GE(s.least_diagonal, std::numbers::sqrt2 / 2);
  int exponent = 0;
  for (const auto& scaling : {m.r, m.c})
    for (const double x : scaling) EXPECT_EQ(std::frexp(x, &exponent), 0.5);
}

TEST(PowerOfTwoMatching, ProductOfRoundedMagnitudesIsTheLargestOverAllPermutations) {
  int matched = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const std::int32_t n = 1 + static_cast<std::int32_t>(seed % 7);
    const double decades = seed % 3 == 0 ? 20 : 0.4;
    const auto a =
        random_matrix(seed, {.n = n, .density = 0.2 + 0.1 * (seed % 8), .decades = decades, .explicit_zeros = 0.1});
    const double best = best_log_product(rounded(a));
    const auto m = power_of_two_matching(a);
    EXPECT_EQ(m.ok(), std::isfinite(best)) << m.status().to_string();
    if (!m.ok()) {
      expect_deficiency(a, m.status());
      continue;
    }
    ++matched;
    EXPECT_EQ(log_product(rounded(a), m->row_of_column), best);
    expect_rounded_diagonal(a, *m);
  }
  EXPECT_GT(matched, 100);
  EXPECT_LT(matched, 390);
}

TEST(PowerOfTwoMatching, ScaledMatrixHasALargeDiagonal) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const RandomMatrix kind{.n = 5 + static_cast<std::int32_t>(seed),
                            .density = 6.0 / (5 + seed),
                            .zero_diagonal = 0.7,
                            .decades = 1 + 0.2 * seed,
                            .explicit_zeros = 0.05,
                            .full_rank = true};
    const auto a = random_matrix(seed, kind);
    const auto m = power_of_two_matching(a);
    ASSERT_TRUE(m.ok()) << m.status().to_string();
    expect_rounded_diagonal(a, *m);
  }
}

TEST(PowerOfTwoMatching, KeepsADiagonalWhereAllEntriesAreOfOneSize) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto a = random_matrix(seed, {.n = 50, .density = 0.2, .zero_diagonal = 0, .decades = 0.14});  // all within √2 of 1
    const auto m = power_of_two_matching(a);
    ASSERT_TRUE(m.ok()) << m.status().to_string();
    EXPECT_EQ(m->row_of_column, identity_permutation(50)) << "seed " << seed;
  }
}

TEST(PowerOfTwoMatching, TakesThePreferredRowsWhereTheyAreAsGood) {
  int other = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    auto a = random_matrix(seed, {.n = 50, .density = 0.2, .decades = 0.6, .full_rank = true});
    const auto first = power_of_two_matching(a);
    ASSERT_TRUE(first.ok());
    for (std::size_t k = 0; k < a.values.size(); ++k)
      a.values[k] *= std::exp2(7 * (a.row_idx[k] % 5));  // as good as before
    const auto same = power_of_two_matching(a, first->row_of_column);
    ASSERT_TRUE(same.ok());
    EXPECT_EQ(same->row_of_column, first->row_of_column);
    expect_rounded_diagonal(a, *same);
    const auto free = power_of_two_matching(a);
    ASSERT_TRUE(free.ok());
    other += free->row_of_column != first->row_of_column;
    Permutation worse = first->row_of_column;
    std::rotate(worse.begin(), worse.begin() + 1, worse.end());
    const auto best = power_of_two_matching(a, worse);
    ASSERT_TRUE(best.ok());
    EXPECT_EQ(best->row_of_column, free->row_of_column);
  }
  EXPECT_GT(other, 5);
}

TEST(PowerOfTwoMatching, NoTwoColumnsTakeEachOthersRowWhereTheirOwnAreAsGood) {
  int swapped = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    const auto a =
        random_matrix(seed, {.n = 12, .density = 0.5, .zero_diagonal = 0.1, .decades = 0.8, .full_rank = true});
    const auto size = [&](std::int32_t i, std::int32_t j) {
      double entry = 0;
      for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
        if (a.row_idx[k] == i) entry = std::abs(a.values[k]);
      return std::round(std::log2(entry));  // -inf where there is no entry
    };
    const auto m = power_of_two_matching(a);
    ASSERT_TRUE(m.ok()) << m.status().to_string();
    for (std::int32_t j = 0; j < a.n_cols; ++j) {
      const std::int32_t i = m->row_of_column[j];
      if (i <= j || m->row_of_column[i] != j) continue;
      ++swapped;
      EXPECT_LT(size(j, j) + size(i, i), size(i, j) + size(j, i)) << i << ", " << j;
    }
  }
  EXPECT_GT(swapped, 20);
}

TEST(PowerOfTwoMatching, RoundsThatOfTheLargestProductWhereScalingsDoNotFit) {
  const auto a = growing_ratios();
  const auto m = power_of_two_matching(a), exact = maximum_product_matching(a);
  ASSERT_TRUE(m.ok() && exact.ok());
  EXPECT_EQ(m->row_of_column, exact->row_of_column);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(m->r[i], nearest_power_of_two(exact->r[i]));
    EXPECT_EQ(m->c[i], nearest_power_of_two(exact->c[i]));
  }
  const Scaled s = scaled_entries(a, *m);
  EXPECT_TRUE(s.finite && s.cut_off);
  EXPECT_LE(s.largest, 2 + 4 * eps);
}

TEST(PowerOfTwoMatching, TakesTheSmallestAndLargestNumbers) {
  const double tiny = std::numeric_limits<double>::denorm_min(), huge = std::numeric_limits<double>::max();
  for (const double x : {tiny, 3 * tiny, std::numeric_limits<double>::min(), 0x1.8p1000, 0x1p-1000}) {
    const auto a =
        from_triplets<double>(2, 2, std::vector{0, 1, 0, 1}, std::vector{0, 0, 1, 1}, std::vector{x, x, -x, 8 * x});
    const auto m = power_of_two_matching(a);
    ASSERT_TRUE(m.ok()) << m.status().to_string();
    EXPECT_EQ(m->row_of_column, identity_permutation(2));
    const Scaled s = scaled_entries(a, *m);
    EXPECT_TRUE(s.finite);
    EXPECT_LE(s.largest, 2) << x;
    EXPECT_GE(s.least_diagonal, 0.5) << x;
  }
  const auto a =
      from_triplets<double>(2, 2, std::vector{0, 1, 0, 1}, std::vector{0, 0, 1, 1}, std::vector{1.0, huge, tiny, 1.0});
  const auto m = power_of_two_matching(a);
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->row_of_column, identity_permutation(2));  // tiny · huge is about 2^-50
}

TEST(PowerOfTwoMatching, StructurallySingularNamesDeficientRowsAndColumns) {
  int singular = 0, by_more_than_one = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const auto n = static_cast<std::int32_t>(5 + seed % 36);
    const auto a = random_matrix(seed, {.n = n, .density = 1.7 / n, .decades = 6, .explicit_zeros = 0.3});
    const auto m = power_of_two_matching(a);
    if (m.ok()) continue;
    expect_deficiency(a, m.status());
    ++singular;
    by_more_than_one += m.status().where.rows.size() > 1;
  }
  EXPECT_GT(singular, 100);
  EXPECT_GT(by_more_than_one, 50);
}

TEST(PowerOfTwoMatching, RefusesWhatItCannotMatch) {
  auto a = random_matrix(1, {.n = 5, .full_rank = true});
  a.values[3] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(power_of_two_matching(a).status().code, StatusCode::invalid_argument);
  CscMatrix<double> wide;
  wide.n_rows = 1, wide.n_cols = 2, wide.col_ptr = {0, 0, 0};
  EXPECT_EQ(power_of_two_matching(wide).status().code, StatusCode::invalid_argument);
  EXPECT_TRUE(power_of_two_matching(CscMatrix<double>{}).ok());
}

TEST(Matching, NearestPowerOfTwoIsWithinSquareRootOfTwo) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-1000, 1000);
  for (int trial = 0; trial < 1000; ++trial) {
    const double x = std::exp2(exponent(random));
    const double power = nearest_power_of_two(x);
    int e = 0;
    EXPECT_EQ(std::frexp(power, &e), 0.5);
    EXPECT_LE(std::max(x / power, power / x), std::sqrt(2.0) * (1 + 4 * eps));
  }
  EXPECT_EQ(nearest_power_of_two(1), 1);
  EXPECT_EQ(nearest_power_of_two(1.5), 2);
  EXPECT_EQ(nearest_power_of_two(0.7), 0.5);
}

TEST(MaximumMatching, HasAsManyColumnsAsAnyPermutationCovers) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::int32_t n = static_cast<std::int32_t>(seed % 7);
    const auto a = random_matrix(seed, {.n = n, .density = 0.25});
    const std::vector<std::int32_t> rows = maximum_matching(a);
    std::set<std::int32_t> used;
    for (std::int32_t j = 0; j < n; ++j) {
      if (rows[j] < 0) continue;
      EXPECT_TRUE(used.insert(rows[j]).second);
      EXPECT_TRUE(std::count(a.row_idx.begin() + a.col_ptr[j], a.row_idx.begin() + a.col_ptr[j + 1], rows[j]));
    }
    std::size_t best = 0;
    Permutation p = identity_permutation(n);
    do {
      std::size_t covered = 0;
      for (std::int32_t j = 0; j < n; ++j)
        covered += std::count(a.row_idx.begin() + a.col_ptr[j], a.row_idx.begin() + a.col_ptr[j + 1], p[j]);
      best = std::max(best, covered);
    } while (std::next_permutation(p.begin(), p.end()));
    EXPECT_EQ(used.size(), best) << "seed " << seed;
  }
}

}  // namespace
}  // namespace lulab
