#pragma once
// The largest magnitude of many values; NaN counts as the largest. Device code.

#include "core/simt/device_tools.h"
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

/// The largest of all lanes, to all of them: of the upper halves, then of the lower halves beside it. Ten shuffles
/// are so much more code that kernels of a few µs take a tenth longer (H200, residuals of hykkt and 13659pegase).
/// Called by all lanes of a warp.
__device__ __forceinline__ unsigned long long largest_of_warp(unsigned long long bits) {
  const auto high = static_cast<unsigned>(bits >> 32);
  const unsigned most = simt::warp_max(high);
  const unsigned low = simt::warp_max(high == most ? static_cast<unsigned>(bits) : 0u);
  return static_cast<unsigned long long>(most) << 32 | low;
}

/// The largest bits of all threads, to all of them.   of_warp: (32) shared   Called by all threads of a block.
__device__ __forceinline__ unsigned long long block_max(unsigned long long bits, unsigned long long* of_warp) {
  bits = largest_of_warp(bits);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = bits;
  __syncthreads();  // RACE: each warp wrote its largest, the lanes of each read all of them
  bits = largest_of_warp(threadIdx.x % 32 < blockDim.x / 32 ? of_warp[threadIdx.x % 32] : 0);
  __syncthreads();  // RACE: all have read before the next call writes
  return bits;
}

/// *to = max(*to, bits), by the calling thread; others may raise it at the same time.
__device__ __forceinline__ void raise_alone(unsigned long long* to, unsigned long long bits) {
  // RACE: an old value costs at most a needless atomic; most warps need none
  if (bits <= cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>(*to).load(cuda::memory_order_relaxed))
    return;
  atomicMax(to, bits);  // RACE: any warp may raise it; the end of the kernel publishes the largest
}

/// *to = max(*to, bits of all lanes).   Called by all lanes of a warp.
__device__ __forceinline__ void raise(unsigned long long* to, unsigned long long bits) {
  bits = largest_of_warp(bits);
  if (threadIdx.x % 32 == 0) raise_alone(to, bits);
}

/// to[k] = max(to[k], bits[k] of all threads), with one atomic a block: those of all warps to one address would take
/// longer than most kernels here.   Called by all threads of a block, once; the first warp has raised them when its
/// lanes return.
template <unsigned count>
__device__ __forceinline__ void raise_by_block(unsigned long long* const (&to)[count],
                                               const unsigned long long (&bits)[count]) {
  LULAB_SHARED(unsigned long long, of_warp, 32 * count);
  const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const auto warp = static_cast<unsigned>(simt::warp_of_block());
#pragma unroll
  for (unsigned k = 0; k < count; ++k) {
    const unsigned long long most = largest_of_warp(bits[k]);
    if (lane == 0) of_warp[32 * k + warp] = most;
  }
  __syncthreads();  // RACE: each warp wrote its own, the first reads all of them
  if (warp > 0) return;
  unsigned long long own = 0, *own_to = to[0];  // a lane each, so that they wait together
#pragma unroll
  for (unsigned k = 0; k < count; ++k) {
    const unsigned long long most = largest_of_warp(lane < warps ? of_warp[32 * k + lane] : 0);
    if (lane == k) own = most, own_to = to[k];
  }
  if (lane < count) raise_alone(own_to, own);
  __syncwarp();  // RACE: orders what each of these lanes raised, and read before, before what lane 0 releases next
}

}  // namespace lulab
