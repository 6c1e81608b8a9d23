#include "symbolic/assembly_tree.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "symbolic/analyze_with_plan.h"
#include "testing/patterns.h"

namespace lulab {
namespace {

constexpr std::int32_t no_tiles = 1 << 20;  // a front is one tile, whatever its size
constexpr FrontCosts merges_all = {.tile = no_tiles, .fixed = 1e15};
constexpr FrontCosts merges_none = {.tile = no_tiles, .fixed = -1e9};
// What no multiply-add is added for.
constexpr FrontCosts merges_equal = {.tile = no_tiles, .fixed = 0, .pivot = 0, .multiply_add = 1, .left_entry = 0};

std::vector<testing::NamedPattern> patterns_of_trees() {
  auto patterns = testing::random_patterns(25);
  for (auto& p : testing::generated_patterns(70)) patterns.push_back(std::move(p));
  for (const std::int32_t n : {0, 1, 2, 70}) {
    for (const bool full : {false, true}) {
      const CscPattern a = testing::pattern_of(n, [&](int i, int j) { return full || i == j; });
      auto analysis = analyze_with_plan(a.view(), Plan::identity(n));
      EXPECT_TRUE(analysis.ok());
      patterns.push_back({full ? "dense" : "diagonal", std::move(analysis->filled), a});
    }
  }
  return patterns;
}

/// Front of each column.
std::vector<std::int32_t> fronts_of_columns(const AssemblyTree& tree) {
  std::vector<std::int32_t> front;
  for (std::int32_t s = 0; s < tree.size(); ++s) front.insert(front.end(), tree.pivots(s), s);
  return front;
}

double cost_of(const AssemblyTree& tree, const FrontCosts& costs) {
  double sum = 0;
  for (std::int32_t s = 0; s < tree.size(); ++s) sum += costs.of(tree.pivots(s), tree.rows(s));
  return sum;
}

void expect_tree_of(const FilledPattern& f, const AssemblyTree& tree) {
  ASSERT_EQ(tree.first.front(), 0);
  ASSERT_EQ(tree.first.back(), f.n);
  ASSERT_EQ(std::ssize(tree.first), tree.size() + 1);
  ASSERT_EQ(std::ssize(tree.others_ptr), tree.size() + 1);
  ASSERT_EQ(tree.others_ptr.front(), 0);
  ASSERT_EQ(tree.others_ptr.back(), std::ssize(tree.others));
  for (std::int32_t s = 0; s < tree.size(); ++s) {
    ASSERT_GE(tree.pivots(s), 1);
    ASSERT_LE(tree.others_ptr[s], tree.others_ptr[s + 1]);
  }
  const auto front = fronts_of_columns(tree);
  for (std::int32_t s = 0; s < tree.size(); ++s) {
    const auto others = tree.others_of(s);
    ASSERT_EQ(tree.rows(s), tree.pivots(s) + std::ssize(others));
    ASSERT_EQ(std::ranges::adjacent_find(others, std::greater_equal<>()), others.end());
    if (others.empty()) {
      ASSERT_EQ(tree.parent[s], -1);
      continue;
    }
    ASSERT_GE(others.front(), tree.first[s + 1]);
    ASSERT_LT(others.back(), f.n);
    const std::int32_t p = tree.parent[s];
    ASSERT_EQ(p, front[others.front()]);
    const auto after_pivots = std::ranges::lower_bound(others, tree.first[p + 1]);
    ASSERT_TRUE(std::ranges::includes(tree.others_of(p), std::ranges::subrange(after_pivots, others.end())));
  }
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p) {
      const auto [k, other] = std::minmax(f.row_idx[p], j);
      const std::int32_t s = front[k];
      ASSERT_TRUE(other < tree.first[s + 1] || std::ranges::binary_search(tree.others_of(s), other))
          << "entry (" << f.row_idx[p] << "," << j << ") lies in no front";
    }
}

TEST(AssemblyTree, FrontsHoldAllEntriesAndLeaveThemToTheirParents) {
  for (const auto& [name, f, before] : patterns_of_trees())
    for (const RelaxationOptions& o : {RelaxationOptions{}, RelaxationOptions{1, 1, 1}, RelaxationOptions{40, 8, 1e9}})
      for (const FrontCosts& costs : {FrontCosts{}, merges_all, merges_none, merges_equal}) {
        SCOPED_TRACE(name);
        expect_tree_of(f, find_assembly_tree(f, find_relaxed_supernodes(f, o), costs));
        if (HasFailure()) return;
      }
}

TEST(AssemblyTree, PanelsJoinAlikeForAnyNumberOfThreads) {
  int joined = 0;
  for (const auto& [name, f, before] : patterns_of_trees()) {
    SCOPED_TRACE(name);
    const AssemblyTree panels = find_assembly_tree(f, find_relaxed_supernodes(f, {1, 1, 1}), merges_none);
    std::vector<std::int32_t> n_others;
    for (std::int32_t s = 0; s < panels.size(); ++s) n_others.push_back(panels.rows(s) - panels.pivots(s));
    for (const FrontCosts& costs : {FrontCosts{}, merges_equal}) {
      const AssemblyTree one = join_panels(panels.first, panels.parent, n_others, costs, 1),
                         several = join_panels(panels.first, panels.parent, n_others, costs, 5);
      joined += panels.size() - one.size();
      ASSERT_EQ(several.first, one.first);
      ASSERT_EQ(several.parent, one.parent);
      ASSERT_EQ(several.others_ptr, one.others_ptr);
    }
  }
  EXPECT_GT(joined, 1000);
}

/// Entries with -width <= i - j <= 2 · width, which do not fill.
FilledPattern band_of(std::int32_t n, std::int32_t width) {
  FilledPattern f;
  f.n = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = std::max(0, j - width); i <= std::min(n - 1, j + 2 * width); ++i) {
      if (i == j) f.diag.push_back(f.nnz());
      f.row_idx.push_back(i);
    }
    f.col_ptr.push_back(f.nnz());
  }
  return f;
}

