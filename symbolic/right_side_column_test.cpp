#include "symbolic/right_side_column.h"

#include <string>

#include <gtest/gtest.h>

#include "testing/patterns.h"

namespace lulab {
namespace {

TEST(RightSideColumn, FollowsLAndUAndIsFull) {
  for (const auto& [name, f, before] : testing::random_patterns(30)) {
    SCOPED_TRACE(name);
    std::vector<std::int64_t> a_to_filled = f.diag;  // of some A
    const RightSideColumn made = with_right_side(f, a_to_filled);
    const FilledPattern& g = made.filled;
    ASSERT_EQ(g.n, f.n + 1);
    ASSERT_EQ(g.nnz(), f.nnz() + f.n + 1);
    EXPECT_TRUE(std::equal(f.col_ptr.begin(), f.col_ptr.end(), g.col_ptr.begin()));
    EXPECT_EQ(g.col_ptr.back(), g.nnz());
    EXPECT_TRUE(std::equal(f.row_idx.begin(), f.row_idx.end(), g.row_idx.begin()));
    EXPECT_TRUE(std::equal(f.diag.begin(), f.diag.end(), g.diag.begin()));
    EXPECT_EQ(g.diag.back(), g.nnz() - 1);
    ASSERT_EQ(made.a_to_filled.size(), a_to_filled.size() + f.n + 1);
    EXPECT_TRUE(std::equal(a_to_filled.begin(), a_to_filled.end(), made.a_to_filled.begin()));
    for (std::int32_t i = 0; i <= f.n; ++i) {
      EXPECT_EQ(g.row_idx[f.nnz() + i], i);
      EXPECT_EQ(made.a_to_filled[a_to_filled.size() + i], f.nnz() + i);
    }
  }
}

}  // namespace
}  // namespace lulab
