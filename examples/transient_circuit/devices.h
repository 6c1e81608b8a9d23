#pragma once
// What each device adds to the equations of a moment: linearized where it is nonlinear, as companion where it has a memory.

#include <span>
#include <vector>

#include "examples/transient_circuit/mna.h"

namespace lulab::examples {

enum class Method { backward_euler, trapezoidal };

/// The moment whose voltages are looked for.
struct Moment {
  double time = 0;
  double step = 0;  // since the last accepted moment; 0: operating point, capacitors open and inductors short
  Method method = Method::trapezoidal;
  double gmin = 1e-12;  // conductance beside each junction, so that a blocked diode does not cut the circuit
};

/// The current of an ideal junction.   Source: Shockley 1949.
double junction_current(const Diode& diode, double voltage);

/// Every device with its memory: voltage and current of capacitors and inductors at the last accepted moment, the
/// junction voltage each diode was last linearized at.
class Devices {
 public:
  /// netlist: must outlive this.
  explicit Devices(const Netlist& netlist) : netlist_(netlist), memory_(netlist.devices().size()) {}

  /// The junctions start from these voltages: before the first stamp() of a Newton iteration.   Shapes x: (unknowns).
  void start_from(std::span<const double> x);
  /// One round of stamps, so that A x = b is the Newton step from x. A junction voltage that would move too far for the
  /// exponential is limited, and the diode linearized there instead of at x.
  /// Ensures  without limiting (limited() is false) A x - b at this very x is what Kirchhoff's laws leave over.
  /// Source   Nagel 1975, SPICE2, section 4.1 and appendix (limiting; companion models).
  void stamp(Mna& mna, const Moment& at, std::span<const double> x);
  bool limited() const { return limited_; }
  /// x is the solution at this moment: charges and fluxes are kept for the next.
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
