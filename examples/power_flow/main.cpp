// lulab-powerflow: AC power flow by Newton's method, a program that uses lulab::Solver.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <new>
#include <numbers>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/simt/device.h"
#include "core/timing.h"
#include "driver/choose_rung.h"
#include "examples/exit_codes.h"
#include "examples/power_flow/grid.h"
#include "examples/power_flow/parse_case.h"
#include "examples/power_flow/power_flow.h"

namespace lulab::examples::power_flow {
namespace {

int fail(const Status& s) {
  fmt::print(stderr, "lulab-powerflow: error: {}\n", s.to_string());
  return exit_code(s);
}

struct Arguments {
  std::string file, generated = "grid", rung = "auto";
  std::int32_t buses = 1000, rows = 10;
  std::uint64_t seed = 1;
  int max_iterations = 20;
  double tolerance_pu = 1e-8;
  bool klu = false, host = false, device = false, json = false;
};

/// What main() prints of a run.
struct Report {
  const Network& network;
  const Equations& equations;
  const Solution& solution;
  double read_ms = 0, set_up_ms = 0, total_ms = 0;

  std::vector<Power> injected = injections(equations, solution.state);
};

std::string machine_of(const Rung& rung) {
  if (rung.facts.device == lulab::Device::cpu) return "cpu";
  return simt::machine() == simt::Machine::gpu ? "gpu" : "simulator";
}
std::string machine_of_stamps(const Solution& solution) {
  if (!solution.on_device) return "cpu";
  return simt::machine() == simt::Machine::gpu ? "gpu" : "simulator";
}
bool is_timed(const Solution& s) {
  return machine_of_stamps(s) != "simulator" && (!s.choice.rung || machine_of(*s.choice.rung) != "simulator");
}

const char* name_of(BusType type) {
  constexpr const char* names[] = {"PQ", "PV", "slack", "isolated"};
  return names[static_cast<int>(type) - 1];
}

double degrees(double radians) { return radians * 180 / std::numbers::pi; }

void print_iterations(const Solution& solution) {
  fmt::print("iteration  largest mismatch, p.u.\n");
  for (std::size_t k = 0; k < solution.mismatch_pu.size(); ++k)
    fmt::print("{:9}  {:.3e}\n", k, solution.mismatch_pu[k]);
}

void print_buses(const Report& r, std::int32_t rows) {
  const State& state = r.solution.state;
  fmt::print("\n{:>10}  {:8}  {:>8}  {:>9}  {:>10}  {:>10}\n", "bus", "type", "|V| p.u.", "angle deg", "P MW",
             "Q Mvar");
  for (std::size_t i = 0; i < std::min<std::size_t>(rows, r.network.buses.size()); ++i)
    fmt::print("{:10}  {:8}  {:8.5f}  {:9.4f}  {:10.3f}  {:10.3f}\n", r.network.buses[i].id,
               name_of(r.network.buses[i].type), state.magnitude[i], degrees(state.angle[i]),
               r.injected[i].p * r.network.base_mva, r.injected[i].q * r.network.base_mva);
  if (static_cast<std::size_t>(rows) < r.network.buses.size())
    fmt::print("{:>10}  ({} more; --rows shows more)\n", "...", r.network.buses.size() - rows);
  const auto [low, high] = std::ranges::minmax_element(state.magnitude);
  fmt::print("lowest |V| {:.5f} at bus {}, highest {:.5f} at bus {}\n", *low,
             r.network.buses[low - state.magnitude.begin()].id, *high,
             r.network.buses[high - state.magnitude.begin()].id);
}

/// In branches and shunts.
double losses_mw(const Report& r) {
  double sum = 0;
  for (const Power& s : r.injected) sum += s.p;
  return sum * r.network.base_mva;
}

void print_summary(const Report& r) {
  const Solution& s = r.solution;
  fmt::print("\n{} buses, {} branches, {} unknowns, {} entries; losses and shunts {:.3f} MW\n", r.network.buses.size(),
             r.network.branches.size(), r.equations.unknowns(), r.equations.jacobian.nnz(), losses_mw(r));
  if (s.choice.rung)
    fmt::print("{} ({}), stamps: {}; {} re-pivoting{}\n", s.choice.rung->facts.id, machine_of(*s.choice.rung),
               machine_of_stamps(s), s.repivots, s.repivots == 1 ? "" : "s");
  if (!is_timed(s)) {
    fmt::print("times are not measured in the simulator\n");
    return;
  }
  const int steps = std::max(1, s.iterations() - 1);
  fmt::print(
      "read {:.3g} ms, set-up {:.3g} ms, analyze {:.3g} ms, first {:.3g} ms, stamp {:.3g} ms ({:.3g} ms each), "
      "step {:.3g} ms ({:.3g} ms each), total {:.3g} ms\n",
      r.read_ms, r.set_up_ms, s.times.analyze, s.times.first, s.times.stamp, s.times.stamp / s.mismatch_pu.size(),
      s.times.step, s.times.step / steps, r.total_ms);
}

nlohmann::json to_json(const Report& r, std::int32_t rows) {
  const Solution& s = r.solution;
  nlohmann::json j = {{"converged", s.converged},
                      {"iterations", s.iterations()},
                      {"mismatch_pu", s.mismatch_pu},
                      {"buses", r.network.buses.size()},
                      {"branches", r.network.branches.size()},
                      {"unknowns", r.equations.unknowns()},
                      {"nnz", r.equations.jacobian.nnz()},
                      {"repivots", s.repivots},
                      {"stamps", machine_of_stamps(s)},
                      {"losses_mw", losses_mw(r)}};
  j["rung"] = s.choice.rung ? nlohmann::json(s.choice.rung->facts.id) : nlohmann::json();
  j["device"] = s.choice.rung ? nlohmann::json(machine_of(*s.choice.rung)) : nlohmann::json();
  for (std::size_t i = 0; i < std::min<std::size_t>(rows, r.network.buses.size()); ++i)
    j["voltages"].push_back({{"bus", r.network.buses[i].id},
                             {"magnitude_pu", s.state.magnitude[i]},
                             {"angle_deg", degrees(s.state.angle[i])},
                             {"p_mw", r.injected[i].p * r.network.base_mva},
                             {"q_mvar", r.injected[i].q * r.network.base_mva}});
  const bool timed = is_timed(s);
  const auto time = [&](const char* name, double ms) { j[name] = timed ? nlohmann::json(ms) : nlohmann::json(); };
  time("read_ms", r.read_ms);
  time("set_up_ms", r.set_up_ms);
  time("analyze_ms", s.times.analyze);
  time("first_ms", s.times.first);
  time("stamp_ms", s.times.stamp);
  time("step_ms", s.times.step);
  time("total_ms", r.total_ms);
  return j;
}

int report_no_convergence(const Report& r, int max_iterations) {
  const Worst worst = worst_mismatch(r.equations, r.solution.state);
  const double last = r.solution.mismatch_pu.back();
  fmt::print(stderr,
             "lulab-powerflow: error: no convergence after {} iterations{}: the largest mismatch is {:.3e} p.u., of {} "
             "at bus {}; {}\n",
             r.solution.iterations(), std::isfinite(last) ? "" : " (the numbers overflowed)", worst.mismatch_pu,
             worst.is_reactive ? "Q" : "P", r.network.buses[worst.bus].id,
             r.solution.iterations() == max_iterations && last < r.solution.mismatch_pu.front()
                 ? "try more --iterations"
                 : "the loads may exceed what the network can carry, or the start is far from a solution");
  return exit_check_failed;
}

Result<Network> get_network(const Arguments& arguments) {
  if (!arguments.file.empty()) return read_case(arguments.file);
  LULAB_ASSIGN_OR_RETURN(auto grid, make_grid(arguments.buses, arguments.seed));
  return std::move(grid.network);
}

Result<Options> options_of(const Arguments& arguments) {
  Options options;
  options.tolerance_pu = arguments.tolerance_pu;
  options.max_iterations = arguments.max_iterations;
  options.place = arguments.host ? Place::host : arguments.device ? Place::device : Place::automatic;
  std::string name = arguments.klu ? "sparse_leftlooking/90_klu" : arguments.rung;
  if (arguments.device && name == "auto") name = "sparse_syncfree/11_fan_in";
  LULAB_ASSIGN_OR_RETURN(options.rung, find_rung_or_auto(every_rung(), name));
  return options;
}

/// A singular Jacobian names buses by their ids.
Status with_ids(Status s, const Network& network) {
  std::string ids;
  for (const std::int32_t bus : s.where.columns) ids += fmt::format(" {}", network.buses[bus].id);
  if (!ids.empty()) s.message = fmt::format("at bus{}: {}", ids, s.message);
  return s;
}

int run(const Arguments& arguments) {
  const Clock::time_point start = Clock::now();
  const auto options = options_of(arguments);
  if (!options.ok()) return fail(options.status());
  const auto network = get_network(arguments);
  if (!network.ok()) return fail(network.status());
  const double read_ms = ms_since(start);
  if (const Status s = check_network(*network); !s.ok()) return fail(s);
  const Equations equations = make_equations(*network);
  const double set_up_ms = ms_since(start) - read_ms;
  const auto solution = solve(equations, *options);
  if (!solution.ok()) return fail(with_ids(solution.status(), *network));
  const double total_ms = ms_since(start);
  const Report report = {*network, equations, *solution, read_ms, set_up_ms + solution->times.set_up, total_ms};
  if (arguments.json) {
    fmt::print("{}\n", to_json(report, arguments.rows).dump(2));
  } else {
    print_iterations(*solution);
    if (solution->converged) print_buses(report, arguments.rows);
    print_summary(report);
  }
  return solution->converged ? exit_ok : report_no_convergence(report, arguments.max_iterations);
}

}  // namespace
}  // namespace lulab::examples::power_flow

