#include <algorithm>

#include <gtest/gtest.h>

#include "core/uninitialized_vector.h"
#include "sparse_leftlooking/rungs.h"
#include "testing/rungs.h"

namespace lulab::sparse_leftlooking {
namespace {

using testing::analysis_of;
using testing::factor_with;
using testing::from_rows;
using testing::random_plan;
using testing::random_unsymmetric;

template <class T>
class LeftLookingReference : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LeftLookingReference, Scalars);

const std::vector<std::vector<double>> textbook = {{2, 1, 1, 0}, {4, 3, 3, 1}, {8, 7, 9, 5}, {6, 7, 9, 8}};

// Trefethen & Bau, lecture 20: without interchanges, which the diagonal preference gives. All numbers are small
// integers.
TYPED_TEST(LeftLookingReference, TextbookExampleOnTheDiagonal) {
  const auto a = from_rows<TypeParam>(textbook);
  const auto f = factor_with<TypeParam>(reference, a, Plan::identity(4));
  ASSERT_TRUE(f.ok()) << f.status().to_string();
  EXPECT_EQ(f->plan.p, identity_permutation(4));
  EXPECT_EQ(f->statistics.off_diagonal_pivots, 0);
  EXPECT_EQ(extract_u(*f), from_rows<TypeParam>({{2, 1, 1, 0}, {0, 1, 1, 1}, {0, 0, 2, 2}, {0, 0, 0, 2}}));
  EXPECT_EQ(extract_l(*f), from_rows<TypeParam>({{1, 0, 0, 0}, {2, 1, 0, 0}, {4, 3, 1, 0}, {3, 4, 1, 1}}));
}

// The same matrix in lecture 21, with partial pivoting.
TYPED_TEST(LeftLookingReference, TextbookExampleWithPartialPivoting) {
  const auto a = from_rows<TypeParam>(textbook);
  const auto f = factor_with<TypeParam>(reference, a, Plan::identity(4), {.pivot_tol = 1.0});
  ASSERT_TRUE(f.ok()) << f.status().to_string();
  EXPECT_EQ(f->plan.p, (Permutation{2, 3, 1, 0}));
  EXPECT_EQ(f->statistics.off_diagonal_pivots, 4);
  const auto u = testing::to_dense(extract_u(*f));
  const double tol = 8 * std::numeric_limits<TypeParam>::epsilon();  // a few roundings of numbers below 10
  EXPECT_NEAR(u(0, 0), 8, tol);
  EXPECT_NEAR(u(1, 1), 7. / 4, tol);
  EXPECT_NEAR(u(2, 2), -6. / 7, tol);
  EXPECT_NEAR(u(3, 3), 2. / 3, tol);
  EXPECT_NEAR(f->statistics.pivot_growth, 1, tol);  // max |U| = max |A| = 9
}

// x . . x      The arrow that points up-left would fill; this one points down-right and does not: pattern(L+U) =
// pattern(A). . x . x      A missing (2,2) of the second matrix is filled through column 0: 2 <- (2,0), (0,2).
TYPED_TEST(LeftLookingReference, StoresExactlyTheFill) {
  const auto arrow = from_rows<TypeParam>({{4, 0, 0, 1}, {0, 4, 0, 1}, {0, 0, 4, 1}, {1, 1, 1, 4}});
  const auto f = factor_with<TypeParam>(reference, arrow, Plan::identity(4));
  ASSERT_TRUE(f.ok()) << f.status().to_string();
  EXPECT_TRUE(std::ranges::equal(f->filled.row_idx, arrow.row_idx));
  const auto hole = from_rows<TypeParam>({{2, 0, 1}, {0, 3, 0}, {1, 0, 0}});
  const auto g = factor_with<TypeParam>(reference, hole, Plan::identity(3));
  ASSERT_TRUE(g.ok()) << g.status().to_string();
  EXPECT_EQ(g->filled.row_idx, (UninitializedVector<std::int32_t>{0, 2, 1, 0, 2}));
  EXPECT_EQ(g->statistics.off_diagonal_pivots, 0);
  EXPECT_EQ(g->values.back(), TypeParam(-0.5));
}

TYPED_TEST(LeftLookingReference, AnEntryThatCancelsStaysInThePattern) {
  const auto a = from_rows<TypeParam>({{1, 1, 0}, {1, 2, 1}, {1, 1, 1}});  // L(2,1) = (1 - 1·1) / 1 = 0
  const auto f = factor_with<TypeParam>(reference, a, Plan::identity(3));
  ASSERT_TRUE(f.ok()) << f.status().to_string();
  EXPECT_EQ(f->filled.nnz_l(), 3);
}

TYPED_TEST(LeftLookingReference, FactorsUnsymmetricMatrices) {
  for (const std::int32_t n : {1, 2, 5, 30, 90, 200}) {
    for (const double density : {0.02, 0.2}) {
      for (const double diagonal : {0.001, 1.0}) {
        const auto a = random_unsymmetric<TypeParam>(n, density, diagonal, n + 1000);
        const auto f = factor_with<TypeParam>(reference, a, random_plan(n, false, n), {.pivot_tol = 0.1});
        // A random row order may leave a column without any pivot only if A were singular: the diagonal forbids that.
        ASSERT_TRUE(f.ok()) << f.status().to_string();
        testing::expect_well_formed(*f, n);
        EXPECT_LE(testing::lu_error(a, *f), 30.0) << n << ' ' << density << ' ' << diagonal;
      }
    }
  }
}

TYPED_TEST(LeftLookingReference, NoMultiplierExceedsTheThreshold) {
  const auto a = random_unsymmetric<TypeParam>(150, 0.05, 0.01, 3);
  std::int64_t pivots_moved = -1;
  for (const double tol : {0.001, 0.1, 1.0}) {
    const auto f = factor_with<TypeParam>(reference, a, random_plan(150, true, 3), {.pivot_tol = tol});
    ASSERT_TRUE(f.ok()) << f.status().to_string();
    TypeParam largest = 0;
    for (const TypeParam v : extract_l(*f).values) largest = std::max(largest, std::abs(v));
    // |l| = |x| / |pivot| <= 1 / tol; the product tol · max and the division round once each.
    EXPECT_LE(largest, (1 + 2 * std::numeric_limits<TypeParam>::epsilon()) / tol);
    EXPECT_GT(f->statistics.off_diagonal_pivots, pivots_moved);
    pivots_moved = f->statistics.off_diagonal_pivots;
  }
}

// Column 0 takes row 2, so row 0, which it gives away, is preferred by column 2, from which row 2 was taken.
TYPED_TEST(LeftLookingReference, AColumnThatLosesItsRowPrefersTheRowGivenInExchange) {
  const auto a = from_rows<TypeParam>({{0, 0, 1}, {0, 1, 0.5}, {1, 0, 0}});
  const auto f = factor_with<TypeParam>(reference, a, Plan::identity(3));
  ASSERT_TRUE(f.ok()) << f.status().to_string();
  EXPECT_EQ(f->plan.p, (Permutation{2, 1, 0}));
}

TYPED_TEST(LeftLookingReference, ZeroDiagonalNeedsOnlyAPivotElsewhere) {
  const auto a = from_rows<TypeParam>({{0, 2, 0, 1}, {3, 0, 1, 0}, {0, 1, 0, 4}, {1, 0, 5, 0}});
  const auto f = factor_with<TypeParam>(reference, a, Plan::identity(4));
  ASSERT_TRUE(f.ok()) << f.status().to_string();
  EXPECT_LE(testing::lu_error(a, *f), 30.0);
  EXPECT_GT(f->statistics.off_diagonal_pivots, 0);
}

TYPED_TEST(LeftLookingReference, NamesTheSingularColumnOfA) {
  // Columns 0 and 2 of A are equal; in the order q = (1, 2, 0, 3) column 0 is the one that comes too late.
  const auto a = from_rows<TypeParam>({{1, 2, 1, 0}, {3, 0, 3, 1}, {0, 1, 0, 4}, {2, 0, 2, 0}});
  Plan plan = Plan::identity(4);
  plan.q = {1, 2, 0, 3};
  for (const double tol : {0.001, 1.0}) {
    const auto f = factor_with<TypeParam>(reference, a, plan, {.pivot_tol = tol});
    ASSERT_FALSE(f.ok());
    EXPECT_EQ(f.status().code, StatusCode::numerically_singular);
    EXPECT_EQ(f.status().where.columns, std::vector<std::int32_t>{0});
  }
}

TYPED_TEST(LeftLookingReference, AnEmptyColumnIsSingular) {
  const auto a = from_rows<TypeParam>({{1, 0, 1}, {1, 0, 2}, {3, 0, 1}});
  const auto f = factor_with<TypeParam>(reference, a, Plan::identity(3));
  ASSERT_FALSE(f.ok());
  EXPECT_EQ(f.status().code, StatusCode::numerically_singular);
  EXPECT_EQ(f.status().where.columns, std::vector<std::int32_t>{1});
}

TYPED_TEST(LeftLookingReference, OverflowIsAnErrorNotAnInfinity) {
  const TypeParam big = std::numeric_limits<TypeParam>::max();
  auto a = from_rows<TypeParam>({{1, 1}, {1, 1}});
  a.values = {1, 500, big / 2, 1};  // pivot_tol keeps the 1: U(1,1) = 1 - 500 · big / 2 overflows
  const auto f = factor_with<TypeParam>(reference, a, Plan::identity(2));
  ASSERT_FALSE(f.ok());
  EXPECT_EQ(f.status().code, StatusCode::numerically_singular);
  EXPECT_EQ(f.status().where.columns, std::vector<std::int32_t>{1});
}

TYPED_TEST(LeftLookingReference, RefactorAfterOtherValuesEqualsFreshFactorBitwise) {
  const std::int32_t n = 120;
  const auto a = random_unsymmetric<TypeParam>(n, 0.05, 2.0, 11);
  const Analysis analysis = analysis_of(a, random_plan(n, true, 5));
  const std::vector<TypeParam> other = testing::nearby_values(a, 12);
  const auto fresh = factor_with<TypeParam>(reference, analysis, other);
  ASSERT_TRUE(fresh.ok()) << fresh.status().to_string();

  const auto f = reference.make<TypeParam>();
  ASSERT_TRUE(f->analyze(analysis).ok());
  ASSERT_TRUE(f->upload(a.values).ok());
  ASSERT_TRUE(f->factor().ok());
  ASSERT_TRUE(f->upload(other).ok());
  ASSERT_TRUE(f->refactor().ok());
  const auto again = f->download();
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  ASSERT_EQ(again->plan.p, fresh->plan.p);  // the diagonal is strong enough for both
  EXPECT_EQ(again->filled, fresh->filled);
  EXPECT_EQ(again->values, fresh->values);
  EXPECT_EQ(again->statistics.pivot_growth, fresh->statistics.pivot_growth);
}

TYPED_TEST(LeftLookingReference, RefactorKeepsPivotsThatFactorMoved) {
  const std::int32_t n = 80;
  const auto a = random_unsymmetric<TypeParam>(n, 0.1, 0.01, 21);
  const Analysis analysis = analysis_of(a, random_plan(n, false, 6));
  const auto f = reference.make<TypeParam>({.pivot_tol = 1.0});
  ASSERT_TRUE(f->analyze(analysis).ok());
  ASSERT_TRUE(f->upload(a.values).ok());
  ASSERT_TRUE(f->factor().ok());
  const auto first = f->download();
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(f->refactor().ok());
  const auto second = f->download();
  ASSERT_TRUE(second.ok());
  EXPECT_GT(second->statistics.off_diagonal_pivots, 0);
  EXPECT_EQ(second->values, first->values);
  EXPECT_EQ(second->plan.p, first->plan.p);
}

TYPED_TEST(LeftLookingReference, RefactorThatLosesItsPivotAsksForANewFactor) {
  const auto a = from_rows<TypeParam>({{4, 1, 1}, {2, 3, 1}, {1, 1, 5}});
  Plan plan = Plan::identity(3);
  plan.p = plan.q = {2, 0, 1};
  const Analysis analysis = analysis_of(a, plan);
  const auto f = reference.make<TypeParam>();
  ASSERT_TRUE(f->analyze(analysis).ok());
  ASSERT_TRUE(f->upload(a.values).ok());
  ASSERT_TRUE(f->factor().ok());
  auto values = a.values;
  values[8] = 0;  // A(2,2), the first pivot
  ASSERT_TRUE(f->upload(values).ok());
  const Status s = f->refactor();
  EXPECT_EQ(s.code, StatusCode::needs_repivot);
  EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{2});
  EXPECT_EQ(f->download().status().code, StatusCode::needs_repivot);
  ASSERT_TRUE(f->factor().ok());
  const auto repaired = f->download();
  ASSERT_TRUE(repaired.ok());
  CscMatrix<TypeParam> changed = a;
  changed.values = values;
  EXPECT_LE(testing::lu_error(changed, *repaired), 30.0);
}

