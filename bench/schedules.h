#pragma once
// How evenly the columns' searches for fill are shared among the devices of several nodes. Gaihre et al. 2021, Eq. 1

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/matrix/csc.h"

namespace lulab::bench {

/// Entries of B that the search from each column reads if it works on no vertex twice, as 03_fill2 and 04 do.
///
/// Requires  B: n x n.   threads: at most so many; 0: as many as there are cores.
/// Cost      their sum, which is O(n nnz(B)) at most; n int32 a thread.
std::vector<std::int64_t> entries_read_by_columns(CscPatternView b, int threads = 0);

/// Which device a column goes to, of nodes · devices.
struct Schedule {
  enum class Kind {
    ranges,      // to each a range of neighbours: the paper's baseline
    inter_node,  // chunks go to the nodes in turn, and a range of the chunk to each device of the node
    two_levels,  // the same, but the columns of a chunk go to the devices in turn: the paper's schedule
    in_turn,     // columns go to all devices in turn: ours (fill_over_ranks.h)
  };
  std::string_view name;
  Kind kind = Kind::in_turn;
  std::int32_t chunk = 128;  // columns; of inter_node and two_levels
  std::int32_t nodes = 6, devices = 6;

  /// Of column j of n.
  std::int32_t device_of(std::int32_t j, std::int32_t n) const;
};

/// Fig. 17's and Fig. 21's, and ours.
std::span<const Schedule> gsofa_schedules();

/// Work of the device that has most, over the mean; 1 without work.
double busiest_over_mean(std::span<const std::int64_t> work_of_columns, const Schedule& schedule);

}  // namespace lulab::bench
