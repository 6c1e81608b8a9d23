// Any text for the reader of MATPOWER's cases: what it accepts has finite values and buses that exist.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "examples/power_flow/parse_case.h"
#include "fuzz/finding.h"

using namespace lulab;
using namespace lulab::examples::power_flow;
using fuzz::require;

namespace {

void check_values(std::initializer_list<double> values) {
  for (const double value : values) require(std::isfinite(value), "the value {}", value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto network = parse_case({reinterpret_cast<const char*>(data), size});
  if (!network.ok()) {
    require(!network.status().message.empty(), "an error without a message");
    return 0;
  }
  const auto buses = std::ssize(network->buses);
  require(std::isfinite(network->base_mva) && network->base_mva > 0, "baseMVA {}", network->base_mva);
  for (const Bus& b : network->buses) {
    require(b.id > 0 && b.type >= BusType::pq && b.type <= BusType::isolated, "bus {} has type {}", b.id,
            static_cast<int>(b.type));
    check_values({b.load_mw, b.load_mvar, b.shunt_mw, b.shunt_mvar, b.magnitude_pu, b.angle_deg});
  }
  for (const Generator& g : network->generators) {
    require(g.bus >= 0 && g.bus < buses, "a generator at bus {} of {}", g.bus, buses);
    check_values({g.mw, g.mvar, g.magnitude_pu});
  }
  for (const Branch& b : network->branches) {
    require(b.from >= 0 && b.from < buses && b.to >= 0 && b.to < buses, "a branch {} - {} of {} buses", b.from, b.to,
            buses);
    check_values({b.r_pu, b.x_pu, b.charging_pu, b.ratio, b.shift_deg});
  }
  (void)check_network(*network);
  return 0;
}
