#pragma once
// The largest magnitude of many values; NaN counts as the largest. Device code.

#include "core/simt/kernel.h"

namespace lulab {

/// Bits of magnitudes order like the magnitudes, NaN last; those of 0 are 0.
__device__ __forceinline__ unsigned long long bits_of(double value) {
  return static_cast<unsigned long long>(__double_as_longlong(value)) & ~(1ull << 63);
}
__device__ __forceinline__ double magnitude_of(unsigned long long bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}
__device__ __forceinline__ unsigned long long larger(unsigned long long a, unsigned long long b) {
  return a > b ? a : b;
}

/// The largest bits of all threads, to all of them.   of_warp: (32) shared   Called by all threads of a block.
__device__ __forceinline__ unsigned long long block_max(unsigned long long bits, unsigned long long* of_warp) {
  for (int offset = 16; offset > 0; offset /= 2) bits = larger(bits, __shfl_xor_sync(0xffffffffu, bits, offset));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = bits;
  __syncthreads();  // RACE: each warp wrote its largest, all threads read all of them
  for (unsigned w = 0; w < blockDim.x / 32; ++w) bits = larger(bits, of_warp[w]);
  __syncthreads();  // RACE: all have read before the next call writes
  return bits;
}

/// *to = max(*to, bits of all lanes).   Called by all lanes of a warp.
__device__ __forceinline__ void raise(unsigned long long* to, unsigned long long bits) {
  for (int offset = 16; offset > 0; offset /= 2) bits = larger(bits, __shfl_xor_sync(0xffffffffu, bits, offset));
  if (threadIdx.x % 32 != 0) return;
  // RACE: an old value costs at most a needless atomic; most warps need none
  if (bits <= cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>(*to).load(cuda::memory_order_relaxed))
    return;
  atomicMax(to, bits);  // RACE: any warp may raise it; the end of the kernel publishes the largest
}

/// to[k] = max(to[k], bits[k] of all threads), with one atomic a block: those of all warps to one address would take
/// longer than most kernels here.   Called by all threads of a block, once.
template <int count>
__device__ __forceinline__ void raise_by_block(unsigned long long* const (&to)[count],
                                               const unsigned long long (&bits)[count]) {
  LULAB_SHARED(unsigned long long, of_warp, 32 * count);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (int k = 0; k < count; ++k) {
    unsigned long long most = bits[k];
    for (int offset = 16; offset > 0; offset /= 2) most = larger(most, __shfl_xor_sync(0xffffffffu, most, offset));
    if (lane == 0) of_warp[32 * k + warp] = most;
  }
  __syncthreads();  // RACE: each warp wrote its own, the first reads all of them
  if (warp > 0) return;
  for (int k = 0; k < count; ++k) raise(to[k], lane < warps ? of_warp[32 * k + lane] : 0);
}

}  // namespace lulab
