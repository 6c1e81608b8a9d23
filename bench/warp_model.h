#pragma once
// How long warps that share a multiprocessor take for memory and arithmetic: the parametric model of Chen et al. 2015,
// section 6.1, equation by equation. What the equations leave out, our kernel's own costs and its waiting, is added in
// bench/pipeline_model.h.
//
// A warp's work is a repetition of two periods: it issues instructions (comp_cycle), then it waits for memory
// (mem_cycle). While one waits another issues.

#include <map>
#include <string_view>

#include "bench/memory_constants.h"

namespace lulab::bench {

/// The paper's table 4.
struct WarpParameters {
  double global_cycle = 0;    // latency of device memory
  double cache_cycle = 0;     // latency of L2
  double miss_rate = 0;       // of L2, in [0, 1]
  double comp_cycle = 0;      // issuing the instructions between two accesses
  double warps = 0;           // #warp: on one multiprocessor
  double peak_bandwidth = 0;  // bytes/s of device memory
  double sm_count = 0;        // #SM
  double freq = 0;            // Hz
  int value_bytes = 8;        // sizeof(double), or sizeof(float)
};

/// (1)  mem_cycle = global_cycle · miss_rate + cache_cycle · (1 - miss_rate)
double mem_cycle(const WarpParameters& p);
/// (3)  load_bytes_per_warp = (sizeof(int) + 3 sizeof(double)) / 4 · 32 · miss_rate: of the four accesses of a
/// multiply-add (an index, two values read, one written) the mean, for 32 lanes, as far as it reaches device memory.
double load_bytes_per_warp(const WarpParameters& p);
/// (2)  MWP = peak_bandwidth · mem_cycle / (#SM · freq · load_bytes_per_warp): warps of one multiprocessor whose
/// accesses the memory serves at once. Infinite when nothing reaches it.
double mwp(const WarpParameters& p);
/// (4)  MWP_req = min(mem_cycle / comp_cycle, #warp): as many as ask at once.
double mwp_req(const WarpParameters& p);
/// (5)  warp_exp = mem_cycle / comp_cycle + 1: warps that hide the latency completely.
double warp_exp(const WarpParameters& p);

enum class WarpCase {
  compute = 1,    // #warp >= warp_exp and MWP >= MWP_req: latency is hidden, instructions count
  bandwidth = 2,  // MWP < MWP_req: accesses queue
  latency = 3,    // #warp < warp_exp and MWP >= MWP_req: too few warps to hide the latency
};
std::string_view to_string(WarpCase which);
WarpCase warp_case(const WarpParameters& p);

/// Cycles of one warp for `repeat` pairs of periods, in the case that applies:
/// (6)  (repeat - 1) · comp_cycle · #warp + comp_cycle + mem_cycle        compute
/// (7)  repeat · mem_cycle · #warp / MWP                                  bandwidth
/// (8)  repeat · (comp_cycle + mem_cycle)                                 latency
///
/// Requires  repeat >= 1.
double cycles_per_warp(const WarpParameters& p, double repeat);

/// The miss rate that makes eq. 1 true of a measured mem_cycle, at least 0 and at most 1; 0 unless
/// cache_cycle < global_cycle.
double miss_rate(double mem_cycle, double cache_cycle, double global_cycle);

/// Cycles from one update of a warp to its next when little else goes on: a latency of L2 and the instructions that
/// wait for it and for each other. The least that was measured; cache_cycle where nothing was.
double least_period(const MemoryConstants& memory);

/// The miss rates of the update loops that were measured, by stride and warps on a multiprocessor.
class MissRates {
 public:
  /// By eq. 1, when the instructions of a period are left out: those of the least period.
  explicit MissRates(const MemoryConstants& memory);
  /// Between measured strides and warps linear in their logarithms, beyond them the nearest; 0 where nothing was
  /// measured.   Requires stride > 0, warps > 0.
  double at(double stride, double warps) const;

 private:
  std::map<int, std::map<int, double>> by_stride_;  // and by warps
};

}  // namespace lulab::bench
