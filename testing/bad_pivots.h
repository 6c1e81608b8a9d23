#pragma once
// For tests of the Solver: systems whose diagonal is a bad choice of pivots, options that keep it, and what a right
// solution is.

#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "driver/solver.h"
#include "testing/dense_elimination.h"

namespace lulab::testing {

/// Solutions are refined as far as it goes.
inline SolverOptions refined_to_the_end() {
  SolverOptions options;
  options.backward_error = 0;
  return options;
}

/// The same without matching or scaling: the diagonal of A supplies the pivots.
inline SolverOptions natural_pivots() {
  SolverOptions options = refined_to_the_end();
  options.preprocess.order = Order::natural;
  options.preprocess.matching = false;
  options.preprocess.scaling = false;
  return options;
}

/// Dominant but for one tiny pivot that only a row exchange avoids.
inline CscMatrix<double> with_tiny_pivot(double tiny) {
  CscMatrix<double> a = random_dominant(30, 0.3, 7);
  for (std::int64_t k = a.col_ptr[0]; k < a.col_ptr[1]; ++k)
    if (a.row_idx[k] == 0) a.values[k] = tiny;
  return a;
}

/// Other values on the same pattern, each 0.75 to 1.5 times what it was.
inline CscMatrix<double> other_values(CscMatrix<double> a, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (double& v : a.values) v *= std::uniform_real_distribution<double>(0.75, 1.5)(random);
  return a;
}

/// Two matrices of one pattern. The pivots of the first are good. In the second x0 of the probe overflows, as do its
/// residual and the size that it is compared with; no factor is large.
inline std::pair<CscMatrix<double>, CscMatrix<double>> probe_that_overflows() {
  CscMatrix<double> good;
  good.n_rows = good.n_cols = 4;
  good.col_ptr = {0, 1, 3, 6, 8};
  good.row_idx = {0, 0, 1, 0, 1, 2, 0, 3};
  good.values = {4, 1, 4, 1, 1, 4, 1, 4};
  auto bad = good;
  // b1 cannot hold 1e-8 x1 beside its 3e3 x2, so row 0 of the probe keeps a residual, however the sums are rounded.
  bad.values = {1e-323, 1.4e4, 1e-8, -1.3e4, 3.3e3, 0.37, 0.3e4, 0.18};
  return {good, bad};
}

/// x of every right-hand side is as good as refinement makes it: x is rounded to double.
template <class T>
std::vector<double> expect_solves(const Solver<T>& solver, const CscMatrix<double>& a, std::int32_t columns = 1,
                                  bool transposed = false) {
  const std::size_t n = a.n_cols;
  const std::vector<double> b = random_vector(static_cast<std::int32_t>(n) * columns, 4);
  std::vector<double> x(b.size(), std::numeric_limits<double>::quiet_NaN());
  const auto refined = transposed ? solver.solve_transposed(b, x, columns) : solver.solve(b, x, columns);
  EXPECT_TRUE(refined.ok()) << refined.status().to_string();
  if (!refined.ok()) return x;
  EXPECT_EQ(refined->size(), static_cast<std::size_t>(columns));
  const CscMatrix<double> of = transposed ? transpose(a.view()) : a;
  for (std::int32_t c = 0; c < columns; ++c) {
    const double error =
        componentwise_backward_error(of, std::span<const double>(x).subspan(n * c, n), std::span(b).subspan(n * c, n));
    EXPECT_TRUE(error <= 4 * 0x1p-53) << error << " in column " << c;
    EXPECT_TRUE((*refined)[c].converged) << c;
  }
  return x;
}

}  // namespace lulab::testing
