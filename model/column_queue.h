#pragma once
// Simulates resident warps that take columns of a left-looking factorization from a queue: when each column finishes.
//                                                                                  Chen et al. 2015, appendix C.2

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/plan.h"

namespace lulab {

/// One column processed by one warp. Times in any one unit, counted from the start of the factorization.
struct ColumnRun {
  double finish = 0;           // when other warps see the finished column
  double at_work = 0;          // time between start and finish without the waits for other columns
  std::int32_t freed_by = -1;  // last column that it waited for; -1: none
  double freed_at = 0;         // when that wait ended
};

/// Processes column j from `start` on; done[k] is the finish time of column k, known for all that j needs.
using ColumnWalk = std::function<ColumnRun(std::int32_t j, double start, std::span<const double> done)>;

struct Timeline {
  double finish = 0;                   // finish time of the last column
  double at_work = 0;                  // sum over all columns
  std::vector<double> done;            // (n)
  std::vector<std::int32_t> critical;  // columns of the critical path, in order of time
  std::int64_t hops = 0;               // steps of the path from a column to one that waited for it (other steps
                                       // lead to the next column of the same warp)
  double hop_time = 0;                 // sum over these hops of freed_at - done[k]
};

/// Visits the columns in level order; each goes to the warp that is free first.
///
/// Requires  warps >= 1; walk returns finish >= start.
/// Ensures   the critical path has no gaps: its hop_time plus the work of its columns after freed_at is finish.
/// Cost      O(n log warps) and n calls of walk.
Timeline run_column_queue(const Schedule& schedule, std::int64_t warps, const ColumnWalk& walk);

}  // namespace lulab
