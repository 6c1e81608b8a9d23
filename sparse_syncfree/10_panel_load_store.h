#pragma once
// Between As in global memory and X(:,J) in shared memory. Device code.

#include <cstdint>

#include "core/simt/device_tools.h"
#include "sparse_syncfree/10_panel_team.h"

namespace lulab::sparse_syncfree {

/// visit(entry of As, its place in X) for all entries of the task.
/// Equivalent to   for i < entries:  visit(As[values + i], entry_places[entry_begin + i])
template <class T, class Visit>
__device__ __forceinline__ void for_each_entry(const WarpOfTask& team, const DeviceFactorsView<T>& f,
                                               const TasksView<T>& v, const PanelTask& task, Visit&& visit) {
#pragma unroll 4
  for (int i = team.thread; i < task.entries; i += team.threads)
    visit(f.values[task.values + i], int(v.entry_places[task.entry_begin + i]));
}

/// The same for a block; where the panel has several tasks, a warp takes a column.
/// Equivalent to   for e < width, entries i of column e in the task:  visit(As[values + offset of e + i], its place)
template <class T, class Visit>
__device__ __forceinline__ void for_each_entry(const BlockOfTask& team, const DeviceFactorsView<T>& f,
                                               const TasksView<T>& v, const PanelTask& task, Visit&& visit) {
  const std::uint16_t* const places = v.entry_places + task.entry_begin;  // (entries)
  if (task.column_begin < 0) {
    for (int i = team.thread; i < task.entries; i += team.threads) visit(f.values[task.values + i], int(places[i]));
    return;
  }
  for (int e = team.thread / 32; e < task.width; e += team.threads / 32) {
    const ColumnEntries column = v.column_entries[task.column_begin + e];
    const std::uint32_t end = v.column_entries[task.column_begin + e + 1].begin;
    for (std::uint32_t i = column.begin + team.thread % 32; i < end; i += 32)
      visit(f.values[task.values + column.offset + (i - column.begin)], int(places[i]));
  }
}

/// Equivalent to   X = 0;   for each entry (i,j) of As in the task:  X(i,j) = As(i,j)
/// Called by all threads of the team; ends with a barrier.
template <class T, class Threads>
__device__ __forceinline__ void load(const Threads& team, const DeviceFactorsView<T>& f, const TasksView<T>& v,
                                     const PanelTask& task, T* x) {
  for (int i = team.thread; i < task.stored_width * task.stride; i += team.threads) x[i] = T(0);
  team.sync();  // RACE: each thread cleared some of X; others fill it
  for_each_entry(team, f, v, task, [&](T& value, int at) { x[at] = value; });
  team.sync();  // RACE: each thread wrote some of X, all read it
}

/// Equivalent to   for each entry (i,j) of As in the task:  As(i,j) = X(i,j);   note column j as failed if not finite
template <class T, class Threads>
__device__ __forceinline__ void store(const Threads& team, const DeviceFactorsView<T>& f, const TasksView<T>& v,
                                      const PanelTask& task, const T* x) {
  for_each_entry(team, f, v, task, [&](T& value, int at) {
    value = x[at];
    // RACE: blocks lower failed_column; the atomic orders them, the end of the launch publishes it
    if (!simt::is_finite(value)) atomicMin(f.failed_column, task.first + at / task.stride);
  });
}

}  // namespace lulab::sparse_syncfree
