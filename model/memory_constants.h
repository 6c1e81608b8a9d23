#pragma once
// Costs of memory accesses on a device: the parameters of the performance model (model/warp_model.h).

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/status.h"

namespace lulab {

/// One measured point of the update loop of model/cache_probe.h.
struct MemoryPeriod {
  int stride = 1;        // elements of x between neighbouring lanes
  int warps_per_sm = 1;  // running at the same time
  double cycles = 0;     // between consecutive updates of a warp

  bool operator==(const MemoryPeriod&) const = default;
};

/// Cycles of a multiprocessor's clock. Latencies: the next access waits for this one.
struct MemoryConstants {
  double sm_count = 0;
  double clock_ghz = 0;
  double l2_bytes = 0;
  double cache_cycle = 0;   // latency of a load served by L2 ("cache" in Chen et al.)
  double global_cycle = 0;  // latency of a load served by device memory
  std::vector<MemoryPeriod> periods;

  bool operator==(const MemoryConstants&) const = default;
};

/// One object, keys named as the members.
nlohmann::ordered_json to_json(const MemoryConstants& constants);
/// Errors    parse_error naming the member that is missing or not > 0 and finite; stride and warps_per_sm are >= 1.
Result<MemoryConstants> memory_constants_from_json(const nlohmann::json& json);

}  // namespace lulab
