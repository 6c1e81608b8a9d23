#pragma once
// Operating points of many circuits alike, whose resistors differ by their tolerance: the work of lulab::BatchSolver.

#include <cstdint>
#include <vector>

#include "examples/transient_circuit/newton.h"
#include "solve/batch_solver.h"

namespace lulab::examples {

struct MonteCarloOptions {
  std::int32_t samples = 100;
  double tolerance = 0.05;  // a resistance is anywhere in nominal · (1 ± tolerance)
  std::uint64_t seed = 1;
};

struct MonteCarlo {
  std::vector<double> x;  // (unknowns, samples), those of a sample together
  int iterations = 0;     // of Newton, all samples at once
  BatchStatistics solver;
};

struct Spread {
  double mean = 0, sigma = 0;
};

/// Every resistor anew, evenly distributed in its tolerance.
Netlist vary_resistors(const Netlist& netlist, double tolerance, std::uint64_t seed);

/// The samples are vary_resistors(netlist, tolerance, seed + sample). All start from the operating point of the nominal
/// circuit, and one factorization and one solution of a batch is a Newton step of all.
///
/// Errors    as operating_point(); invalid_argument: no samples, a tolerance outside [0, 1), a sample that does not
///           converge; not_implemented: a rung without fixed pivots.
Result<MonteCarlo> run_monte_carlo(const Netlist& netlist, const Rung& rung, const MonteCarloOptions& options,
                                   const SolverOptions& solver_options = {});

/// Of one unknown over all samples.   Requires  x: (unknowns, samples), samples > 0.
Spread spread_of(const std::vector<double>& x, std::int32_t unknown, std::int32_t samples);

}  // namespace lulab::examples
