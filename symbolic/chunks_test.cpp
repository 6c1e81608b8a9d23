#include "symbolic/chunks.h"

#include <algorithm>

#include <gtest/gtest.h>

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

TEST(Chunks, EntriesLeadFromEarlierLayersToLaterOnes) {
  auto patterns = testing::random_patterns(25);
  for (auto& p : testing::generated_patterns(120)) patterns.push_back(std::move(p));
  for (const auto& [name, f, before] : patterns)
    for (const std::int32_t most : {1, 2, 7, 64}) {
      SCOPED_TRACE(name + ", at most " + std::to_string(most));
      const Chunks chunks = find_chunks(f, most);
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
      // Layers are the longest path over the chunks, found by as many sweeps as it is long.
      for (std::int32_t sweep = 0; sweep < chunks.n_layers; ++sweep)
        for_each_entry(f, [&](std::int32_t earlier, std::int32_t later) {
          const std::int32_t a = chunks.of[earlier], b = chunks.of[later];
          if (a != b) longest[b] = std::max(longest[b], longest[a] + 1);
        });
      EXPECT_EQ(longest, chunks.layer);
      EXPECT_EQ(chunks.n_layers, f.n == 0 ? 0 : 1 + *std::ranges::max_element(chunks.layer));
    }
}

TEST(Chunks, OfATreeAreThoseOfASymmetricPattern) {
  int symmetric = 0;
  auto patterns = testing::random_patterns(40);
  for (auto& p : testing::generated_patterns(200)) patterns.push_back(std::move(p));
  for (const auto& [name, f, before] : patterns) {
    std::vector<std::int32_t> parent(f.n, -1);
    std::int64_t below = 0, mirrored = 0;
    for (std::int32_t j = 0; j < f.n; ++j) {
      if (f.diag[j] + 1 < f.col_ptr[j + 1]) parent[j] = f.row_idx[f.diag[j] + 1];
      for (std::int64_t k = f.diag[j] + 1; k < f.col_ptr[j + 1]; ++k, ++below)
        mirrored += std::binary_search(f.row_idx.begin() + f.col_ptr[f.row_idx[k]],
                                       f.row_idx.begin() + f.diag[f.row_idx[k]], j);
    }
    if (mirrored < below || f.nnz() != f.n + 2 * below) continue;
    ++symmetric;
    for (const std::int32_t most : {1, 2, 7, 64}) {
      SCOPED_TRACE(name + ", at most " + std::to_string(most));
      const Chunks expected = find_chunks(f, most), found = chunks_of_tree(parent, most);
      EXPECT_EQ(found.of, expected.of);
      EXPECT_EQ(found.layer, expected.layer);
      EXPECT_EQ(found.n_layers, expected.n_layers);
    }
  }
  EXPECT_GE(symmetric, 5);
}

TEST(Chunks, AChainIsCutIntoAsFewAsCanBe) {
  FilledPattern f;
  f.n = 130;
  for (std::int32_t j = 0; j < f.n; ++j) {
    if (j > 0) f.row_idx.push_back(j - 1);
    f.diag.push_back(f.nnz());
    f.row_idx.push_back(j);
    if (j + 1 < f.n) f.row_idx.push_back(j + 1);
    f.col_ptr.push_back(f.nnz());
  }
  for (const auto& [most, layers] : {std::pair{1, 130}, {2, 65}, {64, 3}, {65, 2}, {200, 1}}) {
    const Chunks chunks = find_chunks(f, most);
    EXPECT_EQ(chunks.n_layers, layers) << most;
    EXPECT_EQ(chunks.size(), layers) << most;
  }
}

}  // namespace
}  // namespace lulab
