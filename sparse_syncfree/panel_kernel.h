#pragma once
// One launch that eliminates all tasks of a plan, and one that fills the map of rows.

#include <cstdint>

#include "sparse_syncfree/panel_steps.h"

namespace lulab::sparse_syncfree {

/// Threads of a block. More cost at barriers what they win at long panels (H200, 64 / 128: 13659pegase 0.24 / 0.24 ms, 90k
/// grid 2.7 / 1.8, cage10 7.8 / 4.8).
constexpr int panel_threads = 128, panel_warps = panel_threads / 32;

/// Up to 16 µs, another for each block, task and seed.
__device__ inline void pause_for(std::uint64_t seed, std::int32_t task) {
  std::uint64_t mixed = (seed + task) * 0x9e3779b97f4a7c15u + blockIdx.x;
  mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
  __nanosleep(static_cast<unsigned>(mixed >> 50));
}

/// grid: any; more blocks than are resident find no task left   block: panel_threads
/// shared: scalars of the largest task, and of a leaf for each warp
/// seed: of pauses
/// Without steps that gather, fewer registers do: with them the compiler would spill what it fetches ahead, which then
/// is not ahead (H200, 128 and 238 registers: cage10 9.5 and 6.4 ms).
template <class T, bool gathering, bool searching, bool batched, bool disturbed>
__global__ void __launch_bounds__(panel_threads, gathering ? 3 : 4)
    eliminate_panels_kernel(DeviceFactorsView<T> f, TasksView<T> v, std::uint64_t seed) {
  constexpr PanelKernel kernel = {gathering, searching, batched, disturbed};
  LULAB_DYNAMIC_SHARED(T, x);
  LULAB_SHARED(T, u, panel_warps][max_width * max_width);
  LULAB_SHARED(T, triangle, panel_warps][32);
  LULAB_SHARED(PanelStep, steps, 2 * steps_at_once);
  LULAB_SHARED(PanelTask, task, 1);  // registers are short
  LULAB_SHARED(PanelTask, leaf, panel_warps);
  LULAB_SHARED(std::int32_t, taken, 1);
  const int thread = threadIdx.x;
  const Scratch<T> scratch = {u[thread / 32], triangle[thread / 32]};
  const TrianglePlace place(thread % 32);
  const auto pause = [&](std::uint64_t of, std::int32_t ticket) {
    if constexpr (disturbed) pause_for(of, ticket);
  };
  run_leaves<T, kernel>(f, v, x + thread / 32 * v.leaf_scalars, leaf + thread / 32, scratch,
                        [&](std::int32_t ticket) { pause(seed, ticket); });
  __syncthreads();  // RACE: warps are done with X, which the block overwrites
  const std::int32_t systems = batched ? v.systems : 1, n_tickets = v.n_tasks * systems;
  for (;;) {
    if (thread == 0) {
      // RACE: no two blocks get one task. A task waits for leaves, all of which are done or in the hands of warps that run,
      // and for tasks with smaller tickets, whose blocks run.
      taken[0] = v.n_leaves * systems + 1 + atomicAdd(v.ticket, 1);
      if (taken[0] < n_tickets) task[0] = v.tasks[taken[0] / systems];
    }
    __syncthreads();  // RACE: thread 0 wrote the task, all read it
    const std::int32_t ticket = taken[0];
    if (ticket >= n_tickets) return;
    pause(seed, ticket);
    if constexpr (batched) {
      DeviceFactorsView<T> own_f = f;
      TasksView<T> own_v = v;
      shift(own_f, own_v, ticket % systems);
      run_task<T, kernel>(own_f, own_v, task[0], x, steps, scratch, place);
    } else {
      run_task<T, kernel>(f, v, task[0], x, steps, scratch, place);
    }
    pause(~seed, taken[0]);
    __syncthreads();  // RACE: all have read `taken`, the task and X; thread 0 overwrites them
  }
}

/// A block a task, in turn: map[step.map + i] = place of row i of the update in the task.
template <class T>
__global__ void map_rows_kernel(TasksView<T> v, std::uint16_t* map) {
  for (std::int32_t t = blockIdx.x; t < v.n_tasks; t += gridDim.x) {
    const PanelTask task = v.tasks[t];
    for (std::int64_t s = task.step_begin; s < task.step_begin + task.steps; ++s) {
      const PanelStep step = v.steps[s];
      if (step.width == 0) continue;
      for (int i = threadIdx.x; i < step.count; i += blockDim.x)
        map[step.map + i] = find_row(v.rows + task.row_begin, task.rows, v.rows[step.rows + i]);
    }
  }
}

}  // namespace lulab::sparse_syncfree
