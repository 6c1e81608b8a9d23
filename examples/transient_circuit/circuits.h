#pragma once
// The built-in circuits.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "examples/transient_circuit/netlist.h"

namespace lulab::examples {

struct CircuitFamily {
  std::string_view name;
  std::string_view description;  // one sentence
  std::string_view size;         // what --size means
  std::int64_t usual_size;
  double stop;         // s, end of the simulation
  std::int64_t steps;  // enough for smooth curves
  Netlist (*make)(std::int64_t size);
  std::vector<std::string> (*probes)(std::int64_t size);  // nodes to print
};

std::span<const CircuitFamily> circuit_families();

/// Errors    invalid_argument listing the valid names.
Result<const CircuitFamily*> find_circuit(std::string_view name);

}  // namespace lulab::examples
