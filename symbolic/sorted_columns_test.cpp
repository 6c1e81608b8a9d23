#include "symbolic/sorted_columns.h"

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace lulab {
namespace {

/// Rows in any order: in each column the diagonal, random ones, and some at the borders of words of bits.
CscPattern shuffled_pattern(std::int32_t n, std::uint64_t seed) {
  constexpr std::array<std::int32_t, 7> borders = {0, 31, 63, 64, 4095, 4096, 8191};
  std::mt19937_64 random(seed);
  CscPattern a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    std::set<std::int32_t> rows = {j};
    const std::uint64_t more = j % 97 == 0 ? n / 2 : random() % 40;
    for (std::uint64_t k = 0; k < more; ++k) rows.insert(static_cast<std::int32_t>(random() % n));
    for (const std::int32_t row : borders)
      if (row < n && random() % 2 == 0) rows.insert(row);
    const auto first = a.row_idx.insert(a.row_idx.end(), rows.begin(), rows.end());
    std::shuffle(first, a.row_idx.end(), random);
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

TEST(SortedColumns, HasTheSameRowsAscendingByAnyNumberOfThreads) {
  for (const std::int32_t n : {0, 1, 2, 63, 64, 65, 300, 4097, 9000})
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(::testing::Message() << n << " columns, " << threads << " threads");
      const CscPattern a = shuffled_pattern(n, 7 + static_cast<std::uint64_t>(n));
      const FilledPattern f = sorted_columns(a, threads);
      ASSERT_EQ(f.n, n);
      ASSERT_EQ(f.col_ptr, a.col_ptr);
      ASSERT_EQ(f.nnz(), a.nnz());
      ASSERT_EQ(std::ssize(f.diag), n);
      for (std::int32_t j = 0; j < n; ++j) {
        std::vector<std::int32_t> want(a.row_idx.begin() + a.col_ptr[j], a.row_idx.begin() + a.col_ptr[j + 1]);
        std::ranges::sort(want);
        ASSERT_TRUE(std::equal(want.begin(), want.end(), f.row_idx.begin() + f.col_ptr[j])) << j;
        ASSERT_EQ(f.row_idx[f.diag[j]], j);
      }
    }
}

}  // namespace
}  // namespace lulab
