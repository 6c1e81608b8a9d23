#include "symbolic/levels.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lulab {

Schedule group_levels(std::vector<std::int32_t> level_of) {
  Schedule s;
  s.level_of = std::move(level_of);
  const std::int32_t n_levels = s.level_of.empty() ? 0 : 1 + *std::max_element(s.level_of.begin(), s.level_of.end());
  s.level_ptr.assign(n_levels + std::size_t(1), 0);
  // lab: levels begin
  for (const std::int32_t level : s.level_of) ++s.level_ptr[level + 1];
  std::partial_sum(s.level_ptr.begin(), s.level_ptr.end(), s.level_ptr.begin());
  s.level_cols.resize(s.level_of.size());
  std::vector<std::int64_t> next(s.level_ptr.begin(), s.level_ptr.end() - 1);
  for (std::int32_t j = 0; j < static_cast<std::int32_t>(s.level_of.size()); ++j)
    s.level_cols[next[s.level_of[j]]++] = j;
  // lab: levels end
  return s;
}

Schedule levels_left_looking(const FilledPattern& f) {
  std::vector<std::int32_t> level_of(f.n, 0);
  // lab: levels begin
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p)
      level_of[j] = std::max(level_of[j], 1 + level_of[f.row_idx[p]]);
  // lab: levels end
  return group_levels(std::move(level_of));
}

}  // namespace lulab
