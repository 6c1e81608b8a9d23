#pragma once
// When each column of a left-looking factorization is finished, if resident warps take columns from a queue.
//                                                                                  Chen et al. 2015, appendix C.2

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/plan.h"

namespace lulab::bench {

/// How one warp gets through one column. Times in any one unit, from the start of the factorization.
struct ColumnRun {
  double finish = 0;           // when other warps see that the column is finished
  double at_work = 0;          // of the time between start and finish, what was no waiting for other columns
  std::int32_t freed_by = -1;  // the last column that it waited for; -1: it never waited
  double freed_at = 0;         // when that wait was over
};

/// Column j, which a warp takes at `start`, when column k is finished at done[k] (all that j needs are).
using ColumnWalk = std::function<ColumnRun(std::int32_t j, double start, std::span<const double> done)>;

struct Timeline {
  double finish = 0;                   // of the last column
  double at_work = 0;                  // sum over all columns
  std::vector<double> done;            // (n)
  std::vector<std::int32_t> critical;  // columns of the critical path, the first one first
  std::int64_t hops = 0;               // of its steps, those from a column to one that waited for it; the others go
                                       // from a column to the next one of the same warp
  double hop_time = 0;                 // of the critical path: between done[k] and freed_at, summed over the hops
};

/// Visits the columns in level order; each goes to the warp that first finishes its last one.
///
/// Requires  warps >= 1; walk answers finish >= start.
/// Ensures   the critical path has no gaps: its hop_time and the work of its columns after they were freed add up to
///           finish.
/// Cost      O(n log warps) and n walks.
Timeline run_column_queue(const Schedule& schedule, std::int64_t warps, const ColumnWalk& walk);

}  // namespace lulab::bench
