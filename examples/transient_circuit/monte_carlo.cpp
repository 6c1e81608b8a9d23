#include "examples/transient_circuit/monte_carlo.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "examples/transient_circuit/transient.h"

namespace lulab::examples {
namespace {

/// One Newton iteration of all samples. All have the same pattern, so they share one Mna.
class Samples {
 public:
  Samples(const Netlist& nominal, const MonteCarloOptions& options, std::span<const double> start)
      : count_(options.samples), mna_(nominal) {
    circuits_.reserve(count_);  // devices keep references to the elements
    for (std::int32_t s = 0; s < count_; ++s)
      circuits_.push_back(vary_resistors(nominal, options.tolerance, options.seed + s));
    for (const Netlist& circuit : circuits_) devices_.emplace_back(circuit);
    for (Devices& devices : devices_) devices.start_from(start);
    mna_.record([&](Mna& mna) { devices_[0].stamp(mna, {}, start); });
    values_.resize(mna_.a().values.size() * count_);
    b_.resize(start.size() * count_);
    for (std::int32_t s = 0; s < count_; ++s) x_.insert(x_.end(), start.begin(), start.end());
    before_.resize(x_.size());
    for (std::int32_t s = 0; s < count_; ++s) stamp(s);
  }

  /// A converged sample keeps its x while others iterate.
  Result<int> iterate(BatchSolver<double>& solver, const NewtonOptions& options) {
    CscMatrix<double> typical = mna_.a();
    std::copy_n(values_.begin(), typical.values.size(), typical.values.begin());
    LULAB_RETURN_IF_ERROR(solver.analyze(typical, count_));
    for (int iteration = 1; iteration <= options.max_iterations; ++iteration) {
      before_ = x_;
      LULAB_RETURN_IF_ERROR(solver.factor(values_).status());
      LULAB_ASSIGN_OR_RETURN(const auto solved, solver.solve(b_, x_));
      bool all_settled = true;
      for (std::int32_t s = 0; s < count_; ++s) {
        LULAB_RETURN_IF_ERROR(solved[s].status());  // the error of factor() if the sample failed there
        stamp(s);
        all_settled = settled(x_of(s), of(before_, s), options) && !devices_[s].limited() &&
                      kirchhoff_holds(mna_, x_of(s), options) && all_settled;
      }
      if (all_settled) return iteration;
    }
    return Status::error(StatusCode::invalid_argument,
                         "Newton's iteration does not converge for every sample; try a smaller --tolerance");
  }
  std::vector<double> take_x() { return std::move(x_); }

 private:
  std::span<double> of(std::vector<double>& all, std::int32_t s) const {
    return std::span(all).subspan(all.size() / count_ * s, all.size() / count_);
  }
  std::span<double> x_of(std::int32_t s) { return of(x_, s); }

  void stamp(std::int32_t s) {
    mna_.clear();
    devices_[s].stamp(mna_, {}, x_of(s));
    std::ranges::copy(mna_.a().values, of(values_, s).begin());
    std::ranges::copy(mna_.b(), of(b_, s).begin());
  }

  std::int32_t count_;
  Mna mna_;
  std::vector<Netlist> circuits_;
  std::vector<Devices> devices_;
  std::vector<double> values_, b_, x_, before_;  // (nnz, samples), (unknowns, samples)
};

}  // namespace

Netlist vary_resistors(const Netlist& netlist, double tolerance, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Netlist varied;
  for (const std::string& name : netlist.node_names()) varied.node(name);
  for (Device device : netlist.devices()) {
    if (auto* resistor = std::get_if<Resistor>(&device))
      resistor->resistance *= 1 + tolerance * std::uniform_real_distribution<double>(-1, 1)(random);
    varied.add(std::move(device));
  }
  return varied;
}

Result<MonteCarlo> run_monte_carlo(const Netlist& netlist, const Rung* rung, const MonteCarloOptions& options,
                                   const SolverOptions& solver_options) {
  if (options.samples < 1 || !(options.tolerance >= 0 && options.tolerance < 1))
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("{} samples with tolerance {}; needs at least one sample and a tolerance in [0, 1)",
                    options.samples, options.tolerance));
  LULAB_ASSIGN_OR_RETURN(auto nominal, Newton::create(netlist, rung, solver_options));
  std::vector<double> start(nominal.mna().size());
  LULAB_RETURN_IF_ERROR(operating_point(nominal, start));
  Samples samples(netlist, options, start);
  auto solver = rung != nullptr ? BatchSolver<double>(*rung, solver_options) : BatchSolver<double>(solver_options);
  LULAB_ASSIGN_OR_RETURN(const auto iterations, samples.iterate(solver, {}));
  return MonteCarlo{samples.take_x(), iterations, solver.statistics(), solver.choice().rung};
}

Spread spread_of(const std::vector<double>& x, std::int32_t unknown, std::int32_t samples) {
  const std::size_t n = x.size() / samples;
  Spread spread;
  for (std::int32_t s = 0; s < samples; ++s) spread.mean += x[n * s + unknown] / samples;
  for (std::int32_t s = 0; s < samples; ++s)
    spread.sigma += std::pow(x[n * s + unknown] - spread.mean, 2) / std::max(samples - 1, 1);
  spread.sigma = std::sqrt(spread.sigma);
  return spread;
}

}  // namespace lulab::examples
