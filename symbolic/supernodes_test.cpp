#include "symbolic/supernodes.h"

#include "symbolic/fill.h"
#include "testing/matrices.h"

namespace lulab {
namespace {

using testing::random_matrix;

std::vector<std::int32_t> l_rows(const FilledPattern& f, std::int32_t k) {
  return {f.row_idx.begin() + f.diag[k] + 1, f.row_idx.begin() + f.col_ptr[k + 1]};
}

bool has_u(const FilledPattern& f, std::int32_t k, std::int32_t j) {
  return std::binary_search(f.row_idx.begin() + f.col_ptr[j], f.row_idx.begin() + f.diag[j], k);
}

/// The definition computed another way: rows of both columns as sets.
bool belong_together(const FilledPattern& f, std::int32_t k) {
  auto expected = l_rows(f, k + 1);
  expected.insert(expected.begin(), k + 1);
  return l_rows(f, k) == expected && has_u(f, k, k + 1);
}

TEST(Supernodes, AreAsWideAsTheDefinitionAndTheLimitAllow) {
  std::int32_t widest = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const auto n = static_cast<std::int32_t>(seed);
    const std::int32_t max_width = 1 + static_cast<std::int32_t>(seed % 7);
    const auto f = fill_gilbert_peierls(random_matrix(seed, {.n = n, .density = 2.5 / (1 + n)}));
    ASSERT_TRUE(f.ok());
    const Supernodes s = find_supernodes(*f, max_width);
    ASSERT_EQ(s.of.size(), seed);
    EXPECT_EQ(s.first.front(), 0);
    EXPECT_EQ(s.first.back(), n);
    for (std::int32_t k = 0; k < n; ++k) {
      const std::int32_t first = s.first[s.of[k]];
      ASSERT_TRUE(first <= k && k < s.first[s.of[k] + 1]);
      widest = std::max(widest, k - first + 1);
      EXPECT_LE(k - first, max_width - 1);
      if (k + 1 == n) continue;
      const bool full = k - first + 1 == max_width;
      EXPECT_EQ(s.of[k + 1] == s.of[k], !full && belong_together(*f, k)) << "columns " << k << " and " << k + 1;
    }
  }
  EXPECT_EQ(widest, 7);  // otherwise no case above tested the limit
}

TEST(Supernodes, GiveEveryLaterColumnTheRestOfASupernode) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const auto f = fill_gilbert_peierls(random_matrix(seed, {.n = 40, .density = 0.06}));
    ASSERT_TRUE(f.ok());
    const Supernodes s = find_supernodes(*f, 40);
    for (std::int32_t j = 0; j < f->n; ++j)
      for (std::int64_t p = f->col_ptr[j]; p < f->diag[j]; ++p) {
        const std::int32_t k = f->row_idx[p], end = std::min(j, s.first[s.of[k] + 1]);
        for (std::int32_t later = k; later < end; ++later)
          EXPECT_EQ(f->row_idx[p + later - k], later) << "U(" << later << "," << j << ")";
      }
  }
}

TEST(Supernodes, OfADenseMatrixAreCutAtTheLimit) {
  const auto f = fill_gilbert_peierls(random_matrix(3, {.n = 10, .density = 1.0}));
  ASSERT_TRUE(f.ok());
  EXPECT_EQ(find_supernodes(*f, 4).first, (std::vector<std::int32_t>{0, 4, 8, 10}));
  EXPECT_EQ(find_supernodes(*f, 100).first, (std::vector<std::int32_t>{0, 10}));
}

TEST(Supernodes, NoColumnsFormNone) { EXPECT_EQ(find_supernodes(FilledPattern{}, 8).size(), 0); }

}  // namespace
}  // namespace lulab
