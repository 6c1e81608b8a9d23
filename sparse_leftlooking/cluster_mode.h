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

/// A level is wide when each multiprocessor gets that many of its columns. The paper says "many columns" and gives no
/// figure; with less than a block an SM a level cannot hide its own launch.
constexpr int wide_columns_per_sm = warps_per_block;

/// The level at which cluster mode ends: the first that is not wide.
inline std::int32_t first_narrow_level(const Schedule& schedule, int sm_count) {
  const std::int64_t wide = std::int64_t(wide_columns_per_sm) * sm_count;
  std::int32_t level = 0;
  while (level < schedule.n_levels() && schedule.level_ptr[level + 1] - schedule.level_ptr[level] >= wide) ++level;
  return level;
}

}  // namespace lulab::sparse_leftlooking
