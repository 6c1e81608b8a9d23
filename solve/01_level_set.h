#pragma once
// Both triangles in one cooperative launch: the tasks of a level, a barrier, the tasks of the next level.

#include <cstdint>

#include "core/simt/kernel.h"
#include "solve/rungs.h"
#include "solve/solve_row.h"

namespace lulab::device_solver {

constexpr int level_set_threads = 512;

/// All levels of a triangle, and a barrier after each but the very last.
/// following: tasks of the level after the last one; -1: there is none
template <int which, class T, class S>
__device__ __forceinline__ void solve_levels(const SolveView<T, S>& v, std::int64_t following) {
  const TriangleView<T>& t = v.triangle[which];
  const Finished<T> y = {v.solved[0], v.ld}, x = {v.solved[which], v.ld};
  const unsigned groups = v.rhs_groups(), warps_per_block = blockDim.x / 32;
  const unsigned warp = blockIdx.x * warps_per_block + threadIdx.x / 32;
  for (std::int32_t level = 0; level < t.n_levels; ++level) {
    const unsigned begin = t.level_ptr[level] * groups, tasks = t.tasks_of(level) * groups;
    for (unsigned k = warp; k < tasks; k += gridDim.x * warps_per_block) solve_task<which>(v, begin + k, y, x);
    const std::int64_t next_tasks = level + 1 < t.n_levels ? t.tasks_of(level + 1) * groups : following;
    if (next_tasks < 0) return;
    if (tasks <= warps_per_block && next_tasks <= warps_per_block)
      __syncthreads();  // RACE: both levels are block 0's: orders the x(j) that it wrote before its reads
    else
      cooperative_groups::this_grid().sync();  // RACE: orders the x(j) of this level before all reads of the next
  }
}

/// grid: resident at once   block: 32 * any   shared: none
template <class T, class S>
__global__ void __launch_bounds__(level_set_threads) solve_level_set_kernel(SolveView<T, S> v) {
  if (!v.is_wanted()) return;
  solve_levels<0>(v, v.triangle[1].tasks_of(0) * v.rhs_groups());
  solve_levels<1>(v, -1);
}

}  // namespace lulab::device_solver

namespace lulab::solve_rungs {

inline constexpr SolveRung level_set = {
    .id = "solve/01_level_set",
    .paper = "Anderson & Saad 1989",
    .idea = "one cooperative launch with a barrier after each level, the block's where two neighbours are narrow",
    .method = SolveMethod::level_set};

}  // namespace lulab::solve_rungs
