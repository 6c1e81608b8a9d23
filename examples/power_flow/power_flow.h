#pragma once
// Newton's method for the power flow. All its linear systems have one pattern and are solved by lulab::Solver.

#include <vector>

#include "driver/solver.h"
#include "examples/power_flow/equations.h"

namespace lulab::examples::power_flow {

enum class Place {
  automatic,  // device, where the rung works on a GPU; else host
  host,       // stamps on the host, Solver::step()
  device,     // stamps on the device, Solver::step_device(); in the simulator, too
};

struct Options {
  Place place = Place::automatic;
  const Rung* rung = nullptr;  // nullptr: the Solver chooses; must outlive the call
  double tolerance_pu = 1e-8;  // of the largest mismatch
  int max_iterations = 20;
  // Most flows converge in so many iterations; choose_place() asks which rung is for them.
  SolverOptions solver = {.expected_steps = 6, .prepare_at_once = true};
};

/// Where the time went, by the host's clock; on the device `stamp` is that of the kernels.   Unit ms.
struct Times {
  double set_up = 0;   // device memory
  double analyze = 0;  // Solver::analyze()
  double first = 0;    // Solver::factor() and solve() of the first iteration
  double stamp = 0;    // mismatch, Jacobian and update of all iterations
  double step = 0;     // Solver::step() or step_device() of all iterations but the first, with all waiting
};

struct Solution {
  bool converged = false;
  std::vector<double> mismatch_pu;  // (iterations + 1)   the largest, before the first iteration and after each
  State state;                      // the last one; without convergence it solves nothing
  bool on_device = false;           // where the steps were stamped
  int repivots = 0;                 // steps whose pivots had to be chosen anew
  RungChoice choice;                // rung nullptr: there was nothing to solve
  Times times;

  int iterations() const { return static_cast<int>(mismatch_pu.size()) - 1; }
};

/// Newton's method from equations.start. The first iteration is stamped on the host, where the Solver analyzes and
/// factors; the others are steps. A step whose pivots do not suit its values is repeated on the host with new pivots.
///
/// Ensures   converged: the largest mismatch is <= tolerance_pu. Not converged: max_iterations were not enough, or a
///           mismatch is no finite number any more.
/// Errors    invalid_argument: a tolerance that is not positive; those of the Solver, where a singular Jacobian names
///           the buses in columns (indices of buses, each once); those of the device.
/// Source    Tinney & Hart 1967; Zimmerman et al. 2011, section 4.1.
Result<Solution> solve(const Equations& equations, const Options& options = {});

}  // namespace lulab::examples::power_flow
