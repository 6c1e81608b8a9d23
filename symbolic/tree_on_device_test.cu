#include "symbolic/tree_on_device.h"

#include <algorithm>

#include "preprocess/graph_reduction.h"
#include "symbolic/relaxed_supernodes.h"
#include "testing/launch.h"
#include "testing/patterns.h"
#include "testing/torn_atomics.h"

namespace lulab {
namespace {

using testing::pattern_of;
using testing::random_matrix;

/// The definition: node k and every node of its subtree, all between the smallest of them and k.
bool is_postordered(const std::vector<std::int32_t>& parent) {
  const auto n = static_cast<std::int32_t>(parent.size());
  std::vector<std::int32_t> smallest(n), size(n, 1);
  for (std::int32_t k = 0; k < n; ++k) smallest[k] = k;
  for (std::int32_t k = 0; k < n; ++k) {
    if (k - smallest[k] + 1 != size[k]) return false;
    if (parent[k] < 0) continue;
    smallest[parent[k]] = std::min(smallest[parent[k]], smallest[k]);
    size[parent[k]] += size[k];
  }
  return true;
}

std::int64_t entries_without_mirror(const CscPattern& b) {
  const CscPattern mirrored = transpose(b);
  std::int64_t count = 0;
  for (std::int32_t j = 0; j < b.n_cols; ++j)
    for (std::int64_t s = b.col_ptr[j]; s < b.col_ptr[j + 1]; ++s)
      count += !std::binary_search(mirrored.row_idx.begin() + mirrored.col_ptr[j],
                                   mirrored.row_idx.begin() + mirrored.col_ptr[j + 1], b.row_idx[s]);
  return count;
}

void expect_the_tree(const CscPattern& b, bool& postordered) {
  CscPattern graph = symmetrized_graph(b);  // has no diagonal; fill has
  auto parent = elimination_tree(*fill_reference(graph));
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  simt::Scratch scratch;
  const auto d_b = PatternOnDevice::create(b, *stream);
  LULAB_ASSERT_OK(d_b);
  auto tree = DeviceTree::create(b.n_cols, b.nnz());
  LULAB_ASSERT_OK(tree);
  for (int round = 0; round < 2; ++round) {  // memory is used again
    LULAB_ASSERT_OK(tree->enqueue(d_b->view(), scratch, *stream));
    const auto found = tree->parents(*stream);
    const auto sizes = tree->sizes(*stream);
    LULAB_ASSERT_OK(found);
    LULAB_ASSERT_OK(sizes);
    std::int64_t words = 0;
    std::int32_t chains = 0, most_words = 0;
    std::vector<std::int32_t> depth(b.n_cols, 0), above(b.n_cols, 0);
    std::int32_t most_above = 0;
    for (std::int32_t k = b.n_cols - 1; k >= 0; --k) {
      EXPECT_EQ((*found)[k], parent[k] < 0 ? no_parent : parent[k]) << "node " << k;
      if (parent[k] >= 0) depth[k] = depth[parent[k]] + 1;
      if (parent[k] >= 0) above[k] = above[parent[k]] + (parent[k] != k + 1);
      most_above = std::max(most_above, above[k]);
    }
    std::int32_t of_chain = 0;
    for (std::int32_t k = 0; k < b.n_cols; ++k) {
      if (k == 0 || parent[k - 1] != k) ++chains, of_chain = std::max(1, (depth[k] + 31) / 32);
      words += of_chain;
      most_words = std::max(most_words, of_chain);
    }
    EXPECT_EQ(sizes->chains, chains);
    EXPECT_EQ(sizes->words, words);
    EXPECT_EQ(sizes->most_words, most_words);
    EXPECT_EQ(sizes->most_above, most_above);
    EXPECT_EQ(sizes->not_postordered == 0, is_postordered(parent));
    EXPECT_EQ(sizes->unsymmetric, entries_without_mirror(b));
  }
  postordered = is_postordered(parent);
}

TEST(DeviceTree, OfRandomPatternsUnderEverySchedule) {
  LULAB_NEED_DEVICE();
  int postordered = 0;
  const int count = simt::race_detection ? 40 : 240;
  for (int seed = 0; seed < count; ++seed) {
    const simt::SimulatorScope scope({.seed = std::uint64_t(seed + 1), .resident_blocks = seed % 3});
    const std::int32_t n = 1 + seed % 60;
    bool ordered = false;
    const double per_column = seed % 4 == 0 ? 0.2 : 1 + seed % 5;  // forests, and trees with long paths
    expect_the_tree(random_matrix(seed, {.n = n, .density = per_column / (1 + n)}).pattern(), ordered);
    postordered += ordered;
  }
  EXPECT_GT(postordered, count / 20);
  EXPECT_LT(postordered, count - count / 20);
}

TEST(DeviceTree, OfPathsStarsAndNoEntry) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    bool ordered = false;
    expect_the_tree(pattern_of(40, [](int, int) { return false; }), ordered);
    EXPECT_TRUE(ordered);
    expect_the_tree(pattern_of(300, [](int i, int j) { return i == j + 1; }), ordered);
    EXPECT_TRUE(ordered);
    expect_the_tree(pattern_of(70, [](int i, int j) { return i == 69 || i == j; }), ordered);
    EXPECT_TRUE(ordered);
    // Every other node is a leaf of the node two further on.
    expect_the_tree(pattern_of(61, [](int i, int j) { return i == j + 2 || (i == 60 && j == 59); }), ordered);
    EXPECT_FALSE(ordered);
  }
}

