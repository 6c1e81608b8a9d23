#pragma once
// Both triangles in one launch: a warp takes the next task, and waits for each x(j) that its rows need.
//
// Tasks are handed out by a ticket. A warp that has a ticket is running, and its rows need only rows of smaller tickets
// (of earlier levels, or of the first triangle); the smallest ticket not finished waits for nothing. So the launch ends
// in whatever order blocks start, even with a single block resident. Rows of one warp are of one level and never wait
// for each other.

#include <cstdint>

#include "core/simt/kernel.h"
#include "solve/rungs.h"
#include "solve/solve_row.h"

namespace lulab::device_solver {

constexpr int sync_free_threads = 128;

/// The next of a triangle's tasks, drawn by lane 0.
/// Result valid in lane 0.
__device__ __forceinline__ unsigned draw(unsigned* tickets) {
  return threadIdx.x % 32 == 0 ? atomicAdd(tickets, 1u) : 0u;  // RACE: no two warps get one task
}

/// solve(task) for tasks in ascending order as they are drawn, by the calling warp, until `end`. The next is drawn
/// before this warp waits, so that the draw takes no time of its own; it is started when this one is done.
template <class Solve>
__device__ __forceinline__ void take_tasks(unsigned* tickets, unsigned end, const Solve& solve) {
  unsigned next = draw(tickets);
  for (;;) {
    const unsigned task = __shfl_sync(0xffffffffu, next, 0);
    if (task >= end) return;
    next = draw(tickets);
    solve(task);
  }
}

/// Both triangles row by row; called by all warps of the grid.
template <class T, class S>
__device__ __forceinline__ void solve_rows(const SolveView<T, S>& v) {
  const unsigned groups = v.rhs_groups();
  const Awaited<T> y = {v.solved[0], v.ld}, x = {v.solved[1], v.ld};
  take_tasks(&v.progress->tickets[0], v.triangle[0].n_tasks * groups, [&](unsigned k) { solve_task<0>(v, k, y, y); });
  take_tasks(&v.progress->tickets[1], v.triangle[1].n_tasks * groups, [&](unsigned k) { solve_task<1>(v, k, y, x); });
}

/// grid: any   block: 32 * any   shared: none
template <class T, class S>
__global__ void __launch_bounds__(sync_free_threads) solve_sync_free_kernel(SolveView<T, S> v) {
  if (!v.is_wanted()) return;
  solve_rows(v);
}

}  // namespace lulab::device_solver

namespace lulab::solve_rungs {

inline constexpr SolveRung sync_free = {
    .id = "solve/02_sync_free",
    .paper = "Liu et al. 2016",
    .idea = "one launch; a row waits for each x(j) it needs, a scalar in which a reserved NaN means not written yet",
    .method = SolveMethod::sync_free};

}  // namespace lulab::solve_rungs
