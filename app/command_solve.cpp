// lulab solve A.mtx [b.mtx]: factors, solves with iterative refinement, shows the errors.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/over_ranks.h"
#include "app/progress.h"
#include "app/table.h"
#include "core/matrix/generate.h"
#include "core/timing.h"
#include "driver/solver.h"

namespace lulab::app {
namespace {

struct SolveArguments {
  std::string matrix;
  std::string right_side;
  std::string output;
  std::string solve_method;
  std::uint64_t seed = 1;
  SolverArguments solver;
};

struct RightSide {
  std::vector<double> b;
  std::optional<std::vector<double>> known;  // x, where b was made of one

  /// max |x - known| / max |known|; NaN where it is not known, infinite where x has a NaN.
  double forward_error(std::span<const double> x) const {
    if (!known) return std::numeric_limits<double>::quiet_NaN();
    double error = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double difference = std::abs(x[i] - (*known)[i]);
      if (!(difference <= error)) error = difference;  // NaN stays
      if (std::isnan(error)) return std::numeric_limits<double>::infinity();
      size = std::max(size, std::abs((*known)[i]));
    }
    return x.empty() ? 0 : error / size;
  }
};

Result<RightSide> right_side_of(const SolveArguments& arguments, const InputMatrix& input) {
  RightSide side;
  const auto n = static_cast<std::size_t>(input.n());
  if (arguments.right_side.empty()) {
    side.b.resize(n);
    side.known = random_vector(input.n(), arguments.seed);
    multiply<double>(input.a(), *side.known, side.b);
    return side;
  }
  LULAB_ASSIGN_OR_RETURN(side.b, read_vector(arguments.right_side));
  if (side.b.size() != n)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} values, but {} has {} rows", side.b.size(), arguments.matrix, n),
                         in_file(arguments.right_side));
  return side;
}

std::string source_of_b(const SolveArguments& arguments) {
  return arguments.right_side.empty() ? fmt::format("A x for a random x (seed {})", arguments.seed)
                                      : arguments.right_side;
}

/// An x that overflowed is a failed check, and no file can hold it.   Returns whether x was written.
Result<bool> write_x(const SolveArguments& arguments, std::span<const double> x) {
  const bool finite = std::ranges::all_of(x, [](double value) { return std::isfinite(value); });
  if (arguments.output.empty() || !finite) return false;
  LULAB_RETURN_IF_ERROR(write_vector<double>(arguments.output, x));
  return true;
}

