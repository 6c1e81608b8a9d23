#include "symbolic/relaxed_supernodes.h"

#include <algorithm>
#include <iterator>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "preprocess/ordering.h"
#include "symbolic/panel_growth.h"
#include "testing/analysis.h"
#include "testing/patterns.h"

namespace lulab {
namespace {

std::vector<RelaxationOptions> options() {
  std::vector<RelaxationOptions> all;
  for (const std::int32_t width : {1, 2, 8})
    for (const std::int32_t subtree : {1, 4, 8})
      for (const double padding : {1.0, 1.5, 1e9}) all.push_back({width, subtree, padding});
  return all;
}

/// rows of columns first .. end - 1.
std::vector<std::int32_t> union_of_rows(const FilledPattern& f, std::int32_t first, std::int32_t end) {
  std::vector<std::int32_t> rows(f.row_idx.begin() + f.col_ptr[first], f.row_idx.begin() + f.col_ptr[end]);
  std::ranges::sort(rows);
  rows.erase(std::ranges::unique(rows).begin(), rows.end());
  return rows;
}

TEST(RelaxedSupernodes, CoverAllColumnsWithTheUnionOfTheirRows) {
  auto patterns = testing::random_patterns(25);
  for (auto& p : testing::generated_patterns(60)) patterns.push_back(std::move(p));
  std::int32_t widest = 0;
  for (const auto& [name, f, before] : patterns)
    for (const RelaxationOptions& o : options()) {
      SCOPED_TRACE(name);
      const RelaxedSupernodes s = find_relaxed_supernodes(f, o);
      ASSERT_EQ(s.first.front(), 0);
      ASSERT_EQ(s.first.back(), f.n);
      ASSERT_EQ(std::ssize(s.row_ptr), s.size() + 1);
      const auto parent = elimination_tree(f);
      for (std::int32_t k = 0; k < s.size(); ++k) {
        ASSERT_GE(s.width(k), 1);
        ASSERT_LE(s.width(k), o.max_width);
        const auto rows = s.rows_of(k);
        ASSERT_TRUE(std::ranges::equal(rows, union_of_rows(f, s.first[k], s.first[k + 1])));
        for (std::int32_t j = s.first[k]; j < s.first[k + 1]; ++j) ASSERT_EQ(s.of[j], k);
        const std::int32_t last = s.first[k + 1] - 1;
        for (std::int32_t j = s.first[k]; j <= last; ++j) {
          std::int32_t up = j;
          while (up >= 0 && up < last) up = parent[up];
          ASSERT_EQ(up, last) << "column " << j << " is not below the last one";
        }
        const auto entries = static_cast<double>(f.col_ptr[last + 1] - f.col_ptr[s.first[k]]);
        ASSERT_LE(double(rows.size()) * s.width(k), o.padding * entries + PanelGrowth::subtree_slack);
        widest = std::max(widest, s.width(k));
      }
    }
  EXPECT_EQ(widest, 8);
}

TEST(RelaxedSupernodes, AreTheSameForAnyNumberOfThreads) {
  auto patterns = testing::random_patterns(25);
  for (auto& p : testing::generated_patterns(60)) patterns.push_back(std::move(p));
  std::vector<FilledPattern> all = {FilledPattern{}};
  for (auto& p : patterns) all.push_back(std::move(p.filled));
  for (const Order order : {Order::natural, Order::amd, Order::nd}) {
    const auto a = generate("power_grid", {.n = 700, .seed = 5});
    ASSERT_TRUE(a.ok());
    auto analysis = testing::analyze_ordered(*a, {.order = order});
    ASSERT_TRUE(analysis.ok());
    all.push_back(std::move(analysis->filled));
  }
  for (const FilledPattern& f : all)
    for (const RelaxationOptions& o : {RelaxationOptions{}, RelaxationOptions{8, 4, 1e9}, RelaxationOptions{2, 2, 1}}) {
      const RelaxedSupernodes one = find_relaxed_supernodes(f, o, 1);
      for (const int threads : {2, 7}) EXPECT_EQ(find_relaxed_supernodes(f, o, threads), one) << threads;
    }
}

// Each column of a panel is the parent of the one before it, or the panel is a small subtree.
TEST(RelaxedSupernodes, GrowAlongTheEliminationTreeAndStayDense) {
  for (const auto& [name, f, before] : testing::generated_patterns(60))
    for (const double padding : {1.0, 1.5, 4.0}) {
      SCOPED_TRACE(name);
      const auto parent = elimination_tree(f);
      const RelaxedSupernodes s = find_relaxed_supernodes(f, {8, 1, padding});
      for (std::int32_t k = 0; k < s.size(); ++k) {
        for (std::int32_t j = s.first[k] + 1; j < s.first[k + 1]; ++j) EXPECT_EQ(parent[j - 1], j);
        const auto entries = static_cast<double>(f.col_ptr[s.first[k + 1]] - f.col_ptr[s.first[k]]);
        EXPECT_LE(double(s.rows_of(k).size()) * s.width(k), padding * entries + 16);
      }
    }
}

TEST(RelaxedSupernodes, ASmallSubtreeIsOnePanel) {
  const auto a = generate("ladder", {.n = 40});
  ASSERT_TRUE(a.ok());
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::metis});
  ASSERT_TRUE(analysis.ok());
  const auto parent = elimination_tree(analysis->filled);
  const RelaxedSupernodes s = find_relaxed_supernodes(analysis->filled, {8, 4, 1.0});
  std::vector<std::int32_t> subtree(parent.size(), 1);
  for (std::size_t j = 0; j < parent.size(); ++j)
    if (parent[j] >= 0) subtree[parent[j]] += subtree[j];
  int seen = 0;
  for (std::int32_t j = 0; j < std::ssize(parent); ++j)
    if (subtree[j] > 1 && subtree[j] <= 4) {
      EXPECT_EQ(s.of[j], s.of[j - subtree[j] + 1]);
      ++seen;
    }
  EXPECT_GT(seen, 3);
}

