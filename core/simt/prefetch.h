#pragma once
// Device memory on its way into L2 before it is read. Device code, after core/simt/kernel.h.

namespace lulab::simt {

/// The 128 bytes around the address, in device memory, will soon be read.
__device__ __forceinline__ void prefetch_into_l2([[maybe_unused]] const void* address) {
#ifdef LULAB_CUDA
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#endif
}

}  // namespace lulab::simt
