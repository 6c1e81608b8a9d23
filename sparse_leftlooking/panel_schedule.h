#pragma once
// In which order threads take panels, and how many threads are worth having.

#include <cstdint>
#include <vector>

#include "sparse_leftlooking/column_panels.h"

namespace lulab::sparse_leftlooking {

/// Tasks in the order in which they are handed out: task t = panels[task_ptr[t] .. task_ptr[t + 1]), which one thread
/// takes one after the other. A task waits for none that comes after it.
struct PanelSchedule {
  int threads = 1;  // 1: no tasks, the panels are taken from left to right
  std::vector<std::int32_t> task_ptr = {0};
  std::vector<std::int32_t> panels;
  std::int32_t n_cluster_tasks = 0;  // the first ones: they wait for nobody

  std::int32_t n_tasks() const { return static_cast<std::int32_t>(task_ptr.size()) - 1; }
};

/// Two modes. Cluster mode: panels that need only each other form a task, as long as it stays small beside a thread's
/// share; these tasks are independent, as the columns of one level are. Pipeline mode: the rest, a panel a task, in the
/// order of their levels.
///
/// Requires  threads >= 1.
/// Cost      O(nnz(U) + n).
/// Source    Chen et al. 2015, section 3.2: cluster mode and pipeline mode. There a cluster is one level; whole subtrees
///           need no barrier from level to level and keep their columns in one core's cache.
PanelSchedule schedule_panels(const ColumnPanels& panels, int threads);

/// How many threads the panels keep busy: 1 where waking a second one costs more than it saves.
///
/// Ensures   1 <= result <= max(1, max_threads).
/// Cost      O(nnz(U) + n).
int useful_threads(const ColumnPanels& panels, int max_threads);

}  // namespace lulab::sparse_leftlooking
