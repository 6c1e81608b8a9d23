#include "preprocess/btf.h"

#include "preprocess/matching.h"
#include "preprocess/test_matrices.h"

namespace lulab {
namespace {

using testing::random_matrix;

// Which diagonal block row or column k of A(p,q) lies in.
std::vector<std::int32_t> block_of(const BlockTriangularForm& form, std::int32_t n) {
  std::vector<std::int32_t> block(n, -1);
  for (std::int32_t b = 0; b < form.n_blocks(); ++b)
    for (std::int32_t k = form.block_ptr[b]; k < form.block_ptr[b + 1]; ++k) block[k] = b;
  return block;
}

// Is every vertex of columns [lo, hi) reachable from lo, following entries inside the block?
bool all_reachable(const CscPattern& b, std::int32_t lo, std::int32_t hi) {
  std::vector<std::int32_t> stack = {lo};
  std::vector<bool> seen(hi - lo, false);
  seen[0] = true;
  std::int32_t count = 1;
  while (!stack.empty()) {
    const std::int32_t j = stack.back();
    stack.pop_back();
    for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) {
      const std::int32_t i = b.row_idx[k];
      if (i < lo || i >= hi || seen[i - lo]) continue;
      seen[i - lo] = true;
      ++count;
      stack.push_back(i);
    }
  }
  return count == hi - lo;
}

void expect_block_triangular(const CscPattern& a, const BlockTriangularForm& form) {
  ASSERT_TRUE(is_permutation(form.p));
  ASSERT_TRUE(is_permutation(form.q));
  ASSERT_EQ(form.p.size(), a.n_rows);
  ASSERT_EQ(form.q.size(), a.n_cols);
  EXPECT_EQ(form.block_ptr.front(), 0);
  EXPECT_EQ(form.block_ptr.back(), a.n_cols);
  const CscPattern b = permute(CscPatternView(a), form.p, form.q);
  const CscPattern bt = transpose(b);
  const std::vector<std::int32_t> block = block_of(form, a.n_cols);
  for (std::int32_t j = 0; j < b.n_cols; ++j) {
    bool diagonal = false;
    for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) {
      EXPECT_LE(block[b.row_idx[k]], block[j]);
      diagonal = diagonal || b.row_idx[k] == j;
    }
    EXPECT_TRUE(diagonal) << "column " << j;
  }
  for (std::int32_t s = 0; s < form.n_blocks(); ++s) {
    const std::int32_t lo = form.block_ptr[s], hi = form.block_ptr[s + 1];
    EXPECT_TRUE(all_reachable(b, lo, hi) && all_reachable(bt, lo, hi)) << "block " << s << " could be split";
  }
}

TEST(BlockTriangularForm, HasNothingBelowItsBlocksAndCannotBeSplit) {
  std::int32_t several = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const std::int32_t n = static_cast<std::int32_t>(seed % 70);
    const auto a = random_matrix(seed, {.n = n, .density = 1.2 / (1 + n), .full_rank = true});
    const auto form = block_triangular_form(a);
    ASSERT_TRUE(form.ok()) << form.status().to_string();
    expect_block_triangular(a, *form);
    several += form->n_blocks() > 1 && form->n_blocks() < n;
  }
  EXPECT_GT(several, 100);
}

TEST(BlockTriangularForm, StructurallySingularNamesWhatCannotBeMatched) {
  int singular = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto a = random_matrix(seed, {.n = 30, .density = 0.05});
    const std::vector<std::int32_t> rows = maximum_matching(a);
    const auto unmatched = static_cast<std::size_t>(std::count(rows.begin(), rows.end(), -1));
    const auto form = block_triangular_form(a);
    EXPECT_EQ(form.ok(), unmatched == 0);
    if (form.ok()) continue;
    ++singular;
    EXPECT_EQ(form.status().code, StatusCode::structurally_singular);
    EXPECT_EQ(form.status().where.rows.size(), unmatched);
    EXPECT_EQ(form.status().where.columns.size(), unmatched);
  }
  EXPECT_GT(singular, 20);
}

TEST(BlockTriangularForm, SharedMatrices) {
  int seen = 0;
  for (const char* name : {"circuit_1", "west0479", "rajat19", "fpga_dcop_01", "mna5_A", "bp_1000", "gre_115"}) {
    SCOPED_TRACE(name);
    const auto a = testing::read_shared(name);
    if (!a) continue;
    ++seen;
    const auto form = block_triangular_form(*a);
    ASSERT_TRUE(form.ok()) << form.status().to_string();
    expect_block_triangular(*a, *form);
  }
  if (seen == 0) GTEST_SKIP() << "the shared matrices are not here";
}

}  // namespace
}  // namespace lulab
