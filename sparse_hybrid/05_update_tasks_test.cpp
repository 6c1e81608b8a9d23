#include "sparse_hybrid/05_update_tasks.h"

#include <set>
#include <utility>

#include "sparse_hybrid/rungs.h"
#include "symbolic/dependencies.h"
#include "testing/fixed_pivots.h"

namespace lulab::sparse_hybrid {
namespace {

using testing::analysis_for;
using testing::expect_like;
using testing::generated_patterns;
using testing::matrix_that_fills_to;
using testing::NamedPattern;
using testing::random_patterns;

std::vector<NamedPattern> patterns() {
  auto all = random_patterns(40);
  for (auto& p : generated_patterns(64)) all.push_back(std::move(p));
  return all;
}

Schedule levels(const FilledPattern& f) { return levels_right_looking(f, DependencyRule::relaxed); }

std::int32_t column_at(const FilledPattern& f, std::int64_t start) {
  const auto it = std::ranges::lower_bound(f.col_ptr, start);
  return static_cast<std::int32_t>(it - f.col_ptr.begin());
}

/// (j,k) of a task. Its numbers are positions; those it has no say in are checked.
std::pair<std::int32_t, std::int32_t> columns_of(const FilledPattern& f, const UpdateTask& t) {
  const std::int32_t k = column_at(f, t.column), j = f.row_idx[t.column + t.u];
  EXPECT_EQ(f.col_ptr[k], t.column);
  EXPECT_LT(t.column + t.u, f.diag[k]);
  EXPECT_EQ(t.l, f.diag[j] + 1);
  EXPECT_EQ(t.rows, f.col_ptr[j + 1] - f.diag[j] - 1);
  return {j, k};
}

/// The map, by search.
std::vector<std::int64_t> make_map(const FilledPattern& f, const UpdateTasks& tasks) {
  std::vector<std::int64_t> map(tasks.map_size, -1);
  for (const MapPart& part : tasks.parts) {
    const auto first = f.row_idx.begin() + f.col_ptr[part.k], last = f.row_idx.begin() + f.col_ptr[part.k + 1];
    for (std::int32_t r = 0; r < part.task.rows; ++r) {
      std::int64_t& to = map.at(part.task.map + r);
      EXPECT_EQ(to, -1) << "two parts have one place";
      to = std::lower_bound(first, last, f.row_idx[part.task.l + r]) - first;
    }
  }
  EXPECT_TRUE(std::ranges::all_of(map, [](std::int64_t to) { return to >= 0; })) << "a place that no part has";
  return map;
}

TEST(UpdateTasks, EveryUpdateIsOneTaskInTheLevelOfItsColumn) {
  for (const auto& [name, f, before] : patterns()) {
    SCOPED_TRACE(name);
    const Schedule schedule = levels(f);
    const UpdateTasks tasks = make_update_tasks(f, schedule);
    std::set<std::pair<std::int32_t, std::int32_t>> expected, found;
    for (std::int32_t k = 0; k < f.n; ++k)
      for (std::int64_t p = f.col_ptr[k]; p < f.diag[k]; ++p)
        if (const std::int32_t j = f.row_idx[p]; f.diag[j] + 1 < f.col_ptr[j + 1]) expected.emplace(j, k);
    ASSERT_EQ(std::ssize(tasks.level_ptr), schedule.n_levels() + 1);
    ASSERT_EQ(tasks.level_ptr.front(), 0);
    ASSERT_EQ(tasks.level_ptr.back(), std::ssize(tasks.tasks));
    for (std::int32_t l = 0; l < schedule.n_levels(); ++l) {
      std::pair<std::int32_t, std::int32_t> before = {-1, -1};
      for (std::int64_t t = tasks.level_ptr[l]; t < tasks.level_ptr[l + 1]; ++t) {
        const auto pair = columns_of(f, tasks.tasks[t]);
        EXPECT_EQ(schedule.level_of[pair.first], l);
        EXPECT_LT(before, pair);
        EXPECT_TRUE(found.insert(pair).second) << "column " << pair.first << " updates " << pair.second << " twice";
        before = pair;
      }
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(UpdateTasks, PartsCoverTheMapOnceAndTasksFindTheirRowsThere) {
  for (const auto& [name, f, before] : patterns()) {
    SCOPED_TRACE(name);
    const UpdateTasks tasks = make_update_tasks(f, levels(f));
    for (const MapPart& part : tasks.parts) EXPECT_EQ(columns_of(f, part.task).second, part.k);
    const auto map = make_map(f, tasks);
    for (const UpdateTask& t : tasks.tasks)
      for (std::int32_t r = 0; r < t.rows; ++r) ASSERT_EQ(f.row_idx[t.column + map.at(t.map + r)], f.row_idx[t.l + r]);
  }
}

TEST(UpdateTasks, DoneOneAfterAnotherTheyAreTheReference) {
  for (const auto& [name, f, before] : patterns()) {
    SCOPED_TRACE(name);
    const auto a = matrix_that_fills_to<double>(f, f.nnz());
    const Analysis analysis = analysis_for(a);
    ASSERT_EQ(analysis.filled, f);
    const auto expected = testing::factor_with<double>(reference, analysis, a.values);
    ASSERT_TRUE(expected.ok()) << expected.status().to_string();

    const UpdateTasks tasks = make_update_tasks(f, levels(f));
    const auto map = make_map(f, tasks);
    std::vector<double> As(f.nnz(), 0);
    for (std::int64_t p = 0; p < a.nnz(); ++p) As[analysis.a_to_filled[p]] = a.values[p];
    for (const UpdateTask& t : tasks.tasks)
      for (std::int32_t r = 0; r < t.rows; ++r)
        As[t.column + map.at(t.map + r)] -= As[t.l + r] * (As[t.column + t.u] / As[t.l - 1]);
    for (std::int32_t j = 0; j < f.n; ++j)
      for (std::int64_t p = f.diag[j] + 1; p < f.col_ptr[j + 1]; ++p) As[p] /= As[f.diag[j]];
    expect_like(As, expected->values, f.n);
  }
}

std::int64_t rows_of_all(const UpdateTasks& tasks) {
  std::int64_t rows = 0;
  for (const UpdateTask& t : tasks.tasks) rows += t.rows;
  return rows;
}

TEST(UpdateTasks, OfASupernodeShareTheirPartOfTheMap) {
  const auto grid = testing::analyze_ordered(testing::grid_matrix(20, 1), {.order = Order::metis});
  ASSERT_TRUE(grid.ok()) << grid.status().to_string();
  const FilledPattern& f = grid->filled;
  const UpdateTasks tasks = make_update_tasks(f, levels(f));
  EXPECT_LT(2 * tasks.map_size, rows_of_all(tasks));
  EXPECT_LT(tasks.parts.size(), tasks.tasks.size());

  std::vector<std::vector<double>> full(9, std::vector<double>(9, 1.0));  // one supernode: a part a column
  const auto dense = fill_gilbert_peierls(testing::from_rows<double>(full));
  ASSERT_TRUE(dense.ok());
  EXPECT_EQ(make_update_tasks(*dense, levels(*dense)).parts.size(), 8u);
}

TEST(UpdateTasks, WithoutSupernodesHavePartsOfTheirOwn) {
  // Columns 0 to 2 reach rows 4 and 5 each on its own; column 3 keeps 2 apart from 4.
  std::vector<std::vector<double>> rows(6, std::vector<double>(6, 0.0));
  for (int i = 0; i < 6; ++i) rows[i][i] = 4;
  for (int i = 0; i < 3; ++i) rows[i][4] = rows[i][5] = rows[4][i] = rows[5][i] = 1;
  const auto f = fill_gilbert_peierls(testing::from_rows<double>(rows));
  ASSERT_TRUE(f.ok());
  const UpdateTasks tasks = make_update_tasks(*f, levels(*f));
  EXPECT_EQ(tasks.parts.size(), 7u);  // (0,4) (1,4) (2,4) (0,5) (1,5) (2,5), and (4,5), which is filled
  EXPECT_EQ(tasks.map_size, 13);
  EXPECT_EQ(tasks.map_size, rows_of_all(tasks));
}

TEST(UpdateTasks, NoColumnsHaveNone) {
  const UpdateTasks tasks = make_update_tasks(FilledPattern{}, Schedule{});
  EXPECT_EQ(tasks.level_ptr, std::vector<std::int64_t>{0});
  EXPECT_TRUE(tasks.tasks.empty() && tasks.parts.empty());
  EXPECT_EQ(tasks.map_size, 0);
}

TEST(UpdateTasks, AMapThatWouldBeTooLargeIsLeftOutAndTasksSayWhereTheirColumnEnds) {
  const auto a = testing::random_unsymmetric<double>(40, 0.08, 30.0, 5);
  const FilledPattern f = analysis_for(a.pattern()).filled;
  const UpdateTasks mapped = make_update_tasks(f, levels(f));
  ASSERT_GT(mapped.map_size, 0);
  EXPECT_EQ(make_update_tasks(f, levels(f), mapped.map_size).map_size, mapped.map_size);
  const UpdateTasks tasks = make_update_tasks(f, levels(f), mapped.map_size - 1);
  EXPECT_EQ(tasks.map_size, 0);
  EXPECT_TRUE(tasks.parts.empty());
  ASSERT_EQ(tasks.tasks.size(), mapped.tasks.size());
  for (std::size_t t = 0; t < tasks.tasks.size(); ++t) {
    EXPECT_EQ(tasks.tasks[t].map, f.col_ptr[column_at(f, tasks.tasks[t].column) + 1]);
  }
}

}  // namespace
}  // namespace lulab::sparse_hybrid
