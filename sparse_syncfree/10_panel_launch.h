#pragma once
// What the host knows of the kernels of 10_supernode_panels: their arguments, and which one to launch. The kernels take
// long to compile, so each is compiled once: 10_panel_kernel_float.cu, 10_panel_kernel_double.cu and, with delays for
// the tests, 10_panel_kernel_delays_test.cu.

#include <cstdint>

#include "core/awaited_scalar.h"
#include "core/device_factors.h"
#include "core/simt/kernel.h"
#include "sparse_syncfree/10_panel_tasks.h"

namespace lulab::sparse_syncfree {

/// A plan (PanelTasks) in device memory.
template <class T>
struct TasksView {
  const PanelTask* tasks;               // (n_tasks) leaves first
  const Step* steps;                    // those of a task at task.step_begin
  const PanelSolve* solves;             // those of a gather step one after another
  const GatherRow* gathers;             // likewise
  const GatherItem* items;              // those of a row one after another
  const std::uint16_t* entry_places;    // (nnz) those of a task at task.entry_begin
  const ColumnEntries* column_entries;  // (width + 1) at task.column_begin
  const std::uint16_t* map;             // (rows of all panel steps); null when searching
  const std::int32_t* rows;             // (rows of all panels) when searching
  Word<T>* words;                       // (n_words, systems) full/empty scalars, all empty on entry
  std::int32_t* ticket;                 // -1 on entry, counted from the leaves on
  std::int32_t* leaf_ticket;            // -1 on entry
  std::int32_t n_tasks, n_leaves;
  std::int32_t leaf_scalars;  // of the largest leaf
  std::int32_t systems;       // of a batch; those of a task come one after another
  std::int64_t n_words, nnz;  // from a system's words and values to the next one's
};

/// Arguments: factors, plan, and the seed of injected delays.   grid: any   block: panel_threads
template <class T>
using EliminatePanels = void (*)(DeviceFactorsView<T>, TasksView<T>, std::uint64_t);

/// The kernel for a plan.   Requires  kind.inject_delays == inject_delays; not both gathering and searching.
template <class T, bool inject_delays>
EliminatePanels<T> panel_kernel(PanelKernel kind);

/// Enqueues the kernel that fills the map of rows.
/// Shapes    map: as TasksView::map
/// Requires  v.tasks, v.steps, v.rows.
template <class T>
Status launch_map_rows(const TasksView<T>& v, std::uint16_t* map, simt::Stream& stream);

}  // namespace lulab::sparse_syncfree
