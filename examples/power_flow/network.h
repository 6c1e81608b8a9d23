#pragma once
// A power network: buses, generators and branches that are in service.   Units: as in a case of MATPOWER.

#include <cstdint>
#include <vector>

#include "core/status.h"

namespace lulab::examples::power_flow {

/// What is given at a bus, with MATPOWER's numbers. The other two of P, Q, |V| and angle are found.
enum class BusType : int {
  pq = 1,        // P and Q: a load
  pv = 2,        // P and |V|: a generator that holds its voltage
  slack = 3,     // |V| and angle: the reference, which also covers the losses
  isolated = 4,  // takes no part
};

struct Bus {
  std::int64_t id = 0;  // the number that the file uses
  BusType type = BusType::pq;
  double load_mw = 0, load_mvar = 0;
  double shunt_mw = 0, shunt_mvar = 0;     // at 1 p.u.: consumed and injected
  double magnitude_pu = 1, angle_deg = 0;  // where the iteration starts
};

struct Generator {
  std::int32_t bus = 0;  // index into buses
  double mw = 0, mvar = 0;
  double magnitude_pu = 1;  // that it holds at a bus of type pv or slack
};

/// A line or a transformer: a series impedance with half of the charging at each end, and an ideal transformer
/// ratio · exp(j shift) : 1 at its `from` end.   Source  Zimmerman et al. 2011, section 3.2.
struct Branch {
  std::int32_t from = 0, to = 0;               // indices into buses
  double r_pu = 0, x_pu = 0, charging_pu = 0;  // charging: susceptance of the whole line
  double ratio = 1, shift_deg = 0;
};

struct Network {
  double base_mva = 100;
  std::vector<Bus> buses;
  std::vector<Generator> generators;
  std::vector<Branch> branches;
};

/// Whether the network has a power flow to look for, as far as its structure tells.
///
/// Requires  generators and branches name buses that exist.
/// Errors    invalid_argument, naming the bus by its id: no bus, base_mva not positive, no slack bus, a slack bus
///           without a generator, a magnitude that is not positive, a branch without impedance, from a bus to itself or
///           to an isolated bus; numerically_singular: a bus that no branches connect with a slack bus.
Status check_network(const Network& network);

}  // namespace lulab::examples::power_flow
