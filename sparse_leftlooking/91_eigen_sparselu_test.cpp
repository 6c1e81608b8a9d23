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

template <class T>
class EigenSparseLu : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(EigenSparseLu, Scalars);

TYPED_TEST(EigenSparseLu, IsConvertedToTheOneEquation) {
  for (const std::int32_t n : {1, 2, 5, 30, 200}) {
    for (const double diagonal : {0.001, 1.0}) {
      const auto a = random_unsymmetric<TypeParam>(n, 0.05, diagonal, n + 3000);
      const Plan plan = random_plan(n, false, n);
      const auto f = factor_with<TypeParam>(eigen_sparselu, a, plan, {.pivot_tol = 0.1});
      ASSERT_TRUE(f.ok()) << f.status().to_string();
      testing::expect_well_formed(*f, n);
      EXPECT_EQ(f->plan.q, plan.q);
      EXPECT_LE(testing::lu_error(a, *f), 30.0) << n << ' ' << diagonal;
      EXPECT_GE(f->statistics.flops, 0);
    }
  }
}

// With the same pivots, supernodes store the fill and perhaps zeros beside it.
TYPED_TEST(EigenSparseLu, PatternContainsTheFillAndTheRestIsZero) {
  const auto a = random_unsymmetric<TypeParam>(100, 0.03, 50.0, 51);
  const Plan plan = random_plan(100, true, 10);
  const auto exact = factor_with<TypeParam>(reference, a, plan);
  const auto f = factor_with<TypeParam>(eigen_sparselu, a, plan);
  ASSERT_TRUE(exact.ok() && f.ok());
  ASSERT_EQ(f->plan.p, exact->plan.p);
  for (std::int32_t j = 0; j < 100; ++j) {
    std::int64_t s = exact->filled.col_ptr[j];
    for (std::int64_t k = f->filled.col_ptr[j]; k < f->filled.col_ptr[j + 1]; ++k) {
      if (s < exact->filled.col_ptr[j + 1] && exact->filled.row_idx[s] == f->filled.row_idx[k])
        ++s;
      else
        EXPECT_EQ(f->values[k], TypeParam(0));
    }
    EXPECT_EQ(s, exact->filled.col_ptr[j + 1]) << "column " << j << " lacks an entry of the fill";
  }
}

TYPED_TEST(EigenSparseLu, FactorAfterASingularMatrixWorksAgain) {
  const auto a = from_rows<TypeParam>({{1, 2, 1, 0}, {3, 0, 3, 1}, {0, 1, 0, 4}, {2, 0, 2, 0}});
  Plan plan = Plan::identity(4);
  plan.q = {1, 2, 0, 3};  // columns 0 and 2 of A are equal; 0 comes later
  const Analysis analysis = analysis_of(a, plan);
  const auto f = eigen_sparselu.make<TypeParam>();
  ASSERT_TRUE(f->analyze(analysis).ok());
  ASSERT_TRUE(f->upload(a.values).ok());
  const Status s = f->factor();
  EXPECT_EQ(s.code, StatusCode::numerically_singular);
  EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{0});
  EXPECT_EQ(f->download().status().code, StatusCode::numerically_singular);
  CscMatrix<TypeParam> regular = a;
  regular.values[0] = 9;  // A(0,0)
  ASSERT_TRUE(f->upload(regular.values).ok());
  ASSERT_TRUE(f->factor().ok());
  const auto factors = f->download();
  ASSERT_TRUE(factors.ok());
  EXPECT_LE(testing::lu_error(regular, *factors), 30.0);
}

TYPED_TEST(EigenSparseLu, RefactorIsAFreshFactor) {
  const auto a = random_unsymmetric<TypeParam>(60, 0.1, 0.01, 61);
  const Analysis analysis = analysis_of(a, random_plan(60, false, 11));
  const auto f = eigen_sparselu.make<TypeParam>();
  ASSERT_TRUE(f->analyze(analysis).ok());
  ASSERT_TRUE(f->upload(a.values).ok());
  ASSERT_TRUE(f->factor().ok());
  CscMatrix<TypeParam> other = a;
  other.values = testing::nearby_values(a, 62);
  ASSERT_TRUE(f->upload(other.values).ok());
  ASSERT_TRUE(f->refactor().ok());
  const auto factors = f->download();
  ASSERT_TRUE(factors.ok());
  EXPECT_LE(testing::lu_error(other, *factors), 30.0);
}

TYPED_TEST(EigenSparseLu, EmptyOneByOneAndEmptyColumn) {
  EXPECT_TRUE(factor_with<TypeParam>(eigen_sparselu, CscMatrix<TypeParam>{}, Plan::identity(0)).ok());
  const auto one = factor_with<TypeParam>(eigen_sparselu, from_rows<TypeParam>({{-3}}), Plan::identity(1));
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  EXPECT_EQ(one->values, std::vector<TypeParam>{-3});
  EXPECT_EQ(factor_with<TypeParam>(eigen_sparselu, from_rows<TypeParam>({{0}}), Plan::identity(1)).status().code,
            StatusCode::numerically_singular);
  const auto empty_column = from_rows<TypeParam>({{1, 0, 1}, {1, 0, 2}, {3, 0, 1}});
  const Status s = factor_with<TypeParam>(eigen_sparselu, empty_column, Plan::identity(3)).status();
  EXPECT_EQ(s.code, StatusCode::numerically_singular);
  EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{1});
}

}  // namespace
}  // namespace lulab::sparse_leftlooking
