#pragma once
// Small seeded unsymmetric matrices, and the shared ones, for the tests of preprocess/ and symbolic/.

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "core/matrix/matrix_market.h"
#include "core/matrix/shared_matrices.h"

namespace lulab::testing {

struct RandomMatrix {
  std::int32_t n = 10;
  double density = 0.3;
  double zero_diagonal = 0.5;  // probability that a diagonal entry is missing
  double decades = 1;          // |values| between 10^-decades and 10^decades, log-uniform
  double explicit_zeros = 0;   // probability that a stored value is zero
  bool full_rank = false;      // a random permutation is stored as well, never zero
};

inline CscMatrix<double> random_matrix(std::uint64_t seed, const RandomMatrix& kind) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<std::int32_t> row_of_column(kind.n, -1);
  if (kind.full_rank) {
    row_of_column = identity_permutation(kind.n);
    std::shuffle(row_of_column.begin(), row_of_column.end(), random);
  }
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  for (std::int32_t j = 0; j < kind.n; ++j) {
    for (std::int32_t i = 0; i < kind.n; ++i) {
      const bool kept = row_of_column[j] == i;
      const double probability = i == j ? 1 - kind.zero_diagonal : kind.density;
      if (uniform(random) >= probability && !kept) continue;
      const double size = std::pow(10.0, kind.decades * (2 * uniform(random) - 1));
      const bool zero = uniform(random) < kind.explicit_zeros && !kept;
      rows.push_back(i);
      columns.push_back(j);
      values.push_back(zero ? 0 : uniform(random) < 0.5 ? size : -size);
    }
  }
  return from_triplets<double>(kind.n, kind.n, rows, columns, values);
}

/// 5-point grid, each off-diagonal entry with its own random value.   n = side².
inline CscMatrix<double> grid_matrix(std::int32_t side, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0.1, 1);
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  const auto add = [&](std::int32_t i, std::int32_t j, double value) {
    rows.push_back(i);
    columns.push_back(j);
    values.push_back(value);
  };
  for (std::int32_t y = 0; y < side; ++y) {
    for (std::int32_t x = 0; x < side; ++x) {
      const std::int32_t v = y * side + x;
      add(v, v, 4 + uniform(random));
      if (x > 0) add(v, v - 1, -uniform(random)), add(v - 1, v, -uniform(random));
      if (y > 0) add(v, v - side, -uniform(random)), add(v - side, v, -uniform(random));
    }
  }
  return from_triplets<double>(side * side, side * side, rows, columns, values);
}

/// A graph on a square of side² points: two are neighbours if no coordinate differs by more than reach. With more
/// unknowns a point, those of neighbouring points are neighbours, those of one point are not.
/// by_point: unknown u of point p is vertex p · unknowns + u, not u · side² + p.
inline CscPattern mesh_graph(std::int32_t side, std::int32_t unknowns, std::int32_t reach, bool by_point = true) {
  const std::int32_t points = side * side;
  const auto vertex = [&](std::int32_t p, std::int32_t u) { return by_point ? p * unknowns + u : u * points + p; };
  std::vector<std::int32_t> rows, columns;
  for (std::int32_t p = 0; p < points; ++p)
    for (std::int32_t y = std::max(0, p / side - reach); y <= std::min(side - 1, p / side + reach); ++y)
      for (std::int32_t x = std::max(0, p % side - reach); x <= std::min(side - 1, p % side + reach); ++x)
        for (std::int32_t u = 0; y * side + x != p && u < unknowns * unknowns; ++u) {
          rows.push_back(vertex(p, u / unknowns));
          columns.push_back(vertex(y * side + x, u % unknowns));
        }
  return from_triplets<double>(points * unknowns, points * unknowns, rows, columns,
                               std::vector<double>(rows.size(), 1.0));
}

/// A without its stored zeros.
inline CscMatrix<double> drop_zeros(const CscMatrix<double>& a) {
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      if (a.values[k] == 0) continue;
      rows.push_back(a.row_idx[k]);
      columns.push_back(j);
      values.push_back(a.values[k]);
    }
  }
  return from_triplets<double>(a.n_rows, a.n_cols, rows, columns, values);
}

inline std::optional<CscMatrix<double>> read_shared(std::string_view name) {
  const std::optional<std::string> path = shared_matrix(name);
  if (!path) return std::nullopt;
  Result<MatrixMarket> file = read_matrix_market(*path);
  EXPECT_TRUE(file.ok()) << file.status().to_string();
  if (!file.ok()) return std::nullopt;
  return std::move(file->matrix);
}

}  // namespace lulab::testing
