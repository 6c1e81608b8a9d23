#include "model/warp_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lulab {

double mem_cycle(const WarpParameters& p) { return p.global_cycle * p.miss_rate + p.cache_cycle * (1 - p.miss_rate); }

double load_bytes_per_warp(const WarpParameters& p) { return (4 + 3 * p.value_bytes) / 4.0 * 32 * p.miss_rate; }

double mwp(const WarpParameters& p) {
  const double bytes = load_bytes_per_warp(p);
  if (bytes <= 0) return std::numeric_limits<double>::infinity();
  return p.peak_bandwidth * mem_cycle(p) / (p.sm_count * p.freq * bytes);
}

double mwp_req(const WarpParameters& p) { return std::min(mem_cycle(p) / p.comp_cycle, p.warps); }

double warp_exp(const WarpParameters& p) { return mem_cycle(p) / p.comp_cycle + 1; }

std::string_view to_string(WarpCase which) {
  switch (which) {
    case WarpCase::compute: return "compute";
    case WarpCase::bandwidth: return "bandwidth";
    case WarpCase::latency: return "latency";
  }
  return "?";
}

WarpCase warp_case(const WarpParameters& p) {
  if (mwp(p) < mwp_req(p)) return WarpCase::bandwidth;
  return p.warps >= warp_exp(p) ? WarpCase::compute : WarpCase::latency;
}

double cycles_per_warp(const WarpParameters& p, double repeat) {
  switch (warp_case(p)) {
    case WarpCase::compute: return (repeat - 1) * p.comp_cycle * p.warps + p.comp_cycle + mem_cycle(p);
    case WarpCase::bandwidth: return repeat * mem_cycle(p) * p.warps / mwp(p);
    case WarpCase::latency: break;
  }
  return repeat * (p.comp_cycle + mem_cycle(p));
}

double miss_rate(double mem_cycle, double cache_cycle, double global_cycle) {
  if (!(cache_cycle < global_cycle)) return 0;
  return std::clamp((mem_cycle - cache_cycle) / (global_cycle - cache_cycle), 0.0, 1.0);
}

namespace {

/// Interpolates f at x, linear in log x, constant outside the first and the last point.
double interpolate(const std::map<int, double>& f, double x) {
  const auto above = f.lower_bound(static_cast<int>(std::ceil(std::min(x, 1e9))));
  if (above == f.begin()) return above->second;
  const auto below = std::prev(above);
  if (above == f.end()) return below->second;
  const double t = std::log(x / below->first) / std::log(static_cast<double>(above->first) / below->first);
  return below->second + t * (above->second - below->second);
}

}  // namespace

double least_period(const MemoryConstants& memory) {
  if (memory.periods.empty()) return memory.cache_cycle;
  const auto fewer = [](const MemoryPeriod& a, const MemoryPeriod& b) { return a.cycles < b.cycles; };
  return std::max(memory.cache_cycle, std::min_element(memory.periods.begin(), memory.periods.end(), fewer)->cycles);
}

MissRates::MissRates(const MemoryConstants& memory) {
  const double instructions = least_period(memory) - memory.cache_cycle;
  for (const MemoryPeriod& p : memory.periods)
    by_stride_[p.stride][p.warps_per_sm] = miss_rate(p.cycles - instructions, memory.cache_cycle, memory.global_cycle);
}

double MissRates::at(double stride, double warps) const {
  if (by_stride_.empty()) return 0;
  std::map<int, double> of_stride;
  for (const auto& [s, of_warps] : by_stride_) of_stride[s] = interpolate(of_warps, warps);
  return interpolate(of_stride, stride);
}

}  // namespace lulab
