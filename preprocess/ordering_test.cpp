#include "preprocess/ordering.h"

#include "core/in_parallel.h"
#include "core/matrix/generate.h"
#include "preprocess/dissection.h"
#include "testing/matrices.h"

namespace lulab {
namespace {

using testing::grid_matrix;
using testing::random_matrix;

struct Named {
  const char* name;
  Result<Permutation> (*order)(CscPatternView);
};
Result<Permutation> amd_of_groups(CscPatternView a) {
  FillEstimate estimate;
  return grouped_amd_order(a, estimate);
}
constexpr Named orderings[] = {{"amd", amd_order},
                               {"quick amd", quick_amd_order},
                               {"degree", degree_order},
                               {"colamd", colamd_order},
                               {"metis", metis_order},
                               {"nd", nd_order},
                               {"amd of groups", amd_of_groups}};

// Entries of the Cholesky factor of B + Bᵀ under q, by row merging through the elimination tree's parents.
std::int64_t symmetric_fill(CscPatternView a, const Permutation& q) {
  const Permutation place = inverse(q);
  std::vector<std::vector<std::int32_t>> below(a.n_cols);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const std::int32_t s = place[a.row_idx[k]], t = place[j];
      if (s != t) below[std::min(s, t)].push_back(std::max(s, t));
    }
  std::int64_t fill = 0;
  for (std::int32_t k = 0; k < a.n_cols; ++k) {
    auto& column = below[k];
    std::sort(column.begin(), column.end());
    column.erase(std::unique(column.begin(), column.end()), column.end());
    fill += static_cast<std::int64_t>(column.size());
    if (!column.empty()) {
      auto& parent = below[column.front()];
      parent.insert(parent.end(), column.begin() + 1, column.end());
    }
  }
  return fill;
}

TEST(Ordering, IsAPermutationOfEveryRandomMatrix) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const auto a =
        random_matrix(seed, {.n = static_cast<std::int32_t>(seed), .density = (seed % 5) * 0.7 / (1 + seed)});
    for (const auto& [name, order] : orderings) {
      const auto q = order(a);
      ASSERT_TRUE(q.ok()) << name << " seed " << seed << ": " << q.status().to_string();
      EXPECT_EQ(q->size(), seed) << name;
      EXPECT_TRUE(is_permutation(*q)) << name << " seed " << seed;
    }
  }
}

TEST(Ordering, SmallestAndEdgelessGraphsAreNoSpecialCase) {
  for (const std::int32_t n : {0, 1, 2, 1000}) {
    CscPattern empty{n, n, std::vector<std::int64_t>(n + 1, 0), {}};
    CscPattern diagonal{n, n, {0}, {}};
    for (std::int32_t j = 0; j < n; ++j) {
      diagonal.row_idx.push_back(j);
      diagonal.col_ptr.push_back(j + 1);
    }
    for (const auto& [name, order] : orderings) {
      for (const CscPattern& a : {empty, diagonal}) {
        const auto q = order(a);
        ASSERT_TRUE(q.ok()) << name << " n " << n;
        EXPECT_EQ(q->size(), n);
        EXPECT_TRUE(is_permutation(*q));
      }
    }
  }
}

TEST(Ordering, TakesDisconnectedGraphsAndIsolatedVertices) {
  // 200 chains of 3 and 400 isolated vertices.
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  for (std::int32_t k = 0; k < 200; ++k)
    for (std::int32_t s = 0; s < 2; ++s)
      rows.push_back(5 * k + s), columns.push_back(5 * k + s + 1), values.push_back(1);
  const auto a = from_triplets<double>(1000, 1000, rows, columns, values);
  for (const auto& [name, order] : orderings) {
    const auto q = order(a);
    ASSERT_TRUE(q.ok()) << name;
    EXPECT_TRUE(is_permutation(*q)) << name;
  }
}

TEST(Ordering, KeepsAGridSparserThanItsNaturalOrder) {
  const auto a = grid_matrix(40, 7);
  const std::int64_t natural = symmetric_fill(a, identity_permutation(1600));
  for (const auto& [name, order] : orderings) {
    if (order == degree_order) continue;  // on a grid all degrees are alike
    const auto q = order(a);
    ASSERT_TRUE(q.ok());
    const double share = std::string_view(name) == "colamd" ? 0.9 : 0.5;  // colamd bounds the fill of any row pivoting
    EXPECT_LT(static_cast<double>(symmetric_fill(a, *q)), share * static_cast<double>(natural)) << name;
  }
}

