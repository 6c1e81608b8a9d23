// lulab solve A.mtx [b.mtx]: factors, solves with iterative refinement, shows the errors.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/progress.h"
#include "app/table.h"
#include "core/matrix/generate.h"
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

template <class T>
int solve_with(const Context& context, const SolveArguments& arguments, const InputMatrix& input, const Rung* rung,
               const PreprocessOptions& preprocess, const SolveRung* solve_rung) {
  const CscMatrix<double>& a = input.a();
  const auto n = static_cast<std::size_t>(input.n());
  std::vector<double> b(n), known;
  if (arguments.right_side.empty()) {
    known = random_vector(input.n(), arguments.seed);
    multiply<double>(a, known, b);
  } else {
    auto read = read_vector(arguments.right_side);
    if (!read.ok()) return fail(context, read.status());
    if (read->size() != n)
      return fail(context,
                  Status::error(StatusCode::invalid_argument,
                                fmt::format("{} values, but {} has {} rows", read->size(), arguments.matrix, n),
                                in_file(arguments.right_side)));
    b = std::move(read).value();
  }

  Progress progress;
  auto solver = make_solver<T>(rung, {.preprocess = preprocess,
                                      .factor = arguments.solver.factor,
                                      .repivot = !arguments.solver.no_repivot,
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
  std::vector<double> x(n, std::numeric_limits<double>::quiet_NaN());
  auto refinement = solver.solve(b, x);
  progress.wipe();
  if (!refinement.ok()) return fail(context, concerning(input.path, refinement.status()));
  double forward_error = std::numeric_limits<double>::quiet_NaN();
  if (!known.empty() || (n == 0 && arguments.right_side.empty())) {
    double error = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      error = std::max(error, std::abs(x[i] - known[i]));
      size = std::max(size, std::abs(known[i]));
    }
    forward_error = n > 0 ? error / size : 0;
  }
  // An x that overflowed is a failed check, and no file can hold it.
  const bool written =
      !arguments.output.empty() && std::ranges::all_of(x, [](double value) { return std::isfinite(value); });
  if (written)
    if (Status status = write_vector<double>(arguments.output, x); !status.ok()) return fail(context, status);

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
    if (written) j["output"] = arguments.output;
    print_json(j);
  } else {
    fmt::print("{}  n = {}, nnz = {}\n", input.name, input.n(), a.nnz());
    fmt::print("  rung            {} ({}, {})\n", rung_name(rung), arguments.solver.precision, device);
    if (!choice.reason.empty()) fmt::print("  chosen          {}\n", to_text(choice));
    if (solve_rung != nullptr) fmt::print("  solves          {}\n", solve_rung->id);
    fmt::print("  right side      {}\n", arguments.right_side.empty()
                                             ? fmt::format("A x for a random x (seed {})", arguments.seed)
                                             : arguments.right_side);
    fmt::print("  backward error  {} (limit {:.1e}), {} refinement steps{}{}\n", short_error(refinement->omega),
               RefinementRule::limit, refinement->iterations, repivots > 0 ? ", re-pivoted" : "",
               perturbed > 0 ? fmt::format(", {} pivots perturbed", perturbed) : "");
    if (!std::isnan(forward_error)) fmt::print("  forward error   {}\n", short_error(forward_error));
    fmt::print("  rcond           {} after scaling\n", short_error(condition->estimate.rcond_scaled));
    if (written) fmt::print("  written         {}\n", arguments.output);
    if (!condition->warning.empty()) fmt::print("  WARNING: {}; x may have no right digit\n", condition->warning);
    if (!good)
      fmt::print("  FAILED: the backward error exceeds its limit; do not use x{}\n",
                 arguments.solver.precision == "f32" ? ", try --precision f64" : "");
  }
  return good ? exit_ok : exit_check_failed;
}

int run_solve(const Context& context, const SolveArguments& arguments) {
  auto rung = named_rung(arguments.solver);
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
                              "lulab solve A.mtx b.mtx -o x.mtx");
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
