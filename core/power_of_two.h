#pragma once
// Scaling by powers of two, which is exact, without the instructions of the standard functions. Device code.

#include "core/magnitude.h"
#include "core/simt/kernel.h"

namespace lulab {

/// The power of two that brings the largest entry of a right-hand side below 1.
__device__ __forceinline__ int exponent_of(unsigned long long largest) {
  const int biased = static_cast<int>(largest >> 52);
  if (biased > 0) return biased < 0x7ff ? biased - 1022 : 0;
  int exponent = 0;
  if (largest > 0) frexp(magnitude_of(largest), &exponent);
  return exponent;
}

/// The value, 2^exponent of it and the factors that made it are far from the ends of the range.
__device__ __forceinline__ bool is_far_from_ends(double value, int exponent) {
  constexpr int far = 500;
  const int biased = static_cast<int>(bits_of(value) >> 52);
  return exponent >= -far && exponent <= far && ((biased > 1023 - far && biased < 1023 + far) || value == 0);
}
/// value · 2^exponent.   Requires  is_far_from_ends(value, exponent).
__device__ __forceinline__ double times_power_of_two(double value, int exponent) {
  return value * __longlong_as_double(static_cast<long long>(1023 + exponent) << 52);
}
/// As ldexp(), which takes many instructions.
__device__ __forceinline__ double scaled_by_power_of_two(double value, int exponent) {
  return is_far_from_ends(value, exponent) ? times_power_of_two(value, exponent) : ldexp(value, exponent);
}

}  // namespace lulab
