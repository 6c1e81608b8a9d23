#include "core/matrix/csc.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/matrix/permutation.h"

namespace lulab {

namespace {

/// Are all rows in range and increasing in each column? Without a branch an entry: in the whole array as many rows do
/// not increase as at the starts of columns, where they need not.
///
/// Requires  col_ptr increases from 0 to nnz.
bool rows_are_sorted(CscPatternView a) {
  const std::int32_t* row = a.row_idx.data();
  const auto limit = static_cast<std::uint32_t>(a.n_rows);
  std::uint32_t outside = 0;
  for (std::int64_t k = 0; k < a.nnz(); ++k) outside |= static_cast<std::uint32_t>(row[k]) >= limit;
  std::int64_t falls = 0;
  for (std::int64_t k = 1; k < a.nnz(); ++k) falls += row[k] <= row[k - 1];
  for (std::int32_t j = 1; j < a.n_cols; ++j)
    if (const std::int64_t k = a.col_ptr[j]; k > a.col_ptr[j - 1] && k < a.nnz()) falls -= row[k] <= row[k - 1];
  return outside == 0 && falls == 0;
}

}  // namespace

Status check_sorted(CscPatternView a) {
  const auto bad = [](std::string message, std::vector<std::int32_t> rows = {},
                      std::vector<std::int32_t> columns = {}) {
    return Status::error(StatusCode::invalid_argument, std::move(message),
                         {{}, 0, std::move(rows), std::move(columns)});
  };
  if (a.n_rows < 0 || a.n_cols < 0) return bad(fmt::format("negative dimension {} x {}", a.n_rows, a.n_cols));
  if (a.col_ptr.size() != static_cast<std::size_t>(a.n_cols) + 1)
    return bad(fmt::format("col_ptr has {} elements; n_cols + 1 = {} are needed", a.col_ptr.size(),
                           a.n_cols + std::int64_t(1)));
  if (a.col_ptr[0] != 0 || a.col_ptr[a.n_cols] != a.nnz())
    return bad(fmt::format("col_ptr runs from {} to {}; it must run from 0 to nnz = {}", a.col_ptr[0],
                           a.col_ptr[a.n_cols], a.nnz()));
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    if (a.col_ptr[j] > a.col_ptr[j + 1]) return bad(fmt::format("col_ptr decreases at column {}", j + 1), {}, {j});
  if (rows_are_sorted(a)) return {};
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const std::int32_t i = a.row_idx[k];
      if (i < 0 || i >= a.n_rows)
        return bad(fmt::format("row {} in column {} is outside 1..{}", i + std::int64_t(1), j + 1, a.n_rows), {i}, {j});
      if (k > a.col_ptr[j] && i <= a.row_idx[k - 1])
        return bad(fmt::format("rows of column {} are not strictly increasing at row {}; sort them and sum duplicates",
                               j + 1, i + 1),
                   {i}, {j});
    }
  }
  return {};
}

namespace {

template <class Entry>
void transpose_entries(CscPatternView a, CscPattern& b, Entry&& move_entry) {
  b.n_rows = a.n_cols;
  b.n_cols = a.n_rows;
  b.col_ptr.assign(static_cast<std::size_t>(a.n_rows) + 1, 0);
  b.row_idx.resize(a.nnz());
  for (std::int32_t i : a.row_idx) ++b.col_ptr[i + 1];
  std::partial_sum(b.col_ptr.begin(), b.col_ptr.end(), b.col_ptr.begin());
  std::vector<std::int64_t> next(b.col_ptr.begin(), b.col_ptr.end() - 1);
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const std::int64_t to = next[a.row_idx[k]]++;
      b.row_idx[to] = j;
      move_entry(k, to);
    }
  }
}

