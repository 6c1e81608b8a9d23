// lulab-bench: every rung of the registry on a set of matrices, phase by phase, through Google Benchmark.

#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/alternatives.h"
#include "bench/auto_rung.h"
#include "bench/context.h"
#include "bench/dense_ladder.h"
#include "bench/fill_cases.h"
#include "bench/gsofa_set.h"
#include "bench/result_file.h"
#include "bench/schedules.h"
#include "bench/session.h"
#include "bench/sparse_cases.h"
#include "core/simt/device.h"
#include "core/timing.h"
#include "driver/choose_rung.h"

namespace lulab::bench {
namespace {

struct Options {
  std::string set = "quick";
  std::vector<std::string> matrices, rungs, phases, precisions, peers;
  std::vector<PeerLibrary> peer_libraries = {};  // of these names
  std::vector<std::int32_t> sizes;
  std::string order = "auto", json, constants;
  double min_time_s = 0.05;
  FactorOptions factor;
  int solve_warps_per_sm = 0;  // of our solves on the device; 0: as many as pay
  std::int32_t batch = 64;
  double expected_steps = default_expected_steps;
  bool prepare_at_once = false;
  bool save = false, resume = false, cold = false, energy = false;
};

/// --set gsofa begins nothing later.
constexpr std::chrono::seconds gsofa_time(150);

/// Measured one after the other, each released before the next.
void run_each(Session& session, std::vector<Comparison> comparisons) {
  for (Comparison& c : comparisons) session.run(std::move(c));
}

int fail(const Status& status) {
  std::cerr << "lulab-bench: " << status.to_string() << '\n';
  return is_of_machine(status.code) ? 4 : 2;
}

/// Is it a part of an id of --set alternatives?
Status check_alternative(const std::string& part) {
  const auto ids = alternative_ids();
  if (std::ranges::any_of(ids, [&](const std::string& id) { return id.find(part) != std::string::npos; })) return {};
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("--set alternatives has no '{}'; it has\n  {}", part, fmt::join(ids, "\n  ")));
}

/// Rung names may be unique parts of an id; afterwards the options hold full ids, phases and scalars that exist.
Status check_options(Options& options) {
  const auto set = parse_set(options.set);
  if (!set.ok()) return set.status();
  if (*set == Set::quick && options.matrices.empty() && options.rungs.empty() && options.phases.empty() &&
      options.precisions.empty()) {
    options.phases = {"factor", "refactor"};
    options.precisions = {"f64"};
  }
  for (const std::string& name : options.peers) {
    LULAB_ASSIGN_OR_RETURN(auto found, find_peers(name));
    for (PeerLibrary& library : found)
      if (std::ranges::find(options.peer_libraries, library.id, &PeerLibrary::id) == options.peer_libraries.end())
        options.peer_libraries.push_back(std::move(library));
  }
  for (std::string& rung : options.rungs) {
    if (*set == Set::alternatives) {
      LULAB_RETURN_IF_ERROR(check_alternative(rung));
      continue;
    }
    const auto found = find_timed_rung(rung);
    if (found.ok()) {
      rung = (*found)->facts.id;
      continue;
    }
    const auto fill = find_fill_rung(rung);
    if (!fill.ok() && !rung.starts_with("symbolic/")) return found.status();
    LULAB_RETURN_IF_ERROR(fill.status());
    rung = (*fill)->id;
    if (*set == Set::gsofa && !is_in_gsofa_set(rung))
      return Status::error(StatusCode::invalid_argument, fmt::format("--set gsofa does not time {}", rung));
  }
  for (const std::string& phase : options.phases) LULAB_RETURN_IF_ERROR(parse_phase(phase).status());
  for (const std::string& scalar : options.precisions) LULAB_RETURN_IF_ERROR(parse_scalar(scalar).status());
  if (*set == Set::alternatives && !(options.phases.empty() && options.precisions.empty() && !options.cold))
    return Status::error(StatusCode::invalid_argument,
                         "--set alternatives has phases of its own: leave out --phase, --precision and --cold");
  if (*set == Set::gsofa && !(options.phases.empty() && options.precisions.empty() && !options.cold))
    return Status::error(StatusCode::invalid_argument,
                         "--set gsofa times patterns alone: leave out --phase, --precision and --cold");
  const bool dense = *set == Set::dense;
  if (dense && !options.matrices.empty())
    return Status::error(StatusCode::invalid_argument, "--set dense makes its own matrices: leave out --matrix");
  if (dense && !options.phases.empty() && std::ranges::count(options.phases, to_string(Phase::factor)) == 0)
    return Status::error(StatusCode::invalid_argument, "--set dense times the phase factor only");
  if (dense && options.cold)
    return Status::error(StatusCode::invalid_argument,
                         "--cold has no meaning with --set dense: every run has a new matrix");
  if (!dense && !options.sizes.empty())
    return Status::error(StatusCode::invalid_argument, "--n chooses the sizes of --set dense");
  return with_order({}, options.order).status();
}

bool is_measured(const ResultFile& results, const std::string& matrix) {
  if (!results.has(matrix)) return false;
  std::cout << matrix << ": measured before" << std::endl;
  return true;
}

/// Every dense set, measured and reported.
Status run_dense(Session& session, const Options& options, const DeviceConstants& constants, ResultFile& results) {
  LULAB_ASSIGN_OR_RETURN(const auto sets, dense_sets({options.sizes, options.rungs, options.precisions}));
  CostHistory history;
  std::optional<Yardstick> shown;
  for (const DenseSet& set : sets) {
    const std::string name = to_string(set.shape);
    if (is_measured(results, name)) continue;
    const Yardstick yardstick = set.batched() ? Yardstick::cublas : Yardstick::cusolver;
    if (shown != yardstick) std::cout << table_header(yardstick) << '\n';
    shown = yardstick;
    results.add_matrix(name, {{"n", set.shape.n}, {"batch", set.shape.batch}, {"flops", dense_flops(set.shape)}});
    const Sampling sampling = {.budget_s = options.min_time_s * static_cast<double>(set.rungs.size())};
    Comparison comparison = dense_comparison(set, constants, history, sampling);
    if (simt::machine() == simt::Machine::simulator)
      comparison.reason_to_skip = "skipped: performance not measured in the simulator";
    session.run(std::move(comparison));
    const bool is_whole = &set == &sets.back() || to_string((&set + 1)->shape) != name;  // in both precisions
    if (is_whole) LULAB_RETURN_IF_ERROR(results.write(session.report(), false));
  }
  if (sets.empty()) std::cout << "no dense GPU rung fits the options\n";
  return {};
}

/// No phase with values is timed.
bool only_patterns(const Options& options) {
  const auto is_pattern = [](const std::string& phase) { return is_pattern_phase(*parse_phase(phase)); };
  return (!options.rungs.empty() && std::ranges::all_of(options.rungs, is_fill_rung)) ||
         (!options.phases.empty() && std::ranges::all_of(options.phases, is_pattern));
}

/// A list's entry: how evenly the columns are shared among 6 nodes of 6 devices, and a line that says it.
nlohmann::ordered_json compare_schedules(const Problem& problem, int threads) {
  const auto entries = entries_read_by_columns(pattern_to_fill(problem), threads);
  nlohmann::ordered_json row = {{"matrix", problem.name}};
  std::string line = fmt::format("{}, 36 devices, entries that the busiest reads over the mean:", problem.name);
  for (const Schedule& schedule : gsofa_schedules()) {
    const double ratio = busiest_over_mean(entries, schedule);
    row[std::string(schedule.name)] = ratio;
    line += fmt::format(" {} {:.2f}", schedule.name, ratio);
  }
  std::cout << line << std::endl;
  return row;
}

/// Returns how many matrices could not be used.
Result<int> run_matrices(Session& session, const Options& options, const DeviceConstants& constants,
                         ResultFile& results) {
  std::vector<ProblemSource> sources;
  for (const std::string& path : options.matrices) sources.push_back(problem_from_file(path));
  const Set set = *parse_set(options.set);
  if (sources.empty()) sources = problems_of(set);
  const SparseOptions sparse = {.rungs = options.rungs,
                                .phases = options.phases,
                                .precisions = options.precisions,
                                .peers = options.peer_libraries,
                                .factor = options.factor,
                                .batch = options.batch,
                                .cold = options.cold,
                                .quick = options.matrices.empty() && set == Set::quick,
                                .budget_s = options.min_time_s,
                                .energy = options.energy};
  std::cout << table_header(set == Set::alternatives                      ? Yardstick::host_solve
                            : set == Set::gsofa || only_patterns(options) ? Yardstick::fill
                                                                          : Yardstick::klu)
            << '\n';
  if (set != Set::gsofa && set != Set::alternatives)
    results.add_context("seed",
                        "of run k: k, of a whole solver k mod 3 + 1 (perturbed() in bench/problem.h), of a sequence "
                        "its step k mod their number");
  CostHistory history;
  const auto gsofa_ends = Clock::now() + gsofa_time;
  int unusable_matrices = 0;
  for (const ProblemSource& source : sources) {
    if (is_measured(results, source.name)) continue;
    session.show("analyzing " + source.name);
    auto problem = load_problem(source, *with_order({}, options.order), constants);
    session.finished();
    if (!problem.ok()) {
      std::cout << source.name << ": " << problem.status().to_string() << std::endl;
      results.add_matrix(source.name, {{"error", problem.status().to_string()}});
      ++unusable_matrices;
      continue;
    }
    problem->expected_steps = options.expected_steps;
    problem->prepare_at_once = options.prepare_at_once;
    results.add_matrix(source.name, problem_context(*problem));
    if (set == Set::gsofa) {
      auto comparisons = gsofa_comparisons(*problem, {.rungs = options.rungs,
                                                      .threads = options.factor.threads,
                                                      .budget_s = options.min_time_s,
                                                      .bandwidth_bytes_per_s = constants.bandwidth_bytes_per_s,
                                                      .ends = gsofa_ends});
      if (comparisons.ok()) {
        run_each(session, std::move(*comparisons));
        session.show("comparing schedules on " + source.name);
        results.add_schedules(compare_schedules(*problem, options.factor.threads));
      } else {
        std::cout << source.name << ": " << comparisons.status().to_string() << std::endl;
        results.add_matrix(source.name, {{"error", comparisons.status().to_string()}});
        ++unusable_matrices;
      }
    } else if (set == Set::alternatives) {
      run_each(session, alternatives(*problem, {.gmres = {},
                                                .ids = options.rungs,
                                                .budget_s = options.min_time_s,
                                                .warps_per_sm = options.solve_warps_per_sm}));
    } else {
      run_each(session, sparse_comparisons(*problem, sparse, constants, history));
    }
    LULAB_RETURN_IF_ERROR(results.write(session.report(), false));
  }
  return unusable_matrices;
}

int run_all(Options options, const std::string& command) {
  if (Status status = check_options(options); !status.ok()) return fail(status);
  const auto device = simt::device_properties();
  if (!device.ok()) return fail(device.status());
  DeviceConstants constants = builtin_constants(device->name);
  if (!options.constants.empty()) {
    const auto loaded = load_constants(options.constants);
    if (!loaded.ok()) return fail(loaded.status());
    constants = *loaded;
  }
  nlohmann::ordered_json context = run_context(constants);
  context["command"] = command;
  if (options.save && options.json.empty()) {
    const std::string name = simt::machine() == simt::Machine::gpu ? device->name : context["cpu"].get<std::string>();
    options.json = fmt::format("bench/results/{}/{}.json", slug(name), options.set);
  }
  ResultFile results(options.json, std::move(context));
  if (options.resume) {
    if (options.json.empty())
      return fail(Status::error(StatusCode::invalid_argument, "--resume goes on with a file: add --json or --save"));
    if (Status status = results.resume(); !status.ok()) return fail(status);
  }
  Session session;
  std::cout << fmt::format("device: {}\nbounds: {}\n\n", device->name, constants.device);
  int unusable_matrices = 0;
  if (*parse_set(options.set) == Set::dense) {
    if (Status status = run_dense(session, options, constants, results); !status.ok()) return fail(status);
  } else {
    const auto unusable = run_matrices(session, options, constants, results);
    if (!unusable.ok()) return fail(unusable.status());
    unusable_matrices = *unusable;
  }
  if (!options.json.empty()) {
    if (Status status = results.write(session.report(), true); !status.ok()) return fail(status);
    std::cout << "\nwritten: " << options.json << '\n';
  }
  return unusable_matrices > 0 ? 2 : 0;
}

}  // namespace
}  // namespace lulab::bench

