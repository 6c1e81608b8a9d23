#pragma once
// Page-locked memory for a few words, as outcomes of kernels need it.

#include <cstddef>
#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

namespace lulab::simt {

/// Blocks that are given out again and again: cudaMallocHost() takes .5 to 1.3 ms for 8 bytes as for thousands, and a
/// first answer asks six times.   Threads: any.
class SmallHostBlocks {
 public:
  static constexpr std::size_t block_bytes = 4096;

  /// Null where the device grants no memory; `failed` says why.
  void* take(cudaError_t& failed) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      constexpr std::size_t blocks = 32;
      void* slab = nullptr;
      free_.reserve(free_.capacity() + blocks);  // give_back() allocates nothing
      failed = cudaHostAlloc(&slab, blocks * block_bytes, cudaHostAllocPortable);
      if (failed != cudaSuccess) return nullptr;
      for (std::size_t k = 0; k < blocks; ++k) free_.push_back(static_cast<std::byte*>(slab) + k * block_bytes);
    }
    void* const block = free_.back();
    free_.pop_back();
    return block;
  }
  /// Waits for what may still write there, as cudaFreeHost() does.
  void give_back(void* block) {
    cudaDeviceSynchronize();
    const std::lock_guard lock(mutex_);
    free_.push_back(static_cast<std::byte*>(block));
  }

 private:
  std::mutex mutex_;
  std::vector<std::byte*> free_;  // the process keeps their memory
};

}  // namespace lulab::simt
