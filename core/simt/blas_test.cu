// Blas against sums written out in higher precision.

#include "core/simt/blas.h"

#include <cmath>
#include <limits>
#include <random>

#include "testing/launch.h"

namespace lulab::simt {
namespace {

template <class T>
class BlasTest : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BlasTest, Scalars);

struct Shape {
  std::int64_t m, n, k;
};
const Shape odd_shapes[] = {{1, 1, 1},     {5, 3, 7}, {33, 17, 9}, {64, 1, 31}, {1, 40, 65},
                            {129, 67, 33}, {0, 4, 3}, {4, 0, 3},   {4, 3, 0}};

/// Column-major rows x columns with `gap` guard elements (NaN) under each column.
template <class T>
struct Matrix {
  std::int64_t rows, columns, ld;
  std::vector<T> values;

  Matrix(std::int64_t rows_, std::int64_t columns_, std::int64_t gap)
      : rows(rows_),
        columns(columns_),
        ld(rows_ + gap),
        values(static_cast<std::size_t>(ld * columns_), std::numeric_limits<T>::quiet_NaN()) {}
  Matrix(std::int64_t rows_, std::int64_t columns_, std::int64_t gap, std::uint64_t seed)
      : Matrix(rows_, columns_, gap) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<T> entry(-1, 1);
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < rows; ++i) at(i, j) = entry(random);
  }
  T& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i + j * ld)]; }
  T at(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i + j * ld)]; }
};

template <class T>
void expect_guards_untouched(const Matrix<T>& x) {
  for (std::int64_t j = 0; j < x.columns; ++j)
    for (std::int64_t i = x.rows; i < x.ld; ++i) ASSERT_TRUE(std::isnan(x.at(i, j))) << i << " " << j;
}

/// |c - (c0 - a b)| <= (k + 1) eps (|c0| + |a| |b|) entry by entry, k the inner size.     Higham 2002, (3.13)
template <class T>
void expect_product_subtracted(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& c0, const Matrix<T>& c) {
  for (std::int64_t j = 0; j < c.columns; ++j)
    for (std::int64_t i = 0; i < c.rows; ++i) {
      long double exact = c0.at(i, j), size = std::fabs(exact);
      for (std::int64_t p = 0; p < a.columns; ++p) {
        exact -= static_cast<long double>(a.at(i, p)) * b.at(p, j);
        size += std::fabs(static_cast<long double>(a.at(i, p)) * b.at(p, j));
      }
      const long double tol = static_cast<long double>(a.columns + 1) * std::numeric_limits<T>::epsilon() * size;
      ASSERT_TRUE(std::fabs(c.at(i, j) - exact) <= tol) << i << " " << j << ": " << c.at(i, j);
    }
}

template <class T>
Result<DeviceBuffer<T>> upload(const Matrix<T>& x, Stream& stream) {
  return DeviceBuffer<T>::create(x.values, stream);
}

TYPED_TEST(BlasTest, ProductIsSubtractedAndPaddingIsLeftAlone) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  auto blas = Blas::create(*stream);
  LULAB_ASSERT_OK(blas);
  for (const auto& [m, n, k] : odd_shapes) {
    const Matrix<T> a(m, k, 3, 1), b(k, n, 1, 2), c0(m, n, 2, 3);
    auto d_a = upload(a, *stream), d_b = upload(b, *stream), d_c = upload(c0, *stream);
    LULAB_ASSERT_OK(d_a);
    LULAB_ASSERT_OK(d_b);
    LULAB_ASSERT_OK(d_c);
    LULAB_ASSERT_OK(
        blas->template subtract_product<T>(m, n, k, d_a->data(), a.ld, d_b->data(), b.ld, d_c->data(), c0.ld));
    Matrix<T> c(m, n, 2);
    LULAB_ASSERT_OK(d_c->download(c.values, *stream));
    LULAB_ASSERT_OK(stream->wait());
    expect_product_subtracted(a, b, c0, c);
    expect_guards_untouched(c);
  }
}

