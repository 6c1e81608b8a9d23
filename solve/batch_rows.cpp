#include "solve/batch_rows.h"

#include <algorithm>
#include <utility>

namespace lulab {

BatchTriangle cut_rows(const Triangle& triangle, const EntriesByRows& entries, bool unit_diagonal) {
  const auto n = static_cast<std::int32_t>(triangle.rows.size());
  BatchTriangle cut;
  cut.entries.reserve(entries.column.size());
  for (std::size_t e = 0; e < entries.column.size(); ++e)
    cut.entries.push_back({entries.column[e], static_cast<std::int32_t>(entries.from[e])});
  std::vector<std::int32_t> level_of(n);
  for (std::int32_t level = 0; level < triangle.n_levels(); ++level)
    for (std::int32_t q = triangle.level_ptr[level]; q < triangle.level_ptr[level + 1]; ++q)
      level_of[triangle.rows[q].row] = level;

  const auto for_each = [&](const auto& visit) {
    std::int32_t words = n;
    for (const TriangleRow& row : triangle.rows) {
      const auto begin = static_cast<std::int32_t>(row.begin);
      const std::int32_t parts = std::max(row.count - 1, 0) / max_batch_entries;
      for (std::int32_t q = 0; q < parts; ++q) {
        const std::int32_t from = begin + q * max_batch_entries;
        const std::int32_t last = cut.entries[from + max_batch_entries - 1].column;  // entries ascend by levels
        visit(level_of[last] + 1, BatchRow{from, max_batch_entries, words + q, 0, 0, -1});
      }
      const std::int32_t diagonal = unit_diagonal ? -1 : cut.entries[begin + row.count].from;
      visit(level_of[row.row], BatchRow{begin + parts * max_batch_entries, row.count - parts * max_batch_entries,
                                        row.row, words, parts, diagonal});
      words += parts;
    }
    cut.n_words = words;
  };
  std::vector<std::int32_t> next(triangle.n_levels() + std::size_t(1), 0);
  for_each([&](std::int32_t level, const BatchRow&) { ++next[level]; });
  std::int32_t at = 0;
  for (std::int32_t& count : next) at += std::exchange(count, at);
  cut.rows.resize(at);
  for_each([&](std::int32_t level, const BatchRow& row) { cut.rows[next[level]++] = row; });
  return cut;
}

}  // namespace lulab
