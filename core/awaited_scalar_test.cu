#include "core/awaited_scalar.h"

#include <bit>
#include <limits>
#include <vector>

#include "testing/launch.h"

namespace lulab {
namespace {

/// Block 0 publishes values, block 1 awaits them.   grid: 2   values, seen: (n)   words: (n), not_yet on entry
template <class T>
__global__ void hand_over_kernel(const T* values, Word<T>* words, T* seen, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (blockIdx.x == 0)
      publish<T>(words + i, values[i]);
    else
      seen[i] = to_scalar(await(words + i, peek(words + i)));
  }
}

template <class T>
std::vector<T> handed_over(const std::vector<T>& values, simt::SimulatorOptions options) {
  const simt::SimulatorScope scope(options);
  auto stream = simt::Stream::create();
  const auto n = static_cast<int>(values.size());
  auto d_values = simt::DeviceBuffer<T>::create(std::span<const T>(values), *stream);
  auto d_words = simt::DeviceBuffer<Word<T>>::create(n);
  auto d_seen = simt::DeviceBuffer<T>::create(n);
  EXPECT_TRUE(d_words->fill_bytes(0xff, *stream).ok());
  const Status launched = simt::launch(hand_over_kernel<T>, {.grid = 2, .block = 32}, *stream, d_values->data(),
                                       d_words->data(), d_seen->data(), n);
  EXPECT_TRUE(launched.ok()) << launched.to_string();
  std::vector<T> seen(values.size(), T(-1));
  EXPECT_TRUE(d_seen->download(seen, *stream).ok());
  const Status done = stream->wait();
  EXPECT_TRUE(done.ok()) << done.to_string();
  return seen;
}

template <class T>
class AwaitedScalar : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AwaitedScalar, Scalars);

TYPED_TEST(AwaitedScalar, ArrivesBitForBit) {
  LULAB_NEED_DEVICE();
  using Limits = std::numeric_limits<TypeParam>;
  std::vector<TypeParam> values = {TypeParam(0),     -TypeParam(0), Limits::max(),
                                   Limits::lowest(), Limits::min(), Limits::denorm_min()};
  for (int i = 0; i < 90; ++i) values.push_back(TypeParam(1.37) * TypeParam(i - 40) / TypeParam(1 + i % 7));
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const auto seen = handed_over(values, {.seed = seed});
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(std::bit_cast<Word<TypeParam>>(seen[i]), std::bit_cast<Word<TypeParam>>(values[i])) << i;
  }
}

// Nobody may wait for ever, whatever came out of the arithmetic.
TYPED_TEST(AwaitedScalar, WhatIsNotFiniteArrivesAsNan) {
  LULAB_NEED_DEVICE();
  using Limits = std::numeric_limits<TypeParam>;
  const std::vector<TypeParam> values = {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                                         -Limits::quiet_NaN(), std::bit_cast<TypeParam>(not_yet<TypeParam>)};
  for (const std::uint64_t seed : simt::schedule_seeds())
    for (const TypeParam seen : handed_over(values, {.seed = seed})) EXPECT_TRUE(seen != seen) << seen;
}

/// words, seen: (1)
template <class T>
__global__ void await_kernel(Word<T>* words, T* seen) {
  *seen = to_scalar(await(words, peek(words)));
}

TYPED_TEST(AwaitedScalar, ThatNobodyPublishesIsADeadlock) {
  LULAB_NEED_SIMULATOR();
  auto stream = simt::Stream::create();
  auto d_words = simt::DeviceBuffer<Word<TypeParam>>::create(1);
  auto d_seen = simt::DeviceBuffer<TypeParam>::create(1);
  LULAB_ASSERT_OK(d_words->fill_bytes(0xff, *stream));
  LULAB_ASSERT_OK(
      simt::launch(await_kernel<TypeParam>, {.grid = 1, .block = 1}, *stream, d_words->data(), d_seen->data()));
  EXPECT_EQ(stream->wait().code, StatusCode::deadlock);
}

}  // namespace
}  // namespace lulab
