#pragma once
// One row of b - A x in twice double precision, and how much of an error it is. Device code, shared by refinement of one
// system and of a batch.

#include <cstdint>
#include <limits>

#include "core/simt/kernel.h"
#include "solve/magnitude.h"

namespace lulab {

/// sum + lost as an unevaluated pair.
struct TwiceDouble {
  double sum, lost;

  __device__ __forceinline__ void add(double value) {  // two_sum, Knuth
    const double s = sum + value, z = s - sum;
    lost += (sum - (s - z)) + (value - z);
    sum = s;
  }
};

/// What one of several threads has of a row.                                        Ogita, Rump & Oishi 2005, Dot2
struct RestOfRow {
  TwiceDouble rest;  // b - A x
  double ax;         // |A||x|

  __device__ __forceinline__ void take(double a, double x) {
    const double product = fma(-a, x, 0.0);  // a product that no compiler fuses with the sum
    rest.lost += fma(-a, x, -product);
    rest.add(product);
    ax += fabs(a) * fabs(x);
  }
  __device__ __forceinline__ RestOfRow from(int offset) const {
    return {{__shfl_xor_sync(0xffffffffu, rest.sum, offset), __shfl_xor_sync(0xffffffffu, rest.lost, offset)},
            __shfl_xor_sync(0xffffffffu, ax, offset)};
  }
  __device__ __forceinline__ void meet(const RestOfRow& other) {
    rest.add(other.rest.sum);
    rest.lost += other.rest.lost;
    ax += other.ax;
  }
  __device__ __forceinline__ double rounded() const {
    return rest.lost - rest.lost == 0 ? rest.sum + rest.lost : rest.sum;
  }
};

/// size / (p + q) with 0/0 = 0; NaN where p or q is infinite.   p, q: >= 0 or NaN
__device__ __forceinline__ double error_of(double size, double p, double q) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (p + q < infinity) return size == 0 && p + q == 0 ? 0 : size / (p + q);
  const double half = 0.5 * p + 0.5 * q;  // of a sum that overflows
  return half < infinity ? 0.5 * size / half : std::numeric_limits<double>::quiet_NaN();
}

/// The largest errors of the rows that a thread has seen, as bits_of().               Arioli et al. 1989, section 2.2
struct LargestErrors {
  unsigned long long omega1 = 0, omega2 = 0, componentwise = 0;

  /// row: the whole row   b: its right-hand side   row_size: max |A(i,:)| · max |x|, infinite if it overflows: then nothing
  /// tells that the row is small beside it
  __device__ __forceinline__ void take(const RestOfRow& row, double b, double row_size, std::int32_t n) {
    constexpr double eps = std::numeric_limits<double>::epsilon() / 2;
    const double size = fabs(row.rounded()), error = error_of(size, row.ax, fabs(b));
    const double tau = 1000.0 * n * eps * (row_size + fabs(b));
    componentwise = larger(componentwise, bits_of(error));
    if (row.ax + fabs(b) > tau || tau == std::numeric_limits<double>::infinity())
      omega1 = larger(omega1, bits_of(error));
    else
      omega2 = larger(omega2, bits_of(error_of(size, row.ax, row_size)));
  }
};

}  // namespace lulab
