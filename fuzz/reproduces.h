#pragma once
// Whether L·U = P·R·A·C·Q in dense long double arithmetic: what the judge accepts must.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/matrix/csc.h"
#include "fuzz/finding.h"

namespace lulab::fuzz {

using Dense = std::vector<long double>;  // (n x n) by rows

inline Dense to_dense(const CscMatrix<double>& a) {
  const std::size_t n = a.n_cols;
  Dense dense(n * n, 0);
  for (std::size_t j = 0; j < n; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) dense[a.row_idx[k] * n + j] = a.values[k];
  return dense;
}

/// For factors in the convention lulab that were accepted with this tolerance. p, q: from 0; empty p, q, r, c as in
/// ForeignFactors.
inline void require_reproduced(const CscMatrix<double>& a, const CscMatrix<double>& l, const CscMatrix<double>& u,
                               std::span<const std::int64_t> p, std::span<const std::int64_t> q,
                               std::span<const double> r, std::span<const double> c, double tolerance) {
  const std::size_t n = a.n_cols;
  const Dense da = to_dense(a), dl = to_dense(l), du = to_dense(u);
  long double error = 0, size = 0;  // 1-norms
  for (std::size_t j = 0; j < n; ++j) {
    long double error_of_column = 0, size_of_column = 0;
    const std::size_t qj = q.empty() ? j : q[j];
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t pi = p.empty() ? i : p[i];
      const long double wanted = (r.empty() ? 1 : r[pi]) * da[pi * n + qj] * (c.empty() ? 1 : c[qj]);
      long double found = 0;
      for (std::size_t k = 0; k <= std::min(i, j); ++k) found += (k == i ? 1 : dl[i * n + k]) * du[k * n + j];
      error_of_column += std::abs(wanted - found);
      size_of_column += std::abs(wanted);
    }
    error = std::max(error, error_of_column);
    size = std::max(size, size_of_column);
  }
  require(error <= 2 * tolerance * n * size * 0x1p-53L, "accepted, but ||PRACQ - LU|| = {} of {}",
          static_cast<double>(error), static_cast<double>(size));
}

}  // namespace lulab::fuzz
