#pragma once
// The order in which threads take column groups, and how many threads pay.

#include <cstdint>
#include <vector>

#include "sparse_leftlooking/07_column_groups.h"

namespace lulab::sparse_leftlooking {

/// Tasks in the order in which threads take them: task t = groups[task_ptr[t] .. task_ptr[t + 1]), which one thread
/// eliminates one after another. A task waits only for earlier ones.
struct GroupSchedule {
  int threads = 1;  // 1: no tasks, the groups are eliminated from left to right
  std::vector<std::int32_t> task_ptr = {0};
  std::vector<std::int32_t> groups;
  std::int32_t n_cluster_tasks = 0;  // the first ones, which wait for no other task

  std::int32_t n_tasks() const { return static_cast<std::int32_t>(task_ptr.size()) - 1; }
};

/// Two modes. Cluster mode: groups that need only each other form a task, as long as it is small compared to a thread's
/// share of the work; these tasks are independent, as the columns of one level are. Pipeline mode: each of the other
/// groups is a task, in the order of their levels.
///
/// Requires  threads >= 1.
/// Cost      O(nnz(U) + n).
/// Source    Chen et al. 2015, section 3.2: cluster mode and pipeline mode. There a cluster is one level; with whole
///           subtrees no barrier lies between levels, and their columns stay in one core's cache.
GroupSchedule schedule_groups(const ColumnGroups& groups, int threads);

/// How many threads the groups keep busy: 1 where waking a second one costs more than it saves.
///
/// Ensures   1 <= result <= max(1, max_threads).
/// Cost      O(nnz(U) + n).
int useful_threads(const ColumnGroups& groups, int max_threads);

}  // namespace lulab::sparse_leftlooking
