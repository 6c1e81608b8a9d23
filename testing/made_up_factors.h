#pragma once
// For tests of triangular solves: L and U of any pattern, made up. A solve needs no fill to be complete.

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/plan.h"
#include "testing/dense_elimination.h"

namespace lulab::testing {

/// Entries where has(i, j), and the diagonal; values are the same in every precision but for rounding. Off-diagonal
/// rows and columns sum to less than a half of the diagonal's scale, so that L and U are well conditioned.
template <class T>
Factors<T> make_up_factors(std::int32_t n, std::uint64_t seed,
                           const std::function<bool(std::int32_t i, std::int32_t j)>& has) {
  std::vector<std::int32_t> in_row(n, 0), in_column(n, 0);
  Factors<T> f;
  f.plan = random_plan(n, seed);
  f.filled.n = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i) {
      if (i != j && !has(i, j)) continue;
      if (i == j) f.filled.diag.push_back(f.filled.nnz());
      f.filled.row_idx.push_back(i);
      ++in_row[i];
      ++in_column[j];
    }
    f.filled.col_ptr.push_back(f.filled.nnz());
  }
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0.5, 1);
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int64_t k = f.filled.col_ptr[j]; k < f.filled.col_ptr[j + 1]; ++k) {
      const std::int32_t i = f.filled.row_idx[k];
      const double v = unit(random) * (random() % 2 ? 1 : -1);
      f.values.push_back(static_cast<T>(i == j ? v : v / (4.0 * std::max(in_row[i], in_column[j]))));
    }
  return f;
}

struct PatternForTests {
  std::string name;
  std::int32_t n;
  std::function<bool(std::int32_t, std::int32_t)> has;
};

/// From nothing to everything, with rows for one lane and for more than a warp, wide levels and none.
/// size: about so many rows
inline std::vector<PatternForTests> patterns_for_tests(std::int32_t size) {
  const auto some = [](std::uint64_t seed, double density) {
    return [=](std::int32_t i, std::int32_t j) {
      std::uint64_t h = seed * 0x9E3779B97F4A7C15ull + (std::uint64_t(i) << 32 | std::uint32_t(j));
      h = (h ^ (h >> 31)) * 0xBF58476D1CE4E5B9ull;
      h = (h ^ (h >> 29)) * 0x94D049BB133111EBull;
      return double((h ^ (h >> 32)) >> 11) * 0x1p-53 < density;
    };
  };
  const std::int32_t n = size;
  return {
      {"one", 1, [](auto, auto) { return false; }},
      {"two", 2, [](auto i, auto) { return i == 1; }},
      {"diagonal", n, [](auto, auto) { return false; }},
      {"tridiagonal", n, [](auto i, auto j) { return i - j == 1 || j - i == 1; }},
      {"dense", n / 2, [](auto, auto) { return true; }},
      {"arrow to the end", n, [n](auto i, auto j) { return i == n - 1 || j == n - 1; }},
      {"arrow to the start", n, [](auto i, auto j) { return i == 0 || j == 0; }},
      {"wide, then a chain", n,
       [n](auto i, auto j) {
         return (i >= n / 2 && j >= n / 2) ? (i - j <= 2 && j - i <= 2)
                                           : (i >= n / 2 || j >= n / 2) && (i + 2 * j) % 5 == 0;
       }},
      {"long rows of U", n, [](auto i, auto j) { return i < 3 || j - i == 7; }},
      {"sparse", n, some(1, 2.0 / n)},
      {"sparse, other seed", n + 3, some(2, 4.0 / n)},
      {"half full", n / 2 + 1, some(3, 0.5)},
  };
}

}  // namespace lulab::testing
