#pragma once
// What rungs that work on a full copy of P·R·A·C·Q say and hand back.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/plan.h"
#include "core/status.h"

namespace lulab::dense {

/// Errors    out_of_memory, with what it would take, when n exceeds max_n or a full n x n copy exceeds max_bytes.
template <class T>
Status check_dense_size(std::int32_t n, std::int32_t max_n, double max_bytes) {
  const double bytes = static_cast<double>(sizeof(T)) * n * n;
  if (n <= max_n && bytes <= max_bytes) return {};
  return Status::error(
      StatusCode::out_of_memory,
      fmt::format(
          "a dense copy of this {0} x {0} matrix takes {1:.3g} MB; this rung stops at n = {2}: use a sparse rung", n,
          bytes / 1e6, std::min(max_n, static_cast<std::int32_t>(std::sqrt(max_bytes / sizeof(T))))));
}

/// Every position of an n x n matrix, columns one after the other: a full matrix with ld = n is its values.
inline FilledPattern full_pattern(std::int32_t n) {
  FilledPattern full;
  full.n = n;
  full.row_idx.reserve(static_cast<std::size_t>(n) * n);
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i) full.row_idx.push_back(i);
    full.col_ptr.push_back(full.nnz());
    full.diag.push_back(full.col_ptr[j] + j);
  }
  return full;
}

/// Divisions, multiplications and subtractions of LU of a full n x n matrix.
inline double getrf_flops(double n) { return 2.0 / 3.0 * n * n * n - 0.5 * n * n - n / 6.0; }

}  // namespace lulab::dense
