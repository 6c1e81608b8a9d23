#pragma once
// Dense matrices, column-major with a leading dimension, as LAPACK stores them.

#include <cstdint>
#include <vector>

namespace lulab {

/// n_rows x n_cols, entry (i,j) at data[i + j * ld].   Requires ld >= max(1, n_rows).
template <class T>
struct DenseView {
  T* data = nullptr;
  std::int32_t n_rows = 0;
  std::int32_t n_cols = 0;
  std::int64_t ld = 1;

  T& operator()(std::int64_t i, std::int64_t j) const { return data[i + j * ld]; }
};

template <class T>
struct DenseMatrix {
  std::int32_t n_rows = 0;
  std::int32_t n_cols = 0;
  std::vector<T> values;  // column-major, ld = max(1, n_rows)

  DenseMatrix() = default;
  DenseMatrix(std::int32_t rows, std::int32_t cols)
      : n_rows(rows), n_cols(cols), values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols)) {}
  std::int64_t ld() const { return n_rows > 0 ? n_rows : 1; }
  T& operator()(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i + j * ld())]; }
  const T& operator()(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i + j * ld())]; }
  DenseView<T> view() { return {values.data(), n_rows, n_cols, ld()}; }
};

}  // namespace lulab
