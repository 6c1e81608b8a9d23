#pragma once
// Where a relaxed supernode ends: one rule for the host and the device.

#include <algorithm>
#include <cstdint>

#include "symbolic/relaxed_supernodes.h"

namespace lulab {

/// A panel ends where it does because of where it begins, whatever comes before.
///
/// It takes a small subtree of the elimination tree as a whole, a larger one around that, and so on, and then columns
/// that are the parent of the one before. So all its columns are below its last one in the tree.
struct PanelGrowth {
  static constexpr double slack = 16;           // zeros that every panel may have: cheaper than one more panel
  static constexpr double subtree_slack = 512;  // zeros of a small subtree: as one panel it needs no hops inside

  std::int32_t n;
  RelaxationOptions options;
  const std::int32_t* parent;       // (n) in the elimination tree; -1: none
  const std::int32_t* first_child;  // (n) the smallest one; at least n: none
  const std::int32_t* new_rows;     // (n, max_width) entry (j,k): rows of column j that none of the k before it has

  /// Rows of column j that none of those from `first` on before it has.
  constexpr std::int32_t new_rows_of(std::int32_t j, std::int32_t first) const {
    return new_rows[std::int64_t(options.max_width) * j + (j - first)];
  }

  struct End {
    std::int32_t column;  // after the panel's last one
    std::int64_t rows;    // of the panel
  };
  constexpr End end(std::int32_t first) const {
    Size size;
    std::int32_t end = first + 1;
    take(first, first, end, size);
    for (std::int32_t root = larger_subtree(first, first); root >= 0; root = larger_subtree(first, root)) {
      Size larger = size;
      take(first, end, root + 1, larger);
      if (!is_dense(larger, root + 1 - first, subtree_slack)) return {end, size.rows};
      size = larger;
      end = root + 1;
    }
    while (end < n && end - first < options.max_width && parent[end - 1] == end) {
      Size larger = size;
      take(first, end, end + 1, larger);
      if (!is_dense(larger, end + 1 - first, slack)) break;
      size = larger;
      ++end;
    }
    return {end, size.rows};
  }

 private:
  struct Size {
    std::int64_t rows = 0, entries = 0;  // of the union of columns, of all of them
  };
  /// Columns from .. to - 1 join the panel that begins with `first`.
  constexpr void take(std::int32_t first, std::int32_t from, std::int32_t to, Size& size) const {
    for (std::int32_t j = from; j < to; ++j) {
      size.rows += new_rows_of(j, first);
      size.entries += new_rows_of(j, j);
    }
  }
  constexpr bool is_dense(const Size& size, std::int32_t width, double zeros) const {
    return static_cast<double>(size.rows * width) <= options.padding * static_cast<double>(size.entries) + zeros;
  }
  /// Root of the next small subtree around that of `root`, if it consists of the columns from `first` on; -1: none.
  constexpr std::int32_t larger_subtree(std::int32_t first, std::int32_t root) const {
    const std::int32_t up = parent[root];
    if (up < 0 || up - first >= std::min(options.max_subtree, options.max_width)) return -1;
    for (std::int32_t j = first; j <= up; ++j)
      if (first_child[j] < first || (j < up && !(parent[j] >= 0 && parent[j] <= up))) return -1;
    return up;
  }
};

}  // namespace lulab
