#pragma once
// For tests of solves and checks: right factors of a small matrix by a method that shares nothing with the rungs.

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "core/plan.h"

namespace lulab::testing {

/// Values in ±[0.5, 1], unsymmetric pattern of about `density`, diagonal present and dominant under the identity.
inline CscMatrix<double> random_dominant(std::int32_t n, double density, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i) {
      if (i != j && unit(random) >= density) continue;
      const double v = (0.5 + unit(random) / 2) * (random() % 2 ? 1 : -1);
      a.row_idx.push_back(i);
      a.values.push_back(i == j ? v * (2 + n * density) : v);
    }
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

/// Any p, the q that keeps the diagonal of A on the diagonal, powers of two (and 3, to be less kind) as scalings.
inline Plan random_plan(std::int32_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Plan plan = Plan::identity(n);
  for (std::int32_t i = n - 1; i > 0; --i) std::swap(plan.p[i], plan.p[random() % (i + 1)]);
  plan.q = plan.p;
  for (double& v : plan.r) v = std::ldexp(1.0 + random() % 2, static_cast<int>(random() % 8) - 4);
  for (double& v : plan.c) v = std::ldexp(1.0 + random() % 3, static_cast<int>(random() % 8) - 4);
  plan.order = "given";
  return plan;
}

/// Right-looking elimination on a dense copy of P·R·A·C·Q with the diagonal as pivots; the pattern by elimination of
/// booleans. Requires small n; a structurally full diagonal.   Cost O(n³).
template <class T>
Factors<T> eliminate_densely(const CscView<double>& a, const Plan& plan) {
  const std::int32_t n = a.n_rows;
  const CscMatrix<double> b = apply(plan, a);
  std::vector<T> dense(std::size_t(n) * n, T(0));
  std::vector<char> filled(std::size_t(n) * n, 0);
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) {
      dense[b.row_idx[k] + std::size_t(j) * n] = static_cast<T>(b.values[k]);
      filled[b.row_idx[k] + std::size_t(j) * n] = 1;
    }
  const auto at = [n](std::int32_t i, std::int32_t j) { return i + std::size_t(j) * n; };
  for (std::int32_t k = 0; k < n; ++k) {
    filled[at(k, k)] = 1;
    for (std::int32_t i = k + 1; i < n; ++i)
      if (filled[at(i, k)]) dense[at(i, k)] /= dense[at(k, k)];
    for (std::int32_t j = k + 1; j < n; ++j)
      for (std::int32_t i = k + 1; i < n; ++i)
        if (filled[at(i, k)] && filled[at(k, j)]) {
          dense[at(i, j)] -= dense[at(i, k)] * dense[at(k, j)];
          filled[at(i, j)] = 1;
        }
  }
  Factors<T> f;
  f.plan = plan;
  f.filled.n = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i) {
      if (!filled[at(i, j)]) continue;
      if (i == j) f.filled.diag.push_back(f.filled.nnz());
      f.filled.row_idx.push_back(i);
      f.values.push_back(dense[at(i, j)]);
    }
    f.filled.col_ptr.push_back(f.filled.nnz());
  }
  return f;
}

}  // namespace lulab::testing
