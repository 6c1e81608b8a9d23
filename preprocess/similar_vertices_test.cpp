#include "preprocess/similar_vertices.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "preprocess/graph_reduction.h"
#include "testing/matrices.h"

namespace lulab {
namespace {

using testing::mesh_graph;

using Sets = std::vector<std::set<std::int32_t>>;

Sets neighbours_of(const CscPattern& graph) {
  Sets sets(graph.n_cols);
  for (std::int32_t v = 0; v < graph.n_cols; ++v)
    sets[v] = {graph.row_idx.begin() + graph.col_ptr[v], graph.row_idx.begin() + graph.col_ptr[v + 1]};
  return sets;
}

/// Without two copies of a point's neighbours: by the definition.
bool are_similar(Sets& sets, std::int32_t u, std::int32_t v) {
  const bool both = sets[u].contains(v);
  if (both) sets[u].insert(u), sets[v].insert(v);
  std::vector<std::int32_t> common;
  std::ranges::set_intersection(sets[u], sets[v], std::back_inserter(common));
  const double cosine = double(common.size()) / std::sqrt(double(sets[u].size()) * double(sets[v].size()));
  if (both) sets[u].erase(u), sets[v].erase(v);
  return common.size() > (both ? 2 : 0) && cosine >= (both ? 0.875 : 0.8) - 1e-9;
}

/// Several copies of each vertex of a random graph, but some edges are missing.
CscPattern noisy_copies(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto n = static_cast<std::int32_t>(20 + seed % 40);
  const std::int32_t copies = 2 + static_cast<std::int32_t>(seed % 3);
  const auto base =
      symmetrized_graph(testing::random_matrix(seed, {.n = n, .density = (2 + double(seed % 3)) / double(n)}));
  std::vector<std::int32_t> label(n * copies), rows, columns;
  std::iota(label.begin(), label.end(), 0);
  std::shuffle(label.begin(), label.end(), random);
  for (std::int32_t v = 0; v < n; ++v)
    for (std::int64_t e = base.col_ptr[v]; e < base.col_ptr[v + 1]; ++e)
      for (std::int32_t s = 0; s < copies * copies; ++s)
        if (random() % 100 >= seed % 7) {
          rows.push_back(label[v * copies + s / copies]);
          columns.push_back(label[base.row_idx[e] * copies + s % copies]);
        }
  for (std::int32_t v = 0; v < n && seed % 2 == 0; ++v)  // neighbours of each other, too
    for (std::int32_t s = 0; s < copies * copies; ++s)
      if (s / copies != s % copies) {
        rows.push_back(label[v * copies + s / copies]);
        columns.push_back(label[v * copies + s % copies]);
      }
  return symmetrized_graph(
      from_triplets<double>(n * copies, n * copies, rows, columns, std::vector<double>(rows.size(), 1.0)));
}

TEST(SimilarVertices, AreThoseThatTheFirstOfAGroupTakes) {
  std::int32_t grouped = 0, joined = 0;
  for (std::uint64_t seed = 0; seed < 36; ++seed) {
    SCOPED_TRACE(seed);
    const CscPattern graph = noisy_copies(seed);
    const auto groups = group_similar_vertices(graph);
    if (!groups) continue;
    ++grouped;
    Sets sets = neighbours_of(graph);
    for (const auto& set : sets) ASSERT_LE(set.size(), 64) << "whose list is walked";
    std::vector<bool> has_group(graph.n_cols, false);
    std::vector<std::int32_t> group_of(graph.n_cols, -1);
    std::int32_t k = 0;
    for (std::int32_t v = 0; v < graph.n_cols; ++v) {
      if (has_group[v]) continue;
      std::vector<std::int32_t> expected;
      for (std::int32_t w = v; w < graph.n_cols; ++w)
        if (!has_group[w] && (w == v || are_similar(sets, v, w))) expected.push_back(w);
      ASSERT_LT(k, groups->graph.n_cols);
      const std::vector<std::int32_t> found(groups->vertices.begin() + groups->group_ptr[k],
                                            groups->vertices.begin() + groups->group_ptr[k + 1]);
      EXPECT_EQ(found, expected);
      EXPECT_EQ(groups->sizes()[k], std::ssize(expected));
      for (const std::int32_t w : expected) has_group[w] = true, group_of[w] = k;
      joined += static_cast<std::int32_t>(expected.size()) - 1;
      ++k;
    }
    ASSERT_EQ(k, groups->graph.n_cols);
    Sets of_groups(k);
    for (std::int32_t v = 0; v < graph.n_cols; ++v)
      for (const std::int32_t u : sets[v])
        if (group_of[u] != group_of[v]) of_groups[group_of[v]].insert(group_of[u]);
    EXPECT_EQ(neighbours_of(groups->graph), of_groups);
    for (std::int32_t g = 0; g < k; ++g)
      EXPECT_EQ(groups->graph.col_ptr[g + 1] - groups->graph.col_ptr[g], std::ssize(of_groups[g])) << "an edge twice";
  }
  EXPECT_GT(grouped, 15);
  EXPECT_GT(joined, 500);
}

TEST(SimilarVertices, AreTheUnknownsOfAPoint) {
  for (const std::int32_t unknowns : {2, 3, 5}) {
    for (const bool by_point : {true, false}) {
      const auto groups = group_similar_vertices(mesh_graph(9, unknowns, 1, by_point));
      ASSERT_TRUE(groups);
      EXPECT_EQ(groups->sizes(), std::vector<std::int32_t>(81, unknowns));
      EXPECT_EQ(neighbours_of(groups->graph), neighbours_of(mesh_graph(9, 1, 1)));
      const Permutation backwards = groups->expand([] {
        Permutation q(81);
        for (std::int32_t k = 0; k < 81; ++k) q[k] = 80 - k;
        return q;
      }());
      ASSERT_TRUE(is_permutation(backwards));
      for (std::size_t k = 0; k < backwards.size(); ++k) {
        const std::int32_t point = 80 - static_cast<std::int32_t>(k) / unknowns;
        const std::int32_t unknown = static_cast<std::int32_t>(k) % unknowns;
        EXPECT_EQ(backwards[k], by_point ? point * unknowns + unknown : unknown * 81 + point);
      }
    }
  }
}

/// A torus of 12 x 12 points. Unknowns of points that differ by one of `all` or its negative are neighbours, by one of
/// `alone` if they have the same number; those of one point if `own`.
CscPattern torus(std::int32_t unknowns, const std::vector<std::pair<int, int>>& all,
                 const std::vector<std::pair<int, int>>& alone, bool own) {
  const std::int32_t side = 12;
  std::vector<std::int32_t> rows, columns;
  for (std::int32_t p = 0; p < side * side; ++p)
    for (std::int32_t u = 0; u < unknowns; ++u) {
      const auto add = [&](const std::pair<int, int>& to, std::int32_t unknown) {
        const std::int32_t x = (p % side + to.first) % side, y = (p / side + to.second) % side;
        rows.push_back(p * unknowns + u);
        columns.push_back((y * side + x) * unknowns + unknown);
      };
      for (std::int32_t unknown = 0; unknown < unknowns; ++unknown) {
        for (const auto& to : all) add(to, unknown);
        if (own && unknown != u) add({0, 0}, unknown);
      }
      for (const auto& to : alone) add(to, u);
    }
  const std::int32_t n = side * side * unknowns;
  return symmetrized_graph(from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0)));
}

