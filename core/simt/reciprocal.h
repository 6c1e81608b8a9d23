#pragma once
// 1 / x without the branches and the latency of a division. Device code, after core/simt/kernel.h.

namespace lulab::simt {

#ifdef LULAB_CUDA

/// Requires  x and 1 / x are normal numbers.
/// Ensures   1 / x within an ulp, after about a third of the time that a division takes.
__device__ __forceinline__ double reciprocal(double x) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  const double error = fma(-x, y, 1.0);  // 2^-20; its third power is left
  return fma(y, fma(error, error, error), y);
}
__device__ __forceinline__ float reciprocal(float x) { return __frcp_rn(x); }

#else

template <class T>
T reciprocal(T x) {
  return T(1) / x;
}

#endif

}  // namespace lulab::simt