TYPED_TEST(LeftLookingReference, RefactorSaysWhetherAPivotVanishedOrAValueOverflowed) {
  const auto a = from_rows<TypeParam>({{1, 0, 1}, {0.5, 1, 1}, {0, 0, 1}});
  const Analysis analysis = analysis_of(a, Plan::identity(3));
  const auto f = reference.make<TypeParam>();
  ASSERT_TRUE(f->analyze(analysis).ok());
  ASSERT_TRUE(f->upload(a.values).ok());
  ASSERT_TRUE(f->factor().ok());
  const TypeParam big = std::numeric_limits<TypeParam>::max();
  const std::vector<TypeParam> vanished = {1, 0.5, 1, 1, 1, 0};        // A(2,2), which divides nothing
  const std::vector<TypeParam> overflowed = {1, 4, 1, big / 2, 1, 1};  // U(1,2) = 1 - 4 · big / 2; its pivot is 1
  for (const auto& [values, why] : {std::pair(vanished, "its pivot became zero"), {overflowed, "it overflows"}}) {
    ASSERT_TRUE(f->upload(values).ok());
    const Status s = f->refactor();
    EXPECT_EQ(s.code, StatusCode::needs_repivot);
    EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{2});
    EXPECT_NE(s.to_string().find(why), std::string::npos) << s.to_string();
  }
}

