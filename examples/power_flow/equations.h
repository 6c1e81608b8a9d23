#pragma once
// The equations of a power flow and their Jacobian, on the host.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/matrix/csc.h"
#include "examples/power_flow/admittance.h"
#include "examples/power_flow/stamp_rule.h"

namespace lulab::examples::power_flow {

struct State {
  std::vector<double> angle;      // (buses)   rad
  std::vector<double> magnitude;  // (buses)   p.u.
};

/// The equation P(i) = given is there where the angle of bus i is unknown, Q(i) = given where its magnitude is. So the
/// equation and the unknown have one number: angles first, in the order of the buses, then magnitudes.
///
/// The Jacobian J has an entry for every entry of Y whose row has the equation and whose column has the unknown. The
/// unknown for a magnitude is its logarithm, so that J x = given - injected makes angle += x, magnitude *= 1 + x.
/// Source: Tinney & Hart 1967.
struct Equations {
  Admittance y;
  std::vector<Power> given;                          // (buses)   p.u., generation - load
  std::vector<std::int32_t> angle_of, magnitude_of;  // (buses)   the unknown, or -1
  CscPattern jacobian;
  std::vector<Places> places;  // (nnz(y))
  State start;

  std::int32_t buses() const { return y.buses(); }
  std::int32_t unknowns() const { return jacobian.n_cols; }
};

/// A bus of type pv without a generator counts as pq, as in MATPOWER.
/// Requires  check_network().
/// Cost      O(buses + branches).
Equations make_equations(const Network& network);

/// values: of J at the state; b: given - injected.   Shapes values: (nnz(J)), b: (unknowns).
/// Returns   max |b|, the largest mismatch in p.u.; NaN if any is.
double stamp(const Equations& equations, const State& state, std::span<double> values, std::span<double> b);

/// One step of Newton's method.   Shapes x: (unknowns).
void update(const Equations& equations, std::span<const double> x, State& state);

/// What each bus injects into the network.   Shapes result: (buses), p.u.
std::vector<Power> injections(const Equations& equations, const State& state);

/// The bus that an equation belongs to.
std::int32_t bus_of(const Equations& equations, std::int32_t unknown);

/// The bus with the largest mismatch. A NaN counts as the largest.   Requires  unknowns() > 0.
struct Worst {
  std::int32_t bus = 0;
  bool is_reactive = false;  // in Q
  double mismatch_pu = 0;
};
Worst worst_mismatch(const Equations& equations, const State& state);

}  // namespace lulab::examples::power_flow
