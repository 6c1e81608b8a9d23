#pragma once
// Stamps: what each device adds to the equations at one time point. Nonlinear devices are linearized; capacitors and
// inductors are replaced by companion models.

#include <span>
#include <vector>

#include "examples/transient_circuit/mna.h"

namespace lulab::examples {

enum class Method { backward_euler, trapezoidal };

/// The time point to solve for.
struct Moment {
  double time = 0;
  double step = 0;  // since the last accepted time point; 0: operating point, capacitors open and inductors short
  Method method = Method::trapezoidal;
  double gmin =
      1e-12;  // conductance parallel to each junction, so that a blocked diode does not disconnect the circuit
};

/// The current of an ideal junction.   Source: Shockley 1949.
double junction_current(const Diode& diode, double voltage);

/// All devices and their state: voltage and current of capacitors and inductors at the last accepted time point, and
/// the junction voltage at which each diode was last linearized.
class Devices {
 public:
  /// netlist: must outlive this.
  explicit Devices(const Netlist& netlist) : netlist_(netlist), memory_(netlist.devices().size()) {}

  /// Sets the junction voltages before the first stamp() of a Newton iteration.   Shapes x: (unknowns).
  void start_from(std::span<const double> x);
  /// One round of stamps, so that A x = b is the Newton step from x. A junction voltage that moves too far for the
  /// exponential is limited, and its diode is linearized at the limited voltage instead of at x.
  /// Ensures  if nothing was limited (limited() is false), A x - b at this x is the residual of Kirchhoff's laws.
  /// Source   Nagel 1975, SPICE2, section 4.1 and appendix (limiting; companion models).
  void stamp(Mna& mna, const Moment& at, std::span<const double> x);
  bool limited() const { return limited_; }
  /// Accepts x as the solution at this time point and stores charges and fluxes for the next one.
  void accept(const Mna& mna, const Moment& at, std::span<const double> x);

 private:
  struct Memory {
    double voltage = 0, current = 0;
  };

  const Netlist& netlist_;
  std::vector<Memory> memory_;  // (devices)
  bool limited_ = false;
};

}  // namespace lulab::examples
