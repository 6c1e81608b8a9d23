// Batches of rungs on the CPU: one system after the other, solved on the host.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <random>

#include "core/matrix/generate.h"
#include "driver/batch_solver.h"
#include "sparse_syncfree/rungs.h"
#include "testing/bad_pivots.h"
#include "testing/refused_memory.h"

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

// Where all that follows is refused too, the message may throw.
TEST(BatchSolverOnCpuInDouble, WithoutHostMemoryItSaysSoAndTheNextCallWorks) {
  constexpr std::int32_t systems = 3;
  const auto good = testing::with_tiny_pivot(40), unstable = testing::with_tiny_pivot(1e-14);
  const std::size_t n = good.n_cols;
  std::vector<double> values;  // the pivots of the second system are replaced
  for (const auto* a : {&good, &unstable, &good}) values.insert(values.end(), a->values.begin(), a->values.end());
  const std::vector<double> b = random_vector(good.n_cols * systems, 8);
  std::vector<double> x(b.size());
  BatchSolver<double> solver(sparse_syncfree::reference, testing::natural_pivots());
  ASSERT_TRUE(solver.analyze(good, systems).ok());
  const auto is_nan = [&](std::int32_t s) {
    return std::ranges::all_of(std::span(x).subspan(n * s, n), [](double v) { return std::isnan(v); });
  };
  const auto expect_solved = [&](const auto& all) {
    ASSERT_TRUE(all.ok()) << all.status().to_string();
    for (std::int32_t s = 0; s < systems; ++s) {
      const auto of_system = std::span<const double>(x).subspan(n * s, n);
      ASSERT_TRUE((*all)[s].ok()) << (*all)[s].status().to_string();
      EXPECT_TRUE(componentwise_backward_error(s == 1 ? unstable : good, of_system, std::span(b).subspan(n * s, n)) <=
                  1e-12);
    }
  };
  for (const bool steps : {true, false}) {
    for (const bool once : {false, true}) {
      int failed = 0;
      bool was_refused = true;
      for (int allocations = 0; was_refused; ++allocations) {
        SCOPED_TRACE(::testing::Message() << (steps ? "step, " : "solve, ") << allocations << " allocations, " << once);
        ASSERT_TRUE(solver.factor(values).ok());
        std::ranges::fill(x, 1.0);
        Result<std::vector<Result<Refinement>>> all = std::vector<Result<Refinement>>{};
        bool threw = false;
        const auto call = [&] {
          try {
            all = steps ? solver.step(values, b, x) : solver.solve(b, x);
          } catch (const std::bad_alloc&) {
            threw = true;
          }
        };
        was_refused = testing::without_memory_after(allocations, call, once);
        EXPECT_FALSE(threw && once);
        if (threw || !all.ok()) {
          EXPECT_TRUE(was_refused);
          EXPECT_TRUE(threw || all.status().code == StatusCode::out_of_memory) << all.status().to_string();
          ++failed;
        } else {
          for (std::int32_t s = 0; s < systems; ++s) {
            EXPECT_NE((*all)[s].ok(), is_nan(s)) << s;
            EXPECT_TRUE((*all)[s].ok() || (was_refused && (*all)[s].status().code == StatusCode::out_of_memory)) << s;
          }
        }
        for (std::int32_t s = 0; s < systems && !all.ok(); ++s) EXPECT_TRUE(is_nan(s)) << s;
        if (steps) {
          ASSERT_TRUE(solver.factor(values).ok());
        }
        std::ranges::fill(x, 1.0);
        expect_solved(solver.solve(b, x));
      }
      EXPECT_GT(failed, 2);
    }
  }
}

}  // namespace
}  // namespace lulab
