#pragma once
// A small matrix product by a whole warp, on tensor cores (mma.m8n8k4.f64). Device code, after core/simt/kernel.h.

namespace lulab::simt {

/// D += A · B   for D: 8 x 8, A: 8 x 4, B: 4 x 8, shared out among the lanes:
///   a     = A(lane / 4, lane % 4)
///   b     = B(lane % 4, lane / 4)
///   d0 d1 = D(lane / 4, 2 · (lane % 4)), D(lane / 4, 2 · (lane % 4) + 1)
/// Called by all 32 lanes.   Each sum is rounded as a chain of fused multiply-adds may be; on the host, products too.
/// Source    PTX ISA, "Matrix fragments for mma.m8n8k4 with .f64 floating point type".
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

}  // namespace lulab::simt
