#pragma once
// Leaves: tasks without steps, too small for a block. A warp each. Device code.

#include <cstdint>
#include <cstring>

#include "sparse_syncfree/10_panel_eliminate.h"
#include "sparse_syncfree/10_panel_load_store.h"

namespace lulab::sparse_syncfree {

/// A task's description on its way from global memory through a register of each lane to shared memory.
struct TaskInRegisters {
  static_assert(sizeof(PanelTask) <= 32 * sizeof(std::int32_t) && sizeof(PanelTask) % sizeof(std::int32_t) == 0);
  std::int32_t word;  // (lanes) bytes 4 · lane .. of the task

  __device__ __forceinline__ static bool of_lane(int lane) {
    return lane < static_cast<int>(sizeof(PanelTask) / sizeof(std::int32_t));
  }
  __device__ __forceinline__ void fetch(const PanelTask* from, int lane) {
    const char* const bytes = reinterpret_cast<const char*>(from);
    if (of_lane(lane)) std::memcpy(&word, __builtin_assume_aligned(bytes + 4 * lane, 4), 4);
  }
  __device__ __forceinline__ void put(PanelTask* to, int lane) const {
    char* const bytes = reinterpret_cast<char*>(to);
    if (of_lane(lane)) std::memcpy(__builtin_assume_aligned(bytes + 4 * lane, 4), &word, 4);
  }
};

/// Equivalent to   while a leaf is left:  load();   eliminate();   store()
/// A warp takes its next ticket, and fetches the task, while it works on a leaf. Only leaves allow that: a task that
/// waits for others may not hold a ticket which others wait for.
/// x: (leaf_scalars)   task: (1) in shared memory   pause(leaf): before each   Called by all lanes of a warp.
template <class T, PanelKernel kernel, class Pause>
__device__ __forceinline__ void run_leaves(const DeviceFactorsView<T>& f, const TasksView<T>& v, T* x, PanelTask* task,
                                           const Scratch<T>& scratch, Pause&& pause) {
  const WarpOfTask team;
  const int lane = team.thread;
  // RACE: no two warps get one leaf.
  const auto take = [&] { return lane == 0 ? 1 + atomicAdd(v.leaf_ticket, 1) : 0; };
  const std::int32_t systems = kernel.batched ? v.systems : 1, n_leaves = v.n_leaves * systems;
  std::int32_t leaf = __shfl_sync(0xffffffffu, take(), 0);
  TaskInRegisters fetched = {};
  if (leaf < n_leaves) fetched.fetch(v.tasks + leaf / systems, lane);
  while (leaf < n_leaves) {
    DeviceFactorsView<T> own_f = f;
    TasksView<T> own_v = v;
    if constexpr (kernel.batched) move_to_system(own_f, own_v, leaf % systems);
    fetched.put(task, lane);
    __syncwarp();  // RACE: each lane wrote some of the task, all read it
    simt::note_column(task->first);
    note_words(own_v, *task);
    const std::int32_t next = take();
    pause(leaf);
    load(team, own_f, own_v, *task, x);
    leaf = __shfl_sync(0xffffffffu, next, 0);
    if (leaf < n_leaves) fetched.fetch(v.tasks + leaf / systems, lane);
    eliminate(team, own_f, own_v, *task, x, scratch);
    store(team, own_f, own_v, *task, x);
    __syncwarp();  // RACE: all lanes have read the task and X, which are overwritten
  }
}

}  // namespace lulab::sparse_syncfree