/// Whether some schedule gives another tree, or other sizes of it.
bool tree_is_wrong() {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const std::int32_t n = seed % 2 == 0 ? 60 : 120;  // also of several words
    const CscPattern b = random_matrix(seed, {.n = n, .density = 2.0 / n}).pattern();
    const auto parent = elimination_tree(*fill_reference(symmetrized_graph(b)));
    std::vector<std::int32_t> depth(n, 0), above(n, 0);
    for (std::int32_t k = n - 1; k >= 0; --k) {
      if (parent[k] < 0) continue;
      depth[k] = depth[parent[k]] + 1;
      above[k] = above[parent[k]] + (parent[k] != k + 1);
    }
    const simt::SimulatorScope scope({.seed = seed});
    auto stream = simt::Stream::create();
    simt::Scratch scratch;
    const auto d_b = PatternOnDevice::create(b, *stream);
    auto tree = DeviceTree::create(n, b.nnz());
    if (!d_b.ok() || !tree->enqueue(d_b->view(), scratch, *stream).ok()) return true;
    const auto found = tree->parents(*stream);
    const auto sizes = tree->sizes(*stream);
    if (!found.ok() || !sizes.ok()) return true;
    for (std::int32_t k = 0; k < n; ++k)
      if ((*found)[k] != (parent[k] < 0 ? no_parent : parent[k])) return true;
    std::vector<TreeChain> chains(sizes->chains);
    if (!simt::copy_to_host(chains.data(), tree->view().chain, sizeof(chains[0]) * chains.size(), *stream).ok() ||
        !stream->wait().ok())
      return true;
    std::vector<std::int32_t> children(sizes->chains), expected(sizes->chains, 0);
    for (const TreeChain& c : chains)
      if (c.next != no_parent) ++expected[c.next];
    if (!simt::copy_to_host(children.data(), tree->view().children, 4 * children.size(), *stream).ok() ||
        !stream->wait().ok() || children != expected)
      return true;
    if (sizes->most_above != *std::ranges::max_element(above)) return true;
    if (sizes->most_words != std::max(1, (*std::ranges::max_element(depth) + 31) / 32)) return true;
    if ((sizes->not_postordered == 0) != is_postordered(parent)) return true;
    if (sizes->unsymmetric != entries_without_mirror(b)) return true;
  }
  return false;
}

TEST(DeviceTree, EachAtomicThatIsTornIsSeen) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  const auto atomics = testing::tear_each_atomic(tree_is_wrong);
  EXPECT_EQ(atomics.met.size(), 7u);  // parents, two of hints, children, three of TreeSizes
  for (const std::string& place : atomics.unnoticed)
    // RACE: a hint only saves time; of a flag all write 1: torn, they write the same
    EXPECT_TRUE(simt::contains(place, "Node(hint[v]).store(") || simt::contains(place, "Node(flag).store(1, "))
        << place;
}

}  // namespace
}  // namespace lulab