template <class T>
int solve_with(const Context& context, const SolveArguments& arguments, const InputMatrix& input, const Rung* rung,
               const PreprocessOptions& preprocess, const SolveRung* solve_rung) {
  const CscMatrix<double>& a = input.a();
  const auto side = right_side_of(arguments, input);
  if (!side.ok()) return fail(context, side.status());

  Progress progress;
  auto solver = make_solver<T>(rung, {.preprocess = preprocess,
                                      .factor = arguments.solver.factor,
                                      .repivot = !arguments.solver.no_repivot,
                                      .expected_steps = rung == nullptr ? 1 : default_expected_steps,
                                      .solve = solve_rung});
  progress.show("analyzing " + input.name);
  if (Status status = solver.analyze(a); !status.ok())
    return progress.wipe(), fail(context, concerning(input.path, status));
  progress.show(fmt::format("factoring {} with {}", input.name, solver.choice().rung->facts.id));
  if (Status status = solver.factor(a); !status.ok())
    return progress.wipe(), fail(context, concerning(input.path, status));
  progress.show("estimating the condition");
  const auto condition = judge_condition(solver, arguments.solver);
  if (!condition.ok()) return progress.wipe(), fail(context, concerning(input.path, condition.status()));
  progress.show("solving");
  std::vector<double> x(side->b.size(), std::numeric_limits<double>::quiet_NaN());
  auto refinement = solver.solve(side->b, x);
  progress.wipe();
  if (!refinement.ok()) return fail(context, concerning(input.path, refinement.status()));
  const double forward_error = side->forward_error(x);
  const auto written = write_x(arguments, x);
  if (!written.ok()) return fail(context, written.status());

  const bool good = refinement->converged && !std::isinf(forward_error);
  const auto repivots = solver.statistics().repivots, perturbed = solver.statistics().perturbed_pivots;
  const RungChoice& choice = solver.choice();
  const std::string device = device_of(choice.rung->facts);
  if (context.json) {
    nlohmann::json j = {{"matrix", input.name},
                        {"n", input.n()},
                        {"nnz", a.nnz()},
                        {"rung", rung_name(rung)},
                        {"scalar", arguments.solver.precision},
                        {"device", device},
                        {"status", good ? "ok" : "failed"},
                        {"backward_error", refinement->omega},
                        {"forward_error", std::isnan(forward_error) ? nlohmann::json() : nlohmann::json(forward_error)},
                        {"rcond_scaled", condition->estimate.rcond_scaled},
                        {"refinement_steps", refinement->iterations},
                        {"repivots", repivots},
                        {"perturbed_pivots", perturbed}};
    if (solve_rung != nullptr) j["solve_method"] = solve_rung->id;
    add_choice(j, choice);
    if (!condition->warning.empty()) j["warning"] = condition->warning;
    if (*written) j["output"] = arguments.output;
    print_json(j);
  } else {
    fmt::print("{}  n = {}, nnz = {}\n", input.name, input.n(), a.nnz());
    fmt::print("  rung            {} ({}, {})\n", rung_name(rung), arguments.solver.precision, device);
    if (!choice.reason.empty()) fmt::print("  chosen          {}\n", to_text(choice));
    if (solve_rung != nullptr) fmt::print("  solves          {}\n", solve_rung->id);
    fmt::print("  right side      {}\n", source_of_b(arguments));
    fmt::print("  backward error  {} (limit {:.1e}), {} refinement steps{}{}\n", short_error(refinement->omega),
               RefinementRule::limit, refinement->iterations, repivots > 0 ? ", re-pivoted" : "",
               perturbed > 0 ? fmt::format(", {} pivots perturbed", perturbed) : "");
    if (!std::isnan(forward_error)) fmt::print("  forward error   {}\n", short_error(forward_error));
    fmt::print("  rcond           {} after scaling\n", short_error(condition->estimate.rcond_scaled));
    if (*written) fmt::print("  written         {}\n", arguments.output);
    if (!condition->warning.empty()) fmt::print("  WARNING: {}; x may have no right digit\n", condition->warning);
    if (!good)
      fmt::print("  FAILED: the backward error exceeds its limit; do not use x{}\n",
                 arguments.solver.precision == "f32" ? ", try --precision f64" : "");
  }
  return good ? exit_ok : exit_check_failed;
}

int solve_over_ranks(const Context& context, const SolveArguments& arguments, OverRanks& over) {
  const auto input = load_matrix(arguments.matrix, Needs::square_values);
  if (!input.ok()) return fail(context, input.status());
  const CscMatrix<double>& a = input->a();
  const auto side = right_side_of(arguments, *input);
  if (!side.ok()) return fail(context, side.status());
  Progress progress;
  const std::string_view id = distributed_rung().facts.id;
  progress.show(fmt::format("factoring {} with {}", input->name, id));
  const auto factored = over.solver.factor(a);
  if (!factored.ok()) return progress.wipe(), fail(context, concerning(input->path, factored.status()));
  progress.show("solving");
  const auto condition = judge_condition(over.solver, arguments.solver);
  if (!condition.ok()) return progress.wipe(), fail(context, concerning(input->path, condition.status()));
  std::vector<double> x(side->b.size(), std::numeric_limits<double>::quiet_NaN());
  const auto start = Clock::now();
  const Refinement refinement = over.solver.solve(a, side->b, x);
  const double solve_ms = ms_since(start);
  progress.wipe();
  const double normwise = normwise_backward_error(a, x, side->b);
  const double forward_error = side->forward_error(x);
  const auto written = write_x(arguments, x);
  if (!written.ok()) return fail(context, written.status());

  const bool good = refinement.converged && !std::isinf(forward_error);
  const DistributedMemory memory = over.lu.memory();
  const auto sum = [](const std::vector<std::int64_t>& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  };
  if (context.json) {
    nlohmann::json j = {{"matrix", input->name},
                        {"n", input->n()},
                        {"nnz", a.nnz()},
                        {"rung", id},
                        {"scalar", arguments.solver.precision},
                        {"device", "cpu"},
                        {"ranks", over.ranks},
                        {"order", over.solver.plan().order},
                        {"status", good ? "ok" : "failed"},
                        {"backward_error", refinement.omega},
                        {"componentwise_backward_error", refinement.backward_error},
                        {"normwise_backward_error", normwise},
                        {"forward_error", std::isnan(forward_error) ? nlohmann::json() : nlohmann::json(forward_error)},
                        {"rcond_scaled_at_most", condition->estimate.rcond_scaled},
                        {"refinement_steps", refinement.iterations},
                        {"analysis_ms", factored->analysis_ms},
                        {"factor_ms", factored->numeric_ms},
                        {"solve_ms", solve_ms},
                        {"lu_bytes", sum(memory.factors)},
                        {"lu_bytes_of_ranks", memory.factors},
                        {"bytes", sum(memory.all)},
                        {"bytes_of_ranks", memory.all}};
    if (!condition->warning.empty()) j["warning"] = condition->warning;
    if (*written) j["output"] = arguments.output;
    print_json(j);
    return good ? exit_ok : exit_check_failed;
  }
  const auto bytes = [](std::int64_t count) { return short_count(static_cast<double>(count)) + "B"; };
  fmt::print("{}  n = {}, nnz = {}\n", input->name, input->n(), a.nnz());
  fmt::print("  rung            {} (f64, cpu, {} rank{})\n", id, over.ranks, over.ranks == 1 ? "" : "s");
  fmt::print("  right side      {}\n", source_of_b(arguments));
  fmt::print("  backward error  {} (limit {:.1e}), componentwise {}, normwise {}; {} refinement steps\n",
             short_error(refinement.omega), RefinementRule::limit, short_error(refinement.backward_error),
             short_error(normwise), refinement.iterations);
  if (!std::isnan(forward_error)) fmt::print("  forward error   {}\n", short_error(forward_error));
  fmt::print("  rcond           at most {} after scaling\n", short_error(condition->estimate.rcond_scaled));
  fmt::print("  time            analysis {} (ordering {}), factor {}, solve {}\n", short_time(factored->analysis_ms),
             over.solver.plan().order, short_time(factored->numeric_ms), short_time(solve_ms));
  fmt::print("  L and U         {} in all, {} on the rank with most; with buffers {} and {}\n",
             bytes(sum(memory.factors)), bytes(std::ranges::max(memory.factors)), bytes(sum(memory.all)),
             bytes(std::ranges::max(memory.all)));
  if (*written) fmt::print("  written         {}\n", arguments.output);
  if (!condition->warning.empty()) fmt::print("  WARNING: {}; x may have no right digit\n", condition->warning);
  if (!good) fmt::print("  FAILED: the backward error exceeds its limit; do not use x\n");
  return good ? exit_ok : exit_check_failed;
}

