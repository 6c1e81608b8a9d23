#pragma once
// Cluster mode: one launch eliminates one level; its end orders the levels.              Chen et al. 2015, section 4.1

#include "sparse_leftlooking/column_by_warp.h"

namespace lulab::sparse_leftlooking {

/// Earlier launches finished every column that a column of this level needs.
struct FinishedByEarlierLaunch {
  __device__ __forceinline__ int operator()(std::int64_t, std::int64_t) const { return batch; }
};

/// One warp eliminates one column after the other of the current level.
/// grid: at most work_slots / warps_per_block   block: 32 * warps_per_block   shared: none
/// work: (work_slots, n), one dense column a warp
template <class T>
__global__ void eliminate_level_kernel(DeviceFactorsView<T> f, const std::int32_t* level_cols, std::int64_t level_size,
                                       T* work) {
  const std::int64_t warp = (std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  const std::int64_t n_warps = std::int64_t(gridDim.x) * blockDim.x / 32;
  T* x = work + warp * f.n;  // (n)
  for (std::int64_t c = warp; c < level_size; c += n_warps)
    eliminate_column(f, level_cols[c], x, FinishedByEarlierLaunch{});
}

}  // namespace lulab::sparse_leftlooking
