#pragma once
// Transient analysis: operating point, then time steps.

#include <functional>

#include "examples/transient_circuit/newton.h"

namespace lulab::examples {

struct TransientOptions {
  double stop = 1;           // s
  std::int64_t steps = 100;  // steps of equal length; a step is halved if Newton's iteration fails
  Method method = Method::trapezoidal;
};

/// An accepted time point.
struct Accepted {
  double time = 0;
  double step = 0;  // since the previous time point; 0: operating point
  Method method = Method::trapezoidal;
  bool on_grid = true;        // false: inside a step that was halved
  std::span<const double> x;  // (unknowns) in the order of Mna
};

struct TransientCounts {
  std::int64_t accepted = 0;  // steps, including those inside halved ones
  std::int64_t halvings = 0;
};

/// The steady state with the sources as at time 0. If Newton's iteration does not converge, it starts with a large
/// conductance parallel to each junction and lowers it step by step to Moment::gmin.
///
/// Shapes    x: (newton.mna().size()), any values on entry.
/// Errors    as Newton::solve(); invalid_argument if it does not converge.
/// Source    Nagel 1975; gmin stepping as in SPICE3.
Status operating_point(Newton& newton, std::span<double> x);

/// operating_point(), then options.steps steps. The first step is backward Euler, because the trapezoidal rule would
/// use currents from before time 0, where sources may jump. Order of accuracy: 1 or 2, by the method.
///
/// Errors    as Newton::solve(); invalid_argument for steps < 1, stop <= 0, or a step that fails after 20 halvings.
Result<TransientCounts> run_transient(Newton& newton, const TransientOptions& options,
                                      const std::function<void(const Accepted&)>& on_accepted);

}  // namespace lulab::examples
