#include "driver/host_factors.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/rung.h"
#include "driver/analyze.h"
#include "sparse_leftlooking/rungs.h"
#include "testing/dense_elimination.h"

namespace lulab {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
class HostFactorsOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(HostFactorsOf, Scalars);

TYPED_TEST(HostFactorsOf, TheLargestMultiplierIsThatOfL) {
  auto f = testing::eliminate_densely<TypeParam>(testing::random_dominant(12, 0.3, 1), testing::random_plan(12, 2));
  for (TypeParam& v : f.values) v = 100;  // of U
  for (std::int32_t k = 0; k < 12; ++k)
    for (std::int64_t s = f.filled.diag[k] + 1; s < f.filled.col_ptr[k + 1]; ++s) f.values[s] = TypeParam(0.25);
  EXPECT_EQ(largest_multiplier<TypeParam>(f), 0.25);
  for (std::int32_t k = 0; k < 12; ++k)
    for (std::int64_t s = f.filled.diag[k] + 1; s < f.filled.col_ptr[k + 1]; ++s) {
      f.values[s] = TypeParam(-0.75);
      EXPECT_EQ(largest_multiplier<TypeParam>(f), 0.75) << s;
      f.values[s] = TypeParam(nan);
      EXPECT_TRUE(std::isnan(largest_multiplier<TypeParam>(f))) << s;
      f.values[s] = TypeParam(0.25);
    }
  const auto diagonal = testing::eliminate_densely<TypeParam>(testing::random_dominant(1, 1, 1), Plan::identity(1));
  EXPECT_EQ(largest_multiplier<TypeParam>(diagonal), 0);
}

TYPED_TEST(HostFactorsOf, PivotsComeWithoutScalingAndByColumnsOfA) {
  const auto f =
      testing::eliminate_densely<TypeParam>(testing::random_dominant(12, 0.3, 1), testing::random_plan(12, 2));
  std::vector<double> pivots(12, nan);
  unscaled_pivots<TypeParam>(f, pivots);
  for (std::int32_t k = 0; k < 12; ++k)  // scaled by powers of two and three times these
    EXPECT_DOUBLE_EQ(pivots[f.plan.q[k]] * f.plan.r[f.plan.p[k]] * f.plan.c[f.plan.q[k]], f.values[f.filled.diag[k]]);
}

/// A rung that leaves its factors on the host, and one whose factors are copied.
TEST(HostFactors, AreCopiedAndMeasuredOncePerFactorization) {
  const auto a = testing::random_dominant(30, 0.2, 3);
  const auto analysis = analyze(a).value();
  for (const Rung* rung : {&sparse_leftlooking::reference, &sparse_leftlooking::threads}) {
    auto factorizer = rung->make<double>();
    ASSERT_TRUE(factorizer->analyze(analysis).ok());
    HostFactors<double> factors;
    for (int phase = 0; phase < 3; ++phase) {
      std::vector<double> values = a.values;
      for (double& v : values) v *= 1 + phase;
      ASSERT_TRUE(factorizer->upload(values).ok());
      ASSERT_TRUE((phase == 0 ? factorizer->factor() : factorizer->refactor()).ok());
      ASSERT_TRUE(factorizer->wait().ok());
      factors.take(factorizer->host_arrays());
      EXPECT_FALSE(factors.are_copied() || factors.are_measured());
      ASSERT_TRUE(factors.copy(*factorizer, analysis.plan).ok());
      EXPECT_TRUE(factors.are_copied());
      EXPECT_EQ(factors.copied().values, factorizer->download()->values) << phase;
      CscView<double> now = a;
      now.values = values;
      const Statistics all = factors.measure(now, {.perturbed_pivots = 3, .repivots = 2});
      EXPECT_TRUE(factors.are_measured());
      EXPECT_EQ(all.perturbed_pivots, 3);
      EXPECT_EQ(all.repivots, 2);
      EXPECT_EQ(all.pivot_growth, pivot_growth(max_abs_u(factors.copied()), max_abs_pracq(now, analysis.plan)));
      EXPECT_TRUE(factors.are_copied());
    }
    factors.forget();
    EXPECT_FALSE(factors.are_copied() || factors.are_measured() || factors.are_in_rung());
  }
}

}  // namespace
}  // namespace lulab
