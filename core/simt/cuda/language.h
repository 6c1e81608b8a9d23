#pragma once
// CUDA's own headers, and the macros and wrappers that kernels share with the simulator.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cuda/atomic>

#include <cstdint>

// Clusters came with sm_90. In the passes for older devices kernels that use them still compile; they end the launch.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
namespace cooperative_groups {

class cluster_group {
 public:
  struct arrival_token {};
  __device__ static void sync() { __trap(); }
  __device__ static arrival_token barrier_arrive() {
    __trap();
    return {};
  }
  __device__ static void barrier_wait() { __trap(); }
  __device__ static void barrier_wait(arrival_token&&) { __trap(); }
  template <class T>
  __device__ static T* map_shared_rank(T* p, int) {
    __trap();
    return p;
  }
  __device__ static unsigned query_shared_rank(const void*) { return none(); }
  __device__ static unsigned block_rank() { return none(); }
  __device__ static unsigned num_blocks() { return none(); }
  __device__ static dim3 block_index() { return dim3(none()); }
  __device__ static dim3 dim_blocks() { return dim3(none()); }
  __device__ static dim3 thread_index() { return dim3(none()); }
  __device__ static dim3 dim_threads() { return dim3(none()); }
  __device__ static unsigned num_threads() { return none(); }
  __device__ static unsigned thread_rank() { return none(); }
  __device__ static unsigned size() { return none(); }

 private:
  __device__ static unsigned none() {
    __trap();
    return 0;
  }
};

__device__ inline cluster_group this_cluster() { return {}; }

}  // namespace cooperative_groups
#endif

#define LULAB_SHARED(T, name, N) __shared__ T name[N]
#define LULAB_SHARED_2D(T, name, rows, columns) __shared__ T name[rows][columns]
#define LULAB_DYNAMIC_SHARED(T, name)                                   \
  extern __shared__ __align__(16) unsigned char lulab_dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(lulab_dynamic_shared)

namespace lulab::simt {

__device__ __forceinline__ void note_column(std::int64_t /*column*/) {}
__device__ __forceinline__ void note_wait(std::int64_t /*column*/) {}

__device__ __forceinline__ std::int64_t global_time() {
  std::int64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}
__device__ __forceinline__ std::int32_t multiprocessor() {
  std::int32_t id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

template <class T>
__host__ __device__ T* counted_global(T* p) {
  return p;
}
template <class T>
__host__ __device__ T* counted_shared(T* p) {
  return p;
}

}  // namespace lulab::simt
