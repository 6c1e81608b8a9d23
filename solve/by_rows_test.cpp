#include "solve/by_rows.h"

#include <gtest/gtest.h>

#include "testing/dense_elimination.h"

namespace lulab {
namespace {

TEST(ByRows, PointsEachEntryOfARowToItsPlaceInA) {
  const auto a = testing::random_dominant(25, 0.2, 3);
  const auto rows = by_rows(a.pattern());
  EXPECT_TRUE(check_sorted(rows.pattern()).ok());
  ASSERT_EQ(rows.nnz(), a.nnz());
  std::vector<int> seen(a.nnz(), 0);
  for (std::int32_t i = 0; i < rows.n_cols; ++i)
    for (std::int64_t k = rows.col_ptr[i]; k < rows.col_ptr[i + 1]; ++k) {
      const std::int64_t place = rows.values[k];
      const std::int32_t j = rows.row_idx[k];
      ASSERT_TRUE(place >= a.col_ptr[j] && place < a.col_ptr[j + 1]);
      EXPECT_EQ(a.row_idx[place], i);
      ++seen[place];
    }
  for (const int times : seen) EXPECT_EQ(times, 1);
}

TEST(ByRows, AreTheSameForAnyNumberOfThreads) {
  const auto a = testing::random_dominant(25, 0.2, 3);
  for (const int threads : {2, 3, 7, 40}) EXPECT_EQ(by_rows(a.pattern(), threads), by_rows(a.pattern())) << threads;
}

TEST(ByRows, OfNothingHasNoRows) {
  for (const int threads : {1, 3}) EXPECT_EQ(by_rows(CscPattern(), threads).col_ptr, std::vector<std::int64_t>{0});
}

}  // namespace
}  // namespace lulab
