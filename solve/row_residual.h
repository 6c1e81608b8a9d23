#pragma once
// One row of b - A x in twice double precision, and its backward error. Device code of device_refine.cu (one system)
// and device_batch_solver.cu (many).

#include <cstdint>

#include "core/magnitude.h"
#include "core/simt/kernel.h"
#include "solve/refinement_rule.h"

namespace lulab {

/// The value sum + lost, which is not added up.
struct TwiceDouble {
  double sum, lost;

  __device__ __forceinline__ void add(double value) {  // two_sum, Knuth
    const double s = sum + value, z = s - sum;
    lost += (sum - (s - z)) + (value - z);
    sum = s;
  }
};

/// One thread's part of a row.                                                        Ogita, Rump & Oishi 2005, Dot2
struct RowResidual {
  TwiceDouble r;  // b - A x
  double ax;      // |A||x|

  __device__ __forceinline__ void subtract_product(double a, double x) {
    const double product = fma(-a, x, 0.0);  // a product that no compiler fuses with the sum
    r.lost += fma(-a, x, -product);
    r.add(product);
    ax += fabs(a) * fabs(x);
  }
  __device__ __forceinline__ RowResidual of_lane_xor(int offset) const {
    return {{__shfl_xor_sync(0xffffffffu, r.sum, offset), __shfl_xor_sync(0xffffffffu, r.lost, offset)},
            __shfl_xor_sync(0xffffffffu, ax, offset)};
  }
  __device__ __forceinline__ void merge(const RowResidual& other) {
    r.add(other.r.sum);
    r.lost += other.r.lost;
    ax += other.ax;
  }
  __device__ __forceinline__ double rounded() const { return r.lost - r.lost == 0 ? r.sum + r.lost : r.sum; }
};

/// The largest errors of the rows that one thread has finished, as bits_of().
struct LargestErrors {
  unsigned long long omega1 = 0, omega2 = 0, componentwise = 0;

  /// row: the sum of all threads' parts   b: its right-hand side   row_size: as of row_error()
  /// Returns what refinement corrects of the row.
  __device__ __forceinline__ double add(const RowResidual& row, double b, double row_size, std::int32_t n) {
    const RowError error = row_error(fabs(row.rounded()), row.ax, fabs(b), row_size, n);
    componentwise = larger(componentwise, bits_of(error.componentwise));
    if (error.nearly_zero)
      omega2 = larger(omega2, bits_of(error.omega));
    else
      omega1 = larger(omega1, bits_of(error.omega));
    return error.to_correct(row.rounded());
  }
};

}  // namespace lulab
