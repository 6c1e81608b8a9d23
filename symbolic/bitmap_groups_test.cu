#include "symbolic/bitmap_groups.h"

#include <algorithm>
#include <optional>
#include <random>

#include "testing/launch.h"
#include "testing/patterns.h"
#include "testing/torn_atomics.h"

namespace lulab {
namespace {

/// A pattern whose elimination tree is a random forest in postorder.
CscPattern random_forest(std::int32_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int32_t> parent(n, -1), open;  // open: without a parent so far
  for (std::int32_t k = 0; k < n; ++k) {
    const auto most = random() % 8 == 0 ? 3 : 1;  // children: mostly long chains
    for (auto children = random() % 8 == 0 ? 0 : most; children > 0 && !open.empty(); --children) {
      parent[open.back()] = k;
      open.pop_back();
    }
    open.push_back(k);
  }
  return testing::pattern_of(n, [&](int i, int j) { return i == j || parent[j] == i; });
}

/// A tree on the device, in chains of at most so many nodes.
struct Chains {
  std::optional<simt::Stream> stream;
  simt::Workspace work;
  std::optional<DeviceTree> tree;
  TreeSizes sizes;

  Status create(const CscPattern& b, std::int32_t longest) {
    LULAB_ASSIGN_OR_RETURN(stream, simt::Stream::create());
    LULAB_ASSIGN_OR_RETURN(const auto d_b, PatternOnDevice::create(b, *stream));
    LULAB_ASSIGN_OR_RETURN(tree, DeviceTree::create(b.n_cols, b.nnz()));
    LULAB_RETURN_IF_ERROR(tree->enqueue(d_b.view(), work.primitives, *stream));
    LULAB_RETURN_IF_ERROR(tree->cut_into_chains(longest, work.primitives, *stream));
    LULAB_ASSIGN_OR_RETURN(sizes, tree->sizes(*stream));
    return {};
  }
  Result<std::vector<TreeChain>> chains() {
    std::vector<TreeChain> chains(sizes.chains);
    LULAB_RETURN_IF_ERROR(
        simt::copy_to_host(chains.data(), tree->view().chain, sizeof(chains[0]) * chains.size(), *stream));
    LULAB_RETURN_IF_ERROR(stream->wait());
    return chains;
  }
  Result<std::vector<std::int64_t>> begins() {
    std::vector<std::int64_t> begins(sizes.chains);
    LULAB_RETURN_IF_ERROR(simt::copy_to_host(begins.data(), tree->begins(), 8 * begins.size(), *stream));
    LULAB_RETURN_IF_ERROR(stream->wait());
    return begins;
  }
};

struct AtOnce {
  std::int64_t words, top_words;
  std::int32_t groups;
};

AtOnce reference_of_neighbours(const std::vector<TreeChain>& chains, std::int64_t allowed) {
  AtOnce best = {.words = 0, .top_words = 0, .groups = 0};
  for (const TreeChain& chain : chains) best.words = std::max(best.words, chain.all_words());
  if (best.words > allowed) return best;
  std::int64_t used = 0;
  best.groups = 1;
  for (const TreeChain& chain : chains) {
    if (used + chain.all_words() > allowed) ++best.groups, used = 0;
    used += chain.all_words();
    best.words = std::max(best.words, used);
  }
  return best;
}

/// The rule, by whole passes over the chains for each limit.
AtOnce reference(const std::vector<TreeChain>& chains, bool whole_subtrees, std::int64_t allowed) {
  if (!whole_subtrees) return reference_of_neighbours(chains, allowed);
  const auto count = static_cast<std::int32_t>(chains.size());
  std::vector<std::int64_t> below(count);
  std::vector<std::int32_t> root(count);
  std::int64_t all = 0;
  for (std::int32_t c = 0; c < count; ++c) {
    below[c] += chains[c].all_words();
    all += chains[c].all_words();
    if (chains[c].next != no_parent) below[chains[c].next] += below[c];
  }
  std::int64_t limit = all;
  AtOnce best = {.words = all, .top_words = 0, .groups = 0};
  for (std::int64_t part = all; part > 0 && best.words > allowed; part /= 2) {
    std::int64_t top = 0, largest = 0;
    for (std::int32_t c = 0; c < count; ++c)
      if (below[c] > part)
        top += chains[c].all_words();
      else
        largest = std::max(largest, below[c]);
    if (top + largest >= best.words) continue;
    best = {.words = top + largest, .top_words = top, .groups = 0};
    limit = part;
  }
  if (best.words > allowed) return best;
  std::int64_t used = 0, most = 0;
  best.groups = 1;
  for (std::int32_t c = 0; c < count; ++c) {
    const std::int32_t up = chains[c].next;
    if (below[c] > limit || (up != no_parent && below[up] <= limit)) continue;
    if (used > 0 && best.top_words + used + below[c] > allowed) ++best.groups, used = 0;
    used += below[c];
    most = std::max(most, used);
  }
  best.words = best.top_words + most;
  return best;
}

/// Each group's chains and the top have words of their own; the next chain of one of a group is in it, or of the top.
/// before: with the next chains of the whole tree
void expect_words_apart(const BitmapGroups& g, bool whole_subtrees, const std::vector<TreeChain>& before,
                        const std::vector<TreeChain>& chains, const std::vector<std::int64_t>& begins) {
  const auto count = static_cast<std::int32_t>(chains.size());
  EXPECT_EQ(g.groups.front().first_chain, 0);
  EXPECT_EQ(g.groups.back().first_chain, count);
  EXPECT_EQ(g.groups.back().first_node, chains.back().node.last + 1);
  for (std::int64_t k = 0; k < g.size(); ++k) {
    const std::int32_t first = g.groups[k].first_chain, last = g.groups[k + 1].first_chain;
    ASSERT_LT(first, last);
    EXPECT_EQ(g.groups[k].first_node, chains[first].first);
    std::vector<int> used(g.words, 0);
    for (std::int32_t c = 0; c < count; ++c) {
      const bool is_top = begins[c] < g.top_words, inside = c >= first && c < last;
      if (!is_top && !inside) continue;
      for (std::int64_t w = begins[c]; w < begins[c] + chains[c].all_words(); ++w) ++used.at(w);
      const std::int32_t above = chains[c].next;
      EXPECT_EQ(above, whole_subtrees || before[c].next < last ? before[c].next : no_parent) << "chain " << c;
      if (above == no_parent) continue;
      EXPECT_TRUE(begins[above] < g.top_words || (!is_top && above < last)) << "chain " << c;
    }
    EXPECT_LE(std::ranges::max(used), 1);
    EXPECT_GE(begins[first], k == 0 ? 0 : g.top_words) << "a group begins with a chain of the top";
  }
}

void expect_groups_keep_apart_what_is_needed_at_once(bool whole_subtrees) {
  std::int32_t most_groups = 0, most_chains = 0;
  const int seeds = simt::race_detection ? 8 : simt::instrumented ? 20 : 60;
  for (int seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    const simt::SimulatorScope scope({.seed = std::uint64_t(seed), .resident_blocks = seed % 3});
    const CscPattern b = random_forest(1 + 1200 * seed / seeds, seed);
    const std::int32_t longest = 1 + seed % 7;
    Chains c;
    LULAB_ASSERT_OK(c.create(b, longest));
    ASSERT_EQ(c.sizes.not_postordered, 0);
    const auto chains = c.chains();
    LULAB_ASSERT_OK(chains);
    most_chains = std::max(most_chains, c.sizes.chains);
    const std::int64_t all = c.sizes.words, least = reference(*chains, whole_subtrees, 0).words;
    for (const std::int64_t allowed : {all, all - 1, (all + least) / 2, least + 1, least, least - 1}) {
      SCOPED_TRACE(allowed);
      LULAB_ASSERT_OK(c.create(b, longest));  // one behind the other again
      const auto g = group_bitmaps(*c.tree, c.sizes, whole_subtrees, allowed, c.work, *c.stream);
      LULAB_ASSERT_OK(g);
      const AtOnce expected = reference(*chains, whole_subtrees, allowed);
      EXPECT_EQ(g->words, expected.words);
      EXPECT_EQ(g->top_words, expected.top_words);
      ASSERT_EQ(g->size(), expected.groups);
      if (expected.groups == 0) continue;
      most_groups = std::max(most_groups, expected.groups);
      EXPECT_LE(g->words, allowed);
      const auto begins = c.begins();
      const auto linked = c.chains();
      LULAB_ASSERT_OK(begins);
      LULAB_ASSERT_OK(linked);
      expect_words_apart(*g, whole_subtrees, *chains, *linked, *begins);
    }
  }
  EXPECT_GT(most_groups, 8);
  EXPECT_GT(most_chains, 256);  // of several blocks
}

TEST(BitmapGroups, OfSubtreesKeepApartWhatIsNeededAtOnce) {
  LULAB_NEED_DEVICE();
  expect_groups_keep_apart_what_is_needed_at_once(true);
}

TEST(BitmapGroups, OfNeighboursKeepApartWhatIsNeededAtOnce) {
  LULAB_NEED_DEVICE();
  expect_groups_keep_apart_what_is_needed_at_once(false);
}

// Where a search over 32 places at a time looks twice and more.
TEST(BitmapGroups, OfThousandsOfTrees) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = simt::race_detection ? 1500 : 5000;
  const CscPattern b = testing::pattern_of(n, [](int i, int j) { return i == j; });
  for (const std::int64_t allowed : {1, 2, 7, 33, 1000}) {
    const bool whole_subtrees = allowed % 2 == 0;
    Chains c;
    LULAB_ASSERT_OK(c.create(b, 256));
    const auto g = group_bitmaps(*c.tree, c.sizes, whole_subtrees, allowed, c.work, *c.stream);
    LULAB_ASSERT_OK(g);
    EXPECT_EQ(g->size(), (n + allowed - 1) / allowed);
    EXPECT_EQ(g->words, allowed);
    for (std::int64_t k = 0; k < g->size(); ++k) EXPECT_EQ(g->groups[k].first_node, k * allowed);
  }
}

bool groups_are_wrong() {
  for (int seed = 1; seed <= 6; ++seed) {
    const simt::SimulatorScope scope({.seed = std::uint64_t(seed)});
    const CscPattern b = random_forest(1100 + 40 * seed, seed);
    Chains c;
    if (!c.create(b, 1).ok()) return true;
    const auto chains = c.chains();
    if (!chains.ok()) return true;
    const bool whole_subtrees = true;
    const std::int64_t least = reference(*chains, whole_subtrees, 0).words;
    for (const std::int64_t allowed : {std::int64_t{0}, least, (c.sizes.words + least) / 2}) {
      if (!c.create(b, 1).ok()) return true;
      const auto g = group_bitmaps(*c.tree, c.sizes, whole_subtrees, allowed, c.work, *c.stream);
      const AtOnce expected = reference(*chains, whole_subtrees, allowed);
      if (!g.ok() || g->words != expected.words || g->top_words != expected.top_words || g->size() != expected.groups)
        return true;
    }
  }
  return false;
}

TEST(BitmapGroups, EachAtomicThatIsTornIsSeen) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  const auto atomics = testing::tear_each_atomic(groups_are_wrong);
  // Those of the tree have their own test.
  const auto is_of_groups = [](const std::string& place) { return place.starts_with("bitmap_groups.cu"); };
  EXPECT_EQ(std::ranges::count_if(atomics.met, is_of_groups), 4);  // sum and largest, of a block and of all
  EXPECT_EQ(std::ranges::count_if(atomics.unnoticed, is_of_groups), 0);
}

}  // namespace
}  // namespace lulab
