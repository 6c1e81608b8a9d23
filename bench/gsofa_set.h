#pragma once
// The evaluation of Gaihre et al. 2021 (GSOFA, section 7) on one matrix: fill2 and GSOFA, with their ablations.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/fill_cases.h"
#include "core/timing.h"

namespace lulab::bench {

/// symbolic/03_fill2 to 06_gsofa_sources.
bool is_in_gsofa_set(std::string_view rung);

struct GsofaOptions {
  std::vector<std::string> rungs = {};         // ids of the set; empty: all of them, but those that take too long
  int threads = 0;                             // FillLimits::threads
  double budget_s = 0.05;                      // to sample each line for
  double bandwidth_bytes_per_s = 0;            // FillVariant
  std::optional<Clock::time_point> ends = {};  // no case is run for the first time after it
};

/// Lines beside the yardstick symbolic/01_gilbert_peierls, all in the phase symbolic (fill_case), named by a rung and:
///
///   03, 04, 05, 06                       Fig. 10; Fig. 13: entries read a second, share of the copy bandwidth; Fig. 5:
///                                        workspace over pattern. 05 and 06 get all the workspace that they make use of
///   05, 06  _16GB  _5GB  _1GB            Fig. 16: a budget for the workspace, where that is less
///           _eighth                      the same: an eighth of it
///           _line_9.5                    Fig. 20
///   06      _clears_max_id               Fig. 14, also _eighth_clears_max_id: more groups
///           _bubbles                     Fig. 5 before bubble removal; all the workspace that this makes use of
///           _eighth_bubbles  _1GB_bubbles    Fig. 15: each column an equal share of the workspace
///           _eighth_one_size  _1GB_one_size  the same: all groups are as large as the last
///           _64_columns  _128_ _256_ _1024_  columns at once, up to 1000 groups
///           _1_share  _2_shares _8_ _32_   Fig. 19: the columns go to so many ranks in turn (fill_over_ranks.h); each
///                                        share is searched from alone on this device, and the slowest one's time
///                                        stands, from B on the host to its columns in device memory
///
/// The shares are in a comparison of their own.
///
/// Requires  problem outlives the comparisons.
/// Ensures   GPU rungs are skipped in the simulator; their lines say so.
/// Errors    device_error.
Result<std::vector<Comparison>> gsofa_comparisons(const Problem& problem, const GsofaOptions& options);

}  // namespace lulab::bench
