#pragma once
// For tests of sparse rungs with fixed pivots: matrices with a given fill, the factors they must have, and how near is
// near enough.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "testing/analysis.h"
#include "testing/patterns.h"
#include "testing/rungs.h"

namespace lulab::testing {

/// The same positions less those that elimination fills anyway, with random values: diagonally dominant, so that
/// without pivoting no entry grows.
template <class T>
CscMatrix<T> matrix_that_fills_to(const FilledPattern& f, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> size(0.5, 1.5);
  std::vector stored(f.n, std::vector<bool>(f.n, false));
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p) stored[f.row_idx[p]][j] = true;
  CscMatrix<T> a;
  a.n_rows = a.n_cols = f.n;
  for (std::int32_t j = 0; j < f.n; ++j) {
    for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p) {
      const std::int32_t i = f.row_idx[p];
      bool fill = false;
      for (std::int32_t k = 0; k < std::min(i, j); ++k) fill = fill || (stored[i][k] && stored[k][j]);
      if (fill && i != j) continue;
      const double value = i == j ? (2.0 + f.n) * size(random) : random() % 2 ? size(random) : -size(random);
      a.row_idx.push_back(i);
      a.values.push_back(static_cast<T>(value));
    }
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

inline Analysis analysis_with(const CscPattern& a, Plan plan) {
  auto analysis = analyze_with_plan(a.view(), std::move(plan));
  EXPECT_TRUE(analysis.ok()) << analysis.status().to_string();
  return std::move(*analysis);
}
inline Analysis analysis_for(const CscPattern& a) { return analysis_with(a, Plan::identity(a.n_cols)); }

/// L below the diagonal and U on and above it, by rows: a(i,:) -= a(i,k) / a(k,k) · a(k,:).
inline DenseMatrix<double> eliminate_dense(DenseMatrix<double> a, std::int32_t n) {
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t k = 0; k < i; ++k) {
      a(i, k) /= a(k, k);
      for (std::int32_t j = k + 1; j < n; ++j) a(i, j) -= a(i, k) * a(k, j);
    }
  return a;
}

/// The same on the pattern of L and U.
template <class T>
std::vector<T> dense_factors(const CscMatrix<T>& a, const Analysis& analysis) {
  const FilledPattern& f = analysis.filled;
  const auto lu = eliminate_dense(to_dense(apply(analysis.plan, a.view())), f.n);
  std::vector<T> values;
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p)
      values.push_back(static_cast<T>(lu(f.row_idx[p], j)));
  return values;
}

/// Entries of `values` that are not those of `expected`. A sum of at most n products, each rounded, in another order,
/// of a diagonally dominant matrix: 4 · n · eps · the largest entry.
template <class T>
std::vector<std::size_t> unlike(std::span<const T> values, std::span<const T> expected, std::int32_t n) {
  double largest = 0;
  for (const T v : expected) largest = larger(largest, std::abs(static_cast<double>(v)));
  const double tol = 4.0 * n * double(std::numeric_limits<T>::epsilon()) * largest;
  std::vector<std::size_t> positions;
  for (std::size_t p = 0; p < expected.size(); ++p)
    if (p >= values.size() || !(std::abs(double(values[p]) - double(expected[p])) <= tol)) positions.push_back(p);
  return positions;
}

template <class T>
void expect_like(const std::vector<T>& values, const std::vector<T>& expected, std::int32_t n) {
  EXPECT_EQ(values.size(), expected.size());
  const auto wrong = unlike<T>(values, expected, n);
  EXPECT_TRUE(wrong.empty()) << wrong.size() << " of " << expected.size() << " entries are wrong, the first at "
                             << wrong.front();
}

}  // namespace lulab::testing
