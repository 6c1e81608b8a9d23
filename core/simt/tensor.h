#pragma once
// Small matrix products by a whole warp, on tensor cores (mma.m8n8k4.f64, mma.m16n8k4.f64). Device code, after
// core/simt/kernel.h.

namespace lulab::simt {

/// D += A · B   for D: 8 x 8, A: 8 x 4, B: 4 x 8, shared out among the lanes:
///   a     = A(lane / 4, lane % 4)
///   b     = B(lane % 4, lane / 4)
///   d0 d1 = D(lane / 4, 2 · (lane % 4)), D(lane / 4, 2 · (lane % 4) + 1)
/// Called by all 32 lanes.   Each sum is rounded as a chain of fused multiply-adds may be; on the host, products too.
/// Source    PTX ISA, "Matrix fragments for mma.m8n8k4 with .f64 floating point type", and likewise m16n8k4.
__device__ __forceinline__ void multiply_add_8x8x4(double& d0, double& d1, double a, double b) {
#ifdef LULAB_CUDA
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(d0), "+d"(d1)
      : "d"(a), "d"(b));
#else
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int k = 0; k < 4; ++k) {
    const double of_a = __shfl_sync(0xffffffffu, a, lane / 4 * 4 + k);
    const double of_b0 = __shfl_sync(0xffffffffu, b, 2 * (lane % 4) * 4 + k);
    const double of_b1 = __shfl_sync(0xffffffffu, b, (2 * (lane % 4) + 1) * 4 + k);
    d0 += of_a * of_b0;
    d1 += of_a * of_b1;
  }
#endif
}

/// The same for D: 16 x 8 and A: 16 x 4, in the same time: a1, d2 and d3 are eight rows below a0, d0 and d1.
__device__ __forceinline__ void multiply_add_16x8x4(double& d0, double& d1, double& d2, double& d3, double a0,
                                                    double a1, double b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3)
      : "d"(a0), "d"(a1), "d"(b));
#else
  multiply_add_8x8x4(d0, d1, a0, b);
  multiply_add_8x8x4(d2, d3, a1, b);
#endif
}

}  // namespace lulab::simt
