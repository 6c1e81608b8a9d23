#include "bench/klu_solver.h"

#include <limits>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "preprocess/preprocess.h"
#include "solve/refine.h"
#include "testing/rungs.h"

namespace lulab::bench {
namespace {

double error_of(KluSolver& klu, const CscMatrix<double>& a, std::uint64_t seed) {
  const std::vector<double> b = random_vector(a.n_rows, seed);
  std::vector<double> x(b.size(), std::numeric_limits<double>::quiet_NaN());
  const Status solved = klu.solve(b, x);
  EXPECT_TRUE(solved.ok()) << solved.to_string();
  return componentwise_backward_error(a, x, b);
}

// Without refinement these well conditioned systems lose some digits to the growth of few hundred eliminations.
constexpr double limit = 1e-12;

TEST(KluSolver, SolvesUnsymmetricSystemsUnderBothOrders) {
  for (const char* family : {"random_dominant", "power_grid", "sram_array"}) {
    for (const std::int32_t n : {1, 2, 30, 300}) {
      auto a = generate(family, {.n = n, .seed = 3});
      ASSERT_TRUE(a.ok()) << a.status().to_string();
      for (const bool our_order : {false, true}) {
        SCOPED_TRACE(::testing::Message() << family << ' ' << n << ' ' << our_order);
        KluSolver klu(a->pattern().view());
        const auto plan = preprocess(*a, {.order = Order::amd, .blocks = n == 30});
        ASSERT_TRUE(plan.ok()) << plan.status().to_string();
        const Status analyzed = our_order ? klu.analyze(*plan) : klu.analyze();
        ASSERT_TRUE(analyzed.ok()) << analyzed.to_string();
        ASSERT_TRUE(klu.factor(a->values).ok());
        EXPECT_LE(error_of(klu, *a, 1), limit);
        ASSERT_TRUE((our_order ? klu.analyze() : klu.analyze(*plan)).ok()) << "again, under the other order";
        ASSERT_TRUE(klu.factor(a->values).ok());
        for (double& v : a->values) v *= -1.5;
        a->values[0] *= 1.1;
        ASSERT_TRUE(klu.refactor(a->values).ok());
        EXPECT_LE(error_of(klu, *a, 2), limit) << "stale factors are off by the sign";
        for (double& v : a->values) v *= -1 / 1.5;
        a->values[0] *= 1 / 1.1;
      }
    }
  }
}

TEST(KluSolver, NamesWhatIsSingular) {
  const auto empty_column = testing::from_rows<double>({{1, 0, 2}, {3, 0, 1}, {2, 0, 5}});
  KluSolver structural(empty_column.pattern().view());
  EXPECT_EQ(structural.analyze().code, StatusCode::structurally_singular);

  const auto equal_columns = testing::from_rows<double>({{1, 1, 2}, {3, 3, 1}, {2, 2, 5}});
  KluSolver numerical(equal_columns.pattern().view());
  ASSERT_TRUE(numerical.analyze().ok());
  const Status failed = numerical.factor(equal_columns.values);
  EXPECT_EQ(failed.code, StatusCode::numerically_singular);
  ASSERT_EQ(failed.where.columns.size(), 1u);
  EXPECT_LT(failed.where.columns[0], 2) << "one of the two that are equal";

  KluSolver none(CscMatrix<double>{}.pattern().view());
  EXPECT_FALSE(none.analyze().ok());
}

TEST(KluSolver, RefactorThatLosesItsPivotIsAnError) {
  auto a = testing::from_rows<double>({{4, 1, 1}, {2, 3, 1}, {1, 1, 5}});
  KluSolver klu(a.pattern().view());
  ASSERT_TRUE(klu.analyze().ok());
  ASSERT_TRUE(klu.factor(a.values).ok());
  for (std::size_t k = 0; k < 3; ++k) a.values[k] = 0;
  EXPECT_EQ(klu.refactor(a.values).code, StatusCode::numerically_singular);
  EXPECT_EQ(klu.factor(a.values).code, StatusCode::numerically_singular);
}

}  // namespace
}  // namespace lulab::bench
