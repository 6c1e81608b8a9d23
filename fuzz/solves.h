#pragma once
// Whether x solves A x = b, and whether it could be found: dense, in long double arithmetic.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "core/matrix/csc.h"
#include "fuzz/reproduces.h"

namespace lulab::fuzz {

struct System {
  CscMatrix<double> a;
  std::vector<double> b;
  bool transposed = false;
};

/// max |entry| of rows and columns becomes about 1, by powers of two; what was done to columns is in `columns`.
inline void equilibrate(Dense& a, Dense& b, std::vector<int>& columns) {
  const std::size_t n = columns.size();
  for (int sweep = 0; sweep < 8; ++sweep)
    for (const bool by_rows : {true, false})
      for (std::size_t i = 0; i < n; ++i) {
        long double largest = 0;
        for (std::size_t j = 0; j < n; ++j)
          largest = std::max(largest, std::abs(by_rows ? a[i * n + j] : a[j * n + i]));
        if (largest == 0) continue;
        const int shift = -std::ilogb(largest);
        for (std::size_t j = 0; j < n; ++j) {
          long double& v = by_rows ? a[i * n + j] : a[j * n + i];
          v = std::ldexp(v, shift);
        }
        if (by_rows) b[i] = std::ldexp(b[i], shift);
        if (!by_rows) columns[i] += shift;
      }
}

struct Truth {
  bool invertible = false;
  long double condition =
      std::numeric_limits<long double>::infinity();  // of the equilibrated matrix, in the infinity norm
  bool in_range = false;                             // neither x nor what leads to it is near the ends of double
};

/// Gauss-Jordan elimination with complete pivoting.
inline Truth truth_of(const System& system) {
  const std::size_t n = system.a.n_cols;
  Dense a = fuzz::to_dense(system.a), b(system.b.begin(), system.b.end());
  if (system.transposed)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j) std::swap(a[i * n + j], a[j * n + i]);
  std::vector<int> columns(n, 0);
  equilibrate(a, b, columns);
  long double norm = 0;
  for (std::size_t i = 0; i < n; ++i) {
    long double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += std::abs(a[i * n + j]);
    norm = std::max(norm, sum);
  }
  const std::size_t width = 2 * n + 1;  // A, b, I
  Dense t(n * width, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) t[i * width + j] = a[i * n + j];
    t[i * width + n] = b[i];
    t[i * width + n + 1 + i] = 1;
  }
  std::vector<std::size_t> column(n);
  std::iota(column.begin(), column.end(), 0);
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t row = k, best = k;
    for (std::size_t i = k; i < n; ++i)
      for (std::size_t j = k; j < n; ++j)
        if (std::abs(t[i * width + j]) > std::abs(t[row * width + best])) row = i, best = j;
    if (std::abs(t[row * width + best]) < 1e-17L) return {};
    for (std::size_t j = 0; j < width; ++j) std::swap(t[k * width + j], t[row * width + j]);
    for (std::size_t i = 0; i < n; ++i) std::swap(t[i * width + k], t[i * width + best]);
    std::swap(column[k], column[best]);
    const long double pivot = t[k * width + k];
    for (std::size_t j = 0; j < width; ++j) t[k * width + j] /= pivot;
    for (std::size_t i = 0; i < n; ++i) {
      const long double factor = t[i * width + k];
      if (i == k || factor == 0) continue;
      for (std::size_t j = 0; j < width; ++j) t[i * width + j] -= factor * t[k * width + j];
    }
  }
  Truth truth{true, 0, true};
  for (std::size_t k = 0; k < n; ++k) {
    long double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += std::abs(t[k * width + n + 1 + j]);
    truth.condition = std::max(truth.condition, sum * norm);
    const long double x = std::ldexp(t[k * width + n], columns[column[k]]);
    if (x != 0 && !(std::abs(x) < 1e150 && std::abs(x) > 1e-150)) truth.in_range = false;
  }
  for (const double v : system.a.values)
    if (v != 0 && !(std::abs(v) < 1e150 && std::abs(v) > 1e-150)) truth.in_range = false;
  return truth;
}

/// The largest |b - A x|_i / (|A| |x| + |b| + ||A(i,:)|| ||x||)_i.
inline double error_of(const System& system, const std::vector<double>& x) {
  const std::size_t n = x.size();
  Dense a = fuzz::to_dense(system.a);
  long double size_of_x = 0, worst = 0;
  for (const double v : x) size_of_x = std::max(size_of_x, std::abs(static_cast<long double>(v)));
  for (std::size_t i = 0; i < n; ++i) {
    long double r = system.b[i], size = std::abs(r), largest = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const long double v = system.transposed ? a[j * n + i] : a[i * n + j];
      r -= v * x[j];
      size += std::abs(v * x[j]);
      largest = std::max(largest, std::abs(v));
    }
    size += largest * size_of_x;
    // The digits that x and the products have lost by underflow do not count.
    const long double lost = (1 + largest) * (2 * n + 2) * std::numeric_limits<double>::denorm_min();
    if (std::abs(r) > lost) worst = std::max(worst, (std::abs(r) - lost) / size);
  }
  return static_cast<double>(worst);
}

/// As a text of Matrix Market, with b behind it.
inline std::string text_of(const System& system) {
  const CscMatrix<double>& a = system.a;
  std::string text = fmt::format("%%MatrixMarket matrix coordinate real general\n{0} {0} {1}\n", a.n_cols, a.nnz());
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      text += fmt::format("{} {} {}\n", a.row_idx[k] + 1, j + 1, a.values[k]);
  return text + fmt::format("% {}, b = {}\n", system.transposed ? "transposed" : "as it is", fmt::join(system.b, " "));
}

inline bool all_finite(const std::vector<double>& values) {
  for (const double v : values)
    if (!std::isfinite(v)) return false;
  return true;
}

}  // namespace lulab::fuzz
