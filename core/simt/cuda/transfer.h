#pragma once
// core/simt/transfer.h by PTX. The compiler's memory clobbers keep the order in which the kernel wrote its calls.

#include <cuda_runtime.h>

#include <cstdint>

namespace lulab::simt {

/// An address in the shared memory of a block of the cluster. Adding bytes stays within that block.
struct RemoteShared {
  std::uint32_t address;
  __device__ RemoteShared operator+(int bytes) const { return {address + bytes}; }
};

/// Where `local`, an address in this block's shared memory, lies in block `rank`.
__device__ __forceinline__ RemoteShared remote_shared(const void* local, int rank) {
  RemoteShared remote{0};
#if __CUDA_ARCH__ >= 900
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(local));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote.address) : "r"(address), "r"(rank));
#else
  __trap();
#endif
  return remote;
}

__device__ __forceinline__ void transfer_init(TransferBarrier* barrier) {
#if __CUDA_ARCH__ >= 900
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier));
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address) : "memory");
  // RACE: other blocks send to this barrier; the fence makes it known to them, the cluster's barrier orders it
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#else
  __trap();
#endif
}

__device__ __forceinline__ void transfer_expect(TransferBarrier* barrier, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier));
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes) : "memory");
#else
  __trap();
#endif
}

__device__ __forceinline__ void send(RemoteShared to, std::uint64_t word, RemoteShared barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(to.address),
               "l"(word), "r"(barrier.address)
               : "memory");
#else
  __trap();
#endif
}
__device__ __forceinline__ void send(RemoteShared to, std::uint32_t word, RemoteShared barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to.address),
               "r"(word), "r"(barrier.address)
               : "memory");
#else
  __trap();
#endif
}

/// RACE: senders write words and complete their bytes; the acquire orders the words before what the caller reads next.
__device__ __forceinline__ void transfer_wait(TransferBarrier* barrier, unsigned parity) {
#if __CUDA_ARCH__ >= 900
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier));
  std::uint32_t done = 0;
  while (!done)
    asm volatile(
        "{\n"
        "  .reg .pred p;\n"
        "  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        "  selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(address), "r"(parity)
        : "memory");
#else
  __trap();
#endif
}

}  // namespace lulab::simt
