#include "model/panel_costs.h"

#include <algorithm>
#include <vector>

#include "symbolic/relaxed_supernodes.h"

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

PanelCosts panel_costs(const FilledPattern& filled) { return panel_costs(find_relaxed_supernodes(filled, {})); }

PanelCosts panel_costs(const RelaxedSupernodes& s) {
  PanelCosts costs;
  costs.panels = s.size();
  std::vector<std::int32_t> chain(s.size(), 0);
  std::vector<double> below(s.size());  // rows after the panel's own
  for (std::int32_t j = 0; j < s.size(); ++j) {
    const auto rows = s.rows_of(j);
    for (auto row = rows.begin(); row != rows.end() && *row < s.first[j];) {
      const std::int32_t k = s.of[*row];
      const auto begin = row;
      while (row != rows.end() && *row < s.first[k + 1]) ++row;  // a few
      costs.multiply_adds += double(row - begin) * below[k] * s.width(j);
      costs.updates += 1;
      chain[j] = std::max(chain[j], chain[k]);
    }
    below[j] = double(rows.end() - std::lower_bound(rows.begin(), rows.end(), s.first[j + 1]));
    costs.multiply_adds += 0.5 * s.width(j) * s.width(j) * below[j];
    costs.updated += chain[j] > 0;
    chain[j] += 1;
    costs.chain = std::max(costs.chain, chain[j]);
  }
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
