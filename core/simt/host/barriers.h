#pragma once
// Barriers of the block and of the grid (a warp's are in warp.h), __nanosleep and clock64.

#include "core/simt/host/runtime.h"
#include "core/simt/host/types.h"

inline void __syncthreads(lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  lulab::simt::host::block_barrier(lulab::simt::host::BlockBarrier::sync, 0, site);
}
inline int __syncthreads_count(int predicate, lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return lulab::simt::host::block_barrier(lulab::simt::host::BlockBarrier::count, predicate, site);
}
inline int __syncthreads_and(int predicate, lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return lulab::simt::host::block_barrier(lulab::simt::host::BlockBarrier::conjunction, predicate, site);
}
inline int __syncthreads_or(int predicate, lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return lulab::simt::host::block_barrier(lulab::simt::host::BlockBarrier::disjunction, predicate, site);
}
inline void __nanosleep(unsigned, lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  lulab::simt::host::nanosleep(site);
}
/// Scheduling steps since the kernel started: monotonic, no measure of time.
inline long long clock64() { return lulab::simt::host::clock(); }

namespace lulab::simt {

inline std::int64_t global_time() { return host::clock(); }
inline std::int32_t multiprocessor() { return 0; }

}  // namespace lulab::simt

namespace cooperative_groups {

class thread_block {
 public:
  void sync(lulab::simt::host::Site site = lulab::simt::host::Site::here()) const {
    lulab::simt::host::block_barrier(lulab::simt::host::BlockBarrier::sync, 0, site);
  }
  unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
  unsigned thread_rank() const { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
};

class grid_group {
 public:
  void sync(lulab::simt::host::Site site = lulab::simt::host::Site::here()) const {
    lulab::simt::host::grid_barrier(site);
  }
  unsigned long long num_blocks() const { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
  unsigned long long block_rank() const {
    return blockIdx.x + 1ull * gridDim.x * (blockIdx.y + 1ull * gridDim.y * blockIdx.z);
  }
  unsigned long long size() const { return num_blocks() * thread_block().size(); }
  unsigned long long thread_rank() const { return block_rank() * thread_block().size() + thread_block().thread_rank(); }
  bool is_valid() const { return true; }
};

inline thread_block this_thread_block() { return {}; }
inline grid_group this_grid() { return {}; }

}  // namespace cooperative_groups
