#include "examples/transient_circuit/circuits.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/matrix/random.h"

namespace lulab::examples {
namespace {

// Four diodes rectify both half waves; a capacitor supplies the load between them.
Netlist bridge(std::int64_t) {
  Netlist c;
  const Node a = c.node("a"), b = c.node("b"), out = c.node("out");
  c.add(VoltageSource{"v1", a, b, Sine{0, 10, 50}});
  c.add(Diode{"d1", a, out});
  c.add(Diode{"d2", b, out});
  c.add(Diode{"d3", ground, a});
  c.add(Diode{"d4", ground, b});
  c.add(Capacitor{"c1", out, ground, 100e-6});
  c.add(Resistor{"r1", out, ground, 1e3});
  return c;
}

// A step into a resistor, an inductor and a capacitor in series.
Netlist ringing(std::int64_t) {
  Netlist c;
  const Node in = c.node("in"), mid = c.node("mid"), out = c.node("out");
  c.add(VoltageSource{"v1", in, ground, Pulse{.low = 0, .high = 1, .width = HUGE_VAL}});
  c.add(Resistor{"r1", in, mid, 2});
  c.add(Inductor{"l1", mid, out, 10e-6});
  c.add(Capacitor{"c1", out, ground, 100e-9});
  return c;
}

// Cockcroft & Walton 1932: each stage of two diodes and two capacitors adds twice the amplitude.
Netlist multiplier(std::int64_t stages) {
  Netlist c;
  Node low = ground, high = c.node("in");
  c.add(VoltageSource{"v1", high, ground, Sine{0, 10, 1e3}});
  for (std::int64_t k = 1; k <= stages; ++k) {
    const Node next_high = c.node(fmt::format("p{}", k)), next_low = c.node(fmt::format("o{}", k));
    c.add(Capacitor{fmt::format("ca{}", k), high, next_high, 1e-6});
    c.add(Diode{fmt::format("da{}", k), low, next_high});
    c.add(Diode{fmt::format("db{}", k), next_high, next_low});
    c.add(Capacitor{fmt::format("cb{}", k), low, next_low, 1e-6});
    high = next_high;
    low = next_low;
  }
  c.add(Resistor{"r1", low, ground, 1e6 * static_cast<double>(stages)});
  return c;
}

// A square mesh: resistors between neighbours, a capacitor at each node, pulses into the four corners through driver
// resistances, and a diode to ground at every tenth node, which limits its voltage.
Netlist mesh(std::int64_t nodes) {
  const auto side = std::max<std::int64_t>(2, std::llround(std::sqrt(static_cast<double>(nodes))));
  Netlist c;
  Random random(1);
  const auto at = [&](std::int64_t x, std::int64_t y) { return c.node(fmt::format("n{}_{}", x, y)); };
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t x = 0; x < side; ++x) {
      const Node here = at(x, y);
      if (x + 1 < side) c.add(Resistor{fmt::format("rx{}_{}", x, y), here, at(x + 1, y), random.uniform(5, 15)});
      if (y + 1 < side) c.add(Resistor{fmt::format("ry{}_{}", x, y), here, at(x, y + 1), random.uniform(5, 15)});
      c.add(Capacitor{fmt::format("c{}_{}", x, y), here, ground, random.uniform(0.5e-12, 2e-12)});
      if (random.chance(0.1)) c.add(Diode{fmt::format("d{}_{}", x, y), here, ground});
    }
  for (int k = 0; k < 4; ++k) {
    const Node in = c.node(fmt::format("in{}", k));
    const Pulse pulse = {
        .low = 0, .high = 5, .delay = k * 1e-9, .rise = 0.5e-9, .fall = 0.5e-9, .width = 4e-9, .period = 10e-9};
    c.add(VoltageSource{fmt::format("v{}", k), in, ground, pulse});
    c.add(Resistor{fmt::format("rd{}", k), in, at(k % 2 * (side - 1), k / 2 * (side - 1)), 20});
  }
  return c;
}

std::vector<std::string> mesh_probes(std::int64_t nodes) {
  const auto side = std::max<std::int64_t>(2, std::llround(std::sqrt(static_cast<double>(nodes))));
  return {"in0", "n0_0", fmt::format("n{}_{}", side / 8, side / 8), fmt::format("n{}_{}", side / 2, side / 2)};
}

std::vector<std::string> multiplier_probes(std::int64_t stages) {
  return {"in", "o1", fmt::format("o{}", (stages + 1) / 2), fmt::format("o{}", stages)};
}

const CircuitFamily families[] = {
    {"bridge", "four diodes rectify 50 Hz into a capacitor and a load", "not used", 1, 0.1, 2000, bridge,
     [](std::int64_t) -> std::vector<std::string> {
       return {"a", "b", "out"};
     }},
    {"ringing", "a voltage step into R, L and C in series", "not used", 1, 40e-6, 1000, ringing,
     [](std::int64_t) -> std::vector<std::string> {
       return {"in", "out"};
     }},
    {"multiplier", "a ladder of diodes and capacitors turns an alternating voltage into a high direct one", "stages",
     20, 0.05, 5000, multiplier, multiplier_probes},
    {"mesh", "a square of resistors and capacitors with diodes, pulsed at its corners", "nodes", 2500, 20e-9, 400, mesh,
     mesh_probes},
};

}  // namespace

std::span<const CircuitFamily> circuit_families() { return families; }

Result<const CircuitFamily*> find_circuit(std::string_view name) {
  std::string known;
  for (const CircuitFamily& family : families) {
    if (family.name == name) return &family;
    known += fmt::format(" {}", family.name);
  }
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("unknown circuit '{}'; choose one of:{}", name, known));
}

}  // namespace lulab::examples
