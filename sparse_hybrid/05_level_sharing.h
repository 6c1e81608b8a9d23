#pragma once
// How the tasks of each level are divided among the threads of one kernel.

#include <cstdint>
#include <vector>

#include "sparse_hybrid/05_update_tasks.h"

namespace lulab::sparse_hybrid {

/// How one level is divided.
struct LevelShape {
  std::int64_t begin = 0;       // its first task
  std::int32_t size = 0;        // tasks
  std::uint8_t group_log2 = 0;  // 2^group_log2 threads work on a task together
  bool alone = false;           // block 0 does the level, else all blocks
  bool meet = false;            // a barrier of all blocks follows, else one of this block

  bool operator==(const LevelShape&) const = default;
};

struct LevelSharing {
  std::vector<LevelShape> of_block_0;  // (n_levels)
  std::vector<LevelShape> of_others;   // consecutive levels that block 0 does alone are one without tasks
  int threads = 32;                    // of a block: a multiple of 32
  std::int64_t blocks = 1;
};

/// Chooses, for each level, the group size that takes the fewest rounds of one load and one atomic, and no more threads
/// than the widest level keeps busy. A level that one block does in hardly more rounds than all blocks is left to block
/// 0.
///
/// Shapes    max_threads, a multiple of 32: of a block; 0: as many as pay.   max_blocks >= 1.
/// Cost      O(tasks).
LevelSharing share_out(const UpdateTasks& tasks, int max_threads, std::int64_t max_blocks);

}  // namespace lulab::sparse_hybrid
