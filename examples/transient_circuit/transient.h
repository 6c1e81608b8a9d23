#pragma once
// From the operating point through time.

#include <functional>

#include "examples/transient_circuit/newton.h"

namespace lulab::examples {

struct TransientOptions {
  double stop = 1;           // s
  std::int64_t steps = 100;  // of equal length; one whose Newton iteration fails is halved
  Method method = Method::trapezoidal;
};

/// A moment that was accepted.
struct Accepted {
  double time = 0;
  double step = 0;  // since the one before; 0: operating point
  Method method = Method::trapezoidal;
  bool on_grid = true;        // false: inside a step that was halved
  std::span<const double> x;  // (unknowns) as Mna orders them
};

struct TransientCounts {
  std::int64_t accepted = 0;  // steps, those inside halved ones included
  std::int64_t halvings = 0;
};

/// Voltages and currents that change no more, with the sources as they are at time 0. Where Newton does not converge, a
/// large conductance beside each junction makes the circuit easy and is then lowered to Moment's gmin.
///
/// Shapes    x: (newton.mna().size()), any values on entry.
/// Errors    as Newton::solve(); invalid_argument when it does not converge.
/// Source    Nagel 1975; gmin stepping as in SPICE3.
Status operating_point(Newton& newton, std::span<double> x);

/// operating_point() and then options.steps steps. The first one is backward Euler: the trapezoidal rule would count in
/// the currents before time 0, when the sources may have jumped. Accuracy: order 1 or 2, by the method.
///
/// Errors    as Newton::solve(); invalid_argument for steps < 1, stop <= 0, or a step that 20 halvings do not make converge.
Result<TransientCounts> run_transient(Newton& newton, const TransientOptions& options,
                                      const std::function<void(const Accepted&)>& on_accepted);

}  // namespace lulab::examples
