#include "solve/triangle.h"

#include <algorithm>
#include <array>
#include <bit>

#include "symbolic/levels.h"

namespace lulab {
namespace {

constexpr int entries_per_lane = 4;

// Estimates for choose_middle(), in tasks that a block completes one after the other: 0.08 us each, a hop 0.7 us.
constexpr double hop = 9, least_for_level = 2.5, least_gain = 4 * hop;

/// Lanes for a row of so many entries: 2^class.
int lanes_class(std::int32_t count) {
  const auto lanes = static_cast<std::uint32_t>((count + entries_per_lane - 1) / entries_per_lane);
  return std::min(5, lanes <= 1 ? 0 : static_cast<int>(std::bit_width(lanes - 1)));
}

/// The level of each row.
std::vector<std::int32_t> levels_of(const FilledPattern& f, TriangleSide side) {
  std::vector<std::int32_t> level(f.n, 0);
  const bool lower = side == TriangleSide::lower || side == TriangleSide::lower_transposed;
  const bool by_columns = side == TriangleSide::upper_transposed || side == TriangleSide::lower_transposed;
  const bool ascending = side == TriangleSide::lower || side == TriangleSide::upper_transposed;
  for (std::int32_t t = 0; t < f.n; ++t) {
    const std::int32_t j = ascending ? t : f.n - 1 - t;
    const std::int64_t begin = lower ? f.diag[j] + 1 : f.col_ptr[j], end = lower ? f.col_ptr[j + 1] : f.diag[j];
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int32_t i = f.row_idx[p];
      if (by_columns)
        level[j] = std::max(level[j], level[i] + 1);
      else
        level[i] = std::max(level[i], level[j] + 1);
    }
  }
  return level;
}

/// Entries beside the diagonal of each row.
std::vector<std::int32_t> counts_of(const FilledPattern& f, TriangleSide side) {
  std::vector<std::int32_t> count(f.n, 0);
  for (std::int32_t j = 0; j < f.n; ++j) {
    const std::int64_t l = f.col_ptr[j + 1] - f.diag[j] - 1, u = f.diag[j] - f.col_ptr[j];
    switch (side) {
      case TriangleSide::lower:
        for (std::int64_t p = f.diag[j] + 1; p < f.col_ptr[j + 1]; ++p) ++count[f.row_idx[p]];
        break;
      case TriangleSide::upper:
        for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p) ++count[f.row_idx[p]];
        break;
      case TriangleSide::upper_transposed: count[j] = static_cast<std::int32_t>(u); break;
      case TriangleSide::lower_transposed: count[j] = static_cast<std::int32_t>(l); break;
    }
  }
  return count;
}

}  // namespace

Triangle make_triangle(const FilledPattern& f, TriangleSide side) {
  const Schedule levels = group_levels(levels_of(f, side));
  const std::vector<std::int32_t> count = counts_of(f, side);
  Triangle t;
  t.level_ptr.assign(levels.level_ptr.begin(), levels.level_ptr.end());
  t.rows.reserve(f.n);
  for (std::int32_t l = 0; l < t.n_levels(); ++l)
    for (int lanes = 5; lanes >= 0; --lanes)
      for (std::int32_t s = t.level_ptr[l]; s < t.level_ptr[l + 1]; ++s) {
        const std::int32_t row = levels.level_cols[s];
        if (lanes_class(count[row]) == lanes) t.rows.push_back({0, count[row], row});
      }
  if (side == TriangleSide::lower || side == TriangleSide::upper) {
    for (TriangleRow& row : t.rows) {
      row.begin = t.entries;
      t.entries += row.count + (side == TriangleSide::upper ? 1 : 0);
    }
    return t;
  }
  t.step = side == TriangleSide::upper_transposed ? 1 : -1;
  for (TriangleRow& row : t.rows) row.begin = t.step > 0 ? f.col_ptr[row.row] : f.col_ptr[row.row + 1] - 1;
  return t;
}

EntriesByRows entries_by_rows(const FilledPattern& f, TriangleSide side, const Triangle& triangle) {
  const bool lower = side == TriangleSide::lower;
  EntriesByRows by_rows{std::vector<std::int32_t>(triangle.entries), std::vector<std::int64_t>(triangle.entries)};
  std::vector<std::int64_t> next(f.n);
  for (const TriangleRow& row : triangle.rows) next[row.row] = row.begin;
  // In the order of the solve, so that each row gets its entries by ascending level, and the diagonal last.
  for (const TriangleRow& row : triangle.rows) {
    const std::int32_t j = row.row;
    const std::int64_t begin = lower ? f.diag[j] + 1 : f.col_ptr[j], end = lower ? f.col_ptr[j + 1] : f.diag[j] + 1;
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t to = next[f.row_idx[p]]++;
      by_rows.column[to] = j;
      by_rows.from[to] = p;
    }
  }
  return by_rows;
}

TriangleTasks make_tasks(const Triangle& triangle, int rhs_lanes, int wide) {
  TriangleTasks made;
  made.level_ptr = {0};
  const int most_lanes = 32 / rhs_lanes;
  for (std::int32_t l = 0; l < triangle.n_levels(); ++l) {
    const std::int32_t begin = triangle.level_ptr[l], end = triangle.level_ptr[l + 1];
    const int rows_a_warp = std::min(32, (end - begin + wide - 1) / wide);
    for (std::int32_t s = begin; s < end;) {
      const int lanes = std::min(most_lanes, 1 << lanes_class(triangle.rows[s].count));
      const std::int32_t count = std::min({end - s, rows_a_warp, most_lanes / lanes});
      made.tasks.push_back({s, static_cast<std::int16_t>(count), static_cast<std::int16_t>(lanes)});
      s += count;
    }
    made.level_ptr.push_back(static_cast<std::int32_t>(made.tasks.size()));
  }
  return made;
}

MiddleRange choose_middle(const std::vector<std::int32_t>& level_rows, const std::vector<std::int32_t>& level_tasks,
                          std::int64_t rhs_groups, std::int64_t max_rows, bool at_end) {
  const auto n_levels = static_cast<std::int32_t>(level_rows.size()) - 1;
  double gain = 0, best_gain = least_gain;
  std::int32_t best = 0;  // levels
  std::int64_t rows = 0;
  for (std::int32_t k = 1; k <= n_levels; ++k) {
    const std::int32_t level = at_end ? n_levels - k : k - 1;
    rows += level_rows[level + 1] - level_rows[level];
    if (rows > max_rows) break;
    gain += hop - std::max(least_for_level, double(rhs_groups) * (level_tasks[level + 1] - level_tasks[level]));
    if (gain <= best_gain) continue;
    best_gain = gain;
    best = k;
  }
  const std::int32_t from = at_end ? n_levels - best : 0, to = at_end ? n_levels : best;
  return {level_tasks[from], level_tasks[to], level_rows[from], level_rows[to]};
}

}  // namespace lulab
