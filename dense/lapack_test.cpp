// The reference against the routine whose rules it follows: LAPACK's own dgetrf and sgetrf.

#include <gtest/gtest.h>

#include "testing/getrf.h"

extern "C" {
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* ipiv, int* info);
void sgetrf_(const int* m, const int* n, float* a, const int* lda, int* ipiv, int* info);
}

namespace lulab::testing {
namespace {

void getrf(int n, double* a, int* ipiv, int* info) { dgetrf_(&n, &n, a, &n, ipiv, info); }
void getrf(int n, float* a, int* ipiv, int* info) { sgetrf_(&n, &n, a, &n, ipiv, info); }

template <class T>
GetrfResult<T> lapack_getrf(const DenseMatrix<T>& a) {
  GetrfResult<T> r{a, std::vector<std::int32_t>(a.n_cols, -1), -1};
  getrf(a.n_cols, r.lu.values.data(), r.ipiv.data(), &r.info);
  for (std::int32_t& row : r.ipiv) --row;
  return r;
}

template <class T>
class DenseReferenceAndLapack : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DenseReferenceAndLapack, Scalars);

TYPED_TEST(DenseReferenceAndLapack, AgreeOnSwapsInfoAndGrowth) {
  using T = TypeParam;
  constexpr double epsilon = std::numeric_limits<T>::epsilon();
  std::vector<MatrixType> types = matrix_types();
  std::erase_if(types,
                [](const MatrixType& t) { return t.name == "exact_ties"; });  // OpenBLAS may break them otherwise
  for (const MatrixType& type : types)
    for (const std::int32_t n : {1, 2, 3, 5, 10, 50, 130})
      for (const std::uint64_t seed : {1, 2, 3}) {
        SCOPED_TRACE(type.name + ", n = " + std::to_string(n) + ", seed " + std::to_string(seed));
        const DenseMatrix<T> a = make_matrix<T>(type, n, seed);
        const GetrfResult<T> ours = reference_getrf(a);
        const GetrfResult<T> theirs = lapack_getrf(a);
        EXPECT_LT(getrf_error(a, ours), 30.0);
        EXPECT_LT(getrf_error(a, theirs), 30.0);

        const std::int32_t steps = type.pivots == Pivots::any     ? 0
                                   : type.pivots == Pivots::exact ? n
                                                                  : steps_before_near_tie(ours);
        for (std::int32_t k = 0; k < steps; ++k) ASSERT_EQ(ours.ipiv[k], theirs.ipiv[k]) << "step " << k;
        if (steps < n) continue;
        EXPECT_EQ(ours.info, theirs.info);
        // max|U| is one entry of U: a sum of up to n products that the two round differently
        const double growth = pivot_growth(a, theirs);
        const double tol = 1000.0 * n * epsilon * growth;
        EXPECT_TRUE(std::abs(pivot_growth(a, ours) - growth) <= tol) << pivot_growth(a, ours) << " != " << growth;
      }
}

// The comparison must not be empty: without near-ties all steps are compared.
TYPED_TEST(DenseReferenceAndLapack, NearTiesAreRareInUniformMatrices) {
  using T = TypeParam;
  std::int32_t compared = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    compared += steps_before_near_tie(reference_getrf(make_matrix<T>(matrix_types()[0], 50, seed)));
  EXPECT_GE(compared, 20 * 50 * 9 / 10);
}

}  // namespace
}  // namespace lulab::testing
