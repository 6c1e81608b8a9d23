#include "preprocess/graph_reduction.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "testing/matrices.h"

namespace lulab {
namespace {

using testing::grid_matrix;
using testing::random_matrix;

/// Neighbours of each vertex.
std::vector<std::set<std::int32_t>> sets_of(const CscPattern& graph) {
  std::vector<std::set<std::int32_t>> sets(graph.n_cols);
  for (std::int32_t v = 0; v < graph.n_cols; ++v)
    sets[v] = {graph.row_idx.begin() + graph.col_ptr[v], graph.row_idx.begin() + graph.col_ptr[v + 1]};
  return sets;
}

void eliminate(std::vector<std::set<std::int32_t>>& sets, std::int32_t v) {
  for (const std::int32_t u : sets[v]) {
    sets[u].erase(v);
    for (const std::int32_t w : sets[v])
      if (w != u) sets[u].insert(w);
  }
  sets[v].clear();
}

/// Longest path from a leaf of the elimination tree to its root, in vertices.
std::int32_t height(const CscPattern& graph, const Permutation& q) {
  auto sets = sets_of(graph);
  const Permutation place = inverse(q);
  std::vector<std::int32_t> heights(q.size(), 1);
  for (const std::int32_t v : q) {
    const auto above = sets[v];
    eliminate(sets, v);
    if (above.empty()) continue;
    const std::int32_t parent = *std::ranges::min_element(above, {}, [&](std::int32_t u) { return place[u]; });
    heights[parent] = std::max(heights[parent], heights[v] + 1);
  }
  return q.empty() ? 0 : *std::ranges::max_element(heights);
}

CscPattern graph_of(std::int32_t n, const std::vector<std::pair<std::int32_t, std::int32_t>>& edges) {
  std::vector<std::int32_t> rows, columns;
  for (const auto& [u, v] : edges) rows.push_back(u), columns.push_back(v);
  return symmetrized_graph(from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0)));
}

std::vector<CscPattern> graphs() {
  std::vector<CscPattern> all = {symmetrized_graph(grid_matrix(40, 7)), CscPattern{}};
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    all.push_back(symmetrized_graph(random_matrix(
        seed, {.n = 20 + 15 * static_cast<std::int32_t>(seed), .density = 0.002 + 0.001 * double(seed % 7)})));
  for (const char* family : {"power_grid", "circuit", "ladder"}) {
    const auto a = generate(family, {.n = 900, .seed = 3});
    if (a.ok()) all.push_back(symmetrized_graph(*a));
  }
  std::vector<std::pair<std::int32_t, std::int32_t>> hubs;  // three rows with many neighbours in common
  for (std::int32_t v = 3; v < 600; ++v)
    for (std::int32_t hub = 0; hub < 3; ++hub)
      if ((v * (hub + 3)) % 5 != 0) hubs.emplace_back(v, hub);
  for (std::int32_t v = 3; v + 7 < 600; v += 3) hubs.emplace_back(v, v + 7);
  all.push_back(graph_of(600, hubs));
  return all;
}

TEST(GraphReduction, LeavesWhatEliminationLeaves) {
  std::int64_t eliminated = 0, alike = 0, left = 0, reduces = 0;
  for (const CscPattern& graph : graphs()) {
    SCOPED_TRACE(graph.n_cols);
    const auto found = reduce_graph(graph);
    if (!found) continue;
    const GraphReduction& reduced = *found;
    ++reduces;
    const Permutation q = reduced.expand(identity_permutation(reduced.rest.n_cols));
    ASSERT_EQ(q.size(), graph.n_cols);
    ASSERT_TRUE(is_permutation(q));
    auto sets = sets_of(graph);
    std::vector<std::int32_t> number(graph.n_cols, -1);  // in the rest, of vertices like its own, too
    for (std::int32_t k = 0; k < reduced.rest.n_cols; ++k) number[reduced.vertex_of_rest[k]] = k;
    for (std::int32_t v = 0; v < graph.n_cols; ++v) number[v] = number[reduced.representative[v]];
    for (const std::int32_t v : q)
      if (number[v] < 0) eliminate(sets, v), ++eliminated;
    const auto rest = sets_of(reduced.rest);
    for (std::int32_t k = 0; k < reduced.rest.n_cols; ++k) {
      EXPECT_EQ(std::ssize(rest[k]), reduced.rest.col_ptr[k + 1] - reduced.rest.col_ptr[k]) << "an edge twice";
      std::set<std::int32_t> expected;
      for (const std::int32_t u : sets[reduced.vertex_of_rest[k]])
        if (number[u] != k) expected.insert(number[u]);
      EXPECT_EQ(rest[k], expected);
    }
    for (std::int32_t v = 0; v < graph.n_cols; ++v) alike += reduced.representative[v] != v;
    left += reduced.rest.n_cols;
  }
  EXPECT_GT(reduces, 10);
  EXPECT_GT(eliminated, 1000);
  EXPECT_GT(alike, 10);
  EXPECT_GT(left, 100);
}