int main(int argc, char** argv) {
  lulab::simt::tell_races_briefly();
  const std::string command = fmt::format("./lulab bench {}", fmt::join(argv + 1, argv + argc, " "));
  // Flags of Google Benchmark go to Google Benchmark; everything else, --help too, is ours.
  const auto ours_end = std::stable_partition(argv + 1, argv + argc, [](const char* argument) {
    return !std::string_view(argument).starts_with("--benchmark_");
  });
  const int n_ours = static_cast<int>(ours_end - argv);
  std::vector<char*> theirs = {argv[0]};
  theirs.insert(theirs.end(), ours_end, argv + argc);
  int n_theirs = static_cast<int>(theirs.size());
  benchmark::Initialize(&n_theirs, theirs.data());
  if (benchmark::ReportUnrecognizedArguments(n_theirs, theirs.data())) return 2;

  lulab::bench::Options options;
  CLI::App app(
      "Times every rung, phase by phase, after checking its result.\n"
      "Example: lulab-bench --matrix circuit_1.mtx.gz --rung klu --rung 01_warp_per_column --phase refactor");
  app.add_option("--set", options.set,
                 "matrices: quick (on its own: factor and refactor in f64, 2 minutes on a GPU), all, dense (the dense "
                 "rungs on matrices made on the GPU), gsofa (the evaluation of Gaihre et al. 2021), or alternatives "
                 "(GMRES and triangular solves on the matrices of "
                 "quick)")
      ->capture_default_str();
  app.add_option("--matrix", options.matrices, "Matrix Market files instead of a set");
  app.add_option("--n", options.sizes, "sizes for --set dense instead of 1024, 2048, ..., 32768 and the batches");
  app.add_option("--rung", options.rungs,
                 "only these rungs (id or unique part of one, also of symbolic/; with --set alternatives any part); "
                 "without, step and first are those of auto alone");
  app.add_option(
      "--phase", options.phases,
      "only these phases: preprocess, symbolic, symbolic_device, schedule, upload, factor, refactor, download, solve, "
      "end_to_end, batch, batch_step of a rung; step (new values and b -> x), step_device (the same in device memory) "
      "and "
      "first (a matrix never seen -> x) and, where it is asked for, run (first and 99 steps) of a whole Solver, beside "
      "KLU");
  app.add_option(
      "--peer", options.peers,
      "libraries of others in step, step_device, first and run, beside KLU: a name, or a part of several, or all; "
      "'./lulab peers' fetches cuDSS and PARDISO");
  app.add_option("--precision", options.precisions, "only f32 or f64");
  const auto* order = app.add_option("--order", options.order,
                                     "auto (--set gsofa: metis), amd, colamd, metis, nd or natural, or btf+ and one of "
                                     "these: inside the blocks of the block "
                                     "triangular form")
                          ->capture_default_str();
  app.add_option("--expected-steps", options.expected_steps,
                 "SolverOptions::expected_steps of the phases step, first and run; 1: only the first answer counts")
      ->check(CLI::Range(1.0, 1e12))
      ->capture_default_str();
  app.add_flag("--prepare-at-once", options.prepare_at_once,
               "SolverOptions::prepare_at_once of the phases first and run; steps are always prepared for");
  app.add_option("--batch", options.batch,
                 "systems of the phases batch and batch_step, which are timed where --phase asks for them")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--json", options.json, "write the results to this file, after each matrix");
  app.add_flag("--save", options.save, "write the results to bench/results/<gpu>/<set>.json");
  app.add_flag("--resume", options.resume,
               "go on where a run with this command was stopped: matrices in the file are not measured again");
  app.add_option("--constants", options.constants, "device constants from this file (lulab calibrate) for the bounds");
  app.add_option("--min-time", options.min_time_s, "seconds to sample each benchmark for")->capture_default_str();
  app.add_option("--threads", options.factor.threads,
                 "threads of the CPU rungs that use several; 0: what the matrix keeps busy")
      ->check(CLI::NonNegativeNumber);
  app.add_option_function<std::vector<std::string>>(
         "--option",
         [&options](const std::vector<std::string>& given) {
           for (const std::string& text : given) {
             const lulab::Status set = options.factor.set(text);
             if (!set.ok()) throw CLI::ValidationError("--option", set.message);
           }
         },
         "NAME=VALUE, an option of a rung (lulab list --json names them); rungs without it ignore it")
      ->take_all();
  app.add_option("--warps-per-sm", options.solve_warps_per_sm,
                 "at most so many resident warps an SM in our solves of --set alternatives; 0: as many as pay")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--energy", options.energy, "of the GPU in the phase step, where its driver tells: a second more a row");
  app.add_flag("--cold", options.cold, "flush the device's L2 before each timed run (not of step and first)");
  try {
    app.parse(n_ours, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.set == "gsofa" && order->count() == 0) options.order = "metis";
  return lulab::bench::run_all(std::move(options), command);
}
