#include "symbolic/chunks.h"

#include <algorithm>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "symbolic/fill.h"
#include "symbolic/relaxed_supernodes.h"
#include "testing/analysis.h"
#include "testing/patterns.h"

namespace lulab {
namespace {

/// Both ends of each entry of L+U.
template <class Visit>
void for_each_entry(const FilledPattern& f, const Visit& visit) {
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t k = f.col_ptr[j]; k < f.col_ptr[j + 1]; ++k)
      if (f.row_idx[k] != j) visit(std::min(f.row_idx[k], j), std::max(f.row_idx[k], j));
}

std::vector<std::int32_t> tree_of(const FilledPattern& f) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = f.n;
  a.col_ptr.assign(f.col_ptr.begin(), f.col_ptr.end());
  a.row_idx.assign(f.row_idx.begin(), f.row_idx.end());
  return elimination_tree(*fill_reference(symmetrized_graph(a.pattern())));
}

TEST(Chunks, EntriesLeadFromEarlierLayersToLaterOnes) {
  auto patterns = testing::random_patterns(25);
  for (auto& p : testing::generated_patterns(120)) patterns.push_back(std::move(p));
  for (const auto& [name, f, before] : patterns)
    for (const std::int32_t most : {1, 2, 7, 64}) {
      SCOPED_TRACE(name + ", at most " + std::to_string(most));
      const std::vector<std::int32_t> parent = tree_of(f);
      const Chunks chunks = find_chunks(parent, most);
      ASSERT_EQ(chunks.of.size(), std::size_t(f.n));
      std::vector<std::int32_t> size(chunks.size(), 0), longest(chunks.size(), 0);
      for (const std::int32_t c : chunks.of) {
        ASSERT_TRUE(c >= 0 && c < chunks.size());
        ++size[c];
      }
      for (const std::int32_t s : size) EXPECT_TRUE(s >= 1 && s <= most) << s;
      for_each_entry(f, [&](std::int32_t earlier, std::int32_t later) {
        const std::int32_t a = chunks.of[earlier], b = chunks.of[later];
        EXPECT_TRUE(a == b || chunks.layer[a] < chunks.layer[b]) << earlier << ", " << later;
      });
      // Layers are the longest path over the tree's chunks: a child comes before its parent.
      for (std::int32_t j = 0; j < f.n; ++j) {
        if (parent[j] < 0) continue;
        const std::int32_t a = chunks.of[j], b = chunks.of[parent[j]];
        if (a != b) longest[b] = std::max(longest[b], longest[a] + 1);
      }
      EXPECT_EQ(longest, chunks.layer);
      EXPECT_EQ(chunks.n_layers, f.n == 0 ? 0 : 1 + *std::ranges::max_element(chunks.layer));
    }
}

TEST(Chunks, ByNeedEntriesLeadFromEarlierLayersToLaterOnes) {
  auto patterns = testing::random_patterns(25);
  for (auto& p : testing::generated_patterns(120)) patterns.push_back(std::move(p));
  for (const auto& [name, f, before] : patterns)
    for (const std::int32_t most : {1, 3, 64}) {
      SCOPED_TRACE(name + ", at most " + std::to_string(most));
      const std::vector<std::int32_t> parent = tree_of(f);
      const Chunks by_need = find_chunks_by_need(f, most), chosen = find_chunks(f, parent, most);
      for (const Chunks* chunks : {&by_need, &chosen}) {
        std::vector<std::int32_t> size(chunks->size(), 0);
        for (const std::int32_t c : chunks->of) ++size.at(c);
        for (const std::int32_t s : size) EXPECT_TRUE(s >= 1 && s <= most) << s;
        for_each_entry(f, [&](std::int32_t earlier, std::int32_t later) {
          const std::int32_t a = chunks->of[earlier], b = chunks->of[later];
          EXPECT_TRUE(a == b || chunks->layer[a] < chunks->layer[b]) << earlier << ", " << later;
        });
        EXPECT_EQ(chunks->n_layers, f.n == 0 ? 0 : 1 + *std::ranges::max_element(chunks->layer));
      }
      EXPECT_LE(chosen.n_layers, find_chunks(parent, most).n_layers);
    }
}

// The first row of U is full and L is empty: each column needs the first one alone, but the tree is a chain.
TEST(Chunks, ColumnsThatNeedLessThanTheTreeSaysGoByNeed) {
  constexpr std::int32_t n = 200;
  FilledPattern f;
  f.n = n;
  for (std::int32_t j = 0; j < n; ++j) {
    if (j > 0) f.row_idx.push_back(0);
    f.diag.push_back(f.nnz());
    f.row_idx.push_back(j);
    f.col_ptr.push_back(f.nnz());
  }
  const std::vector<std::int32_t> parent = tree_of(f);
  EXPECT_EQ(find_chunks(parent, 4).n_layers, n / 4);
  EXPECT_EQ(find_chunks_by_need(f, 4).n_layers, 2);
  EXPECT_EQ(find_chunks(f, parent, 4).n_layers, 2);
}

TEST(Chunks, AChainIsCutIntoAsFewAsCanBe) {
  std::vector<std::int32_t> parent(130);
  for (std::int32_t j = 0; j < 130; ++j) parent[j] = j + 1;  // the last one's is no column
  for (const auto& [most, layers] : {std::pair{1, 130}, {2, 65}, {64, 3}, {65, 2}, {200, 1}}) {
    const Chunks chunks = find_chunks(parent, most);
    EXPECT_EQ(chunks.n_layers, layers) << most;
    EXPECT_EQ(chunks.size(), layers) << most;
  }
}

}  // namespace
}  // namespace lulab
