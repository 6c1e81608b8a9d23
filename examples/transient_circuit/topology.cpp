#include "examples/transient_circuit/topology.h"

#include <numeric>

#include <fmt/format.h>

namespace lulab::examples {
namespace {

/// Sets of connected nodes by union-find; ground is the last node.
class Islands {
 public:
  explicit Islands(std::size_t nodes) : parent_(nodes + 1) { std::iota(parent_.begin(), parent_.end(), 0); }

  /// Returns false if they were connected already.
  bool join(Node a, Node b) {
    const std::int32_t root_a = root(a), root_b = root(b);
    parent_[root_a] = root_b;
    return root_a != root_b;
  }
  bool grounded(Node node) { return root(node) == root(ground); }

 private:
  std::int32_t root(Node node) {
    std::int32_t i = node == ground ? static_cast<std::int32_t>(parent_.size()) - 1 : node;
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  std::vector<std::int32_t> parent_;
};

Status singular(std::string what) { return Status::error(StatusCode::numerically_singular, std::move(what)); }

}  // namespace

Status check_topology(const Netlist& netlist) {
  const auto& names = netlist.node_names();
  if (names.empty()) return Status::error(StatusCode::invalid_argument, "the netlist has no node but ground");
  Islands paths(names.size()), rigid(names.size());
  const auto rigid_branch = [&](const std::string& name, Node a, Node b) {
    paths.join(a, b);
    if (rigid.join(a, b)) return Status{};
    return singular(fmt::format(
        "{} closes a loop of voltage sources and inductors: its current has no single value; put a resistor into it",
        name));
  };
  for (const Device& device : netlist.devices()) {
    Status s;
    if (const auto* r = std::get_if<Resistor>(&device)) paths.join(r->a, r->b);
    if (const auto* d = std::get_if<Diode>(&device)) paths.join(d->anode, d->cathode);
    if (const auto* l = std::get_if<Inductor>(&device)) s = rigid_branch(l->name, l->a, l->b);
    if (const auto* v = std::get_if<VoltageSource>(&device)) s = rigid_branch(v->name, v->plus, v->minus);
    if (!s.ok()) return s;
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!paths.grounded(static_cast<Node>(i)))
      return singular(
          fmt::format("node '{}' has no path for direct current to ground: only capacitors and current "
                      "sources lead there; connect it through a resistor",
                      names[i]));
  return {};
}

}  // namespace lulab::examples
