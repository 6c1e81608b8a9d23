#pragma once
// The updates of the hybrid right-looking algorithm as a flat list a level, and where each of their entries goes.

#include <cstdint>
#include <limits>
#include <vector>

#include "core/plan.h"

namespace lulab::sparse_hybrid {

/// As(i,k) -= L(i,j) · As(j,k) for the rows i of L(:,j).
struct alignas(16) UpdateTask {
  std::int64_t column;  // where column k starts in As
  std::int64_t l;       // where L(:,j) starts; entry (j,j) lies before it
  std::int64_t map;     // map[map + r]: the r-th row of L(:,j) lies at column + map[map + r]; without a map: where
                        // column k ends in As
  std::int32_t u;       // entry (j,k) lies at column + u
  std::int32_t rows;    // of L(:,j), at least 1
};

/// A part of the map, shared by the tasks of column k and the columns j, j + 1, ... of a supernode.
struct MapPart {
  UpdateTask task;  // the first of them
  std::int32_t k;
};

struct UpdateTasks {
  std::vector<std::int64_t> level_ptr = {0};  // (n_levels + 1) into tasks
  std::vector<UpdateTask> tasks;              // by level, then by column j, then by k
  std::vector<MapPart> parts;                 // empty without a map
  std::int64_t map_size = 0;                  // entries
};

/// The columns of a supernode have the rows of L in common. A column k to the right that has an entry in row j of U has
/// one in the rows of all later columns of j's supernode: their tasks share one part of the map, each starting an entry
/// later.
///
/// The map has at most one entry for each multiply-add. A map of more than max_map_size entries is not made.
///
/// Requires  a valid FilledPattern and a schedule of it.
/// Cost      O(nnz(L+U)); 32 bytes for each entry of U in the result.
UpdateTasks make_update_tasks(const FilledPattern& filled, const Schedule& schedule,
                              std::int64_t max_map_size = std::numeric_limits<std::int64_t>::max());

}  // namespace lulab::sparse_hybrid
