#pragma once
// Patterns for the tests of the performance model.

#include <cstdint>
#include <vector>

#include "core/plan.h"

namespace lulab {

/// Column j of U holds the rows needs[j], ascending, and its diagonal; L is the identity.
inline FilledPattern pattern_of_u(const std::vector<std::vector<int>>& needs) {
  FilledPattern f;
  f.n = static_cast<std::int32_t>(needs.size());
  for (std::int32_t j = 0; j < f.n; ++j) {
    f.row_idx.insert(f.row_idx.end(), needs[j].begin(), needs[j].end());
    f.diag.push_back(static_cast<std::int64_t>(f.row_idx.size()));
    f.row_idx.push_back(j);
    f.col_ptr.push_back(static_cast<std::int64_t>(f.row_idx.size()));
  }
  return f;
}

/// Ten columns on the levels of Chen et al. 2015, appendix A, figure 1: {1 2 3 5 7} {4 6} {8} {9} {10}. Column 9 needs
/// 4, 6, 7 and 8, column 10 needs 8 and 9, as there; the others need what their level asks for.
inline FilledPattern paper_example() {
  return pattern_of_u({{}, {}, {}, {0, 1}, {}, {2, 4}, {}, {5}, {3, 5, 6, 7}, {7, 8}});
}

}  // namespace lulab
