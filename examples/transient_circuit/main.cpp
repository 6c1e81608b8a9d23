// lulab-transient: a minimal circuit simulator that uses lulab::Solver and lulab::BatchSolver.

#include <algorithm>
#include <cstdio>
#include <new>
#include <numeric>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/simt/device.h"
#include "driver/choose_rung.h"
#include "examples/exit_codes.h"
#include "examples/transient_circuit/circuits.h"
#include "examples/transient_circuit/monte_carlo.h"
#include "examples/transient_circuit/parse_netlist.h"
#include "examples/transient_circuit/transient.h"

namespace lulab::examples {
namespace {

int fail(const Status& s) {
  fmt::print(stderr, "lulab-transient: error: {}\n", s.to_string());
  return exit_code(s);
}

struct Arguments {
  std::string file, circuit = "bridge", rung = "auto", method = "trapezoidal";
  std::int64_t size = 0, steps = 0, rows = 20;
  MonteCarloOptions monte_carlo = {.samples = 0};
  std::string stop;
  std::vector<std::string> probes;
  bool json = false;
};

struct Curve {
  std::vector<double> time;
  std::vector<std::vector<double>> values;  // (probes) of (time)
};

std::string device_of(const Rung& rung) {
  if (rung.facts.device == lulab::Device::cpu) return "cpu";
  return simt::machine() == simt::Machine::gpu ? "gpu" : "simulator";
}

/// The unknowns of these nodes; all nodes if `probes` is empty.   Errors  invalid_argument naming an unknown node.
Result<std::vector<std::int32_t>> unknowns_of(const std::vector<std::string>& probes, const Netlist& netlist) {
  const auto& names = netlist.node_names();
  std::vector<std::int32_t> unknowns;
  for (const std::string& probe : probes) {
    const auto found = std::find(names.begin(), names.end(), probe);
    if (found == names.end())
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("--probe: there is no node '{}' in the netlist", probe));
    unknowns.push_back(static_cast<std::int32_t>(found - names.begin()));
  }
  if (probes.empty()) {
    unknowns.resize(names.size());
    std::iota(unknowns.begin(), unknowns.end(), 0);
  }
  return unknowns;
}

void print_curve(const Curve& curve, const std::vector<std::string>& titles) {
  fmt::print("{:>11}", "time");
  for (const std::string& title : titles) fmt::print("  {:>11}", title);
  fmt::print("\n");
  for (std::size_t k = 0; k < curve.time.size(); ++k) {
    fmt::print("{:11.4e}", curve.time[k]);
    for (const auto& values : curve.values) fmt::print("  {:11.5f}", values[k]);
    fmt::print("\n");
  }
}

void print_summary(const Newton& newton, const TransientCounts& counts) {
  const Rung& rung = *newton.rung();
  const Work& w = newton.work();
  fmt::print("\n{} unknowns, {} entries; {} ({})\n", newton.mna().size(), newton.mna().a().nnz(), rung.facts.id,
             device_of(rung));
  fmt::print(
      "{} steps ({} halved), {} Newton iterations: 1 analysis, {} factorization{}, {} refactorizations, "
      "{} re-pivoting{}\n",
      counts.accepted, counts.halvings, w.newton_iterations, w.factorizations, w.factorizations == 1 ? "" : "s",
      w.refactorizations, w.repivots, w.repivots == 1 ? "" : "s");
  if (device_of(rung) == "simulator") {
    fmt::print("times are not measured in the simulator\n");
    return;
  }
  fmt::print(
      "analyze {:.3g} ms, factor {:.3g} ms, refactor {:.3g} ms ({:.3g} ms each, {:.3g} ms of it in the rung), "
      "solve {:.3g} ms ({:.3g} ms each), stamp {:.3g} ms\n",
      w.analyze_ms, w.factor_ms, w.refactor_ms, w.refactor_ms / w.refactorizations, w.numeric_ms / w.refactorizations,
      w.solve_ms, w.solve_ms / w.newton_iterations, w.stamp_ms);
}

nlohmann::json to_json(const Newton& newton, const TransientCounts& counts, const Curve& curve,
                       const std::vector<std::string>& titles) {
  const Rung& rung = *newton.rung();
  const Work& w = newton.work();
  nlohmann::json j = {{"rung", rung.facts.id},
                      {"device", device_of(rung)},
                      {"unknowns", newton.mna().size()},
                      {"nnz", newton.mna().a().nnz()},
                      {"steps", counts.accepted},
                      {"halvings", counts.halvings},
                      {"newton_iterations", w.newton_iterations},
                      {"factorizations", w.factorizations},
                      {"refactorizations", w.refactorizations},
                      {"repivots", w.repivots},
                      {"time", curve.time}};
  for (std::size_t k = 0; k < titles.size(); ++k) j["curves"][titles[k]] = curve.values[k];
  const bool timed = device_of(rung) != "simulator";
  const auto time = [&](const char* name, double ms) { j[name] = timed ? nlohmann::json(ms) : nlohmann::json(); };
  time("analyze_ms", w.analyze_ms);
  time("factor_ms", w.factor_ms);
  time("refactor_ms", w.refactor_ms);
  time("numeric_ms", w.numeric_ms);
  time("solve_ms", w.solve_ms);
  time("stamp_ms", w.stamp_ms);
  return j;
}

/// Mean and standard deviation of some unknowns at time 0.
int run_samples(const Netlist& netlist, const Rung* asked_for, const Arguments& arguments, const SolverOptions& options,
                const std::vector<std::int32_t>& shown) {
  const auto done = run_monte_carlo(netlist, asked_for, arguments.monte_carlo, options);
  if (!done.ok()) return fail(done.status());
  const Rung& rung = *done->rung;
  const std::int32_t samples = arguments.monte_carlo.samples;
  nlohmann::json j = {{"rung", rung.facts.id}, {"samples", samples}, {"recovered", done->solver.recovered}};
  if (!arguments.json) fmt::print("{:>11}  {:>11}  {:>11}\n", "", "mean", "sigma");
  for (const std::int32_t unknown : shown) {
    const std::string name = fmt::format("v({})", netlist.node_names()[unknown]);
    const Spread spread = spread_of(done->x, unknown, samples);
    j["spread"][name] = {{"mean", spread.mean}, {"sigma", spread.sigma}};
    if (!arguments.json) fmt::print("{:>11}  {:11.5f}  {:11.5f}\n", name, spread.mean, spread.sigma);
  }
  if (arguments.json)
    fmt::print("{}\n", j.dump(2));
  else
    fmt::print(
        "\n{} samples, resistors within {} %; {} Newton iterations of the batch, {} samples re-pivoted; {} ({})\n",
        samples, 100 * arguments.monte_carlo.tolerance, done->iterations, done->solver.recovered, rung.facts.id,
        device_of(rung));
  return exit_ok;
}

int run(const Arguments& arguments) {
  const auto rung = find_rung_or_auto(every_rung(), arguments.rung);
  if (!rung.ok()) return fail(rung.status());
  const auto family = find_circuit(arguments.circuit);
  if (!family.ok()) return fail(family.status());
  const std::int64_t size = arguments.size > 0 ? arguments.size : (*family)->usual_size;
  const bool own = !arguments.file.empty();
  const auto netlist = own ? read_netlist(arguments.file) : Result<Netlist>((*family)->make(size));
  if (!netlist.ok()) return fail(netlist.status());

  TransientOptions options;
  options.steps = arguments.steps > 0 ? arguments.steps : own ? 1000 : (*family)->steps;
  options.stop = own ? 1e-3 : (*family)->stop;
  if (!arguments.stop.empty()) {
    const auto stop = parse_number(arguments.stop);
    if (!stop.ok()) return fail(stop.status());
    options.stop = *stop;
  }
  options.method = arguments.method == "euler" ? Method::backward_euler : Method::trapezoidal;
  const auto probes = arguments.probes.empty() && !own ? (*family)->probes(size) : arguments.probes;
  const auto shown = unknowns_of(probes, *netlist);
  if (!shown.ok()) return fail(shown.status());

  SolverOptions solver_options;
  solver_options.expected_steps = static_cast<double>(3 * options.steps);  // a few Newton iterations each
  solver_options.first = FirstFactorization::klu;  // choose pivots by value once and keep them for all later values
  if (arguments.monte_carlo.samples > 0) return run_samples(*netlist, *rung, arguments, solver_options, *shown);
  auto newton = Newton::create(*netlist, *rung, solver_options);
  if (!newton.ok()) return fail(newton.status());
  Curve curve;
  curve.values.resize(shown->size());
  std::int64_t step = 0;
  const std::int64_t every = std::max<std::int64_t>(1, (options.steps + arguments.rows - 1) / arguments.rows);
  const auto counts = run_transient(*newton, options, [&](const Accepted& at) {
    if (!at.on_grid || step++ % every != 0) return;
    curve.time.push_back(at.time);
    for (std::size_t k = 0; k < shown->size(); ++k) curve.values[k].push_back(at.x[(*shown)[k]]);
  });
  if (!counts.ok()) return fail(counts.status());
  std::vector<std::string> titles;
  for (const std::int32_t unknown : *shown) titles.push_back(newton->mna().name_of(unknown));
  if (arguments.json) {
    fmt::print("{}\n", to_json(*newton, *counts, curve, titles).dump(2));
  } else {
    print_curve(curve, titles);
    print_summary(*newton, *counts);
  }
  return exit_ok;
}

}  // namespace
}  // namespace lulab::examples

