#include "model/panel_costs.h"

#include <algorithm>

namespace lulab {
namespace {

constexpr double start_us = 16;                       // scattering A's values, the launch, panels without updates
constexpr double chain_us = 3;                        // per panel on the chain
constexpr double blocks = 528;                        // resident at the same time
constexpr double panel_us = 2.6;                      // per updated panel, in one block
constexpr double update_us = 2.5;                     // per update, in one block
constexpr double multiply_adds_per_us = 1.7e6;        // of all blocks together
constexpr double peak_multiply_adds_per_us = 1.66e7;  // in registers: limits.cpp

/// Multiply-adds of an H200 wait for operands, too, and are limited by the arithmetic units only where these are much
/// fewer.
double multiply_adds_us(const PanelCosts& costs, const MachineSpeed& speed, double per_us) {
  const double slowdown =
      std::max(speed.gpu_blocks, speed.gpu_multiply_adds * per_us / (0.5 * peak_multiply_adds_per_us));
  return slowdown * costs.multiply_adds / per_us;
}

}  // namespace

PanelCosts panel_costs(const FilledPattern& filled) {
  return panel_costs(count_updates(find_relaxed_supernodes(filled, {})));
}

PanelCosts panel_costs(const PanelUpdates& updates) {
  PanelCosts costs = {updates};
  costs.predicted_us = panels_us(costs, {});
  return costs;
}

double panels_us(const PanelCosts& costs, const MachineSpeed& speed) {
  // Inside a block time goes by in latencies, as a hop does.
  const double work_us = (panel_us * costs.updated + update_us * double(costs.updates)) / blocks;
  return start_us + speed.gpu_hops * (chain_us * costs.chain + speed.gpu_blocks * work_us) +
         multiply_adds_us(costs, speed, multiply_adds_per_us);
}

// The two below are fitted: model/NOTES.md.
double fan_in_us(const PanelCosts& costs, const MachineSpeed& speed) {
  return 28 + speed.gpu_hops * (1.2 * costs.chain + speed.gpu_blocks * 4e-4 * double(costs.updates)) +
         multiply_adds_us(costs, speed, 0.6e6);
}

double multifrontal_us(const PanelCosts& costs, const MachineSpeed& speed) {
  return 20 + speed.gpu_hops * (3.7 * costs.chain + speed.gpu_blocks * 2e-3 * double(costs.updates)) +
         speed.gpu_multiply_adds * costs.multiply_adds / peak_multiply_adds_per_us;
}

}  // namespace lulab