// The elimination tree by its definition: the first entry below the diagonal of the column of L of Aᵀ + A.
TEST(EliminationTree, IsThatOfTheSymmetricPattern) {
  for (const char* family : {"grid2d", "ladder", "power_grid"}) {
    SCOPED_TRACE(family);
    const auto a = generate(family, {.n = 70});
    ASSERT_TRUE(a.ok());
    const auto analysis = analyze_with_plan(a->pattern(), Plan::identity(a->n_cols));
    ASSERT_TRUE(analysis.ok());
    const FilledPattern& f = analysis->filled;
    const auto parent = elimination_tree(f, 1);
    for (const int threads : {2, 3, 100}) EXPECT_EQ(elimination_tree(f, threads), parent) << threads;
    for (std::int32_t j = 0; j < f.n; ++j) {
      std::int32_t first = -1;
      for (std::int32_t i = f.n - 1; i > j; --i) {
        const auto has = [&](std::int32_t row, std::int32_t column) {
          return std::binary_search(f.row_idx.begin() + f.col_ptr[column], f.row_idx.begin() + f.col_ptr[column + 1],
                                    row);
        };
        if (has(i, j) || has(j, i)) first = i;
      }
      EXPECT_EQ(parent[j], first);
    }
  }
}

TEST(NestedDissection, IsPostordered) {
  for (const char* family : {"grid2d", "power_grid", "ladder", "random", "grid2d nd", "power_grid nd", "random nd"}) {
    SCOPED_TRACE(family);
    const std::string_view name = family;
    const bool reduced = name.ends_with(" nd");
    const auto a = generate(name.substr(0, name.size() - (reduced ? 3 : 0)), {.n = 300});
    ASSERT_TRUE(a.ok());
    const auto q = reduced ? nd_order(a->pattern()) : metis_order(a->pattern());
    ASSERT_TRUE(q.ok());
    ASSERT_TRUE(is_permutation(*q));
    // Of A + Aᵀ with a full diagonal.
    std::vector<std::int32_t> rows, columns;
    std::vector<double> ones;
    for (std::int32_t j = 0; j < a->n_cols; ++j) {
      rows.push_back(j);
      columns.push_back(j);
      for (std::int64_t p = a->col_ptr[j]; p < a->col_ptr[j + 1]; ++p) {
        rows.insert(rows.end(), {a->row_idx[p], j});
        columns.insert(columns.end(), {j, a->row_idx[p]});
      }
    }
    ones.assign(rows.size(), 1.0);
    const auto both = from_triplets<double>(a->n_rows, a->n_cols, rows, columns, ones);
    Plan plan = Plan::identity(a->n_cols);
    plan.p = plan.q = *q;
    const auto analysis = analyze_with_plan(both.pattern(), plan);
    ASSERT_TRUE(analysis.ok());
    const auto parent = elimination_tree(analysis->filled);
    std::vector<std::int32_t> subtree(parent.size(), 1);
    for (std::int32_t j = 0; j < std::ssize(parent); ++j) {
      if (parent[j] < 0) continue;
      subtree[parent[j]] += subtree[j];
    }
    for (std::int32_t j = 0; j < std::ssize(parent); ++j)
      if (parent[j] >= 0) {
        EXPECT_LE(parent[j] - subtree[parent[j]] + 1, j - subtree[j] + 1);
      }
  }
}

}  // namespace
}  // namespace lulab
