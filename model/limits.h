#pragma once
// Lower bounds of the time of one factorization of a given filled pattern: arithmetic, memory traffic, dependency
// chain.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/plan.h"
#include "core/rung.h"
#include "core/status.h"
#include "model/memory_constants.h"

namespace lulab {

/// Constants of one device, measured by calibrate(). Times of one step are latencies: the next step waits for it.
struct DeviceConstants {
  std::string device;                // name, with a note if the constants are those of another device
  bool measured = false;             // the constants were measured on `device` itself
  double bandwidth_bytes_per_s = 0;  // copy of a buffer much larger than L2, bytes read + bytes written
  double flops_f64_per_s = 0;        // fused multiply-adds outside tensor cores, two operations each
  double flops_f32_per_s = 0;
  double flag_hop_us = 0;    // one block sees a flag that another block published
  double hop_us = 0;         // the same, and then reads a value published with the flag
  double launch_us = 0;      // interval between dependent kernels on one stream
  double graph_node_us = 0;  // interval between dependent kernels inside one CUDA graph
  double grid_sync_us = 0;   // cooperative barrier, one block per multiprocessor
  MemoryConstants memory;

  bool operator==(const DeviceConstants&) const = default;
};

/// Constants known for this device name; for any other name those of an H200, with a note and measured = false.
DeviceConstants builtin_constants(std::string_view device_name);

/// One JSON object, keys named as the members.
std::string to_json(const DeviceConstants& constants);
/// Errors    parse_error naming the member: not JSON, missing, not a number, or not > 0; where.file = `file`.
Result<DeviceConstants> constants_from_json(std::string_view text, const std::string& file = "");
/// Errors    invalid_argument (cannot open or write), parse_error as above.
Status save_constants(const DeviceConstants& constants, const std::string& path);
Result<DeviceConstants> load_constants(const std::string& path);

std::string_view to_string(Dependencies dependencies);

enum class Bound { flops, bytes, chain };
std::string_view to_string(Bound bound);

struct Limits {
  // Work and chains of the pattern.
  double flops = 0;                   // sum over k of l_k + 2 l_k u_k
  std::int64_t compulsory_bytes = 0;  // each value and index of A and of L+U once, one vector of length n
  std::int32_t levels = 0;
  std::int64_t walking_chain = 0;  // hops
  std::int64_t fine_chain = 0;     // hops
  std::int32_t panel_chain = 0;    // panels of at most eight columns (model/panel_costs.h)
  // Lower bounds, ms.
  double flop_bound_ms = 0;
  double byte_bound_ms = 0;
  double levels_bound_ms = 0;
  double walking_bound_ms = 0;
  double fine_bound_ms = 0;
  double values_bound_ms = 0;
  double panels_bound_ms = 0;
  double chain_bound_ms = 0;  // the one of the five above that `dependencies` names
  Dependencies dependencies = Dependencies::fine;
  double bound_ms = 0;  // largest of flop, byte and chain bound
  Bound bound_by = Bound::flops;
};

/// The three bounds for one refactorization on As = analysis.filled.
///
/// Shapes    s = scalar_bytes: bytes = (s + 4) · (nnz(A) + nnz(L+U)) + s·n.
/// Requires  scalar_bytes is 4 or 8; an Analysis made by analyze().
/// Cost      O(flops) for the walking chain's worst case, O(nnz(L+U)) memory.
/// Source    Williams, Waterman & Patterson 2009 (roofline), with a latency term for the critical path.
Limits compute_limits(const Analysis& analysis, int scalar_bytes, const DeviceConstants& constants,
                      Dependencies dependencies = Dependencies::fine);

/// The same limits for a rung with other dependencies; updates chain_bound_ms, bound_ms and bound_by.
Limits with_dependencies(Limits limits, Dependencies dependencies);

/// One JSON object, keys named as the members.
std::string to_json(const Limits& limits);
/// A text table that names the device.
std::string to_text(const Limits& limits, const DeviceConstants& constants);

}  // namespace lulab
