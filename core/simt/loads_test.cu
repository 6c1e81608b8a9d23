// simt::load_if reads where its condition holds, and nowhere else.

#include <vector>

#include "core/simt/kernel.h"
#include "core/simt/loads.h"
#include "testing/launch.h"

namespace lulab::simt {
namespace {

/// Even threads read x in their first load, odd ones in their second; the other load has no address.
/// x: (threads)   out: (threads, 2)
template <class T>
__global__ void load_twice_kernel(const T* x, T* out) {
  const int thread = static_cast<int>(threadIdx.x);
  const bool is_even = thread % 2 == 0;
  const T first = load_if(is_even, is_even ? x + thread : nullptr);
  const T second = load_if(!is_even, is_even ? nullptr : x + thread);
  out[2 * thread] = first;
  out[2 * thread + 1] = second;
}

template <class T>
Result<std::vector<T>> loaded(const std::vector<T>& x) {
  LULAB_ASSIGN_OR_RETURN(auto stream, Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto d_x, DeviceBuffer<T>::create(x, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return output_of<T>(load_twice_kernel<T>, {.grid = 1, .block = static_cast<unsigned>(x.size())}, 2 * x.size(), {},
                      d_x.data());
}

template <class T>
class Loads : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Loads, Scalars);

TYPED_TEST(Loads, AreZeroWhereTheConditionDoesNotHold) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  constexpr int threads = 64;
  std::vector<T> x(threads);
  for (int k = 0; k < threads; ++k) x[k] = T(k + 1) / 3;
  const auto out = loaded(x);
  LULAB_ASSERT_OK(out);
  for (int k = 0; k < threads; ++k) {
    EXPECT_EQ((*out)[2 * k], k % 2 == 0 ? x[k] : T(0)) << k;
    EXPECT_EQ((*out)[2 * k + 1], k % 2 == 0 ? T(0) : x[k]) << k;
  }
}

}  // namespace
}  // namespace lulab::simt
