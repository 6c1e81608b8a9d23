#include "preprocess/btf.h"

#include "preprocess/matching.h"
#include "preprocess/ordering.h"
#include "testing/matrices.h"

namespace lulab {
namespace {

using testing::random_matrix;

// The diagonal block that holds row or column k of A(p,q).
std::vector<std::int32_t> block_of(const BlockTriangularForm& form, std::int32_t n) {
  std::vector<std::int32_t> block(n, -1);
  for (std::int32_t b = 0; b < form.n_blocks(); ++b)
    for (std::int32_t k = form.block_ptr[b]; k < form.block_ptr[b + 1]; ++k) block[k] = b;
  return block;
}

// Whether every vertex of columns [lo, hi) is reachable from lo through entries inside the block.
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

// Block lower triangular, one component after the other, each in the order that the ordering gives it alone.
void expect_block_lower(const CscPattern& a, const BlockTriangularForm& components, const Permutation& q) {
  ASSERT_TRUE(is_permutation(q));
  ASSERT_EQ(q.size(), a.n_cols);
  const CscPattern b = permute(CscPatternView(a), q, q);
  std::vector<std::int32_t> component(a.n_cols, -1);
  for (std::int32_t s = 0; s < components.n_blocks(); ++s)
    for (std::int32_t k = components.block_ptr[s]; k < components.block_ptr[s + 1]; ++k) component[components.q[k]] = s;
  std::int32_t changes = 0;
  for (std::int32_t k = 0; k < a.n_cols; ++k) {
    if (k > 0) changes += component[q[k]] != component[q[k - 1]];
    for (std::int64_t e = b.col_ptr[k]; e < b.col_ptr[k + 1]; ++e)
      if (b.row_idx[e] < k) {
        EXPECT_EQ(component[q[b.row_idx[e]]], component[q[k]]) << "above the blocks";
      }
  }
  EXPECT_EQ(changes, std::max(components.n_blocks() - 1, 0));
}

TEST(StrongComponents, AreTheBlocksOfAMatchedMatrix) {
  std::int32_t several = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const std::int32_t n = static_cast<std::int32_t>(seed % 70);
    const auto a = random_matrix(seed, {.n = n, .density = 1.2 / (1 + n), .full_rank = true});
    const auto matching = maximum_product_matching(a);
    ASSERT_TRUE(matching.ok());
    const CscPattern b = permute(a.pattern().view(), matching->row_of_column, identity_permutation(n));
    const auto form = block_triangular_form(b), components = strong_components(b);
    ASSERT_TRUE(form.ok() && components.ok());
    EXPECT_EQ(components->p, components->q);
    expect_block_triangular(b, *components);
    EXPECT_EQ(components->n_blocks(), form->n_blocks());
    EXPECT_EQ(components->biggest(), form->biggest());
    several += components->n_blocks() > 1 && components->n_blocks() < n;
    for (const auto inside : {amd_order, metis_order}) {
      const auto q = block_order(b, *components, inside);
      ASSERT_TRUE(q.ok()) << q.status().to_string();
      expect_block_lower(b, *components, *q);
    }
  }
  EXPECT_GT(several, 100);
}

TEST(StrongComponents, TakeAnyDiagonal) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto a = random_matrix(seed, {.n = 40, .density = 0.03, .zero_diagonal = 0.9});
    const auto components = strong_components(a);
    ASSERT_TRUE(components.ok());
    const auto q = block_order(a, *components, amd_order);
    ASSERT_TRUE(q.ok());
    expect_block_lower(a, *components, *q);
  }
}

TEST(BlockOrder, OrdersEachBlockAsIfItWereAlone) {
  // Two grids with interleaved numbers, and entries that lead from the second to the first.
  const auto grid = testing::grid_matrix(12, 3);
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  for (std::int32_t j = 0; j < 144; ++j)
    for (std::int64_t e = grid.col_ptr[j]; e < grid.col_ptr[j + 1]; ++e)
      for (const std::int32_t which : {0, 1})
        rows.push_back(2 * grid.row_idx[e] + which), columns.push_back(2 * j + which), values.push_back(1);
  for (const std::int32_t k : {3, 77, 101}) rows.push_back(2 * k), columns.push_back(2 * k + 1), values.push_back(1);
  const auto a = from_triplets<double>(288, 288, rows, columns, values);
  const auto components = strong_components(a);
  ASSERT_TRUE(components.ok());
  ASSERT_EQ(components->n_blocks(), 2);
  EXPECT_EQ(components->biggest(), 144);
  for (const auto inside : {amd_order, metis_order}) {
    const auto q = block_order(a, *components, inside), alone = inside(grid);
    ASSERT_TRUE(q.ok() && alone.ok());
    Permutation expected;
    for (const std::int32_t which : {1, 0})
      for (const std::int32_t k : *alone) expected.push_back(2 * k + which);
    EXPECT_EQ(*q, expected);
  }
}

TEST(BlockOrder, PassesErrorsOn) {
  const auto a = testing::grid_matrix(4, 1);
  const auto components = strong_components(a);
  ASSERT_TRUE(components.ok());
  const auto q = block_order(a, *components, [](CscPatternView) -> Result<Permutation> {
    return Status::error(StatusCode::out_of_memory, "none left");
  });
  EXPECT_EQ(q.status().code, StatusCode::out_of_memory);
  EXPECT_EQ(strong_components(CscPattern{1, 2, {0, 1, 2}, {0, 0}}).status().code, StatusCode::invalid_argument);
  EXPECT_EQ(strong_components(CscPattern{2, 2, {0, 2, 3}, {1, 0, 1}}).status().code, StatusCode::invalid_argument);
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

TEST(BlockOrder, IsOneOnlyWithWholeBlocksInTheirOrder) {
  CscPattern a;  // blocks {0, 2}, {1}, {3, 4}; entries (1,0) and (3,1)
  a.n_rows = a.n_cols = 5;
  a.col_ptr = {0, 3, 5, 7, 9, 11};
  a.row_idx = {0, 1, 2, 1, 3, 0, 2, 3, 4, 3, 4};
  const auto components = strong_components(a);
  ASSERT_TRUE(components.ok());
  ASSERT_EQ(components->n_blocks(), 3);
  const auto is_one = [&](const Permutation& order) { return is_block_order(a, *components, order); };
  EXPECT_TRUE(is_one({0, 2, 1, 3, 4}));
  EXPECT_TRUE(is_one({2, 0, 1, 4, 3}));
  EXPECT_FALSE(is_one({0, 1, 2, 3, 4})) << "a block in two parts";
  EXPECT_FALSE(is_one({1, 0, 2, 3, 4})) << "an entry above the blocks";
  EXPECT_FALSE(is_one({3, 4, 1, 0, 2}));
  EXPECT_TRUE(is_one(*block_order(
      a, *components, [](CscPatternView b) -> Result<Permutation> { return identity_permutation(b.n_cols); })));
}

}  // namespace
}  // namespace lulab
