#pragma once
// Time that warps on one multiprocessor take for memory accesses and arithmetic: the parametric model of Chen et al.
// 2015, section 6.1, equation by equation. model/pipeline_model.h adds what the equations leave out: costs of our
// kernel and waits.
//
// A warp repeats two periods: it issues instructions (comp_cycle), then it waits for memory (mem_cycle). While one warp
// waits another issues.

#include <map>
#include <string_view>

#include "model/memory_constants.h"

namespace lulab {

/// The parameters of table 4 in the paper.
struct WarpParameters {
  double global_cycle = 0;    // latency of device memory
  double cache_cycle = 0;     // latency of L2
  double miss_rate = 0;       // of L2, in [0, 1]
  double comp_cycle = 0;      // to issue the instructions between two accesses
  double warps = 0;           // #warp: warps on one multiprocessor
  double peak_bandwidth = 0;  // bytes/s of device memory
  double sm_count = 0;        // #SM
  double freq = 0;            // Hz
  int value_bytes = 8;        // sizeof(double), or sizeof(float)
};

/// (1)  mem_cycle = global_cycle · miss_rate + cache_cycle · (1 - miss_rate)
double mem_cycle(const WarpParameters& p);
/// (3)  load_bytes_per_warp = (sizeof(int) + 3 sizeof(double)) / 4 · 32 · miss_rate: mean bytes from device memory of
/// the four accesses of a multiply-add (one index, two values read, one value written), for 32 lanes.
double load_bytes_per_warp(const WarpParameters& p);
/// (2)  MWP = peak_bandwidth · mem_cycle / (#SM · freq · load_bytes_per_warp): warps of one multiprocessor whose
/// accesses device memory serves at the same time. Infinite if no access reaches it.
double mwp(const WarpParameters& p);
/// (4)  MWP_req = min(mem_cycle / comp_cycle, #warp): warps that access memory at the same time.
double mwp_req(const WarpParameters& p);
/// (5)  warp_exp = mem_cycle / comp_cycle + 1: warps needed to hide the latency completely.
double warp_exp(const WarpParameters& p);

enum class WarpCase {
  compute = 1,    // #warp >= warp_exp and MWP >= MWP_req: latency is hidden, instructions limit
  bandwidth = 2,  // MWP < MWP_req: accesses queue
  latency = 3,    // #warp < warp_exp and MWP >= MWP_req: too few warps to hide the latency
};
std::string_view to_string(WarpCase which);
WarpCase warp_case(const WarpParameters& p);

/// Cycles of one warp for `repeat` pairs of periods:
/// (6)  (repeat - 1) · comp_cycle · #warp + comp_cycle + mem_cycle        compute
/// (7)  repeat · mem_cycle · #warp / MWP                                  bandwidth
/// (8)  repeat · (comp_cycle + mem_cycle)                                 latency
///
/// Requires  repeat >= 1.
double cycles_per_warp(const WarpParameters& p, double repeat);

/// Solves eq. 1 for the miss rate, given a measured mem_cycle; clamped to [0, 1]; 0 unless cache_cycle < global_cycle.
double miss_rate(double mem_cycle, double cache_cycle, double global_cycle);

/// Cycles between consecutive updates of a warp on an idle device: L2 latency and dependent instructions. The smallest
/// measured period; cache_cycle without measurements.
double least_period(const MemoryConstants& memory);

/// Miss rates of the measured update loops, by stride and warps per multiprocessor.
class MissRates {
 public:
  /// Computed by eq. 1 after subtracting the instructions of a period, taken from the smallest period.
  explicit MissRates(const MemoryConstants& memory);
  /// Interpolated linearly in the logarithms of stride and warps, the nearest value outside the measured range; 0
  /// without measurements.   Requires stride > 0, warps > 0.
  double at(double stride, double warps) const;

 private:
  std::map<int, std::map<int, double>> by_stride_;  // and by warps
};

}  // namespace lulab
