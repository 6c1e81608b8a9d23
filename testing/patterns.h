#pragma once
// Filled patterns for the tests of dependencies and levels.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/matrix/generate.h"
#include "core/matrix/postorder.h"
#include "preprocess/graph_reduction.h"
#include "symbolic/fill.h"
#include "symbolic/relaxed_supernodes.h"
#include "testing/analysis.h"
#include "testing/matrices.h"

namespace lulab::testing {

/// Peng & Tan 2020, Figs. 1 to 4 and 9, as far as the text tells them, columns counted from 1 as there: column 7 is
/// updated by 4 and 6, 4 has L in rows 6 and 8, 3 updates 5 and 8, 6 has nothing in U; double-U: 2 needs 1, 6 needs 4.
inline FilledPattern peng_tan_example() {
  const std::pair<int, int> entries[] = {{2, 1}, {1, 8}, {8, 2}, {5, 3}, {8, 3}, {3, 5},
                                         {3, 8}, {6, 4}, {8, 4}, {4, 7}, {8, 6}, {7, 8}};
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  for (const auto& [i, j] : entries) {
    rows.push_back(i - 1);
    columns.push_back(j - 1);
    values.push_back(1);
  }
  for (std::int32_t j = 0; j < 8; ++j) {
    rows.push_back(j);
    columns.push_back(j);
    values.push_back(4);
  }
  auto f = fill_gilbert_peierls(from_triplets<double>(8, 8, rows, columns, values));
  EXPECT_TRUE(f.ok());
  return std::move(*f);
}

/// Entries (i,j) with kept(i, j).
template <class Kept>
CscPattern pattern_of(std::int32_t n, Kept kept) {
  CscPattern b = {n, n, {0}, {}};
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i)
      if (kept(i, j)) b.row_idx.push_back(i);
    b.col_ptr.push_back(b.nnz());
  }
  return b;
}

/// B + Bᵀ, with every other diagonal entry instead of its own: fill has them all in any case.
inline CscPattern symmetric_of(const CscPattern& b) {
  const CscPattern graph = symmetrized_graph(b);
  CscPattern symmetric = {b.n_rows, b.n_cols, {0}, {}};
  for (std::int32_t j = 0; j < b.n_cols; ++j) {
    const auto begin = graph.row_idx.begin() + graph.col_ptr[j], end = graph.row_idx.begin() + graph.col_ptr[j + 1];
    const auto below = std::lower_bound(begin, end, j);
    symmetric.row_idx.insert(symmetric.row_idx.end(), begin, below);
    if (j % 2 == 0) symmetric.row_idx.push_back(j);
    symmetric.row_idx.insert(symmetric.row_idx.end(), below, end);
    symmetric.col_ptr.push_back(symmetric.nnz());
  }
  return symmetric;
}

/// With rows and columns in postorder of the elimination tree of B + Bᵀ.
inline CscPattern postordered(const CscPattern& b) {
  const auto order = postorder(elimination_tree(*fill_reference(symmetrized_graph(b))));
  return permute(b, order, order);
}

struct NamedPattern {
  std::string name;
  FilledPattern filled;
  CscPattern before = {};  // what fills to it
};

/// Random unsymmetric patterns, without any column and up to nearly full.
inline std::vector<NamedPattern> random_patterns(int count) {
  std::vector<NamedPattern> patterns;
  for (int seed = 0; seed < count; ++seed) {
    const auto a = random_matrix(seed, {.n = seed, .density = 0.5 * double(seed % 5) / (1 + seed)});
    auto f = fill_gilbert_peierls(a);
    EXPECT_TRUE(f.ok());
    patterns.push_back({"random, seed " + std::to_string(seed), std::move(*f), a.pattern()});
  }
  return patterns;
}

/// Circuits, meshes and the extremes: a chain, no chain at all, one dense row or column, all dense.
inline std::vector<NamedPattern> generated_patterns(std::int32_t n) {
  std::vector<NamedPattern> patterns;
  for (const char* family : {"power_grid", "sram_array", "logic_rent", "ladder", "grid2d", "convection2d", "arrow_last",
                             "banded", "dense_row", "dense_column", "random", "arrow_first"}) {
    const auto a = generate(family, {.n = n});
    EXPECT_TRUE(a.ok()) << family;
    for (const Order order : {Order::natural, Order::metis}) {
      auto analysis = analyze_ordered(*a, {.order = order});
      EXPECT_TRUE(analysis.ok()) << family;
      patterns.push_back({family + (", " + std::string(to_string(order))), std::move(analysis->filled),
                          permute(CscPatternView(*a), analysis->plan.p, analysis->plan.q)});
    }
  }
  return patterns;
}

}  // namespace lulab::testing
