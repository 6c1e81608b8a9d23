// simt::reciprocal against the division that it stands for.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/simt/kernel.h"
#include "core/simt/reciprocal.h"
#include "testing/launch.h"

namespace lulab::simt {
namespace {

/// out: (n)
template <class T>
__global__ void reciprocal_kernel(int n, const T* x, T* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = reciprocal(x[i]);
}

template <class T>
Result<std::vector<T>> reciprocals_of(const std::vector<T>& x) {
  LULAB_ASSIGN_OR_RETURN(auto stream, Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto d_x, DeviceBuffer<T>::create(x, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  const auto blocks = static_cast<unsigned>((x.size() + 127) / 128);
  return output_of<T>(reciprocal_kernel<T>, {.grid = blocks, .block = 128}, x.size(), {}, static_cast<int>(x.size()),
                      d_x.data());
}

template <class T>
class Reciprocal : public ::testing::Test {
 protected:
  using Limits = std::numeric_limits<T>;
  // 2^first to 2^last, exclusive, are normal with normal reciprocals.
  static constexpr int first = Limits::min_exponent - 1, last = Limits::max_exponent - 2;
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Reciprocal, Scalars);

TYPED_TEST(Reciprocal, IsWithinAnUlpWhereverBothAreNormal) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<T> x;
  for (int e = this->first; e < this->last; ++e)
    for (int k = 0; k < 40; ++k) {
      // Half of them close to a power of two, from both sides.
      const double part = k < 20 ? unit(random) : k % 4 < 2 ? std::ldexp(1.0, -k) : 1 - std::ldexp(1.0, -k);
      x.push_back(std::ldexp(std::min(T(1 + part), std::nextafter(T(2), T(0))), e) * T(k % 2 == 0 ? 1 : -1));
    }
  const auto y = reciprocals_of(x);
  LULAB_ASSERT_OK(y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T nearest = 1 / x[i], infinity = std::numeric_limits<T>::infinity();
    ASSERT_TRUE(std::nextafter(nearest, -infinity) <= (*y)[i] && (*y)[i] <= std::nextafter(nearest, infinity))
        << "1 / " << x[i] << ": " << (*y)[i];
  }
}

TYPED_TEST(Reciprocal, OfAPowerOfTwoIsExact) {
  LULAB_NEED_DEVICE();
  std::vector<TypeParam> x;
  for (int e = this->first; e < this->last; ++e) {
    x.push_back(std::ldexp(TypeParam(1), e));
    x.push_back(-x.back());
  }
  const auto y = reciprocals_of(x);
  LULAB_ASSERT_OK(y);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ((*y)[i], 1 / x[i]);
}

}  // namespace
}  // namespace lulab::simt
