#include "sparse_syncfree/rungs.h"
#include "testing/fixed_pivots.h"

namespace lulab::sparse_syncfree {
namespace {

using testing::analysis_for;
using testing::analysis_with;
using testing::dense_factors;
using testing::expect_like;
using testing::factor_with;
using testing::from_rows;
using testing::random_plan;
using testing::random_unsymmetric;

template <class T>
class SyncFreeReference : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SyncFreeReference, Scalars);

// Trefethen & Bau, lecture 20: all numbers are small integers.
TYPED_TEST(SyncFreeReference, TextbookExampleExactly) {
  const auto a = from_rows<TypeParam>({{2, 1, 1, 0}, {4, 3, 3, 1}, {8, 7, 9, 5}, {6, 7, 9, 8}});
  const auto f = factor_with<TypeParam>(reference, analysis_for(a), a.values);
  ASSERT_TRUE(f.ok()) << f.status().to_string();
  EXPECT_EQ(extract_u(*f), from_rows<TypeParam>({{2, 1, 1, 0}, {0, 1, 1, 1}, {0, 0, 2, 2}, {0, 0, 0, 2}}));
  EXPECT_EQ(extract_l(*f), from_rows<TypeParam>({{1, 0, 0, 0}, {2, 1, 0, 0}, {4, 3, 1, 0}, {3, 4, 1, 1}}));
}

TYPED_TEST(SyncFreeReference, PlansScalingsAndFillEqualDenseElimination) {
  for (const std::int32_t n : {1, 2, 7, 33, 90}) {
    for (const double density : {0.0, 0.03, 0.3, 1.0}) {
      const auto a = random_unsymmetric<TypeParam>(n, density, 3.0 * n, n + 100);
      const Analysis analysis = analysis_with(a, random_plan(n, true, n));
      const auto f = factor_with<TypeParam>(reference, analysis, a.values);
      ASSERT_TRUE(f.ok()) << f.status().to_string();
      testing::expect_well_formed(*f, n);
      expect_like(f->values, dense_factors(a, analysis), n);
      EXPECT_LE(testing::lu_error(a, *f), 30.0) << n << ' ' << density;
    }
  }
}

// Column 0 has neither L nor U, columns 1 and 2 are equal: the scheduler meets the second of these first.
TYPED_TEST(SyncFreeReference, TheFirstOfSeveralLostPivotsIsNamedInTheNumberingOfA) {
  auto a = from_rows<TypeParam>({{1, 0, 0, 0}, {0, 2, 2, 1}, {0, 2, 2, 0}, {0, 1, 1, 5}});
  const auto later = factor_with<TypeParam>(reference, analysis_for(a), a.values);
  EXPECT_EQ(later.status().code, StatusCode::needs_repivot);
  EXPECT_EQ(later.status().where.columns, std::vector<std::int32_t>{2});
  a.values[0] = 0;
  Plan plan = Plan::identity(4);
  for (const Permutation& order : {Permutation{0, 1, 2, 3}, Permutation{1, 0, 2, 3}}) {
    plan.p = plan.q = order;
    const auto both = factor_with<TypeParam>(reference, analysis_with(a, plan), a.values);
    EXPECT_EQ(both.status().code, StatusCode::needs_repivot);
    EXPECT_EQ(both.status().where.columns, std::vector<std::int32_t>{0}) << both.status().to_string();
  }
}

TYPED_TEST(SyncFreeReference, OverflowIsAnErrorNotAnInfinity) {
  const TypeParam big = std::numeric_limits<TypeParam>::max();
  auto a = from_rows<TypeParam>({{1, 1, 0}, {1, 1, 1}, {0, 1, 1}});
  a.values[1] = 500;      // A(1,0)
  a.values[2] = big / 2;  // A(0,1): U(1,1) = 1 - 500 · big / 2
  const auto f = factor_with<TypeParam>(reference, analysis_for(a), a.values);
  EXPECT_EQ(f.status().code, StatusCode::needs_repivot);
  EXPECT_EQ(f.status().where.columns, std::vector<std::int32_t>{1});
}

TYPED_TEST(SyncFreeReference, RefactorAfterAFailureEqualsFreshFactorBitwise) {
  const std::int32_t n = 60;
  const auto a = random_unsymmetric<TypeParam>(n, 0.06, 2.0 * n, 3);
  const Analysis analysis = analysis_with(a, random_plan(n, true, 4));
  const auto other = testing::nearby_values(a, 5);
  const auto fresh = factor_with<TypeParam>(reference, analysis, other);
  ASSERT_TRUE(fresh.ok()) << fresh.status().to_string();

  const auto f = reference.make<TypeParam>();
  ASSERT_TRUE(f->analyze(analysis).ok());
  ASSERT_TRUE(f->upload(a.values).ok());
  ASSERT_TRUE(f->factor().ok());
  const std::int32_t j = analysis.plan.q[0];  // its pivot is an entry of A
  auto bad = a.values;
  for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p)
    if (a.row_idx[p] == j) bad[p] = 0;
  ASSERT_TRUE(f->upload(bad).ok());
  EXPECT_EQ(f->refactor().code, StatusCode::needs_repivot);
  EXPECT_EQ(f->download().status().code, StatusCode::needs_repivot);

  ASSERT_TRUE(f->upload(other).ok());
  ASSERT_TRUE(f->refactor().ok());
  const auto again = f->download();
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(again->values, fresh->values);
}

TYPED_TEST(SyncFreeReference, EmptyAndOneByOne) {
  const auto none = factor_with<TypeParam>(reference, analysis_for(CscPattern{}), std::vector<TypeParam>{});
  ASSERT_TRUE(none.ok()) << none.status().to_string();
  EXPECT_EQ(none->filled.nnz(), 0);
  const auto one = from_rows<TypeParam>({{-3}});
  const auto f = factor_with<TypeParam>(reference, analysis_for(one), one.values);
  ASSERT_TRUE(f.ok()) << f.status().to_string();
  EXPECT_EQ(f->values, std::vector<TypeParam>{-3});
}

}  // namespace
}  // namespace lulab::sparse_syncfree
