#pragma once
// A task from its load to its store, by all threads of a block. Device code.

#include <cstdint>

#include "sparse_syncfree/10_panel_eliminate.h"
#include "sparse_syncfree/10_panel_gather.h"
#include "sparse_syncfree/10_panel_load_store.h"
#include "sparse_syncfree/10_panel_update.h"

namespace lulab::sparse_syncfree {

constexpr int steps_at_once = 32;  // that the block fetches; twice as many are in shared memory

/// The steps of a task; some of them in shared memory.
struct StagedSteps {
  const Step* from;  // (count) in global memory
  int count;
  Step* shared;  // (2 · steps_at_once) step s at s % (2 · steps_at_once)

  __device__ __forceinline__ const Step& operator[](int s) const { return shared[s % (2 * steps_at_once)]; }
  __device__ __forceinline__ bool is_panel(int s) const { return (*this)[s].is_panel(); }
  /// Equivalent to   for s = first .. first + steps_at_once:  (*this)[s] = from[s]
  __device__ __forceinline__ void stage(int first) const {
    for (int s = first + static_cast<int>(threadIdx.x); s < min(first + steps_at_once, count); s += blockDim.x)
      shared[s % (2 * steps_at_once)] = from[s];
  }
  /// Called by all threads once step s - 1 is over.
  __device__ __forceinline__ void advance_to(int s) const {
    if (s % steps_at_once == 0 && s > 0) stage(s + steps_at_once);  // RACE: barriers of the steps before and after
  }
};

/// Panel steps from s on, until one is of the other type; each thread fetches the next step while it works on one.
/// Equivalent to   while step s is a panel step:  update_by_panel(s);  ++s;   return s;
/// Called by all threads of the block; ends with a barrier.
template <bool searching, class T>
__device__ __forceinline__ int run_panel_steps(const TasksView<T>& v, const PanelTask& task, const StagedSteps& steps,
                                               int s, const TrianglePlace& place, T* x, const Scratch<T>& scratch) {
  const int stored = task.stored_width, stride = task.stride;
  FetchedPanel<T> now = {}, next = {};
  fetch<searching>(v, task, steps[s].panel(), place, stored, now);
  for (bool more = true; more; ++s) {
    steps.advance_to(s);
    more = s + 1 < steps.count && steps.is_panel(s + 1);
    if (more) fetch<searching>(v, task, steps[s + 1].panel(), place, stored, next);
    const PanelStep& step = steps[s].panel();
    switch (stored) {
      case 2: update_by_panel<T, 2, searching>(v, task, step, place, now, x, stride, scratch); break;
      case 4: update_by_panel<T, 4, searching>(v, task, step, place, now, x, stride, scratch); break;
      default: update_by_panel<T, 8, searching>(v, task, step, place, now, x, stride, scratch);
    }
    now = next;
  }
  return s;
}

/// Gather steps from s on, until one is of the other type. What a thread works on first in a step is fetched in two
/// stages: its row two steps ahead, its item, which the row names, one step ahead.
/// Equivalent to   while step s is a gather step:  update_by_gather(s);  ++s;   return s;
/// Called by all threads of the block; ends with a barrier.
template <class T>
__device__ __forceinline__ int run_gather_steps(const TasksView<T>& v, const StagedSteps& steps, int s, int stored,
                                                T* x, int stride) {
  const auto gathers = [&](int t) { return t < steps.count && !steps.is_panel(t); };
  FetchedGather now = {}, next = {};
  fetch_row(v, steps[s].gather(), now);
  if (gathers(s + 1)) fetch_row(v, steps[s + 1].gather(), next);
  fetch_item(v, steps[s].gather(), stored, now);
  for (bool more = true; more; ++s) {
    steps.advance_to(s);
    more = gathers(s + 1);
    FetchedGather after = {};
    if (more) fetch_item(v, steps[s + 1].gather(), stored, next);
    if (more && gathers(s + 2)) fetch_row(v, steps[s + 2].gather(), after);
    switch (stored) {
      case 2: update_by_gather<T, 2>(v, steps[s].gather(), now, x, stride); break;
      case 4: update_by_gather<T, 4>(v, steps[s].gather(), now, x, stride); break;
      default: update_by_gather<T, 8>(v, steps[s].gather(), now, x, stride);
    }
    now = next;
    next.row = after.row;
  }
  return s;
}

/// Equivalent to   load();   for each step:  update_by_panel() or update_by_gather();   eliminate();   store()
/// shared_steps: (2 · steps_at_once)   Called by all threads of the block.
template <class T, PanelKernel kernel>
__device__ __forceinline__ void run_task(const DeviceFactorsView<T>& f, const TasksView<T>& v, const PanelTask& task,
                                         T* x, Step* shared_steps, const Scratch<T>& scratch,
                                         const TrianglePlace& place) {
  const BlockOfTask team;
  simt::note_column(task.first);
  note_words(v, task);
  const int stride = task.stride, stored = task.stored_width;
  const StagedSteps steps = {v.steps + task.step_begin, task.steps, shared_steps};
  steps.stage(0);  // RACE: the barriers of load() stand between this and the readers
  steps.stage(steps_at_once);
  load(team, f, v, task, x);
  for (int s = 0; s < task.steps;)
    if (kernel.gathering && !steps.is_panel(s))
      s = run_gather_steps(v, steps, s, stored, x, stride);
    else
      s = run_panel_steps<kernel.searching>(v, task, steps, s, place, x, scratch);
  eliminate(team, f, v, task, x, scratch);
  store(team, f, v, task, x);
}

}  // namespace lulab::sparse_syncfree
