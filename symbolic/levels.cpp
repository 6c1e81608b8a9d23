#include "symbolic/levels.h"

#include <algorithm>
#include <numeric>

namespace lulab {

Schedule levels_left_looking(const FilledPattern& f) {
  Schedule s;
  s.level_of.resize(f.n);
  std::int32_t n_levels = 0;
  for (std::int32_t j = 0; j < f.n; ++j) {
    std::int32_t level = 0;
    for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p) level = std::max(level, 1 + s.level_of[f.row_idx[p]]);
    s.level_of[j] = level;
    n_levels = std::max(n_levels, level + 1);
  }
  s.level_ptr.assign(n_levels + std::size_t(1), 0);
  for (const std::int32_t level : s.level_of) ++s.level_ptr[level + 1];
  std::partial_sum(s.level_ptr.begin(), s.level_ptr.end(), s.level_ptr.begin());
  s.level_cols.resize(f.n);
  std::vector<std::int64_t> next(s.level_ptr.begin(), s.level_ptr.end() - 1);
  for (std::int32_t j = 0; j < f.n; ++j) s.level_cols[next[s.level_of[j]]++] = j;
  return s;
}

}  // namespace lulab
