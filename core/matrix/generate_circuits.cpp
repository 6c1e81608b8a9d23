#include "core/matrix/generate_families.h"

namespace lulab::families {

// Three metal layers, each a resistor mesh half as fine as the one below, joined by vias. Every second node of the top
// layer each way is a pad, fed from the supply through a package lead: resistor, inner node, inductor (its current is
// an unknown, L/h its companion resistance). Some loads sense a neighbour's voltage, which makes the matrix
// unsymmetric. Nonsingular: with the inductor rows negated the symmetric part is positive definite.
CscMatrix<double> power_grid(const GenerateOptions& options) {
  constexpr int layers = 3;
  constexpr double capacitance = 0.02;
  const auto side = [](std::int64_t m, int layer) { return (m + (std::int64_t(1) << layer) - 1) >> layer; };
  const auto layer_nodes = [&](std::int64_t m, int layer) { return side(m, layer) * side(m, layer); };
  const auto pads_a_side = [&](std::int64_t m) { return (side(m, layers - 1) + 1) / 2; };
  const auto mesh_nodes = [&](std::int64_t m) { return layer_nodes(m, 0) + layer_nodes(m, 1) + layer_nodes(m, 2); };
  const std::int64_t m = largest(options.n, [&](std::int64_t k) {
    return k > 40000 ? std::int64_t(1) << 40 : mesh_nodes(k) + 2 * pads_a_side(k) * pads_a_side(k);
  });
  const std::int64_t pads = pads_a_side(m) * pads_a_side(m);
  const std::int64_t nodes = mesh_nodes(m) + pads;

  Random random(options.seed);
  Circuit circuit(nodes + pads);
  std::int64_t first = 0;
  for (int layer = 0; layer < layers; ++layer) {
    const std::int64_t s = side(m, layer);
    const double wide = layer % 2 == 0 ? 4.0 : 1.0;  // preferred direction of the layer, alternating
    for (std::int64_t y = 0; y < s; ++y) {
      for (std::int64_t x = 0; x < s; ++x) {
        const std::int64_t here = first + y * s + x;
        if (x + 1 < s) circuit.conductance(here, here + 1, wide * random.uniform(0.5, 1.5));
        if (y + 1 < s) circuit.conductance(here, here + s, 4.0 / wide * random.uniform(0.5, 1.5));
        if (layer + 1 < layers && x % 2 == 0 && y % 2 == 0)
          circuit.conductance(here, first + s * s + (y / 2) * side(m, layer + 1) + x / 2, random.uniform(5.0, 20.0));
      }
    }
    first += s * s;
  }
  for (std::int64_t node = 0; node + 1 < m * m; ++node)
    if (random.chance(0.25)) circuit.add(node, node + 1, capacitance * random.uniform(0.25, 0.5));
  for (std::int64_t k = 0; k < pads; ++k) circuit.conductance(mesh_nodes(m) + k, -1, random.uniform(5.0, 10.0));
  circuit.load_capacitances(nodes, capacitance, random);
  const std::int64_t top_side = side(m, layers - 1);
  const std::int64_t top = mesh_nodes(m) - top_side * top_side;
  for (std::int64_t k = 0; k < pads; ++k) {
    const std::int64_t pad = top + 2 * (k / pads_a_side(m)) * top_side + 2 * (k % pads_a_side(m));
    const std::int64_t inner = mesh_nodes(m) + k;
    const std::int64_t current = nodes + k;
    circuit.add(inner, current, 1.0);
    circuit.add(pad, current, -1.0);
    circuit.add(current, inner, 1.0);
    circuit.add(current, pad, -1.0);
    circuit.add(current, current, -random.uniform(0.1, 1.0));
  }
  return circuit.matrix();
}

// Six-transistor cells in m rows and m columns: two storage nodes each (cross-coupled inverters) and two access
// transistors to the bit line pair of the column, gated by the word line of the row.
CscMatrix<double> sram_array(const GenerateOptions& options) {
  const std::int64_t m =
      largest(options.n, [](std::int64_t k) { return k > 40000 ? std::int64_t(1) << 40 : 2 * k * k + 3 * k; });
  const std::int64_t word0 = 2 * m * m;
  const std::int64_t bit0 = word0 + m;
  Random random(options.seed);
  Circuit circuit(bit0 + 2 * m);
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < m; ++column) {
      const std::int64_t q = 2 * (row * m + column);
      for (int half = 0; half < 2; ++half) {
        const std::int64_t store = q + half;
        const std::int64_t other = q + 1 - half;
        const std::int64_t bit = bit0 + 2 * column + half;
        circuit.transistor(store, other, -1,
                           random.uniform(0.05, 2.0));  // inverter: one half conducts, the other hardly
        circuit.conductance(store, -1, random.uniform(0.01, 0.2));
        circuit.transistor(bit, word0 + row, store, random.uniform(0.01, 0.5));
        circuit.conductance(bit, store, random.uniform(0.01, 0.5));
        circuit.conductance(word0 + row, store, random.uniform(0.01, 0.05));  // gate capacitance
      }
    }
  }
  for (std::int64_t k = word0; k < bit0 + 2 * m; ++k) circuit.conductance(k, -1, random.uniform(1.0, 5.0));  // drivers
  circuit.load_capacitances(circuit.n(), 0.1, random);
  return circuit.matrix();
}

