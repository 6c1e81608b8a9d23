// What numeric kernels use of the language besides barriers and atomics: bit casts, mathematical functions, vector
// loads, attributes.

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "testing/launch.h"

namespace lulab::simt {
namespace {

/// out: (8) bits
__global__ void bits_kernel(double x, float y, long long* out) {
  out[0] = __double_as_longlong(x);
  out[1] = __longlong_as_double(__double_as_longlong(x) + 1) > x;
  out[2] = __float_as_uint(y);
  out[3] = __uint_as_float(__float_as_uint(y) ^ 0x80000000u) == -y;
  out[4] = __double2hiint(x);
  out[5] = __double2loint(x);
  out[6] = __hiloint2double(__double2hiint(x), __double2loint(x)) == x;
  out[7] = __int_as_float(__float_as_int(y)) == y;
}

TEST(Language, BitCastsKeepTheBits) {
  LULAB_NEED_DEVICE();
  const double x = 0x1.23456789abcdep-7;
  const float y = -0x1.23456p+5f;
  const auto out = output_of<long long>(bits_kernel, {.grid = 1, .block = 1}, 8, {}, x, y);
  LULAB_ASSERT_OK(out);
  const auto bits = std::bit_cast<std::uint64_t>(x);
  EXPECT_EQ((*out)[0], static_cast<long long>(bits));
  EXPECT_EQ((*out)[1], 1);
  EXPECT_EQ((*out)[2], static_cast<long long>(std::bit_cast<std::uint32_t>(y)));
  EXPECT_EQ((*out)[3], 1);
  EXPECT_EQ((*out)[4], static_cast<std::int32_t>(bits >> 32));
  EXPECT_EQ((*out)[5], static_cast<std::int32_t>(bits & 0xffffffffu));
  EXPECT_EQ((*out)[6], 1);
  EXPECT_EQ((*out)[7], 1);
}

/// What a kernel writes as fma(a, b, c), fabs(x), ... for its scalar T.   out: (10)
template <class T>
__global__ void mathematics_kernel(T a, T b, T c, T nan, T* out) {
  out[0] = fma(a, b, c);
  out[1] = fabs(c);
  out[2] = abs(c);
  out[3] = isnan(nan) ? T(1) : T(0);
  out[4] = isnan(c) ? T(1) : T(0);
  out[5] = isfinite(c) ? T(1) : T(0);
  out[6] = sqrt(T(2));
  out[7] = copysign(T(3), c);
  out[8] = fmax(a, nan);
  out[9] = max(a, c) - min(a, c);
}

template <class T>
void expect_mathematics() {
  const T eps = std::numeric_limits<T>::epsilon();
  const T a = 1 + eps, b = 1 - eps, c = T(-1);  // a b + c = -eps^2, which only a fused operation finds
  const auto out = output_of<T>(mathematics_kernel<T>, {.grid = 1, .block = 1}, 10, {}, a, b, c,
                                std::numeric_limits<T>::quiet_NaN());
  LULAB_ASSERT_OK(out);
  EXPECT_EQ(*out, (std::vector<T>{-eps * eps, 1, 1, 1, 0, 1, std::sqrt(T(2)), -3, a, a + 1}));
}

TEST(Language, MathematicalFunctionsHaveTheScalarsOwnPrecision) {
  LULAB_NEED_DEVICE();
  expect_mathematics<float>();
  expect_mathematics<double>();
}

/// Writes scalars, reads vectors and the other way round, as kernels do.   out: (8 threads)
template <class T, class Vector>
__global__ void __launch_bounds__(64, 2) vector_kernel(T* out) {
  constexpr int wide = sizeof(Vector) / sizeof(T);
  LULAB_SHARED(Vector, stage, 64);
  T* scalars = reinterpret_cast<T*>(&stage[0]);
  const int t = threadIdx.x, n = blockDim.x;
#pragma unroll
  for (int k = 0; k < wide; ++k) scalars[t * wide + k] = T(10 * t + k);
  const Vector mine = reinterpret_cast<const Vector*>(scalars)[t];
  __syncthreads();  // RACE: stage[n - 1 - t] was read above by its own thread
  stage[n - 1 - t] = mine;
  __syncthreads();  // RACE: stage is complete
#pragma unroll 2
  for (int k = 0; k < wide; ++k) out[t * wide + k] = scalars[t * wide + k];
}

template <class T, class Vector>
void expect_vectors() {
  constexpr int wide = sizeof(Vector) / sizeof(T), threads = 64;
  const auto out = output_of<T>(vector_kernel<T, Vector>, {.grid = 1, .block = threads}, threads * wide, {.seed = 4});
  LULAB_ASSERT_OK(out);
  for (int t = 0; t < threads; ++t)
    for (int k = 0; k < wide; ++k) ASSERT_EQ((*out)[t * wide + k], T(10 * (threads - 1 - t) + k)) << t << " " << k;
}

TEST(Language, VectorsAndScalarsShareMemory) {
  LULAB_NEED_DEVICE();
  expect_vectors<double, double2>();
  expect_vectors<float, float4>();
  expect_vectors<float, float2>();
  expect_vectors<int, int4>();
}

#ifndef LULAB_CUDA  // on a GPU a debugger is told by cuda-gdb
__global__ void where_kernel(std::string* text) {
  if (blockIdx.x == 3 && blockIdx.y == 1 && threadIdx.x == 2 && threadIdx.y == 9) *text = where();
}

TEST(Language, WhereTellsADebuggerTheRunningThread) {
  EXPECT_STREQ(where(), "not in a kernel");
  std::string text;
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  LULAB_ASSERT_OK(launch(where_kernel, {.grid = dim3(4, 2), .block = dim3(4, 10)}, *stream, &text));
  LULAB_ASSERT_OK(stream->wait());
  EXPECT_EQ(text, "block (3,1,0) thread (2,9,0) warp 1 lane 6 of kernel lulab::simt::where_kernel");
}
#endif

}  // namespace
}  // namespace lulab::simt