int main(int argc, char** argv) {
  lulab::simt::tell_races_briefly();
  using namespace lulab::examples;
  CLI::App app("A small transient circuit simulator on lulab::Solver: modified nodal analysis, Newton, time steps.",
               "lulab-transient");
  Arguments arguments;
  std::string circuits;
  for (const CircuitFamily& family : circuit_families())
    circuits +=
        fmt::format("\n  {:10}  {}; --size: {} ({})", family.name, family.description, family.size, family.usual_size);
  auto* file = app.add_option("netlist", arguments.file, "Netlist file: R, C, L, V, I and D as in SPICE");
  app.add_option("--circuit", arguments.circuit, "Built-in circuit, see below")->capture_default_str()->excludes(file);
  app.add_option("--size", arguments.size, "Size of the built-in circuit")
      ->check(CLI::Range(1, 100'000'000))
      ->excludes(file);
  app.add_option("--rung", arguments.rung,
                 "Rung, by its id or a unique part of it (see lulab list); auto: the Solver chooses")
      ->capture_default_str();
  app.add_option("--stop", arguments.stop, "End time in seconds (10u is 1e-5); default for a netlist: 1m");
  app.add_option("--steps", arguments.steps, "Number of time steps; default for a netlist: 1000")
      ->check(CLI::PositiveNumber);
  app.add_option("--method", arguments.method, "trapezoidal or euler (backward)")
      ->capture_default_str()
      ->check(CLI::IsMember({"trapezoidal", "euler"}));
  app.add_option("--probe", arguments.probes, "Nodes to print, separated by commas")->delimiter(',');
  app.add_option("--rows", arguments.rows, "Approximate number of printed time points")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--monte-carlo", arguments.monte_carlo.samples,
                 "Instead of a simulation: operating points of this many circuits with random resistors (rungs with "
                 "fixed pivots)")
      ->check(CLI::PositiveNumber);
  app.add_option("--tolerance", arguments.monte_carlo.tolerance, "Tolerance of those resistors, as a fraction")
      ->capture_default_str();
  app.add_flag("--json", arguments.json, "Print JSON to stdout");
  app.footer("Circuits:" + circuits +
             "\nExample: lulab-transient --circuit mesh --size 10000 --steps 200 --rung 05_supernode_pipeline");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "lulab-transient: error: {}\n  hint: lulab-transient --help\n", error.what());
    return exit_bad_input;
  }
  try {
    return run(arguments);
  } catch (const std::bad_alloc&) {
    return fail(lulab::Status::error(lulab::StatusCode::out_of_memory, "the host is out of memory"));
  }
}