TYPED_TEST(BlasTest, SolveWithUnitLowerReadsNothingOnOrAboveTheDiagonal) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  auto blas = Blas::create(*stream);
  LULAB_ASSERT_OK(blas);
  for (const auto& [m, n, unused] : odd_shapes) {
    Matrix<T> l(m, m, 3, 4);
    const Matrix<T> b(m, n, 2, 5);
    for (std::int64_t j = 0; j < m; ++j)
      for (std::int64_t i = 0; i <= j; ++i) l.at(i, j) = std::numeric_limits<T>::quiet_NaN();
    for (std::int64_t j = 0; j < m; ++j)  // well conditioned
      for (std::int64_t i = j + 1; i < m; ++i) l.at(i, j) /= static_cast<T>(m);
    auto d_l = upload(l, *stream), d_b = upload(b, *stream);
    LULAB_ASSERT_OK(d_l);
    LULAB_ASSERT_OK(d_b);
    LULAB_ASSERT_OK(blas->template solve_unit_lower<T>(m, n, d_l->data(), l.ld, d_b->data(), b.ld));
    Matrix<T> x(m, n, 2);
    LULAB_ASSERT_OK(d_b->download(x.values, *stream));
    LULAB_ASSERT_OK(stream->wait());
    // |b - L x| <= 4 (m + 1) eps |L| |x|: Higham 2002, theorem 8.5, and some room for blocked inverses.
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        long double residual = static_cast<long double>(b.at(i, j)) - x.at(i, j), size = std::fabs(x.at(i, j));
        for (std::int64_t p = 0; p < i; ++p) {
          residual -= static_cast<long double>(l.at(i, p)) * x.at(p, j);
          size += std::fabs(static_cast<long double>(l.at(i, p)) * x.at(p, j));
        }
        const long double tol = 4 * static_cast<long double>(m + 1) * std::numeric_limits<T>::epsilon() * size;
        ASSERT_TRUE(std::fabs(residual) <= tol) << i << " " << j << ": " << x.at(i, j);
      }
    expect_guards_untouched(x);
  }
}

TYPED_TEST(BlasTest, ACapturedGraphComputesTheSameBits) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  auto created = Blas::create(*stream);
  LULAB_ASSERT_OK(created);
  Blas blas = std::move(*created);
  const std::int64_t m = 129, n = 67;
  const Matrix<T> a(m, m, 3, 6), b(m, n, 2, 7);
  auto d_a = upload(a, *stream), d_start = upload(b, *stream), d_b = upload(b, *stream), d_c = upload(b, *stream);
  LULAB_ASSERT_OK(d_a);
  LULAB_ASSERT_OK(d_start);
  LULAB_ASSERT_OK(d_b);
  LULAB_ASSERT_OK(d_c);
  const std::size_t bytes = b.values.size() * sizeof(T);
  const auto enqueue = [&]() -> Status {
    LULAB_RETURN_IF_ERROR(copy_on_device(d_b->data(), d_start->data(), bytes, *stream));
    LULAB_RETURN_IF_ERROR(copy_on_device(d_c->data(), d_start->data(), bytes, *stream));
    LULAB_RETURN_IF_ERROR(blas.subtract_product<T>(m, n, m, d_a->data(), a.ld, d_b->data(), b.ld, d_c->data(), b.ld));
    return blas.solve_unit_lower<T>(m, n, d_a->data(), a.ld, d_b->data(), b.ld);
  };
  const auto result = [&]() -> Result<std::vector<T>> {
    std::vector<T> out(2 * b.values.size(), std::numeric_limits<T>::quiet_NaN());
    const auto half = std::span(out);
    LULAB_RETURN_IF_ERROR(d_b->download(half.first(b.values.size()), *stream));
    LULAB_RETURN_IF_ERROR(d_c->download(half.last(b.values.size()), *stream));
    LULAB_RETURN_IF_ERROR(stream->wait());
    std::erase_if(out, [](T x) { return std::isnan(x); });  // the guards
    return out;
  };
  LULAB_ASSERT_OK(enqueue());
  const auto direct = result();
  LULAB_ASSERT_OK(direct);
  EXPECT_EQ(direct->size(), static_cast<std::size_t>(2 * m * n));
  LULAB_ASSERT_OK(Graph::begin_capture(*stream));
  LULAB_ASSERT_OK(enqueue());
  auto graph = Graph::end_capture(*stream);
  LULAB_ASSERT_OK(graph);
  for (int replay = 0; replay < 2; ++replay) {
    LULAB_ASSERT_OK(d_b->fill_bytes(0xFF, *stream));
    LULAB_ASSERT_OK(d_c->fill_bytes(0xFF, *stream));
    LULAB_ASSERT_OK(graph->launch(*stream));
    const auto replayed = result();
    LULAB_ASSERT_OK(replayed);
    EXPECT_EQ(*replayed, *direct);
  }
}