/// Sorts the rows of short columns by insertion, keeping the order of duplicates.
/// Returns false if a longer column is unsorted too; the caller then sorts by transposing.
template <class T>
bool sort_short_columns(CscMatrix<T>& a) {
  constexpr std::int64_t longest = 32;
  bool sorted = true;
  for (std::int32_t j = 0; j < a.n_cols && sorted; ++j) {
    const std::int64_t begin = a.col_ptr[j];
    const std::int64_t end = a.col_ptr[j + 1];
    if (end - begin > longest) sorted = std::is_sorted(a.row_idx.begin() + begin, a.row_idx.begin() + end);
    for (std::int64_t k = begin + 1; k < end && end - begin <= longest; ++k) {
      const std::int32_t row = a.row_idx[k];
      const T value = a.values[k];
      std::int64_t to = k;
      for (; to > begin && a.row_idx[to - 1] > row; --to) {
        a.row_idx[to] = a.row_idx[to - 1];
        a.values[to] = a.values[to - 1];
      }
      a.row_idx[to] = row;
      a.values[to] = value;
    }
  }
  return sorted;
}

}  // namespace

CscPattern transpose(CscPatternView a) {
  CscPattern b;
  transpose_entries(a, b, [](std::int64_t, std::int64_t) {});
  return b;
}

template <class T>
CscMatrix<T> transpose(const CscView<T>& a) {
  CscMatrix<T> b;
  b.values.resize(a.nnz());
  transpose_entries(a, b, [&](std::int64_t from, std::int64_t to) { b.values[to] = a.values[from]; });
  return b;
}

template CscMatrix<std::int64_t> transpose(const CscView<std::int64_t>&);  // positions of entries move as values do

template <class T>
CsrMatrix<T> to_csr(const CscView<T>& a) {
  CscMatrix<T> t = transpose(a);
  return {a.n_rows, a.n_cols, std::move(t.col_ptr), std::move(t.row_idx), std::move(t.values)};
}

template <class T>
CscMatrix<T> to_csc(const CsrMatrix<T>& a) {
  return transpose(CscView<T>{{a.n_cols, a.n_rows, a.row_ptr, a.col_idx}, a.values});
}

template <class T>
CscMatrix<T> from_triplets(std::int32_t n_rows, std::int32_t n_cols, std::span<const std::int32_t> rows,
                           std::span<const std::int32_t> cols, std::span<const T> values) {
  CscMatrix<T> a;
  a.n_rows = n_rows;
  a.n_cols = n_cols;
  a.col_ptr.assign(static_cast<std::size_t>(n_cols) + 1, 0);
  for (std::int32_t j : cols) ++a.col_ptr[j + 1];
  std::partial_sum(a.col_ptr.begin(), a.col_ptr.end(), a.col_ptr.begin());
  a.row_idx.resize(rows.size());
  a.values.resize(rows.size());
  std::vector<std::int64_t> next(a.col_ptr.begin(), a.col_ptr.end() - 1);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::int64_t to = next[cols[k]]++;
    a.row_idx[to] = rows[k];
    a.values[to] = values[k];
  }
  // Transposing twice also sorts the rows of every column in linear time and keeps the order of duplicates.
  if (!sort_short_columns(a)) a = transpose(transpose(a.view()).view());
  std::int64_t kept = 0;
  std::int64_t begin = 0;
  for (std::int32_t j = 0; j < n_cols; ++j) {
    const std::int64_t end = a.col_ptr[j + 1];
    const std::int64_t first = kept;
    for (std::int64_t k = begin; k < end; ++k) {
      if (kept > first && a.row_idx[kept - 1] == a.row_idx[k]) {
        a.values[kept - 1] += a.values[k];
      } else {
        a.row_idx[kept] = a.row_idx[k];
        a.values[kept] = a.values[k];
        ++kept;
      }
    }
    begin = end;
    a.col_ptr[j + 1] = kept;
  }
  a.row_idx.resize(kept);
  a.values.resize(kept);
  return a;
}

template <class T>
void multiply(const CscView<T>& a, std::span<const T> x, std::span<T> y) {
  std::fill(y.begin(), y.end(), T(0));
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) y[a.row_idx[k]] += a.values[k] * x[j];
}

#define LULAB_INSTANTIATE(T)                                                                     \
  template CscMatrix<T> transpose(const CscView<T>&);                                            \
  template CsrMatrix<T> to_csr(const CscView<T>&);                                               \
  template CscMatrix<T> to_csc(const CsrMatrix<T>&);                                             \
  template CscMatrix<T> from_triplets(std::int32_t, std::int32_t, std::span<const std::int32_t>, \
                                      std::span<const std::int32_t>, std::span<const T>);        \
  template void multiply(const CscView<T>&, std::span<const T>, std::span<T>);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab
