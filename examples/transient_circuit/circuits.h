#pragma once
// The circuits that come with the program.

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
  double stop;         // s, after which it has shown what it does
  std::int64_t steps;  // that make its curves smooth
  Netlist (*make)(std::int64_t size);
  std::vector<std::string> (*probes)(std::int64_t size);  // nodes worth printing
};

std::span<const CircuitFamily> circuit_families();

/// Errors    invalid_argument listing the families there are.
Result<const CircuitFamily*> find_circuit(std::string_view name);

}  // namespace lulab::examples
