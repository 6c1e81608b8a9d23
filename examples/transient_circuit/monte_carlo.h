#pragma once
// Operating points of many copies of a circuit with random resistors, solved by lulab::BatchSolver.

#include <cstdint>
#include <vector>

#include "driver/batch_solver.h"
#include "examples/transient_circuit/newton.h"

namespace lulab::examples {

struct MonteCarloOptions {
  std::int32_t samples = 100;
  double tolerance = 0.05;  // a resistance is uniform in nominal · (1 ± tolerance)
  std::uint64_t seed = 1;
};

struct MonteCarlo {
  std::vector<double> x;  // (unknowns, samples), column-major
  int iterations = 0;     // Newton iterations, each for all samples at once
  BatchStatistics solver;
  const Rung* rung = nullptr;  // that factored
};

struct Spread {
  double mean = 0, sigma = 0;
};

/// Draws every resistance anew, uniformly within the tolerance.
Netlist vary_resistors(const Netlist& netlist, double tolerance, std::uint64_t seed);

/// Sample s is vary_resistors(netlist, tolerance, seed + s). All samples start from the operating point of the nominal
/// circuit. One Newton step of all samples is one batch factorization and one batch solve. rung: null: the solver
/// chooses.
///
/// Errors    as operating_point(); invalid_argument: no samples, a tolerance outside [0, 1), or a sample does not
///           converge; not_implemented: the rung has no fixed pivots.
Result<MonteCarlo> run_monte_carlo(const Netlist& netlist, const Rung* rung, const MonteCarloOptions& options,
                                   const SolverOptions& solver_options = {});

/// Mean and standard deviation of one unknown over all samples.   Requires  x: (unknowns, samples), samples > 0.
Spread spread_of(const std::vector<double>& x, std::int32_t unknown, std::int32_t samples);

}  // namespace lulab::examples
