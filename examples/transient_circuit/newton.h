#pragma once
// Newton's iteration at one time point. All its linear systems have one pattern and are solved by lulab::Solver.

#include <cstdint>
#include <span>
#include <vector>

#include "driver/solver.h"
#include "examples/transient_circuit/devices.h"

namespace lulab::examples {

struct NewtonOptions {
  int max_iterations = 50;
  double relative = 1e-6;             // change of a voltage or current between two iterations
  double absolute = 1e-9;             // the same, in volt or ampere
  double kirchhoff = 1e-9;            // residual of Kirchhoff's laws, relative to the sum of magnitudes,
  double absolute_kirchhoff = 1e-12;  // and absolute, ampere or volt
};

struct Work {
  std::int64_t newton_iterations = 0;  // linear systems solved
  std::int64_t factorizations = 0;     // factorizations that choose pivots
  std::int64_t refactorizations = 0;
  std::int64_t repivots = 0;  // refactorizations that needed new pivots
  // By the host's clock. Where a step is made on the GPU, refactor_ms holds its solve.
  double analyze_ms = 0, factor_ms = 0, refactor_ms = 0, solve_ms = 0, stamp_ms = 0;
  double numeric_ms = 0;  // part of refactor_ms spent in the rung, without download and pivot check
};

/// Whether no unknown moved by more than relative · |x| + absolute.
bool settled(std::span<const double> x, std::span<const double> before, const NewtonOptions& options);

/// Whether Kirchhoff's laws hold to `kirchhoff` at x.   Requires equations stamped at x without limiting.
bool kirchhoff_holds(const Mna& stamped, std::span<const double> x, const NewtonOptions& options);

/// A circuit over time: its equations, the state of its devices, and the solver, which analyzes and factors once and
/// then refactors.
class Newton {
 public:
  /// netlist, rung: must outlive this. rung: null: the Solver chooses.
  /// Errors    as check_topology().
  static Result<Newton> create(const Netlist& netlist, const Rung* rung, SolverOptions solver_options = {},
                               NewtonOptions options = {});

  /// Computes the solution x at this time point.
  ///
  /// Shapes    x: (mna().size()); a guess on entry. Without convergence x is meaningless.
  /// Ensures   true: the last iteration moved no unknown by more than relative · |x| + absolute, no junction was
  ///           limited, and Kirchhoff's laws, with the devices' true currents at x, hold to kirchhoff.
  ///           false: no convergence after max_iterations.
  /// Errors    those of the solver, naming the unknown without pivot.
  Result<bool> solve(const Moment& at, std::span<double> x);

  const Mna& mna() const { return mna_; }
  Devices& devices() { return devices_; }
  const Work& work() const { return work_; }
  /// Null before the first solve() of a Solver that chooses.
  const Rung* rung() const { return solver_.choice().rung; }

 private:
  Newton(const Netlist& netlist, const Rung* rung, SolverOptions solver_options, NewtonOptions options);

  void stamp(const Moment& at, std::span<const double> x);
  Status solve_linear(std::span<double> x);
  Status factor_and_solve(std::span<double> x);
  Status step(std::span<double> x);
  Status named(Status s) const;

  Mna mna_;
  Devices devices_;
  Solver<double> solver_;
  NewtonOptions options_;
  Work work_;
  bool analyzed_ = false, factored_ = false;
};

}  // namespace lulab::examples