TEST(GraphReduction, PathsAndTreesStayLow) {
  const std::int32_t n = 4096;
  std::vector<std::pair<std::int32_t, std::int32_t>> path, tree, comb;
  for (std::int32_t v = 1; v < n; ++v) {
    path.emplace_back(v, v - 1);
    tree.emplace_back(v, (v - 1) / 2);
    comb.emplace_back(v, v % 2 == 0 ? v - 2 : v - 1);
  }
  for (const auto& edges : {path, tree, comb}) {
    const CscPattern graph = graph_of(n, edges);
    const auto reduced = reduce_graph(graph);
    ASSERT_TRUE(reduced);
    EXPECT_EQ(reduced->rest.n_cols, 0);
    EXPECT_LE(height(graph, reduced->expand({})), 3 * 12);  // 12 = log2(n)
  }
}

TEST(GraphReduction, ACliqueIsOneVertex) {
  const std::int32_t n = 20;  // more than the highest degree
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  for (std::int32_t v = 0; v < n; ++v)
    for (std::int32_t u = 0; u < v; ++u) edges.emplace_back(u, v);
  const auto reduced = reduce_graph(graph_of(n, edges));
  ASSERT_TRUE(reduced);
  EXPECT_EQ(reduced->representative, std::vector<std::int32_t>(n, 0));
  EXPECT_EQ(reduced->vertex_of_rest, std::vector<std::int32_t>{0});
  EXPECT_EQ(reduced->rest.nnz(), 0);
  EXPECT_EQ(reduced->expand({0}), identity_permutation(n));
}

// Vertices v and n - 1 - v: all sums of neighbours' numbers are equal, which must not make it slow.
TEST(GraphReduction, AnXIsPairs) {
  const std::int32_t n = 200'000;
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  for (std::int32_t v = 0; v < n / 2; ++v) edges.emplace_back(v, n - 1 - v);
  const auto reduced = reduce_graph(graph_of(n, edges));
  ASSERT_TRUE(reduced);
  EXPECT_EQ(reduced->rest.n_cols, 0);
  EXPECT_EQ(std::ssize(reduced->eliminated), n / 2);
  for (std::int32_t v = 0; v < n; ++v) ASSERT_EQ(reduced->representative[v], std::min(v, n - 1 - v));
}

// Degree 24 is left as it is; of a grid half of the points would go, and more edges would be left.
TEST(GraphReduction, DoesNotHelpMeshes) {
  std::vector<std::pair<std::int32_t, std::int32_t>> torus;  // 5 x 5 neighbours
  const std::int32_t side = 30;
  for (std::int32_t i = 0; i < side * side; ++i)
    for (std::int32_t dx = -2; dx <= 2; ++dx)
      for (std::int32_t dy = -2; dy <= 2; ++dy) {
        const std::int32_t x = (i % side + dx + side) % side, y = (i / side + dy + side) % side;
        if (side * y + x != i) torus.emplace_back(i, side * y + x);
      }
  EXPECT_FALSE(reduce_graph(graph_of(side * side, torus)));
  EXPECT_FALSE(reduce_graph(symmetrized_graph(grid_matrix(40, 7))));
}

}  // namespace
}  // namespace lulab