int main(int argc, char** argv) {
  lulab::simt::tell_races_briefly();
  using namespace lulab::examples::power_flow;
  CLI::App app("AC power flow by Newton's method on lulab::Solver: bus voltages for given loads and generators.",
               "lulab-powerflow");
  Arguments arguments;
  auto* file = app.add_option("case", arguments.file, "Case file of MATPOWER (.m) that holds plain tables");
  app.add_option("--case", arguments.generated, "Generated network: grid, a mesh of lines and transformers")
      ->capture_default_str()
      ->check(CLI::IsMember({"grid"}))
      ->excludes(file);
  app.add_option("--buses", arguments.buses, "Size of the generated network")
      ->capture_default_str()
      ->check(CLI::Range(2, 10'000'000))
      ->excludes(file);
  app.add_option("--seed", arguments.seed, "Seed of the generated network")->capture_default_str()->excludes(file);
  auto* rung = app.add_option("--rung", arguments.rung,
                              "Rung, by its id or a unique part of it (see lulab list); auto: the Solver chooses")
                   ->capture_default_str();
  app.add_flag("--klu", arguments.klu, "The same as --rung 90_klu")->excludes(rung);
  auto* host = app.add_flag("--host", arguments.host, "Stamp on the host even where the rung works on a GPU");
  app.add_flag("--device", arguments.device,
               "Stamp on the device, also in the simulator; default rung: "
               "11_fan_in")
      ->excludes(host);
  app.add_option("--tolerance", arguments.tolerance_pu, "Largest mismatch of a solution, in p.u.")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--iterations", arguments.max_iterations, "At most so many iterations")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--rows", arguments.rows, "Number of printed buses")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", arguments.json, "Print JSON to stdout");
  app.footer("Example: lulab-powerflow --case grid --buses 10000 --klu");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "lulab-powerflow: error: {}\n  hint: lulab-powerflow --help\n", error.what());
    return lulab::examples::exit_bad_input;
  }
  try {
    return run(arguments);
  } catch (const std::bad_alloc&) {
    return fail(lulab::Status::error(lulab::StatusCode::out_of_memory, "the host is out of memory"));
  }
}