// More entries than one thread takes, in several blocks of columns.
TEST(AssemblyTree, FrontsHoldAllEntriesOfALargePattern) {
  const FilledPattern f = band_of(13000, 30);
  ASSERT_GT(f.nnz(), 1'000'000);
  for (const FrontCosts& costs : {FrontCosts{}, merges_none}) {
    const AssemblyTree tree = find_assembly_tree(f, find_relaxed_supernodes(f, {}), costs);
    expect_tree_of(f, tree);
    for (std::int32_t s = 0; s < tree.size(); ++s)
      EXPECT_EQ(std::ssize(tree.others_of(s)), std::min(f.n - tree.first[s + 1], 60));
  }
}

TEST(AssemblyTree, OthersAreEntriesOfTheFrontOrOfItsChildren) {
  for (const auto& [name, f, before] : patterns_of_trees())
    for (const FrontCosts& costs : {FrontCosts{}, merges_all, merges_none}) {
      SCOPED_TRACE(name);
      const AssemblyTree tree = find_assembly_tree(f, find_relaxed_supernodes(f, {}), costs);
      const auto front = fronts_of_columns(tree);
      std::vector<std::vector<bool>> needed(tree.size(), std::vector<bool>(f.n, false));
      for (std::int32_t j = 0; j < f.n; ++j)
        for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p) {
          const auto [k, other] = std::minmax(f.row_idx[p], j);
          needed[front[k]][other] = true;
        }
      for (std::int32_t s = 0; s < tree.size(); ++s) {
        for (const std::int32_t i : tree.others_of(s)) {
          ASSERT_TRUE(needed[s][i]) << "front " << s << " has " << i << " for nothing";
          ASSERT_GE(tree.parent[s], 0);
          needed[tree.parent[s]][i] = true;
        }
      }
    }
}

// A front joins its parent only where that costs no more, so all together never cost more than the panels alone.
TEST(AssemblyTree, MergesWherePanelsCostLessTogether) {
  std::int32_t merged = 0, kept = 0;
  for (const auto& [name, f, before] : patterns_of_trees()) {
    SCOPED_TRACE(name);
    const RelaxedSupernodes panels = find_relaxed_supernodes(f, {});
    const AssemblyTree none = find_assembly_tree(f, panels, merges_none);
    EXPECT_EQ(none.first, panels.first);
    const FrontCosts small_tiles = {.tile = 8};
    for (const FrontCosts& costs : {FrontCosts{}, small_tiles, merges_equal}) {
      const AssemblyTree tree = find_assembly_tree(f, panels, costs);
      EXPECT_LE(cost_of(tree, costs), cost_of(none, costs) * (1 + 1e-12));
      EXPECT_TRUE(std::ranges::includes(none.first, tree.first)) << "a panel is cut";
      merged += none.size() - tree.size();
      kept += tree.size();
    }
    // Nor do they cost less, where only multiply-adds count: those of padding are added by no merge that is free.
    EXPECT_NEAR(cost_of(find_assembly_tree(f, panels, merges_equal), merges_equal), cost_of(none, merges_equal),
                1e-12 * cost_of(none, merges_equal));
  }
  EXPECT_GT(merged, 100);
  EXPECT_GT(kept, 100);
}

