#include "dense/04_row_swaps.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "testing/device.h"

namespace lulab::dense {
namespace {

template <class T>
class RowSwaps : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RowSwaps, Scalars);

struct Ranges {
  std::int32_t n, first_swap, end_swap, first_col, end_col;
  std::int32_t reach;  // ipiv[k] <= k + reach
};

// The whole buffer, padding included, against the swaps carried out one after the other on the host.
template <class T>
void expect_swapped(const Ranges& r, std::uint64_t seed) {
  const std::int64_t ld = r.n + 3;
  std::mt19937_64 random(seed);
  std::vector<T> a(ld * r.n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i + 1);  // all different
  std::vector<std::int32_t> ipiv(r.n, -1);
  for (std::int32_t k = r.first_swap; k < r.end_swap; ++k)
    ipiv[k] = std::uniform_int_distribution<std::int32_t>(k, std::min(r.n - 1, k + r.reach))(random);

  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  auto d_a = simt::DeviceBuffer<T>::create(a, *stream);
  auto d_ipiv = simt::DeviceBuffer<std::int32_t>::create(ipiv, *stream);
  LULAB_ASSERT_OK(d_a);
  LULAB_ASSERT_OK(d_ipiv);
  LULAB_ASSERT_OK(swap_rows<T>({r.n, ld, d_a->data(), d_ipiv->data(), nullptr}, r.first_swap, r.end_swap, r.first_col,
                               r.end_col, *stream));
  std::vector<T> swapped(a.size(), T(-1));
  LULAB_ASSERT_OK(d_a->download(swapped, *stream));
  LULAB_ASSERT_OK(stream->wait());

  for (std::int32_t k = r.first_swap; k < r.end_swap; ++k)
    for (std::int32_t j = r.first_col; j < r.end_col; ++j) std::swap(a[k + j * ld], a[ipiv[k] + j * ld]);
  EXPECT_EQ(swapped, a) << "n = " << r.n << ", swaps " << r.first_swap << ".." << r.end_swap << ", columns "
                        << r.first_col << ".." << r.end_col << ", reach " << r.reach;
}

TYPED_TEST(RowSwaps, EqualTheSwapsOneAfterTheOther) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    for (const Ranges& r : {Ranges{1, 0, 1, 0, 1, 0},
                            {2, 0, 1, 0, 2, 1},
                            {7, 2, 5, 1, 6, 9},
                            {40, 8, 24, 24, 40, 40},
                            {70, 0, 33, 33, 70, 2},
                            {70, 32, 70, 0, 32, 70},
                            {300, 10, 266, 290, 300, 300},
                            {300, 0, 256, 0, 3, 1},
                            {300, 40, 296, 2, 5, 0},
                            {600, 20, 590, 3, 6, 600},
                            {600, 1, 514, 0, 2, 4}})
      expect_swapped<TypeParam>(r, seed);
  }
}

TYPED_TEST(RowSwaps, RowsNamedBySeveralSwapsMoveOnce) {
  LULAB_NEED_DEVICE();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) expect_swapped<TypeParam>({12, 0, 9, 0, 2, 12}, seed);
}

TYPED_TEST(RowSwaps, EmptyRangesAndWrongOnesDoNothing) {
  LULAB_NEED_DEVICE();
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  const DeviceDense<TypeParam> a{600, 600, nullptr, nullptr, nullptr};
  LULAB_ASSERT_OK(swap_rows(a, 5, 5, 0, 600, *stream));
  LULAB_ASSERT_OK(swap_rows(a, 0, 5, 7, 7, *stream));
  EXPECT_EQ(swap_rows(a, 3, 2, 0, 1, *stream).code, StatusCode::invalid_argument);
  EXPECT_EQ(swap_rows(a, 595, 601, 0, 1, *stream).code, StatusCode::invalid_argument);
  EXPECT_EQ(swap_rows(a, 0, 1, 0, 601, *stream).code, StatusCode::invalid_argument);
  EXPECT_EQ(swap_rows(a, 0, 1, -1, 6, *stream).code, StatusCode::invalid_argument);
  LULAB_ASSERT_OK(stream->wait());
}

}  // namespace
}  // namespace lulab::dense