// 16 of 20 neighbours, as in af23560; with themselves 14 of 16.
TEST(SimilarVertices, HaveJustEnoughInCommon) {
  const auto grouped = [](const CscPattern& graph, std::int32_t unknowns) {
    const auto groups = group_similar_vertices(graph);
    return groups && groups->sizes() == std::vector<std::int32_t>(144, unknowns);
  };
  EXPECT_TRUE(grouped(torus(4, {{1, 0}, {0, 1}}, {{2, 0}, {0, 2}}, false), 4));
  EXPECT_FALSE(group_similar_vertices(torus(4, {{1, 0}, {0, 1}}, {{2, 0}, {0, 2}, {3, 0}}, false)));
  EXPECT_TRUE(grouped(torus(2, {{1, 0}, {0, 1}, {1, 1}}, {{2, 0}}, true), 2));
  EXPECT_FALSE(group_similar_vertices(torus(2, {{1, 0}, {0, 1}, {1, 1}}, {{2, 0}, {3, 0}}, true)));
}

TEST(SimilarVertices, AreNotCutOutOfStencils) {
  for (const std::int32_t reach : {1, 2, 3}) EXPECT_FALSE(group_similar_vertices(mesh_graph(30, 1, reach))) << reach;
  EXPECT_FALSE(group_similar_vertices(symmetrized_graph(testing::grid_matrix(40, 7))));
  const auto band = generate("banded", {.n = 2000, .seed = 1, .degree = 20});
  ASSERT_TRUE(band.ok());
  EXPECT_FALSE(group_similar_vertices(symmetrized_graph(*band)));
}

TEST(SimilarVertices, SmallestAndEdgelessGraphsHaveNone) {
  for (const std::int32_t n : {0, 1, 2, 3, 1000})
    EXPECT_FALSE(group_similar_vertices({n, n, std::vector<std::int64_t>(n + 1, 0), {}})) << n;
  EXPECT_FALSE(group_similar_vertices({}));
}

// A vertex with n neighbours is not walked for each of them.
TEST(SimilarVertices, LongListsDoNotMakeItSlow) {
  const std::int32_t n = 100'000;
  std::vector<std::int32_t> rows(n - 1), columns(n - 1, 0);
  std::iota(rows.begin(), rows.end(), 1);
  const CscPattern star =
      symmetrized_graph(from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0)));
  EXPECT_FALSE(group_similar_vertices(star));
}

}  // namespace
}  // namespace lulab
