// getrf and getrs by Eigen as the rest of the program calls them: rectangles, leading dimensions, zero pivots.

#include "dense/91_eigen.h"

#include <gtest/gtest.h>

#include "testing/getrf.h"

namespace lulab::testing {
namespace {

/// m x n of a larger matrix, whose other entries must stay as they are.
template <class T>
struct PartOfAMatrix {
  PartOfAMatrix(std::int32_t m, std::int32_t n, std::uint64_t seed) : whole(m + 2, n) {
    const DenseMatrix<double> from = uniform_dense(std::max(m + 2, n), seed);
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = 0; i < m; ++i) whole(i, j) = static_cast<T>(from(i, j));
    for (std::int32_t j = 0; j < n; ++j) whole(m, j) = whole(m + 1, j) = T(77);
  }
  DenseView<T> view() { return {whole.values.data(), whole.n_rows - 2, whole.n_cols, whole.ld()}; }
  DenseMatrix<T> whole;
};

template <class T>
class EigenGetrf : public ::testing::Test {};
using EigenGetrfScalars = ::testing::Types<double, float>;
TYPED_TEST_SUITE(EigenGetrf, EigenGetrfScalars);

TYPED_TEST(EigenGetrf, EqualsTheReferenceInEveryShape) {
  using T = TypeParam;
  for (const auto& [m, n] : {std::pair{1, 1}, {7, 3}, {3, 7}, {40, 40}, {40, 65}, {65, 40}})
    for (const std::int32_t zero_column : {-1, 1, 2}) {
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + ", zero column " + std::to_string(zero_column));
      PartOfAMatrix<T> ours(m, n, m * 100 + n);
      for (std::int32_t i = 0; i < m && 0 <= zero_column && zero_column < n; ++i) ours.view()(i, zero_column) = 0;
      PartOfAMatrix<T> theirs = ours;
      std::vector<std::int32_t> ipiv(std::min(m, n), -1), expected = ipiv;
      const std::int32_t info = dense::getrf_eigen(ours.view(), std::span(ipiv));
      EXPECT_EQ(info, dense::getrf_reference(theirs.view(), std::span(expected)));
      EXPECT_EQ(ipiv, expected);
      // Entries of at most 1 grow by less than n here; each is a sum of up to n products.
      const double tol = 100.0 * n * n * std::numeric_limits<T>::epsilon();
      for (std::size_t k = 0; k < ours.whole.values.size(); ++k)
        ASSERT_TRUE(std::abs(ours.whole.values[k] - theirs.whole.values[k]) <= tol) << k;
    }
}

TYPED_TEST(EigenGetrf, SolvesWithTheMatrixAndItsTranspose) {
  using T = TypeParam;
  constexpr std::int32_t n = 40, columns = 3;
  for (const bool transposed : {false, true}) {
    PartOfAMatrix<T> a(n, n, 5), b(n, columns, 6);
    PartOfAMatrix<T> lu = a, x = b;
    std::vector<std::int32_t> ipiv(n, -1);
    ASSERT_EQ(dense::getrf_eigen(lu.view(), std::span(ipiv)), 0);
    const DenseView<const T> factors{lu.whole.values.data(), n, n, lu.whole.ld()};
    dense::getrs_eigen(factors, std::span<const std::int32_t>(ipiv), transposed, x.view());
    for (std::int32_t j = 0; j < columns; ++j) {
      EXPECT_EQ(x.whole(n, j), T(77));
      double size = 1;
      for (std::int32_t k = 0; k < n; ++k) size = std::max(size, std::abs(static_cast<double>(x.whole(k, j))));
      for (std::int32_t i = 0; i < n; ++i) {
        double residual = b.whole(i, j);
        for (std::int32_t k = 0; k < n; ++k)
          residual -= static_cast<double>(transposed ? a.whole(k, i) : a.whole(i, k)) * x.whole(k, j);
        EXPECT_TRUE(std::abs(residual) <= 30 * n * size * std::numeric_limits<T>::epsilon()) << i << " " << residual;
      }
    }
  }
}

}  // namespace
}  // namespace lulab::testing
