#include "preprocess/kept_scalings.h"

#include <cmath>
#include <cstdlib>

#include "core/factors.h"

namespace lulab {

namespace {

constexpr int exponent_range = 1000;  // as of the scalings of a matching

/// |entries| of a column of R·A.
struct ScaledColumn {
  double largest = 0, matched = 0;

  bool suits(double c) const { return matched * c >= 0.5 && largest * c <= 2; }
};

/// The power of two that brings `largest` into [1, 2); 0: none of the size of a scaling does.
double scale_of(double largest) {
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::abs(exponent) < exponent_range ? std::ldexp(1.0, 1 - exponent) : 0;
}

}  // namespace

std::optional<std::vector<double>> kept_scalings(const CscView<double>& a, const MatchedRows& earlier) {
  const auto n = static_cast<std::size_t>(a.n_cols);
  if (a.n_rows != a.n_cols || earlier.row_of_column.size() != n) return std::nullopt;
  std::vector<double> c = earlier.c;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    ScaledColumn column;
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const double size = earlier.r[a.row_idx[k]] * std::abs(a.values[k]);
      column.largest = larger_or_nan(column.largest, size);
      if (a.row_idx[k] == earlier.row_of_column[j]) column.matched = size;
    }
    if (column.suits(c[j])) continue;
    if (!std::isfinite(column.largest)) return std::nullopt;
    c[j] = scale_of(column.largest);
    if (!column.suits(c[j])) return std::nullopt;
  }
  return c;
}

}  // namespace lulab
