// Batches of rungs on the CPU: one system after the other, solved on the host.

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "core/matrix/generate.h"
#include "driver/batch_solver.h"
#include "sparse_syncfree/rungs.h"

namespace lulab {

namespace {

template <class T>
class BatchSolverOnCpu : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BatchSolverOnCpu, Scalars);

TYPED_TEST(BatchSolverOnCpu, SolvesAllButTheSingularSystem) {
  constexpr std::int32_t systems = 5, singular = 2;
  for (const char* family : {"power_grid", "zero_diagonal", "badly_scaled"}) {
    const CscMatrix<double> a = *generate(family, {.n = 200, .seed = 3});
    const std::size_t n = a.n_cols, nnz = a.values.size();
    std::mt19937_64 random(7);
    std::vector<double> values;
    for (std::int32_t s = 0; s < systems; ++s)
      for (const double v : a.values) values.push_back(v * std::uniform_real_distribution<double>(0.75, 1.5)(random));
    const std::int32_t j = a.n_cols / 2;
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) values[singular * nnz + k] = 0;
    const std::vector<double> b = random_vector(a.n_cols * systems, 8);
    std::vector<double> x(b.size(), std::numeric_limits<double>::quiet_NaN());

    BatchSolver<TypeParam> solver(sparse_syncfree::reference, {.backward_error = 0});
    ASSERT_TRUE(solver.analyze(a, systems).ok()) << family;
    const auto statuses = solver.factor(values);
    ASSERT_TRUE(statuses.ok()) << statuses.status().to_string();
    const auto refined = solver.solve(b, x);
    ASSERT_TRUE(refined.ok()) << refined.status().to_string();
    for (std::int32_t s = 0; s < systems; ++s) {
      if (s == singular) {
        EXPECT_EQ((*statuses)[s].code, StatusCode::numerically_singular) << family;
        EXPECT_FALSE((*refined)[s].ok());
        continue;
      }
      ASSERT_TRUE((*refined)[s].ok()) << family << ": " << (*refined)[s].status().to_string();
      CscMatrix<double> of_system = a;
      std::copy_n(values.begin() + s * nnz, nnz, of_system.values.begin());
      const double error = componentwise_backward_error(of_system, std::span<const double>(x).subspan(n * s, n),
                                                        std::span(b).subspan(n * s, n));
      EXPECT_TRUE(error <= 4 * 0x1p-53) << family << " " << s << ": " << error;
    }
    EXPECT_EQ(solver.statistics().failed, 1);
  }
}

}  // namespace
}  // namespace lulab
