#pragma once
// CUDA's own headers, and the two macros and two wrappers that kernels share with the simulator.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cuda/atomic>

#define LULAB_SHARED(T, name, N) __shared__ T name[N]
#define LULAB_DYNAMIC_SHARED(T, name)                                   \
  extern __shared__ __align__(16) unsigned char lulab_dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(lulab_dynamic_shared)

namespace lulab::simt {

template <class T>
__host__ __device__ T* counted_global(T* p) {
  return p;
}
template <class T>
__host__ __device__ T* counted_shared(T* p) {
  return p;
}

}  // namespace lulab::simt
