#include "solve/triangle.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "testing/made_up_factors.h"

namespace lulab {
namespace {

constexpr TriangleSide sides[] = {TriangleSide::lower, TriangleSide::upper, TriangleSide::upper_transposed,
                                  TriangleSide::lower_transposed};

/// {column, position in As} of the entries of a row, diagonal of U included, by the definition.
std::set<std::pair<std::int32_t, std::int64_t>> entries_of(const FilledPattern& f, TriangleSide side,
                                                           std::int32_t row) {
  std::set<std::pair<std::int32_t, std::int64_t>> entries;
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p) {
      const std::int32_t i = f.row_idx[p];
      const bool lower = side == TriangleSide::lower || side == TriangleSide::lower_transposed;
      const bool transposed = side == TriangleSide::upper_transposed || side == TriangleSide::lower_transposed;
      if (lower ? i > j : i <= j)
        if ((transposed ? j : i) == row) entries.insert({transposed ? i : j, p});
    }
  return entries;
}

void check(const FilledPattern& f, TriangleSide side) {
  const Triangle t = make_triangle(f, side);
  const bool by_rows = side == TriangleSide::lower || side == TriangleSide::upper;
  const EntriesByRows stored = by_rows ? entries_by_rows(f, side, t) : EntriesByRows{};
  ASSERT_EQ(std::ssize(stored.column), t.entries);
  const bool has_diagonal = side == TriangleSide::upper || side == TriangleSide::upper_transposed;
  ASSERT_EQ(static_cast<std::int32_t>(t.rows.size()), f.n);
  std::vector<std::int32_t> level(f.n, -1);
  for (std::int32_t l = 0; l < t.n_levels(); ++l)
    for (std::int32_t s = t.level_ptr[l]; s < t.level_ptr[l + 1]; ++s) {
      ASSERT_EQ(level[t.rows[s].row], -1);  // each row once
      level[t.rows[s].row] = l;
    }
  for (const TriangleRow& row : t.rows) {
    std::set<std::pair<std::int32_t, std::int64_t>> entries;
    std::int32_t highest = -1, before = -1;
    for (int e = 0; e < row.count; ++e) {
      const std::int64_t p = row.begin + std::int64_t(t.step) * e;
      const std::int32_t j = by_rows ? stored.column[p] : f.row_idx[p];
      entries.insert({j, by_rows ? stored.from[p] : p});
      EXPECT_LT(level[j], level[row.row]);
      highest = std::max(highest, level[j]);
      if (by_rows) {
        EXPECT_GE(level[j], before);
        before = level[j];
      }
    }
    EXPECT_EQ(highest + 1, level[row.row]);  // as early as can be
    if (has_diagonal) {
      const std::int64_t p = row.begin + row.count;
      entries.insert({row.row, by_rows ? stored.from[p] : p});
    }
    EXPECT_EQ(entries, entries_of(f, side, row.row));
  }
}

TEST(Triangle, HoldsEachEntryOnceInLevelOrder) {
  for (const auto& pattern : testing::patterns_for_tests(40)) {
    SCOPED_TRACE(pattern.name);
    const auto f = testing::make_up_factors<double>(pattern.n, 1, pattern.has);
    for (const TriangleSide side : sides) check(f.filled, side);
  }
}

TEST(Triangle, OfNothingHasNoLevels) {
  for (const TriangleSide side : sides) {
    const Triangle t = make_triangle({}, side);
    EXPECT_EQ(t.n_levels(), 0);
    EXPECT_TRUE(make_tasks(t, 1, 4).tasks.empty());
  }
}

TEST(Triangle, TasksDealEachRowOnceAndFitAWarp) {
  for (const auto& pattern : testing::patterns_for_tests(300)) {
    SCOPED_TRACE(pattern.name);
    const auto f = testing::make_up_factors<double>(pattern.n, 1, pattern.has);
    for (const TriangleSide side : sides)
      for (const int rhs_lanes : {1, 8, 32})
        for (const int wide : {1, 5, 1000}) {
          const Triangle t = make_triangle(f.filled, side);
          const TriangleTasks tasks = make_tasks(t, rhs_lanes, wide);
          ASSERT_EQ(tasks.level_ptr.size(), t.level_ptr.size());
          std::int32_t next = 0;
          for (std::int32_t l = 0; l < t.n_levels(); ++l) {
            EXPECT_LE(tasks.level_ptr[l], tasks.level_ptr[l + 1]);
            for (std::int32_t k = tasks.level_ptr[l]; k < tasks.level_ptr[l + 1]; ++k) {
              const TriangleTask& task = tasks.tasks[k];
              EXPECT_EQ(task.first, next);
              EXPECT_GE(task.count, 1);
              EXPECT_LE(task.count * task.lanes * rhs_lanes, 32);
              for (int r = 0; r < task.count; ++r) {
                const std::int32_t count = t.rows[task.first + r].count;
                EXPECT_TRUE(count <= 4 * task.lanes || task.lanes * rhs_lanes == 32) << count << " " << task.lanes;
              }
              if (wide == 1000) {
                EXPECT_EQ(task.count, 1);
              }
              next += task.count;
            }
            EXPECT_EQ(next, t.level_ptr[l + 1]);  // no task reaches into the next level
          }
          EXPECT_EQ(next, f.filled.n);
        }
  }
}

std::vector<std::int32_t> sums(const std::vector<std::int32_t>& widths) {
  std::vector<std::int32_t> s = {0};
  for (const std::int32_t w : widths) s.push_back(s.back() + w);
  return s;
}

TEST(Triangle, TheMiddleIsTheNarrowLevelsWhereThereAreMany) {
  std::vector<std::int32_t> narrow(40, 2), widths = {500, 90};
  widths.insert(widths.end(), narrow.begin(), narrow.end());
  const auto levels = sums(widths);
  const auto expect = [](const MiddleRange& m, std::int32_t first, std::int32_t end) {
    EXPECT_EQ(m.first_task, first);
    EXPECT_EQ(m.end_task, end);
    EXPECT_EQ(m.first_row, first);
    EXPECT_EQ(m.end_row, end);
  };
  expect(choose_middle(levels, levels, 1, 10000, true), 590, 670);
  expect(choose_middle(levels, levels, 1, 51, true), 620, 670);      // what fits
  expect(choose_middle(levels, levels, 1, 10, true), 670, 670);      // too few to pay
  expect(choose_middle(levels, levels, 20, 10000, true), 670, 670);  // no level is narrow for so many right-hand sides
  expect(choose_middle(levels, levels, 1, 10000, false), 0, 0);
  widths.assign(narrow.begin(), narrow.end());
  widths.insert(widths.begin() + 20, 30);  // a wide one among them is no end
  widths.push_back(500);
  expect(choose_middle(sums(widths), sums(widths), 1, 10000, false), 0, 110);
  expect(choose_middle({0}, {0}, 1, 100, true), 0, 0);
}

}  // namespace
}  // namespace lulab
