#include "symbolic/levels.h"

#include "symbolic/analyze_with_plan.h"
#include "symbolic/fill.h"
#include "testing/matrices.h"

namespace lulab {
namespace {

using testing::random_matrix;

TEST(Levels, AreValidAndAsFewAsPossible) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const auto n = static_cast<std::int32_t>(seed);
    const auto f = fill_gilbert_peierls(random_matrix(seed, {.n = n, .density = 1.5 / (1 + n)}));
    ASSERT_TRUE(f.ok());
    const Schedule s = levels_left_looking(*f);
    ASSERT_EQ(s.level_of.size(), seed);
    for (std::int32_t j = 0; j < n; ++j) {
      bool has_parent_in_level_before = s.level_of[j] == 0;  // if true, no schedule can place j earlier
      for (std::int64_t p = f->col_ptr[j]; p < f->diag[j]; ++p) {
        EXPECT_LT(s.level_of[f->row_idx[p]], s.level_of[j]);
        has_parent_in_level_before = has_parent_in_level_before || s.level_of[f->row_idx[p]] == s.level_of[j] - 1;
      }
      EXPECT_TRUE(has_parent_in_level_before) << "column " << j;
    }
    EXPECT_TRUE(is_permutation(s.level_cols));
    EXPECT_EQ(s.level_ptr.back(), n);
    for (std::int32_t level = 0; level < s.n_levels(); ++level) {
      EXPECT_LT(s.level_ptr[level], s.level_ptr[level + 1]) << "level " << level << " is empty";
      for (std::int64_t k = s.level_ptr[level]; k < s.level_ptr[level + 1]; ++k) {
        EXPECT_EQ(s.level_of[s.level_cols[k]], level);
        if (k > s.level_ptr[level]) {
          EXPECT_LT(s.level_cols[k - 1], s.level_cols[k]);
        }
      }
    }
  }
}

// Where the map of A's entries is made in two threads: above a million entries.
TEST(Levels, TheMapOfALargeAnalysisIsTheSame) {
  const std::int32_t n = 1010;
  CscPattern a{n, n, {0}, {}};
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i)
      if (i >= j || (i + j) % 2 == 0) a.row_idx.push_back(i);  // the rest fills in
    a.col_ptr.push_back(a.nnz());
  }
  const auto analysis = analyze_with_plan(a, Plan::identity(n));
  ASSERT_TRUE(analysis.ok()) << analysis.status().to_string();
  ASSERT_GT(analysis->filled.nnz(), 1'000'000);
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int64_t s = a.col_ptr[j]; s < a.col_ptr[j + 1]; ++s) {
      const std::int64_t place = analysis->a_to_filled[s];
      ASSERT_GE(place, analysis->filled.col_ptr[j]);
      ASSERT_LT(place, analysis->filled.col_ptr[j + 1]);
      ASSERT_EQ(analysis->filled.row_idx[place], a.row_idx[s]);
    }
}

TEST(Levels, NoColumnsHaveNoLevels) { EXPECT_EQ(levels_left_looking(FilledPattern{}).n_levels(), 0); }

}  // namespace
}  // namespace lulab
