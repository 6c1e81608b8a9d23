#pragma once
// Generated networks with a known power flow.

#include <cstdint>

#include "examples/power_flow/network.h"

namespace lulab::examples::power_flow {

/// A network that starts flat (angles 0, loads at 1 p.u.), and the power flow that its loads and generators were
/// computed from.
struct Grid {
  Network network;
  std::vector<double> angle_deg, magnitude_pu;  // (buses)
};

/// A connected mesh of lines and transformers, about 1.4 branches a bus, as in transmission networks; every eighth bus
/// holds its voltage, one in the middle is the slack bus. Angles are highest at buses that hold their voltage and fall
/// off around them, on top of a slow wave over the whole network; then the powers follow from the equations.
///
/// Newton's method converges from the flat start up to 20,000 buses. With 50,000 it fails for some seeds: a flat start
/// knows no losses, so the first iteration takes all of them from the slack bus.
///
/// buses: at least 2.
/// Errors    invalid_argument: fewer.   Cost O(buses).
Result<Grid> make_grid(std::int32_t buses, std::uint64_t seed);

}  // namespace lulab::examples::power_flow
