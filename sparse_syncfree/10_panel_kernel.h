#pragma once
// One launch that eliminates all tasks of a plan, and one that fills the map of rows. Included only where they are
// compiled.
//
//   10_panel_kernel.h         leaves, then tasks by ticket
//     10_panel_leaves.h       a leaf by a warp
//     10_panel_task.h         a task by a block
//       10_panel_load_store.h   X = A(rows, J); As(rows, J) = X
//       10_panel_update.h       X -= L(:,K) · U(K,J) for one panel K
//       10_panel_gather.h       the same for many small panels
//       10_panel_eliminate.h    L(J,J) U(J,J) = X(J,J); L(i,J) = X(i,J) / U(J,J)

#include <algorithm>
#include <cstdint>

#include "sparse_syncfree/10_panel_launch.h"
#include "sparse_syncfree/10_panel_leaves.h"
#include "sparse_syncfree/10_panel_task.h"

namespace lulab::sparse_syncfree {

/// Up to 16 µs, another for each block, task and seed.
__device__ inline void pause_for(std::uint64_t seed, std::int32_t task) {
  std::uint64_t mixed = (seed + task) * 0x9e3779b97f4a7c15u + blockIdx.x;
  mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
  __nanosleep(static_cast<unsigned>(mixed >> 50));
}

/// Equivalent to   for each leaf, then each other task:  load();   its steps;   eliminate();   store()
/// grid: any; blocks beyond the resident ones find no task left   block: panel_threads
/// shared: the scalars of the largest task, and of a leaf for each warp
/// seed: of the injected delays
/// Kernels that gather get more registers, three blocks a multiprocessor: with 128 the compiler spills what was fetched
/// ahead (H200, 128 and 238 registers: cage10 9.5 and 6.4 ms).
template <class T, bool gathering, bool searching, bool batched, bool inject_delays>
__global__ void __launch_bounds__(panel_threads, gathering ? 3 : 4)
    eliminate_panels_kernel(DeviceFactorsView<T> f, TasksView<T> v, std::uint64_t seed) {
  constexpr PanelKernel kernel = {gathering, searching, batched, inject_delays};
  LULAB_DYNAMIC_SHARED(T, x);  // (rows, stored_width) of the task; in the leaves (leaf_scalars, warps)
  LULAB_SHARED_2D(T, u, panel_warps, max_width * max_width);
  LULAB_SHARED_2D(T, triangle, panel_warps, 32);
  LULAB_SHARED(Step, steps, 2 * steps_at_once);
  LULAB_SHARED(PanelTask, task, 1);            // registers are short
  LULAB_SHARED(PanelTask, leaf, panel_warps);  // (warps)
  LULAB_SHARED(std::int32_t, taken, 1);
  const int thread = threadIdx.x;
  const Scratch<T> scratch = {u[thread / 32], triangle[thread / 32]};
  const TrianglePlace place(thread % 32);
  const auto pause = [&](std::uint64_t of, std::int32_t ticket) {
    if constexpr (inject_delays) pause_for(of, ticket);
  };
  run_leaves<T, kernel>(f, v, x + thread / 32 * v.leaf_scalars, leaf + thread / 32, scratch,
                        [&](std::int32_t ticket) { pause(seed, ticket); });
  __syncthreads();  // RACE: warps are done with X, which the block overwrites
  const std::int32_t systems = batched ? v.systems : 1, n_tickets = v.n_tasks * systems;
  for (;;) {
    if (thread == 0) {
      // RACE: no two blocks get one task. A task waits for leaves, which are done or at work in warps that run,
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
      move_to_system(own_f, own_v, ticket % systems);
      run_task<T, kernel>(own_f, own_v, task[0], x, steps, scratch, place);
    } else {
      run_task<T, kernel>(f, v, task[0], x, steps, scratch, place);
    }
    pause(~seed, taken[0]);
    __syncthreads();  // RACE: all have read `taken`, the task and X; thread 0 overwrites them
  }
}

/// Equivalent to   for each task, panel step of it, row i of the step:  map[step.map + i] = place of row i in the task
/// grid: any   block: any
template <class T>
__global__ void map_rows_kernel(TasksView<T> v, std::uint16_t* map) {
  for (std::int32_t t = blockIdx.x; t < v.n_tasks; t += gridDim.x) {
    const PanelTask task = v.tasks[t];
    for (std::int64_t s = task.step_begin; s < task.step_begin + task.steps; ++s) {
      if (!v.steps[s].is_panel()) continue;
      const PanelStep step = v.steps[s].panel();
      for (int i = threadIdx.x; i < step.count; i += blockDim.x)
        map[step.map + i] = find_place(v.rows + task.row_begin, task.rows, v.rows[step.rows + i]);
    }
  }
}

template <class T, bool inject_delays>
EliminatePanels<T> panel_kernel(PanelKernel kind) {
  if (kind.gathering)
    return kind.batched ? eliminate_panels_kernel<T, true, false, true, inject_delays>
                        : eliminate_panels_kernel<T, true, false, false, inject_delays>;
  if (kind.batched)
    return kind.searching ? eliminate_panels_kernel<T, false, true, true, inject_delays>
                          : eliminate_panels_kernel<T, false, false, true, inject_delays>;
  return kind.searching ? eliminate_panels_kernel<T, false, true, false, inject_delays>
                        : eliminate_panels_kernel<T, false, false, false, inject_delays>;
}

template <class T>
Status launch_map_rows(const TasksView<T>& v, std::uint16_t* map, simt::Stream& stream) {
  if (v.n_tasks == 0) return {};
  return simt::launch(map_rows_kernel<T>, {.grid = static_cast<unsigned>(std::min(v.n_tasks, 4096)), .block = 128},
                      stream, v, map);
}

}  // namespace lulab::sparse_syncfree
