#pragma once
// Newton's iteration for one moment. Every step of it is a linear system of the same pattern: the work of lulab::Solver.

#include <cstdint>
#include <span>
#include <vector>

#include "examples/transient_circuit/devices.h"
#include "solve/solver.h"

namespace lulab::examples {

struct NewtonOptions {
  int max_iterations = 50;
  double relative = 1e-6;         // of a voltage or current between two iterations
  double absolute = 1e-9;         // likewise, volt or ampere
  double kirchhoff = 1e-9;        // what Kirchhoff's laws leave over, of the sum of the amounts that cancel,
  double least_leftover = 1e-12;  // and what is no matter, ampere or volt
};

struct Work {
  std::int64_t newton_iterations = 0;  // linear systems solved
  std::int64_t factorizations = 0;     // with pivots chosen anew because there were none
  std::int64_t refactorizations = 0;
  std::int64_t repivots = 0;  // refactorizations whose values no longer suited the pivots
  double analyze_ms = 0, factor_ms = 0, refactor_ms = 0, solve_ms = 0, stamp_ms = 0;  // by the host's clock
  double numeric_ms = 0;  // the part of refactor_ms in which the rung worked: no download, no judgement of pivots
};

/// Has no unknown moved by more than relative · |x| + absolute?
bool settled(std::span<const double> x, std::span<const double> before, const NewtonOptions& options);

/// Do Kirchhoff's laws hold to `kirchhoff` at x, where the equations were stamped without limiting?
bool kirchhoff_holds(const Mna& stamped, std::span<const double> x, const NewtonOptions& options);

/// The circuit at one moment after another: its equations, the memory of its devices, and the solver, which analyzes
/// once, factors once and from then on refactors.
class Newton {
 public:
  /// netlist, rung: must outlive this.
  /// Errors    as check_topology().
  static Result<Newton> create(const Netlist& netlist, const Rung& rung, SolverOptions solver_options = {},
                               NewtonOptions options = {});

  /// x becomes the solution at this moment.
  ///
  /// Shapes    x: (mna().size()); a guess on entry. When it does not converge x is of no use.
  /// Ensures   true: the last iteration moved no unknown by more than relative · |x| + absolute, no junction was limited,
  ///           and Kirchhoff's laws, with the devices' true currents at x, hold to kirchhoff.
  ///           false: not so after max_iterations.
  /// Errors    of the solver, naming the unknown that has no pivot.
  Result<bool> solve(const Moment& at, std::span<double> x);

  const Mna& mna() const { return mna_; }
  Devices& devices() { return devices_; }
  const Work& work() const { return work_; }

 private:
  Newton(const Netlist& netlist, const Rung& rung, SolverOptions solver_options, NewtonOptions options);

  void stamp(const Moment& at, std::span<const double> x);
  Status solve_linear(std::span<double> x);
  Status named(Status s) const;

  Mna mna_;
  Devices devices_;
  Solver<double> solver_;
  NewtonOptions options_;
  Work work_;
  bool analyzed_ = false, factored_ = false;
};

}  // namespace lulab::examples
