#pragma once
// A by rows, for kernels that sum a row.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/in_parallel.h"
#include "core/matrix/csc.h"

namespace lulab {

/// Aᵀ, whose columns are the rows of A; values: the position in A of each entry.
///
/// threads: take neighbouring columns each, with about equal numbers of entries.
/// Cost      O(m threads + n + nnz).
inline CscMatrix<std::int64_t> by_rows(CscPatternView a, int threads = 1) {
  std::vector<std::int32_t> first = {0};  // column of each thread
  for (int t = 1; t < threads; ++t)
    first.push_back(
        static_cast<std::int32_t>(std::ranges::lower_bound(a.col_ptr, a.nnz() * t / threads) - a.col_ptr.begin()));
  first.push_back(a.n_cols);
  std::vector<std::vector<std::int64_t>> next(threads);  // of each thread: where its next entry of a row goes
  in_parallel(threads, [&](int t) {
    next[t].assign(a.n_rows, 0);
    for (std::int64_t k = a.col_ptr[first[t]]; k < a.col_ptr[first[t + 1]]; ++k) ++next[t][a.row_idx[k]];
  });
  CscMatrix<std::int64_t> rows;
  rows.n_rows = a.n_cols;
  rows.n_cols = a.n_rows;
  rows.col_ptr.reserve(a.n_rows + std::size_t(1));
  std::int64_t end = 0;
  for (std::int32_t i = 0; i < a.n_rows; ++i) {
    for (auto& of_thread : next) end += std::exchange(of_thread[i], end);
    rows.col_ptr.push_back(end);
  }
  in_parallel(std::min(threads, 2), [&](int part) {  // fresh memory is slow
    if (part == 0) rows.row_idx.resize(end);
    if (part == 1 || threads == 1) rows.values.resize(end);
  });
  in_parallel(threads, [&](int t) {
    for (std::int32_t j = first[t]; j < first[t + 1]; ++j)
      for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
        const std::int64_t to = next[t][a.row_idx[k]]++;
        rows.row_idx[to] = j;
        rows.values[to] = k;
      }
  });
  return rows;
}

}  // namespace lulab
