#include <algorithm>
#include <cmath>
#include <span>

#include <gtest/gtest.h>

#include "symbolic/fill.h"
#include "symbolic/rungs.h"
#include "testing/patterns.h"

namespace lulab {
namespace {

// Column j < 1000 has rows j, j + 1, 1000 and 1001, the last column row 0: it fills down the chain. The made-up values
// there shrink by a factor of three from row to row, and are 0 below row 700.
TEST(FillKlu, KeepsEntriesWhoseMadeUpValuesUnderflow) {
  constexpr int n = 1002, last = n - 1;
  ASSERT_EQ(std::pow(1 / 3.0, 700), 0);
  const CscPattern b = testing::pattern_of(
      n, [](int i, int j) { return i == j || (j < 1000 && (i == j + 1 || i >= 1000)) || (j == last && i == 0); });
  const auto expected = fill_reference(b), found = fill_rungs::klu.fill(b, {}, nullptr);
  ASSERT_TRUE(expected.ok() && found.ok());
  ASSERT_EQ(expected->col_ptr[n] - expected->col_ptr[last], n) << "the last column fills";
  EXPECT_EQ(*found, *expected);
}

TEST(FillKlu, RefusesMoreEntriesThanAnIntCounts) {
  constexpr std::int64_t entries = std::int64_t{1} << 31;
  const std::int64_t col_ptr[] = {0, entries};
  const std::int32_t row = 0;  // stands for all: none is read
  const CscPatternView b = {1, 1, col_ptr, std::span(&row, std::size_t{entries})};
  const auto f = fill_rungs::klu.fill(b, {}, nullptr);
  EXPECT_EQ(f.status().code, StatusCode::out_of_memory) << f.status().to_string();
}

}  // namespace
}  // namespace lulab
