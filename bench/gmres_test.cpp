#include "bench/gmres.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "solve/refine.h"

namespace lulab::bench {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A cyclic shift: GMRES makes no progress at all before iteration n, and no entry is on the diagonal to help.
CscMatrix<double> cycle(std::int32_t n) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    a.row_idx.push_back((j + 1) % n);
    a.values.push_back(1);
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

TEST(Gmres, ConvergesOnADiagonallyDominantMatrix) {
  const auto a = generate("random_dominant", {.n = 400, .seed = 3}).value();
  const std::vector<double> b = random_vector(400, 5);
  std::vector<double> x(400, nan);
  const auto run = gmres(a, b, x);
  ASSERT_TRUE(run.ok()) << run.status().to_string();
  EXPECT_TRUE(run->converged);
  EXPECT_GT(run->iterations, 0);
  EXPECT_TRUE(run->residual <= GmresOptions{}.tolerance) << run->residual;
  EXPECT_GT(run->preconditioner_ms, 0);
  EXPECT_GT(run->solve_ms, 0);
  // The tolerance is of the residual's norm; a row may be 100 times worse off than the whole.
  EXPECT_TRUE(componentwise_backward_error(a, x, b) <= 100 * GmresOptions{}.tolerance);
}

TEST(Gmres, NeedsFewerIterationsWithABetterPreconditioner) {
  const auto a = generate("grid2d", {.n = 900, .seed = 3}).value();
  const std::vector<double> b = random_vector(900, 5);
  std::vector<double> x(900, nan);
  const auto good = gmres(a, b, x, {.drop_tolerance = 1e-6, .fill_factor = 20});
  const auto poor = gmres(a, b, x, {.drop_tolerance = 0.5, .fill_factor = 1});
  ASSERT_TRUE(good.ok() && poor.ok());
  EXPECT_LT(good->iterations, poor->iterations);
}

TEST(Gmres, SaysThatItDidNotConverge) {
  const auto a = cycle(300);
  std::vector<double> b(300, 0.0), x(300, nan);
  b[7] = 1;
  const auto run = gmres(a, b, x, {.drop_tolerance = 1, .fill_factor = 1, .restart = 10, .max_iterations = 100});
  ASSERT_TRUE(run.ok()) << run.status().to_string();
  EXPECT_FALSE(run->converged);
  EXPECT_FALSE(run->residual <= 1e-10);
}

TEST(Gmres, DoesNotConvergeOnValuesThatAreNotFinite) {
  auto a = generate("random_dominant", {.n = 50, .seed = 3}).value();
  a.values[10] = nan;
  const std::vector<double> b = random_vector(50, 5);
  std::vector<double> x(50, 0.0);
  const auto run = gmres(a, b, x);
  ASSERT_TRUE(run.ok());
  EXPECT_FALSE(run->converged);
}

TEST(Gmres, RefusesWrongShapesAndSolvesNothing) {
  const auto a = generate("random_dominant", {.n = 50, .seed = 3}).value();
  std::vector<double> b(49), x(50);
  EXPECT_EQ(gmres(a, b, x).status().code, StatusCode::invalid_argument);
  const auto empty = gmres(CscMatrix<double>{}, {}, {});
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->converged);
}

TEST(Gmres, NamesItsParameters) { EXPECT_EQ(to_string(GmresOptions{}), "GMRES(50) to 1e-10, ILUT(1e-04, 10)"); }

}  // namespace
}  // namespace lulab::bench