// A grid, 8 of whose vertices have 60 more neighbours: between 2 √n and 10 √n.
TEST(Ordering, QuickAmdLeavesLongRowsForTheEnd) {
  const std::int32_t n = 900, hubs = 8;
  auto grid = grid_matrix(30, 7);
  std::vector<std::int32_t> rows, columns;
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int64_t k = grid.col_ptr[j]; k < grid.col_ptr[j + 1]; ++k)
      rows.push_back(grid.row_idx[k]), columns.push_back(j);
  for (std::int32_t hub = 0; hub < hubs; ++hub)
    for (std::int32_t k = 0; k < 70; ++k) {
      const std::int32_t i = (101 * hub + 13 * k + 7) % n;
      rows.push_back(i), columns.push_back(100 * hub);
      rows.push_back(100 * hub), columns.push_back(i);
    }
  const auto a = from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0));
  const auto quick = quick_amd_order(a), whole = amd_order(a);
  ASSERT_TRUE(quick.ok() && whole.ok());
  const auto hubs_at_the_end = [&](const Permutation& q) {
    return std::count_if(q.end() - hubs, q.end(), [](std::int32_t j) { return j % 100 == 0 && j < 800; });
  };
  EXPECT_EQ(hubs_at_the_end(*quick), hubs);
  EXPECT_LT(hubs_at_the_end(*whole), hubs);
  EXPECT_LT(symmetric_fill(a, *quick), 2 * symmetric_fill(a, *whole));
}

TEST(Ordering, AmdOfGroupsKeepsTheUnknownsOfAPointTogether) {
  const CscPattern mesh = testing::mesh_graph(32, 4, 1);
  FillEstimate estimate;
  const auto by_groups = grouped_amd_order(mesh, estimate), by_vertices = quick_amd_order(mesh);
  ASSERT_TRUE(by_groups.ok() && by_vertices.ok());
  EXPECT_NE(*by_groups, *by_vertices);
  const auto fill = static_cast<double>(symmetric_fill(mesh, *by_groups));
  EXPECT_LE(fill, 1.1 * static_cast<double>(symmetric_fill(mesh, *by_vertices)));
  EXPECT_NEAR(estimate.entries / (2 * fill + mesh.n_cols), 1, 0.1);
  const auto unlike = random_matrix(3, {.n = 4000, .density = 0.004});
  ASSERT_GT(unlike.nnz(), 10 * unlike.n_cols);
  EXPECT_EQ(*amd_of_groups(unlike), *quick_amd_order(unlike)) << "no groups";
}

TEST(Ordering, AmdEstimatesTheFill) {
  const auto grid = grid_matrix(70, 1);
  FillEstimate estimate;
  const auto q = grouped_amd_order(grid, estimate);
  ASSERT_TRUE(q.ok());
  EXPECT_EQ(*q, *quick_amd_order(grid)) << "few entries a row";
  EXPECT_NEAR(estimate.entries / static_cast<double>(2 * symmetric_fill(grid, *q) + grid.n_cols), 1, 0.1);
  EXPECT_GT(estimate.multiply_adds, estimate.entries);
}

TEST(Ordering, AmdsEstimateTakesNoHubForAFullRow) {
  const std::int32_t points = 70 * 70, n = points + 20;
  const auto grid = grid_matrix(70, 1);
  std::vector<std::int32_t> rows, columns;
  const auto add = [&](std::int32_t i, std::int32_t j) { rows.push_back(i), columns.push_back(j); };
  for (std::int32_t j = 0; j < points; ++j)
    for (std::int64_t k = grid.col_ptr[j]; k < grid.col_ptr[j + 1]; ++k) add(grid.row_idx[k], j);
  for (std::int32_t hub = points; hub < n; ++hub) {
    add(hub, hub);
    for (std::int32_t k = 0; k < 200; ++k) {
      const std::int32_t point = (24 * k + hub) % points;
      add(hub, point), add(point, hub);
    }
  }
  const auto a = from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0));
  FillEstimate estimate;
  const auto q = grouped_amd_order(a, estimate);
  ASSERT_TRUE(q.ok());
  const auto entries = static_cast<double>(2 * symmetric_fill(a, *q) + n);
  EXPECT_TRUE(estimate.entries <= 1.1 * entries && estimate.entries >= entries / 4)
      << estimate.entries << ", " << entries;
  EXPECT_GT(estimate.multiply_adds, estimate.entries);
}

TEST(Ordering, ByDegreeTakesTheEmptiestFirst) {
  // An arrow: vertex 0 is everyone's neighbour. Rows count as columns do: 5 has a full row, 3 one entry more than most.
  const std::int32_t n = 9;
  std::vector<std::int32_t> rows, columns;
  const auto add = [&](std::int32_t i, std::int32_t j) { rows.push_back(i), columns.push_back(j); };
  for (std::int32_t j = 0; j < n; ++j) {
    add(j, j);
    if (j != 0) add(j, 0), add(0, j);
    if (j != 0 && j != 5) add(5, j);
  }
  add(7, 3);
  const auto a = from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0));
  EXPECT_EQ(degree_order(a).value(), (Permutation{1, 2, 4, 6, 8, 3, 7, 5, 0}));
}

