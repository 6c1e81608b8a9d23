#pragma once
// Page-locked memory for a few words, as outcomes of kernels need it.

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

namespace lulab::simt {

/// Blocks that are given out again and again: cudaMallocHost() takes .5 to 1.3 ms for 8 bytes as for thousands, and a
/// first answer asks six times. The process keeps their memory.   Threads: any.
class SmallHostBlocks {
 public:
  static constexpr std::size_t block_bytes = 4096;

  /// Null: an error of CUDA.
  void* take(cudaError_t& error) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      slabs_.reserve(slabs_.size() + 1);
      free_.reserve((slabs_.size() + 1) * slab_blocks);  // give_back() allocates nothing
      void* slab = nullptr;
      error = cudaHostAlloc(&slab, slab_blocks * block_bytes, cudaHostAllocPortable);
      if (error != cudaSuccess) return nullptr;
      slabs_.push_back(static_cast<std::byte*>(slab));
      for (std::size_t k = 0; k < slab_blocks; ++k) free_.push_back(slabs_.back() + k * block_bytes);
    }
    void* const block = free_.back();
    free_.pop_back();
    return block;
  }
  /// False: none of them.   Requires  nothing that is enqueued writes there.
  bool give_back(void* p) {
    auto* const block = static_cast<std::byte*>(p);
    const std::lock_guard lock(mutex_);
    if (std::ranges::none_of(
            slabs_, [&](const std::byte* slab) { return block >= slab && block < slab + slab_blocks * block_bytes; }))
      return false;
    free_.push_back(block);
    return true;
  }

 private:
  static constexpr std::size_t slab_blocks = 32;
  std::mutex mutex_;
  std::vector<std::byte*> slabs_, free_;
};

}  // namespace lulab::simt
