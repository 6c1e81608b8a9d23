#include <gtest/gtest.h>

#include "core/factorizer.h"
#include "sparse_leftlooking/rungs.h"
#include "testing/rungs.h"

namespace lulab::sparse_leftlooking {
namespace {

using testing::analysis_of;
using testing::factor_with;
using testing::from_rows;
using testing::random_plan;
using testing::random_unsymmetric;

TEST(Klu, IsConvertedToTheOneEquation) {
  for (const std::int32_t n : {1, 2, 5, 30, 200}) {
    for (const double diagonal : {0.001, 1.0}) {
      const auto a = random_unsymmetric<double>(n, 0.05, diagonal, n + 2000);
      const auto f = factor_with<double>(klu, a, random_plan(n, false, n), {.pivot_tol = 0.1});
      ASSERT_TRUE(f.ok()) << f.status().to_string();
      testing::expect_well_formed(*f, n);
      EXPECT_LE(testing::lu_error(a, *f), 30.0) << n << ' ' << diagonal;
      EXPECT_GT(f->statistics.peak_bytes, 0);
      EXPECT_EQ(f->statistics.numerical_rank, n);
    }
  }
}

TEST(Klu, PatternPivotsAndFlopsAreThoseOfTheReference) {
  for (const double tol : {0.0, 0.001, 1.0}) {
    const auto a = random_unsymmetric<double>(150, 0.03, 0.5, 31);
    const Plan plan = random_plan(150, true, 8);
    const auto ours = factor_with<double>(reference, a, plan, {.pivot_tol = tol});
    const auto theirs = factor_with<double>(klu, a, plan, {.pivot_tol = tol});
    ASSERT_TRUE(ours.ok() && theirs.ok()) << ours.status().to_string() << theirs.status().to_string();
    EXPECT_EQ(theirs->plan.p, ours->plan.p);
    EXPECT_EQ(theirs->filled, ours->filled);
    EXPECT_EQ(theirs->statistics.flops, ours->statistics.flops);
    EXPECT_EQ(theirs->statistics.off_diagonal_pivots, ours->statistics.off_diagonal_pivots);
  }
}

TEST(Klu, RefactorAfterOtherValuesEqualsFreshFactor) {
  const std::int32_t n = 120;
  const auto a = random_unsymmetric<double>(n, 0.05, 2.0, 41);
  const Analysis analysis = analysis_of(a, random_plan(n, true, 9));
  CscMatrix<double> other = a;
  other.values = testing::nearby_values(a, 42);
  const auto fresh = factor_with<double>(klu, analysis, other.values);
  ASSERT_TRUE(fresh.ok());

  const auto f = klu.make<double>();
  ASSERT_TRUE(f->analyze(analysis).ok());
  ASSERT_TRUE(f->upload(a.values).ok());
  ASSERT_TRUE(f->factor().ok());
  ASSERT_TRUE(f->download().ok());  // reading the factors in between must not disturb them
  ASSERT_TRUE(f->upload(other.values).ok());
  ASSERT_TRUE(f->refactor().ok());
  const auto again = f->download();
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  ASSERT_EQ(again->plan.p, fresh->plan.p);
  EXPECT_EQ(again->filled, fresh->filled);
  EXPECT_EQ(again->values, fresh->values);  // the same operations in the same order
  EXPECT_LE(testing::lu_error(other, *again), 30.0);
}

TEST(Klu, SingularColumnIsNamedInTheNumberingOfA) {
  const auto a = from_rows<double>({{1, 2, 1, 0}, {3, 0, 3, 1}, {0, 1, 0, 4}, {2, 0, 2, 0}});
  Plan plan = Plan::identity(4);
  plan.q = {1, 2, 0, 3};  // columns 0 and 2 of A are equal; 0 comes later
  const auto f = factor_with<double>(klu, a, plan);
  ASSERT_FALSE(f.ok());
  EXPECT_EQ(f.status().code, StatusCode::numerically_singular);
  EXPECT_EQ(f.status().where.columns, std::vector<std::int32_t>{0});
}

TEST(Klu, RefactorThatLosesItsPivotAsksForANewFactor) {
  const auto a = from_rows<double>({{4, 1, 1}, {2, 3, 1}, {1, 1, 5}});
  Plan plan = Plan::identity(3);
  plan.p = plan.q = {2, 0, 1};
  const Analysis analysis = analysis_of(a, plan);
  const auto f = klu.make<double>();
  ASSERT_TRUE(f->analyze(analysis).ok());
  ASSERT_TRUE(f->upload(a.values).ok());
  ASSERT_TRUE(f->factor().ok());
  auto values = a.values;
  values[8] = 0;  // A(2,2), the first pivot
  ASSERT_TRUE(f->upload(values).ok());
  const Status s = f->refactor();
  EXPECT_EQ(s.code, StatusCode::needs_repivot);
  EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{2});
  EXPECT_FALSE(f->download().ok());
  ASSERT_TRUE(f->factor().ok());
  EXPECT_TRUE(f->download().ok());
}

TEST(Klu, OverflowIsAnErrorNotAnInfinity) {
  const auto a = from_rows<double>({{1, 1e308}, {500, 1}});
  const auto f = factor_with<double>(klu, a, Plan::identity(2));
  ASSERT_FALSE(f.ok());
  EXPECT_EQ(f.status().code, StatusCode::numerically_singular);
  EXPECT_EQ(f.status().where.columns, std::vector<std::int32_t>{1});
}

TEST(Klu, EmptyOneByOneAndEmptyColumn) {
  EXPECT_TRUE(factor_with<double>(klu, CscMatrix<double>{}, Plan::identity(0)).ok());
  const auto one = factor_with<double>(klu, from_rows<double>({{-3}}), Plan::identity(1));
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  EXPECT_EQ(one->values, std::vector<double>{-3});
  EXPECT_EQ(factor_with<double>(klu, from_rows<double>({{0}}), Plan::identity(1)).status().code,
            StatusCode::numerically_singular);
  EXPECT_EQ(
      factor_with<double>(klu, from_rows<double>({{1, 0, 1}, {1, 0, 2}, {3, 0, 1}}), Plan::identity(3)).status().code,
      StatusCode::numerically_singular);
}

TEST(Klu, KnowsOnlyDouble) {
  EXPECT_TRUE(klu.supports<double>());
  EXPECT_FALSE(klu.supports<float>());
  EXPECT_EQ(klu.make<float>(), nullptr);
}

}  // namespace
}  // namespace lulab::sparse_leftlooking
