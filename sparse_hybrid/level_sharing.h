#pragma once
// How the tasks of each level are shared out among the threads of one kernel.

#include <cstdint>
#include <vector>

#include "sparse_hybrid/update_tasks.h"

namespace lulab::sparse_hybrid {

/// How a level is shared out.
struct LevelShape {
  std::int64_t begin = 0;       // its first task
  std::int32_t size = 0;        // tasks
  std::uint8_t group_log2 = 0;  // 2^group_log2 threads have a task together
  bool alone = false;           // block 0 does it, else all blocks
  bool meet = false;            // all blocks meet after it, else only the threads of this one

  bool operator==(const LevelShape&) const = default;
};

struct LevelSharing {
  std::vector<LevelShape> of_block_0;  // (n_levels)
  std::vector<LevelShape> of_others;   // a run of levels that block 0 does alone is one without tasks
  int threads = 32;                    // of a block: a multiple of 32
  std::int64_t blocks = 1;
};

/// Groups for which each level takes the fewest rounds of one load and one atomic, and no more threads than the widest level
/// keeps busy. A level that one block does in hardly more rounds than all blocks is that block's alone.
///
/// Shapes    max_threads, a multiple of 32: of a block; 0: as many as pay.   max_blocks >= 1.
/// Cost      O(tasks).
LevelSharing share_out(const UpdateTasks& tasks, int max_threads, std::int64_t max_blocks);

}  // namespace lulab::sparse_hybrid