TYPED_TEST(LeftLookingReference, RefusesNonFiniteValuesAndNamesThem) {
  auto a = from_rows<TypeParam>({{4, 1, 0}, {2, 3, 1}, {0, 1, 5}});
  a.values[3] = std::numeric_limits<TypeParam>::quiet_NaN();  // A(1,1)
  const auto f = factor_with<TypeParam>(reference, a, Plan::identity(3));
  ASSERT_FALSE(f.ok());
  EXPECT_EQ(f.status().code, StatusCode::invalid_argument);
  EXPECT_EQ(f.status().where.rows, std::vector<std::int32_t>{1});
  EXPECT_EQ(f.status().where.columns, std::vector<std::int32_t>{1});
}

TYPED_TEST(LeftLookingReference, RefusesCallsOutOfOrder) {
  const auto a = from_rows<TypeParam>({{4, 1}, {2, 3}});
  const Analysis analysis = analysis_of(a, Plan::identity(2));
  const auto f = reference.make<TypeParam>();
  EXPECT_EQ(f->upload(a.values).code, StatusCode::invalid_argument);
  EXPECT_EQ(f->factor().code, StatusCode::invalid_argument);
  EXPECT_EQ(f->download().status().code, StatusCode::invalid_argument);
  ASSERT_TRUE(f->analyze(analysis).ok());
  EXPECT_EQ(f->factor().code, StatusCode::invalid_argument);
  EXPECT_EQ(f->upload(std::span<const TypeParam>(a.values).first(3)).code, StatusCode::invalid_argument);
  ASSERT_TRUE(f->upload(a.values).ok());
  EXPECT_EQ(f->refactor().code, StatusCode::invalid_argument);
  EXPECT_EQ(f->download().status().code, StatusCode::invalid_argument);
  ASSERT_TRUE(f->factor().ok());
  EXPECT_TRUE(f->download().ok());
  EXPECT_EQ(reference.make<TypeParam>({.pivot_tol = 2})->analyze(analysis).code, StatusCode::invalid_argument);
}

TYPED_TEST(LeftLookingReference, EmptyAndOneByOne) {
  const auto none = factor_with<TypeParam>(reference, CscMatrix<TypeParam>{}, Plan::identity(0));
  ASSERT_TRUE(none.ok()) << none.status().to_string();
  EXPECT_EQ(none->filled.nnz(), 0);
  const auto one = factor_with<TypeParam>(reference, from_rows<TypeParam>({{-3}}), Plan::identity(1));
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  EXPECT_EQ(one->values, std::vector<TypeParam>{-3});
  EXPECT_FALSE(factor_with<TypeParam>(reference, from_rows<TypeParam>({{0}}), Plan::identity(1)).ok());
}

}  // namespace
}  // namespace lulab::sparse_leftlooking