// Each gate has an output node and, behind the wire's resistance, a far node that drives other gates. A gate takes its
// inputs from the block of 2^l gates around it with probability falling as 2^((p-1) l): a netlist of Rent exponent p.
// Every eighth gate is clocked, by one of the leaves of a global clock net.
CscMatrix<double> logic_rent(const GenerateOptions& options) {
  constexpr double falloff = 0.7845840978;  // 2^(p-1) for p = 0.65
  constexpr std::int64_t gates_a_leaf = 64;
  const auto leaves_of = [](std::int64_t gates) { return (gates + gates_a_leaf - 1) / gates_a_leaf; };
  const std::int64_t gates = largest(options.n, [&](std::int64_t k) { return 2 * k + leaves_of(k) + 1; });
  const std::int64_t leaf0 = 2 * gates;
  const std::int64_t clock = leaf0 + leaves_of(gates);
  int levels = 1;
  while ((std::int64_t(1) << levels) < gates) ++levels;

  Random random(options.seed);
  Circuit circuit(clock + 1);
  for (std::int64_t gate = 0; gate < gates; ++gate) {
    const std::int64_t output = 2 * gate;
    const std::int64_t far = output + 1;
    circuit.conductance(output, -1, random.uniform(0.05, 0.5));
    circuit.conductance(output, far, random.uniform(0.5, 5.0));
    const std::int64_t inputs = 1 + random.below(4);
    for (std::int64_t k = 0; k < inputs; ++k) {
      int level = 1;
      while (level < levels && random.chance(falloff)) ++level;
      const std::int64_t block = (gate >> level) << level;
      const std::int64_t source = block + random.below(std::min(std::int64_t(1) << level, gates - block));
      if (source != gate) circuit.transistor(output, 2 * source + 1, -1, random.uniform(0.1, 3.0));
    }
    if (gate % 8 == 0) circuit.transistor(output, leaf0 + gate / gates_a_leaf, -1, random.uniform(0.1, 1.0));
    if (gate > 0 && random.chance(0.3)) circuit.conductance(far, far - 2, random.uniform(0.01, 0.1));  // coupling
  }
  for (std::int64_t leaf = leaf0; leaf < clock; ++leaf) circuit.conductance(leaf, clock, random.uniform(1.0, 5.0));
  circuit.conductance(clock, -1, 10.0);
  circuit.load_capacitances(circuit.n(), 0.05, random);
  return circuit.matrix();
}

CscMatrix<double> ladder(const GenerateOptions& options) {
  Random random(options.seed);
  Circuit circuit(options.n);
  for (std::int64_t node = 0; node + 1 < options.n; ++node) {
    circuit.conductance(node, node + 1, random.uniform(0.5, 2.0));
    if (random.chance(0.5)) circuit.transistor(node + 1, node, -1, random.uniform(0.1, 0.5));
  }
  circuit.load_capacitances(options.n, 0.05, random);
  return circuit.matrix();
}

}  // namespace lulab::families
