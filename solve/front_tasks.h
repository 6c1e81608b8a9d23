#pragma once
// What a triangular solve along the fronts of an assembly tree (symbolic/fronts.h) does, laid out for one launch.
//
//   L y = b   from the leaves up: a front adds to b what its children hand up, solves with its pivots, and hands on
//             minus L(others, pivots) · y for each of its others
//   U x = y   from the root down: a front takes x of its others, subtracts U(pivots, others) · x, and solves with its
//             pivots
//
// A front of one tile is a warp's task; of a larger one each part of its rows is a block's. Entries of L and U are read
// where the factorization left them: there is nothing to copy and nothing to invert.

#include <cstdint>
#include <vector>

#include "core/plan.h"
#include "symbolic/fronts.h"

namespace lulab {

constexpr std::int32_t fronts_of_block = 8;  // most fronts of one tile that a block takes at once, a warp each

/// A front of one tile, or a part of the rows of a larger one.
struct FrontTask {
  FrontCuts cuts;
  std::int32_t part;
  std::int32_t first_column;  // of the front's pivots, in As
  std::int64_t columns;       // first FrontColumn of slot 0
  std::int64_t others;        // the front's first one
};

/// Blocks take sets of tasks in order: one part of a larger front, or up to fronts_of_block fronts of one tile. A set
/// comes after those whose words it awaits, and its tasks do not wait for each other.
struct FrontTaskList {
  std::vector<std::int32_t> ptr = {0};  // (sets + 1) into tasks
  std::vector<FrontTask> tasks;
  std::int32_t hops = 0;  // sets on the longest path
};

/// Words: [0, n) y, [n, 2n) x, then what each of `others` is handed.
struct FrontTasks {
  UninitializedVector<std::int32_t> others;  // of all fronts: column of As
  std::vector<std::int64_t> from_ptr;  // (n + others + 1) into from; front after front, its pivots, then its others
  std::vector<std::int32_t> from;      // others whose words a row adds, in this order
  FrontTaskList lower, upper;          // of L, of U
  std::int64_t n_words = 0;
};

/// nnz: of L + U.
/// Errors    not_implemented: the fronts would have more than max_padding times the entries of L and U (the pattern is
///           far from symmetric), or there is more of something than 32 bits can count.
/// Cost      O(rows of the fronts).
/// Source    Duff & Reid 1983 (solves along an assembly tree); tasks and words: ours.
Result<FrontTasks> make_front_tasks(const Fronts& fronts, std::int64_t nnz, double max_padding = max_front_padding);

}  // namespace lulab
