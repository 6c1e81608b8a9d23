#pragma once
// Sparse matrices: compressed sparse column (CSC) and row (CSR), owning types and views.
// Row and column indices are int32 and 0-based, pointers into the nonzeros int64.

#include <cstdint>
#include <span>
#include <vector>

#include "core/status.h"

namespace lulab {

/// The positions of the stored entries of an n_rows x n_cols matrix, column by column.
/// col_ptr: (n_cols + 1), row_idx: (nnz). "Sorted" means strictly increasing rows in each column (so no duplicates).
struct CscPatternView {
  std::int32_t n_rows = 0;
  std::int32_t n_cols = 0;
  std::span<const std::int64_t> col_ptr;
  std::span<const std::int32_t> row_idx;

  std::int64_t nnz() const { return static_cast<std::int64_t>(row_idx.size()); }
};

template <class T>
struct CscView : CscPatternView {
  std::span<const T> values;  // (nnz)
};

struct CscPattern {
  std::int32_t n_rows = 0;
  std::int32_t n_cols = 0;
  std::vector<std::int64_t> col_ptr = {0};
  std::vector<std::int32_t> row_idx;

  std::int64_t nnz() const { return static_cast<std::int64_t>(row_idx.size()); }
  CscPatternView view() const { return {n_rows, n_cols, col_ptr, row_idx}; }
  operator CscPatternView() const { return view(); }
  bool operator==(const CscPattern&) const = default;
};

template <class T>
struct CscMatrix : CscPattern {
  std::vector<T> values;

  CscView<T> view() const { return {CscPattern::view(), values}; }
  operator CscView<T>() const { return view(); }
  const CscPattern& pattern() const { return *this; }
  bool operator==(const CscMatrix&) const = default;
};

/// Compressed sparse row. row_ptr: (n_rows + 1), col_idx, values: (nnz).
template <class T>
struct CsrMatrix {
  std::int32_t n_rows = 0;
  std::int32_t n_cols = 0;
  std::vector<std::int64_t> row_ptr = {0};
  std::vector<std::int32_t> col_idx;
  std::vector<T> values;

  std::int64_t nnz() const { return static_cast<std::int64_t>(col_idx.size()); }
};

/// Checks sizes, monotone col_ptr, row range and sorted rows.
/// Errors    invalid_argument naming the first offending column (and row).   Cost O(n + nnz).
Status check_sorted(CscPatternView a);

/// A transposed; rows of the result are sorted.   Shapes A: m x n -> n x m.   Cost O(m + n + nnz).
CscPattern transpose(CscPatternView a);
template <class T>
CscMatrix<T> transpose(const CscView<T>& a);

/// The same matrix row by row (column indices sorted).   Cost O(m + n + nnz).
template <class T>
CsrMatrix<T> to_csr(const CscView<T>& a);
template <class T>
CscMatrix<T> to_csc(const CsrMatrix<T>& a);

/// The same matrix in another precision.
template <class To, class From>
CscMatrix<To> convert(const CscView<From>& a) {
  CscMatrix<To> b;
  b.n_rows = a.n_rows;
  b.n_cols = a.n_cols;
  b.col_ptr.assign(a.col_ptr.begin(), a.col_ptr.end());
  b.row_idx.assign(a.row_idx.begin(), a.row_idx.end());
  b.values.resize(a.values.size());
  for (std::size_t k = 0; k < a.values.size(); ++k) b.values[k] = static_cast<To>(a.values[k]);
  return b;
}

/// CSC from coordinate triplets in any order; duplicates are summed, explicit zeros kept, rows sorted.
/// Requires  rows, cols, values of equal length; 0 <= rows[k] < n_rows, 0 <= cols[k] < n_cols.   Cost O(m + n + nnz).
template <class T>
CscMatrix<T> from_triplets(std::int32_t n_rows, std::int32_t n_cols, std::span<const std::int32_t> rows,
                           std::span<const std::int32_t> cols, std::span<const T> values);

/// y = A x.   Shapes x: (n_cols), y: (n_rows).
template <class T>
void multiply(const CscView<T>& a, std::span<const T> x, std::span<T> y);

}  // namespace lulab
