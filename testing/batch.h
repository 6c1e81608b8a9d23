#pragma once
// For tests of batches: values and right-hand sides of many systems of one pattern.

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "core/matrix/generate.h"

namespace lulab::testing {

/// Values of so many systems, each entry moved by up to a half of itself.
struct Batch {
  CscMatrix<double> a;
  std::int32_t systems;
  std::vector<double> values, b;  // (nnz, systems), (n, systems)

  Batch(CscMatrix<double> typical, std::int32_t count, std::uint64_t seed) : a(std::move(typical)), systems(count) {
    std::mt19937_64 random(seed);
    for (std::int32_t s = 0; s < systems; ++s)
      for (const double v : a.values) values.push_back(v * std::uniform_real_distribution<double>(0.75, 1.5)(random));
    b = random_vector(a.n_cols * systems, seed + 1);
  }
  std::span<double> values_of(std::int32_t s) { return std::span(values).subspan(a.nnz() * s, a.nnz()); }
  std::span<double> b_of(std::int32_t s) { return std::span(b).subspan(std::size_t(a.n_cols) * s, a.n_cols); }
  CscMatrix<double> matrix(std::int32_t s) {
    CscMatrix<double> one = a;
    std::ranges::copy(values_of(s), one.values.begin());
    return one;
  }
  void set(std::int32_t s, std::int32_t i, std::int32_t j, double v) {
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      if (a.row_idx[k] == i) values_of(s)[k] = v;
  }
  void clear_column(std::int32_t s, std::int32_t j) {
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) values_of(s)[k] = 0;
  }
};

}  // namespace lulab::testing
