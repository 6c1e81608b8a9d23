#include "symbolic/bitmap_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lulab {
namespace {

/// Chains of a random forest in postorder, as DeviceTree::chains() gives them.
std::vector<TreeChain> random_chains(std::int32_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<TreeChain> chains(count);
  std::vector<std::int32_t> open;  // without a parent so far
  std::int32_t node = 0;
  for (std::int32_t c = 0; c < count; ++c) {
    chains[c] = {.node = {}, .first = node, .next = no_parent, .parent_bits = 0, .leaf = 1};
    node += 1 + static_cast<std::int32_t>(random() % 5);
    chains[c].node.last = node - 1;
    chains[c].node.words = 1 + static_cast<std::int32_t>(random() % 7);
    for (auto children = random() % 4; children > 0 && !open.empty(); --children) {
      chains[open.back()].next = c;
      chains[c].leaf = 0;
      open.pop_back();
    }
    open.push_back(c);
  }
  return chains;
}

std::int64_t words_of(const TreeChain& chain) {
  return std::int64_t{chain.node.words} * (chain.node.last - chain.first + 1);
}

TEST(BitmapGroups, KeepWhatIsNeededAtOnceApart) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto chains = random_chains(static_cast<std::int32_t>(1 + seed), seed);
    std::int64_t all = 0;
    for (const TreeChain& chain : chains) all += words_of(chain);
    const std::int64_t least = group_bitmaps(chains, 0).words;
    EXPECT_LE(least, all);
    for (const std::int64_t allowed : {all, (all + least) / 2, least + 1, least}) {
      if (allowed < least) continue;
      SCOPED_TRACE(seed);
      const BitmapGroups g = group_bitmaps(chains, allowed);
      EXPECT_LE(g.words, allowed);
      EXPECT_EQ(g.groups.size() > 1, allowed < all);
      ASSERT_EQ(g.begins.size(), chains.size());
      std::int32_t next = 0;
      for (const auto& [first, last] : g.groups) {
        EXPECT_EQ(first, next);
        ASSERT_LT(first, last);
        next = last;
        // Words of the group's chains and of the top's; each chain above one of the group is of the group, or the top.
        std::vector<int> used(g.words, 0);
        for (std::int32_t c = 0; c < std::ssize(chains); ++c) {
          const bool is_top = g.begins[c] < g.top_words, inside = c >= first && c < last;
          if (!is_top && !inside) continue;
          for (std::int64_t w = g.begins[c]; w < g.begins[c] + words_of(chains[c]); ++w) ++used.at(w);
          const std::int32_t above = chains[c].next;
          if (above == no_parent) continue;
          const bool above_is_top = g.begins[above] < g.top_words;
          EXPECT_TRUE(above_is_top || (!is_top && above < last)) << "chain " << c;
        }
        EXPECT_LE(std::ranges::max(used), 1);
        EXPECT_GE(g.begins[first], first == 0 ? 0 : g.top_words) << "a group begins with a chain of the top";
      }
      EXPECT_EQ(next, std::ssize(chains));
    }
    EXPECT_EQ(group_bitmaps(chains, least - 1).words, least);
  }
}

}  // namespace
}  // namespace lulab
