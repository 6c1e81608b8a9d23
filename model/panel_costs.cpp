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
constexpr double fan_in_share = 0.6, multifrontal_share = 0.5;

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
  // Inside a block time goes by in latencies, as a hop does. Multiply-adds of an H200 wait for operands, too, and are
  // limited by the arithmetic units only where these are much fewer.
  const double work_us = (panel_us * costs.updated + update_us * double(costs.updates)) / blocks;
  const double multiply_adds =
      std::max(speed.gpu_blocks, speed.gpu_multiply_adds * multiply_adds_per_us / (0.5 * peak_multiply_adds_per_us));
  return start_us + speed.gpu_hops * (chain_us * costs.chain + speed.gpu_blocks * work_us) +
         multiply_adds * costs.multiply_adds / multiply_adds_per_us;
}

double fan_in_us(const PanelCosts& costs, const MachineSpeed& speed) { return fan_in_share * panels_us(costs, speed); }

double multifrontal_us(const PanelCosts& costs, const MachineSpeed& speed) {
  return multifrontal_share * panels_us(costs, speed);
}

}  // namespace lulab
