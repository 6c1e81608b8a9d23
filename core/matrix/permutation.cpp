#include "core/matrix/permutation.h"

#include <algorithm>
#include <numeric>

namespace lulab {

Permutation identity_permutation(std::int32_t n) {
  Permutation p(n);
  std::iota(p.begin(), p.end(), 0);
  return p;
}

std::int64_t first_not_permuted(std::span<const std::int32_t> p) {
  std::vector<bool> seen(p.size(), false);
  for (std::size_t k = 0; k < p.size(); ++k) {
    const std::int32_t i = p[k];
    if (i < 0 || static_cast<std::size_t>(i) >= p.size() || seen[i]) return static_cast<std::int64_t>(k);
    seen[i] = true;
  }
  return -1;
}

Permutation inverse(std::span<const std::int32_t> p) {
  Permutation inv(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) inv[p[i]] = static_cast<std::int32_t>(i);
  return inv;
}

Permutation compose(std::span<const std::int32_t> p, std::span<const std::int32_t> q) {
  Permutation pq(q.size());
  for (std::size_t i = 0; i < q.size(); ++i) pq[i] = p[q[i]];
  return pq;
}

namespace {

// Two bucket passes (transpose twice) leave rows sorted without comparing. Entries move from A to a place by rows, then
// from there to B.
template <class FirstMove, class SecondMove>
void permute_entries(CscPatternView a, std::span<const std::int32_t> p, std::span<const std::int32_t> q, CscPattern& b,
                     FirstMove&& move_to_rows, SecondMove&& move_to_b) {
  const Permutation pinv = inverse(p);
  std::vector<std::int64_t> row_ptr(static_cast<std::size_t>(a.n_rows) + 1, 0);
  for (std::int32_t i : a.row_idx) ++row_ptr[pinv[i] + 1];
  std::partial_sum(row_ptr.begin(), row_ptr.end(), row_ptr.begin());
  std::vector<std::int32_t> by_row_col(a.nnz());
  b.n_rows = a.n_rows;
  b.n_cols = a.n_cols;
  b.col_ptr.assign(static_cast<std::size_t>(a.n_cols) + 1, 0);
  b.row_idx.resize(a.nnz());
  std::vector<std::int64_t> next(row_ptr.begin(), row_ptr.end() - 1);
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    b.col_ptr[j + 1] = b.col_ptr[j] + (a.col_ptr[q[j] + 1] - a.col_ptr[q[j]]);
    for (std::int64_t k = a.col_ptr[q[j]]; k < a.col_ptr[q[j] + 1]; ++k) {
      const std::int64_t to = next[pinv[a.row_idx[k]]]++;
      by_row_col[to] = j;
      move_to_rows(k, to);
    }
  }
  std::vector<std::int64_t> fill(b.col_ptr.begin(), b.col_ptr.end() - 1);
  for (std::int32_t i = 0; i < a.n_rows; ++i) {
    for (std::int64_t k = row_ptr[i]; k < row_ptr[i + 1]; ++k) {
      const std::int64_t to = fill[by_row_col[k]]++;
      b.row_idx[to] = i;
      move_to_b(k, to);
    }
  }
}

}  // namespace

CscPattern permute(CscPatternView a, std::span<const std::int32_t> p, std::span<const std::int32_t> q) {
  const Permutation pinv = inverse(p);
  CscPattern b;
  b.n_rows = a.n_rows;
  b.n_cols = a.n_cols;
  b.col_ptr.reserve(static_cast<std::size_t>(a.n_cols) + 1);
  b.row_idx.resize(a.nnz());
  auto to = b.row_idx.begin();
  for (const std::int32_t j : q) {
    const auto begin = to;
    bool sorted = true;
    std::int32_t last = -1;
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const std::int32_t i = pinv[a.row_idx[k]];
      sorted &= i > last;
      last = *to++ = i;
    }
    if (!sorted) std::sort(begin, to);
    b.col_ptr.push_back(to - b.row_idx.begin());
  }
  return b;
}

template <class T>
CscMatrix<T> permute(const CscView<T>& a, std::span<const std::int32_t> p, std::span<const std::int32_t> q) {
  CscMatrix<T> b;
  b.values.resize(a.nnz());
  std::vector<T> by_row(a.nnz());
  permute_entries(
      a, p, q, b, [&](std::int64_t from, std::int64_t to) { by_row[to] = a.values[from]; },
      [&](std::int64_t from, std::int64_t to) { b.values[to] = by_row[from]; });
  return b;
}
template CscMatrix<float> permute(const CscView<float>&, std::span<const std::int32_t>, std::span<const std::int32_t>);
template CscMatrix<double> permute(const CscView<double>&, std::span<const std::int32_t>,
                                   std::span<const std::int32_t>);
template CscMatrix<std::int64_t> permute(const CscView<std::int64_t>&, std::span<const std::int32_t>,
                                         std::span<const std::int32_t>);  // positions of entries move as values do

template <class T>
CscMatrix<T> scale(const CscView<T>& a, std::span<const double> r, std::span<const double> c) {
  CscMatrix<T> b;
  b.n_rows = a.n_rows;
  b.n_cols = a.n_cols;
  b.col_ptr.assign(a.col_ptr.begin(), a.col_ptr.end());
  b.row_idx.assign(a.row_idx.begin(), a.row_idx.end());
  b.values.resize(a.nnz());
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      b.values[k] = static_cast<T>(r[a.row_idx[k]] * static_cast<double>(a.values[k]) * c[j]);
  return b;
}
template CscMatrix<float> scale(const CscView<float>&, std::span<const double>, std::span<const double>);
template CscMatrix<double> scale(const CscView<double>&, std::span<const double>, std::span<const double>);

}  // namespace lulab
