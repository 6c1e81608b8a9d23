#pragma once
// core/simt/staging.h on a GPU.

#include <cuda_pipeline_primitives.h>

namespace lulab::simt {

class Staging {
 public:
  __device__ __forceinline__ void copy_16(void* shared_to, const void* d_from) const {
    __pipeline_memcpy_async(shared_to, d_from, 16);
  }
  __device__ __forceinline__ void commit() const { __pipeline_commit(); }
  template <int groups>
  __device__ __forceinline__ void wait() const {
    __pipeline_wait_prior(groups);
  }
};

}  // namespace lulab::simt
