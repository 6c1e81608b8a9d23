#pragma once
// Parts of the columns of a pattern that threads take.

#include <algorithm>
#include <cstdint>

#include "core/plan.h"

namespace lulab {

/// Where the columns of a part begin, that of `parts` at n: parts have about as many entries each.
inline std::int32_t first_column(const FilledPattern& f, int part, int parts) {
  if (part == parts) return f.n;
  const auto at = std::lower_bound(f.col_ptr.begin(), f.col_ptr.end() - 1, f.nnz() / parts * part);
  return static_cast<std::int32_t>(at - f.col_ptr.begin());
}

}  // namespace lulab