int run_solve(const Context& context, const SolveArguments& arguments) {
  if (names_distributed_rung(arguments.solver.rung)) {
    Status refused;
    if (!arguments.solve_method.empty())
      refused = Status::error(StatusCode::invalid_argument,
                              fmt::format("{} solves by itself; drop --solve-method", distributed_rung().facts.id));
    return run_over_ranks(context, arguments.solver, refused,
                          [&](OverRanks& over) { return solve_over_ranks(context, arguments, over); });
  }
  auto rung = named_rung(arguments.solver.rung);
  if (!rung.ok()) return fail(context, rung.status());
  auto preprocess = preprocess_options(arguments.solver);
  if (!preprocess.ok()) return fail(context, preprocess.status());
  const auto solve_rung =
      arguments.solve_method.empty() ? Result<const SolveRung*>(nullptr) : find_solve_rung(arguments.solve_method);
  if (!solve_rung.ok()) return fail(context, solve_rung.status());
  auto input = load_matrix(arguments.matrix, Needs::square_values);
  if (!input.ok()) return fail(context, input.status());
  const auto solve = arguments.solver.precision == "f32" ? solve_with<float> : solve_with<double>;
  return solve(context, arguments, *input, *rung, *preprocess, *solve_rung);
}

}  // namespace

void add_solve(CLI::App& app, Context& context) {
  auto* command = add_command(app, "solve", "Solve A x = b with iterative refinement; without b, for a random known x",
                              "lulab solve A.mtx b.mtx -o x.mtx\n"
                              "         mpirun -np 4 lulab solve A.mtx --rung 90_superlu_dist");
  auto arguments = std::make_shared<SolveArguments>();
  command->add_option("matrix", arguments->matrix, "Matrix Market file, plain or .gz")->required();
  command->add_option("b", arguments->right_side, "Matrix Market file of b, one column");
  command->add_option("-o,--output", arguments->output, "File for x");
  add_integer<std::uint64_t>(*command, "--seed", arguments->seed, "Seed of the known x", 0);
  command->add_option("--solve-method", arguments->solve_method,
                      "Rung of solve/, by its id or a unique part of it (see lulab list); those of the device need a "
                      "--rung of the device; default: chosen");
  add_solver_options(*command, arguments->solver);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_solve(context, *arguments); }; });
}

}  // namespace lulab::app
