#pragma once
// What one access of a warp to memory costs on a device: the parameters of the performance model (bench/warp_model.h).

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/status.h"

namespace lulab::bench {

/// One measured point of the update loop of bench/cache_probe.h.
struct MemoryPeriod {
  int stride = 1;        // elements of x between neighbouring lanes
  int warps_per_sm = 1;  // at work at once
  double cycles = 0;     // from one update of a warp to its next

  bool operator==(const MemoryPeriod&) const = default;
};

/// Cycles are those of a multiprocessor's clock. Latencies: the next access waits for this one.
struct MemoryConstants {
  double sm_count = 0;
  double clock_ghz = 0;
  double l2_bytes = 0;
  double cache_cycle = 0;   // a load answered by L2: what Chen et al. call cache
  double global_cycle = 0;  // a load answered by device memory
  std::vector<MemoryPeriod> periods;

  bool operator==(const MemoryConstants&) const = default;
};

/// One object, keys named as the members.
nlohmann::ordered_json to_json(const MemoryConstants& constants);
/// Errors    parse_error naming the member that is missing or not > 0 and finite; stride and warps_per_sm are >= 1.
Result<MemoryConstants> memory_constants_from_json(const nlohmann::json& json);

}  // namespace lulab::bench
