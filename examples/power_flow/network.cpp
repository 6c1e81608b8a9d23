#include "examples/power_flow/network.h"

#include <numeric>

#include <fmt/format.h>

namespace lulab::examples::power_flow {
namespace {

Status refused(std::string what) { return Status::error(StatusCode::invalid_argument, std::move(what)); }

/// Sets of connected buses; root() with path halving.
class Islands {
 public:
  explicit Islands(std::size_t buses) : parent_(buses) { std::iota(parent_.begin(), parent_.end(), 0); }
  std::int32_t root(std::int32_t bus) {
    while (parent_[bus] != bus) bus = parent_[bus] = parent_[parent_[bus]];
    return bus;
  }
  void connect(std::int32_t a, std::int32_t b) { parent_[root(a)] = root(b); }

 private:
  std::vector<std::int32_t> parent_;
};

Status check_branch(const Network& network, const Branch& branch) {
  const Bus &from = network.buses[branch.from], &to = network.buses[branch.to];
  const std::string name = fmt::format("the branch from bus {} to bus {}", from.id, to.id);
  if (branch.from == branch.to) return refused(name + " ends where it begins; remove it");
  if (branch.r_pu == 0 && branch.x_pu == 0)
    return refused(name + " has no impedance; give it a small x, or merge the two buses");
  if (branch.ratio == 0) return refused(name + " has the ratio 0; 1 is that of a line");
  for (const Bus* end : {&from, &to})
    if (end->type == BusType::isolated)
      return refused(fmt::format("{} is in service, but bus {} is isolated (type 4)", name, end->id));
  return {};
}

Status check_slack(const Network& network) {
  std::vector<bool> generates(network.buses.size());
  for (const Generator& g : network.generators) {
    const Bus& bus = network.buses[g.bus];
    generates[g.bus] = true;
    if (!(g.magnitude_pu > 0) && (bus.type == BusType::pv || bus.type == BusType::slack))
      return refused(
          fmt::format("the generator at bus {} holds {} p.u.; a magnitude must be positive", bus.id, g.magnitude_pu));
  }
  bool any = false;
  for (std::size_t i = 0; i < network.buses.size(); ++i) {
    if (network.buses[i].type != BusType::slack) continue;
    any = true;
    if (!generates[i])
      return refused(
          fmt::format("the slack bus {} has no generator in service; make a bus with one the slack bus (type 3)",
                      network.buses[i].id));
  }
  if (!any) return refused("there is no slack bus; give a bus with a generator the type 3");
  return {};
}

Status check_islands(const Network& network) {
  Islands islands(network.buses.size());
  for (const Branch& branch : network.branches) islands.connect(branch.from, branch.to);
  std::vector<bool> has_slack(network.buses.size());
  for (std::size_t i = 0; i < network.buses.size(); ++i)
    if (network.buses[i].type == BusType::slack) has_slack[islands.root(static_cast<std::int32_t>(i))] = true;
  for (std::size_t i = 0; i < network.buses.size(); ++i)
    if (network.buses[i].type != BusType::isolated && !has_slack[islands.root(static_cast<std::int32_t>(i))])
      return Status::error(
          StatusCode::numerically_singular,
          fmt::format("no branches in service connect bus {} with a slack bus; give it the type 4 (isolated), or its "
                      "island a slack bus (type 3)",
                      network.buses[i].id));
  return {};
}

}  // namespace

Status check_network(const Network& network) {
  if (network.buses.empty()) return refused("the network has no bus");
  if (!(network.base_mva > 0)) return refused(fmt::format("baseMVA is {}; it must be positive", network.base_mva));
  for (const Bus& bus : network.buses)
    if (bus.type != BusType::isolated && !(bus.magnitude_pu > 0))
      return refused(fmt::format("bus {} starts at {} p.u.; a magnitude must be positive", bus.id, bus.magnitude_pu));
  for (const Branch& branch : network.branches) LULAB_RETURN_IF_ERROR(check_branch(network, branch));
  LULAB_RETURN_IF_ERROR(check_slack(network));
  return check_islands(network);
}

}  // namespace lulab::examples::power_flow
