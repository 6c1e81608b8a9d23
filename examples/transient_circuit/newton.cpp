#include "examples/transient_circuit/newton.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "examples/transient_circuit/topology.h"

namespace lulab::examples {

/// Adds its lifetime to a sum.   Unit ms.
class AddTime {
 public:
  explicit AddTime(double& to) : to_(to) {}
  ~AddTime() { to_ += std::chrono::duration<double, std::milli>(Clock::now() - start_).count(); }
  AddTime(const AddTime&) = delete;
  AddTime& operator=(const AddTime&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& to_;
  Clock::time_point start_ = Clock::now();
};

bool settled(std::span<const double> x, std::span<const double> before, const NewtonOptions& options) {
  return std::ranges::equal(x, before, [&](double now, double then) {
    return std::abs(now - then) <= options.relative * std::abs(now) + options.absolute;
  });
}

bool kirchhoff_holds(const Mna& stamped, std::span<const double> x, const NewtonOptions& options) {
  const CscMatrix<double>& a = stamped.a();
  std::vector<double> leftover(x.size()), amount(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    leftover[i] = -stamped.b()[i];
    amount[i] = std::abs(stamped.b()[i]);
  }
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      leftover[a.row_idx[k]] += a.values[k] * x[j];
      amount[a.row_idx[k]] += std::abs(a.values[k] * x[j]);
    }
  return std::ranges::equal(leftover, amount, [&](double left, double of) {
    return std::abs(left) <= options.kirchhoff * of + options.absolute_kirchhoff;
  });
}

Newton::Newton(const Netlist& netlist, const Rung* rung, SolverOptions solver_options, NewtonOptions options)
    : mna_(netlist),
      devices_(netlist),
      solver_(rung != nullptr ? Solver<double>(*rung, std::move(solver_options))
                              : Solver<double>(std::move(solver_options))),
      options_(options) {
  const std::vector<double> zero(mna_.size(), 0.0);
  mna_.record([&](Mna& mna) { devices_.stamp(mna, {}, zero); });
}

Result<Newton> Newton::create(const Netlist& netlist, const Rung* rung, SolverOptions solver_options,
                              NewtonOptions options) {
  LULAB_RETURN_IF_ERROR(check_topology(netlist));
  return Newton(netlist, rung, std::move(solver_options), options);
}

Result<bool> Newton::solve(const Moment& at, std::span<double> x) {
  std::vector<double> before(x.size());
  devices_.start_from(x);
  stamp(at, x);
  for (int iteration = 0; iteration < options_.max_iterations; ++iteration) {
    std::ranges::copy(x, before.begin());
    if (Status s = solve_linear(x); !s.ok()) return s;
    ++work_.newton_iterations;
    const bool moved_little = settled(x, before, options_);
    stamp(at, x);  // for the next iteration and for the convergence test
    if (moved_little && !devices_.limited() && kirchhoff_holds(mna_, x, options_)) return true;
  }
  return false;
}

void Newton::stamp(const Moment& at, std::span<const double> x) {
  const AddTime time(work_.stamp_ms);
  mna_.clear();
  devices_.stamp(mna_, at, x);
}

Status Newton::solve_linear(std::span<double> x) {
  const CscMatrix<double>& a = mna_.a();
  if (!analyzed_) {
    const AddTime time(work_.analyze_ms);
    LULAB_RETURN_IF_ERROR(named(solver_.analyze(a)));
    analyzed_ = true;
  }
  const Status solved = factored_ ? step(x) : factor_and_solve(x);
  factored_ = solved.ok();
  LULAB_RETURN_IF_ERROR(named(solved));
  work_.repivots += !solver_.repivot_cause().ok();  // before the solve it would cost a probe solve
  return {};
}

Status Newton::factor_and_solve(std::span<double> x) {
  {
    const AddTime time(work_.factor_ms);
    ++work_.factorizations;
    LULAB_RETURN_IF_ERROR(solver_.factor(mna_.a()));
  }
  const AddTime time(work_.solve_ms);
  return solver_.solve(mna_.b(), x).status();
}

Status Newton::step(std::span<double> x) {
  ++work_.refactorizations;
  double step_ms = 0;
  Status stepped;
  {
    const AddTime time(step_ms);
    stepped = solver_.step(mna_.a().values, mna_.b(), x).status();
  }
  work_.numeric_ms += solver_.numeric_ms();
  work_.solve_ms += solver_.times().solve;
  work_.refactor_ms += step_ms - solver_.times().solve;
  return stepped;
}

Status Newton::named(Status s) const {
  if (s.ok() || s.where.columns.empty()) return s;
  std::string names;
  for (const std::int32_t column : s.where.columns) names += " " + mna_.name_of(column);
  s.message = fmt::format("the equations do not determine{}: {}", names, s.message);
  return s;
}

}  // namespace lulab::examples
