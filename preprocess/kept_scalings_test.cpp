#include "preprocess/kept_scalings.h"

#include <cmath>
#include <limits>
#include <random>

#include "testing/matrices.h"

namespace lulab {
namespace {

using testing::random_matrix;

CscMatrix<double> times_random(CscMatrix<double> a, double most, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(-std::log2(most), std::log2(most));
  for (double& v : a.values) v *= std::exp2(exponent(random));
  return a;
}

/// What preprocess() ensures of rounded scalings.
void expect_bounds(const CscMatrix<double>& a, const MatchedRows& rows, std::span<const double> c) {
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    bool matched = false;
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const double size = std::abs(rows.r[a.row_idx[k]] * a.values[k] * c[j]);
      EXPECT_TRUE(size <= 2) << size;
      if (a.row_idx[k] != rows.row_of_column[j]) continue;
      matched = true;
      EXPECT_TRUE(size >= 0.5) << size;
    }
    EXPECT_TRUE(matched);
    int exponent = 0;
    EXPECT_EQ(std::frexp(c[j], &exponent), 0.5);
  }
}

TEST(KeptScalings, KeepTheBoundsOfTheMatchingWhereTheyAreKept) {
  int kept = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const auto a = random_matrix(seed, {.n = 40, .density = 0.1, .decades = 6, .full_rank = true});
    const auto rows = match_rows(a);
    ASSERT_TRUE(rows.ok());
    const auto next = times_random(a, seed % 2 ? 1.1 : 8, seed + 1);
    const auto c = kept_scalings(next, *rows);
    (c ? kept : refused)++;
    if (c) expect_bounds(next, *rows, *c);
  }
  EXPECT_GE(kept, 40);  // those of 1.1
  EXPECT_GE(refused, 10);
}

TEST(KeptScalings, AreTheEarlierOnesForTheEarlierValues) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto a = random_matrix(seed, {.n = 40, .density = 0.1, .decades = 6, .full_rank = true});
    const auto rows = match_rows(a);
    ASSERT_TRUE(rows.ok());
    const auto c = kept_scalings(a, *rows);
    // A matched entry of ½ and a rounding of the logarithms less is scaled anew, or refused.
    if (c) {
      EXPECT_EQ(*c, rows->c);
    }
  }
}

TEST(KeptScalings, FollowColumnsThatGrowOrShrink) {
  auto a = random_matrix(3, {.n = 40, .density = 0.1, .decades = 2, .full_rank = true});
  const auto rows = match_rows(a);
  ASSERT_TRUE(rows.ok());
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) a.values[k] *= j % 3 ? 1 : std::exp2(10 * j - 100);
  const auto c = kept_scalings(a, *rows);
  ASSERT_TRUE(c);
  expect_bounds(a, *rows, *c);
  EXPECT_EQ((*c)[1], rows->c[1]);
  EXPECT_NE((*c)[3], rows->c[3]);
}

TEST(KeptScalings, AreRefusedWhereTheMatchedEntryIsSmallOrMissing) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = 2;
  a.col_ptr = {0, 2, 4};
  a.row_idx = {0, 1, 0, 1};
  a.values = {4, 1, 1, 4};
  const auto rows = match_rows(a);
  ASSERT_TRUE(rows.ok());
  ASSERT_TRUE(kept_scalings(a, *rows));
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const double wrong : {0.0, 1e-3, inf, -inf, std::nan(""), 1e300}) {
    for (const std::size_t entry : {0, 1}) {
      auto b = a;
      b.values[entry] = wrong;
      const bool fits = entry == 1 && std::abs(wrong) <= 1;  // smaller beside the diagonal is better
      const bool scales = entry == 0 && wrong == 1e300;      // a larger diagonal wants another scaling
      EXPECT_EQ(kept_scalings(b, *rows).has_value(), fits || scales) << wrong << " " << entry;
    }
  }
  auto without = a;
  without.col_ptr = {0, 1, 3};
  without.row_idx = {1, 0, 1};
  without.values = {1, 1, 4};
  EXPECT_FALSE(kept_scalings(without, *rows));
  EXPECT_FALSE(kept_scalings(random_matrix(1, {.n = 3}), *rows));
}

}  // namespace
}  // namespace lulab
