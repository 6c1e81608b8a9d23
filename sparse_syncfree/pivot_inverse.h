#pragma once
// Division by a pivot of any size without a division, and which pivots are perturbed. Device code.

#include <limits>

#include "core/device_factors.h"
#include "core/simt/kernel.h"
#include "core/simt/reciprocal.h"

namespace lulab::sparse_syncfree {

/// x / pivot as x · scale · inverse, since the inverse alone is no normal number where the pivot is denormal or very
/// large. (A division instead, in a rare branch: memplus 0.21 -> 0.26 ms on an H200.)
/// A zero of a panel that is no entry stays zero whatever the pivot, unless the pivot is zero.
template <class T>
struct Inverse {
  T scale, inverse;

  __device__ __forceinline__ explicit Inverse(T pivot) {
    constexpr T least = std::numeric_limits<T>::min(),
                power = sizeof(T) == 8 ? T(18446744073709551616.0) : T(4294967296.0);
    const T size = pivot < T(0) ? -pivot : pivot;
    scale = size < least ? power : size > T(1) / least ? T(1) / power : T(1);
    inverse = simt::reciprocal(pivot * scale);
  }
};

/// 1 / pivot is a normal number, and the pivot is neither zero nor to be perturbed.
template <class T>
__device__ __forceinline__ bool is_plain(T pivot, T least) {
  constexpr T smallest = std::numeric_limits<T>::min();
  const T size = pivot < T(0) ? -pivot : pivot;
  return size > least && size >= smallest && size <= T(1) / smallest;
}

/// Where it is true of what reciprocal() gives for a pivot, is_plain() is true of the pivot.
template <class T>
__device__ __forceinline__ bool is_plain_inverse(T inverse, T least) {
  constexpr T smallest = 4 * std::numeric_limits<T>::min();
  const T size = inverse < T(0) ? -inverse : inverse;
  return size >= smallest && size <= T(1) / smallest && size * least < T(0.99);
}

/// Smaller pivots than this are perturbed.
template <class T>
__device__ __forceinline__ T least_pivot(const DeviceFactorsView<T>& f) {
  return f.perturb_pivots > T(0) ? f.perturb_pivots * *f.a_max : T(0);
}

/// The pivot as it is used, counted where it is lost or perturbed.
template <class T>
__device__ __forceinline__ T noted_pivot(const DeviceFactorsView<T>& f, T pivot, T least, std::int32_t column,
                                         bool counts) {
  if (pivot < least && pivot > -least) {
    pivot = pivot < T(0) ? -least : least;
    if (counts) atomicAdd(f.perturbed, 1);  // RACE: blocks count; the end of the launch publishes the sum
  }
  // RACE: blocks lower failed_column; the atomic orders them, the end of the launch publishes it
  if (pivot == T(0) && counts) atomicMin(f.failed_column, column);
  return pivot;
}

}  // namespace lulab::sparse_syncfree