/// Integers of 24 bits, times the identity: TF32 (11 bits) would round them.
TEST(Blas, FloatProductsKeepAllBitsOfFloat) {
  LULAB_NEED_DEVICE();
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  auto blas = Blas::create(*stream);
  LULAB_ASSERT_OK(blas);
  constexpr int n = 64;
  std::vector<float> a(n * n, 0.0f), c(n * n, 0.0f);
  for (int i = 0; i < n; ++i) a[i + i * n] = 1;
  std::vector<float> b(n * n);
  for (int i = 0; i < n * n; ++i) b[i] = static_cast<float>(8388609 + 2 * i);
  auto d_a = DeviceBuffer<float>::create(a, *stream), d_b = DeviceBuffer<float>::create(b, *stream),
       d_c = DeviceBuffer<float>::create(c, *stream);
  LULAB_ASSERT_OK(d_a);
  LULAB_ASSERT_OK(d_b);
  LULAB_ASSERT_OK(d_c);
  LULAB_ASSERT_OK(blas->subtract_product<float>(n, n, n, d_a->data(), n, d_b->data(), n, d_c->data(), n));
  LULAB_ASSERT_OK(d_c->download(c, *stream));
  LULAB_ASSERT_OK(stream->wait());
  for (int i = 0; i < n * n; ++i) ASSERT_EQ(c[i], -b[i]);
}

TEST(Blas, BadOperandsAreRefusedByName) {
  LULAB_NEED_DEVICE();
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  auto blas = Blas::create(*stream);
  LULAB_ASSERT_OK(blas);
  auto d = DeviceBuffer<double>::create(100);
  LULAB_ASSERT_OK(d);
  double* x = d->data();
  const auto expect_refused = [](const Status& status, const char* operand) {
    EXPECT_EQ(status.code, StatusCode::invalid_argument) << status.to_string();
    EXPECT_TRUE(contains(status.message, operand)) << operand << " is missing in: " << status.message;
  };
  expect_refused(blas->subtract_product<double>(-1, 2, 2, x, 2, x, 2, x, 2), "A of -1 x 2");
  expect_refused(blas->subtract_product<double>(3, 2, 2, x, 2, x, 2, x, 3), "A of 3 x 2");
  expect_refused(blas->subtract_product<double>(2, 2, 3, x, 2, x, 2, x, 2), "B of 3 x 2");
  expect_refused(blas->subtract_product<double>(2, 2, 2, x, 2, x, 2, static_cast<double*>(nullptr), 2), "C of 2 x 2");
  expect_refused(blas->solve_unit_lower<double>(4, 2, x, 3, x, 4), "L of 4 x 4");
  expect_refused(blas->solve_unit_lower<double>(4, 2, x, 4, x, 0), "B of 4 x 2");
  LULAB_ASSERT_OK(stream->wait());
}

}  // namespace
}  // namespace lulab::simt