TEST(AssemblyTree, AHighCostOfAFrontMergesMore) {
  for (const auto& [name, f, before] : patterns_of_trees()) {
    SCOPED_TRACE(name);
    const RelaxedSupernodes panels = find_relaxed_supernodes(f, {});
    std::int32_t size = find_assembly_tree(f, panels, merges_none).size();
    for (const FrontCosts& costs : {FrontCosts{.tile = no_tiles}, merges_all}) {
      const std::int32_t smaller = find_assembly_tree(f, panels, costs).size();
      EXPECT_LE(smaller, size);
      size = smaller;
    }
  }
  const auto a = generate("grid2d", {.n = 400});
  ASSERT_TRUE(a.ok());
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::metis});
  ASSERT_TRUE(analysis.ok());
  const RelaxedSupernodes panels = find_relaxed_supernodes(analysis->filled, {});
  EXPECT_EQ(find_assembly_tree(analysis->filled, panels, merges_all).size(), 1) << "one tree, in postorder";
  const std::int32_t usual = find_assembly_tree(analysis->filled, panels).size();
  EXPECT_TRUE(usual > 1 && usual < panels.size()) << usual << " of " << panels.size();
}

TEST(AssemblyTree, TheExtremesAreWhatTheyMustBe) {
  for (const auto& [name, f, before] : patterns_of_trees()) {
    if (name != "dense" && name != "diagonal") continue;
    SCOPED_TRACE(name);
    const RelaxedSupernodes panels = find_relaxed_supernodes(f, {});
    const AssemblyTree all = find_assembly_tree(f, panels, merges_all);
    const AssemblyTree none = find_assembly_tree(f, panels, merges_none);
    if (name == "diagonal") {
      EXPECT_EQ(all.size(), f.n);
      EXPECT_TRUE(all.others.empty());
      continue;
    }
    EXPECT_EQ(all.size(), std::min(f.n, 1));
    EXPECT_EQ(none.size(), (f.n + 7) / 8);
    for (std::int32_t s = 0; s < none.size(); ++s) {
      EXPECT_EQ(none.rows(s), f.n - none.first[s]);
      EXPECT_EQ(none.parent[s], s + 1 < none.size() ? s + 1 : -1);
    }
  }
}

// Tiles of 64: 1; 2 of pivots; 1 of pivots and 1 of others; 1 and 2.
TEST(FrontCosts, CountTheTilesOfAFront) {
  constexpr FrontCosts tiles = {.fixed = 1, .pivot = 0, .multiply_add = 0, .left_entry = 0};
  EXPECT_EQ(tiles.of(64, 64), 1);
  EXPECT_EQ(tiles.of(3, 64), 1);
  EXPECT_EQ(tiles.of(65, 65), 4);
  EXPECT_EQ(tiles.of(1, 65), 4);
  EXPECT_EQ(tiles.of(64, 129), 9);
}

TEST(FrontCosts, CountPivotsMultiplyAddsAndWhatIsLeft) {
  EXPECT_EQ((FrontCosts{.fixed = 0, .pivot = 2, .multiply_add = 0, .left_entry = 0}.of(5, 9)), 10);
  EXPECT_EQ((FrontCosts{.fixed = 0, .pivot = 0, .multiply_add = 0, .left_entry = 3}.of(5, 9)), 48);
  // The sum over the pivots of the squares of what is below them, to first order.
  double multiply_adds = 0;
  for (int k = 0; k < 50; ++k) multiply_adds += (300 - k) * (300 - k);
  EXPECT_NEAR((FrontCosts{.fixed = 0, .pivot = 0, .multiply_add = 1, .left_entry = 0}.of(50, 300)), multiply_adds,
              0.01 * multiply_adds);
}

}  // namespace
}  // namespace lulab
