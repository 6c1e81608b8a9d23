// Any text for the reader of netlists: what it accepts has finite values and nodes that exist.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

#include "examples/transient_circuit/parse_netlist.h"
#include "fuzz/finding.h"

using namespace lulab;
using namespace lulab::examples;
using fuzz::require;

namespace {

void check_value(double value, const std::string& name, bool positive) {
  require(std::isfinite(value) && (!positive || value > 0), "{} has the value {}", name, value);
}

void check_waveform(const Waveform& wave, const std::string& name) {
  for (const double time : {0.0, 1e-9, 1.0, 1e9}) check_value(value_at(wave, time), name, false);
}

struct Check {
  const Netlist& netlist;

  void nodes(const std::string& name, Node a, Node b) const {
    for (const Node node : {a, b})
      require(node >= ground && node < std::ssize(netlist.node_names()), "{} has node {}", name, node);
  }
  void operator()(const Resistor& d) const { nodes(d.name, d.a, d.b), check_value(d.resistance, d.name, true); }
  void operator()(const Capacitor& d) const { nodes(d.name, d.a, d.b), check_value(d.capacitance, d.name, true); }
  void operator()(const Inductor& d) const { nodes(d.name, d.a, d.b), check_value(d.inductance, d.name, true); }
  void operator()(const VoltageSource& d) const { nodes(d.name, d.plus, d.minus), check_waveform(d.voltage, d.name); }
  void operator()(const CurrentSource& d) const { nodes(d.name, d.from, d.to), check_waveform(d.current, d.name); }
  void operator()(const Diode& d) const {
    nodes(d.name, d.anode, d.cathode);
    check_value(d.saturation_current, d.name, true);
    check_value(d.ideality, d.name, true);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto netlist = parse_netlist({reinterpret_cast<const char*>(data), size});
  if (!netlist.ok()) {
    require(netlist.status().where.line > 0, "an error without a line: {}", netlist.status().message);
    return 0;
  }
  for (const Device& device : netlist->devices()) std::visit(Check{*netlist}, device);
  return 0;
}