TEST(Ordering, IsTheSameEveryTime) {
  const auto a = grid_matrix(50, 3);
  for (const auto& [name, order] : orderings) {
    const auto first = order(a), second = order(a);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(*first, *second) << name;
  }
}

TEST(Ordering, IsTheSameInManyThreads) {
  const CscPattern graphs[] = {testing::mesh_graph(12, 3, 1), grid_matrix(40, 3), grid_matrix(70, 3),
                               grid_matrix(150, 3)};  // the last two by SCOTCH
  for (const CscPattern& a : graphs) {
    const auto alone = nd_order(a);
    ASSERT_TRUE(alone.ok());
    for (const int threads : {2, 4}) {
      std::vector<Result<Permutation>> q(threads, Permutation{});
      in_parallel(threads, [&](int part) { q[part] = nd_order(a); });
      for (const auto& of_thread : q) {
        ASSERT_TRUE(of_thread.ok());
        EXPECT_EQ(*of_thread, *alone);
      }
    }
  }
}

// Of few vertices or many, in one piece or several, with weights or without.
TEST(Ordering, DissectionTakesAnyGraph) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const auto n = static_cast<std::int32_t>(1 + (seed * seed) % 700);
    const CscPattern graph = symmetrized_graph(random_matrix(seed, {.n = n, .density = (seed % 4) * 0.6 / n}));
    std::vector<std::int32_t> weights(seed % 2 == 0 ? n : 0);
    for (std::int32_t v = 0; v < std::ssize(weights); ++v) weights[v] = 1 + v % 5;
    for (const auto& dissected : {dissect_by_metis(graph, weights), dissect_by_scotch(graph, weights)}) {
      ASSERT_TRUE(dissected.ok()) << seed << ": " << dissected.status().to_string();
      EXPECT_EQ(dissected->size(), n);
      EXPECT_TRUE(is_permutation(*dissected)) << seed;
    }
  }
}

// The last vertex cuts a path into halves of the same weight: in the middle, or, where the second half of the path
// weighs ten times as much, within that.
TEST(Ordering, DissectionWeighsVertices) {
  const std::int32_t n = 5000;
  std::vector<std::int32_t> rows, columns, weights(n, 1);
  for (std::int32_t v = 0; v + 1 < n; ++v) rows.push_back(v), columns.push_back(v + 1);
  for (std::int32_t v = n / 2; v < n; ++v) weights[v] = 10;
  const CscPattern path = symmetrized_graph(from_triplets<double>(n, n, rows, columns, std::vector<double>(n - 1, 1)));
  const auto last = [](const Result<Permutation>& q) { return q.ok() ? q->back() : -1; };
  for (const auto dissected : {dissect_by_metis, dissect_by_scotch}) {
    EXPECT_NEAR(last(dissected(path, {})), n / 2, n / 10);
    EXPECT_NEAR(last(dissected(path, weights)), n / 2 + n / 4 - n / 40, n / 10);
  }
}

// Groups of similar vertices do not cost fill, and are not cut out of a wide stencil.
TEST(Ordering, NdFillsInNoMoreThanMetis) {
  struct Mesh {
    CscPattern graph;
    double share;  // of the fill of METIS
  };
  const Mesh meshes[] = {{testing::mesh_graph(24, 4, 1), 1.05},
                         {testing::mesh_graph(24, 4, 1, false), 1.05},
                         {testing::mesh_graph(48, 1, 2), 1.1},
                         {generate("grid2d", {.n = 10000})->pattern(), 1.1}};  // by SCOTCH
  for (const auto& [graph, share] : meshes) {
    const auto nd = nd_order(graph), metis = metis_order(graph);
    ASSERT_TRUE(nd.ok() && metis.ok());
    EXPECT_LE(static_cast<double>(symmetric_fill(graph, *nd)),
              share * static_cast<double>(symmetric_fill(graph, *metis)));
  }
}

TEST(Ordering, RefusesUnsortedRowsAndNonSquare) {
  const CscPattern unsorted{2, 2, {0, 2, 3}, {1, 0, 1}};
  const CscPattern wide{1, 2, {0, 1, 2}, {0, 0}};
  for (const auto& [name, order] : orderings) {
    EXPECT_EQ(order(unsorted).status().code, StatusCode::invalid_argument) << name;
    EXPECT_EQ(order(wide).ok(), std::string_view(name) == "colamd") << name;
  }
}

}  // namespace
}  // namespace lulab
