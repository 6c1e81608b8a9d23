// lulab factor A.mtx: computes L and U of one matrix with one rung.

#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/factor_folder.h"
#include "app/input.h"
#include "app/progress.h"
#include "app/table.h"
#include "driver/solver.h"
#include "symbolic/fill.h"
#include "symbolic/levels.h"

namespace lulab::app {
namespace {

struct FactorArguments {
  std::string matrix;
  std::string folder;
  SolverArguments solver;
};

template <class T>
int factor_with(const Context& context, const FactorArguments& arguments, const InputMatrix& input, const Rung* rung,
                const PreprocessOptions& preprocess) {
  Progress progress;
  const CscMatrix<double>& a = input.a();
  auto solver = make_solver<T>(rung, {.preprocess = preprocess,
                                      .factor = arguments.solver.factor,
                                      .repivot = !arguments.solver.no_repivot,
                                      .prepare_at_once = true});
  progress.show("analyzing " + input.name);
  if (Status status = solver.analyze(a); !status.ok())
    return progress.wipe(), fail(context, concerning(input.path, status));
  progress.show(fmt::format("factoring {} with {}", input.name, solver.choice().rung->facts.id));
  if (Status status = solver.factor(a); !status.ok())
    return progress.wipe(), fail(context, concerning(input.path, status));
  const auto downloaded = solver.download_factors();
  if (!downloaded.ok()) return progress.wipe(), fail(context, concerning(input.path, downloaded.status()));
  const Factors<T>& factors = **downloaded;
  progress.show("estimating the condition");
  const auto condition = judge_condition(solver, arguments.solver);
  if (!condition.ok()) return progress.wipe(), fail(context, condition.status());
  if (!arguments.folder.empty()) {
    progress.show("writing " + arguments.folder);
    if (Status status = write_factors(arguments.folder, factors); !status.ok())
      return progress.wipe(), fail(context, status);
  }
  progress.wipe();

  const RungChoice& choice = solver.choice();
  const std::string device = device_of(choice.rung->facts);
  const Statistics& statistics = solver.statistics();
  const double growth = statistics.pivot_growth, flops = factor_flops(factors.filled);
  const auto repivots = statistics.repivots, perturbed = statistics.perturbed_pivots;
  const std::int64_t nnz_lu = factors.filled.nnz();
  const std::int32_t n_levels = levels_left_looking(solver.analysis().filled).n_levels();
  if (context.json) {
    nlohmann::json j = {{"matrix", input.name},
                        {"n", input.n()},
                        {"nnz", a.nnz()},
                        {"rung", rung_name(rung)},
                        {"scalar", arguments.solver.precision},
                        {"device", device},
                        {"order", factors.plan.order},
                        {"nnz_l", factors.filled.nnz_l()},
                        {"nnz_u", factors.filled.nnz_u()},
                        {"flops", flops},
                        {"levels", n_levels},
                        {"growth", growth},
                        {"rcond", condition->estimate.rcond},
                        {"rcond_scaled", condition->estimate.rcond_scaled},
                        {"repivots", repivots},
                        {"perturbed_pivots", perturbed},
                        {"off_diagonal_pivots", factors.statistics.off_diagonal_pivots}};
    add_choice(j, choice);
    if (!condition->warning.empty()) j["warning"] = condition->warning;
    j["time_ms"] = device == "simulator" ? nlohmann::json() : nlohmann::json(solver.numeric_ms());
    if (!arguments.folder.empty()) j["folder"] = arguments.folder;
    print_json(j);
    return exit_ok;
  }
  fmt::print("{}  n = {}, nnz = {}\n", input.name, input.n(), a.nnz());
  fmt::print("  rung       {} ({}, {})\n", rung_name(rung), arguments.solver.precision, device);
  if (!choice.reason.empty()) fmt::print("  chosen     {}\n", to_text(choice));
  fmt::print("  ordering   {}\n", factors.plan.order);
  fmt::print("  nnz(L+U)   {} (fill {:.2f}), {}flops, {} levels\n", nnz_lu,
             a.nnz() > 0 ? static_cast<double>(nnz_lu) / static_cast<double>(a.nnz()) : 1.0, short_count(flops) + " ",
             n_levels);
  fmt::print("  pivots     growth {}, rcond {} ({} after scaling){}{}\n", short_error(growth),
             short_error(condition->estimate.rcond), short_error(condition->estimate.rcond_scaled),
             perturbed > 0 ? fmt::format(", {} perturbed", perturbed) : "",
             repivots > 0 ? ", re-pivoted: the planned pivots were not stable" : "");
  fmt::print("  time       {}\n", time_on(device, solver.numeric_ms()));
  if (!arguments.folder.empty()) fmt::print("  written    {}: L.mtx U.mtx p.mtx q.mtx r.mtx c.mtx\n", arguments.folder);
  if (!condition->warning.empty()) fmt::print("  WARNING: {}\n", condition->warning);
  return exit_ok;
}

int run_factor(const Context& context, const FactorArguments& arguments) {
  auto rung = named_rung(arguments.solver.rung);
  if (!rung.ok()) return fail(context, rung.status());
  auto preprocess = preprocess_options(arguments.solver);
  if (!preprocess.ok()) return fail(context, preprocess.status());
  auto input = load_matrix(arguments.matrix, Needs::square_values);
  if (!input.ok()) return fail(context, input.status());
  return arguments.solver.precision == "f32" ? factor_with<float>(context, arguments, *input, *rung, *preprocess)
                                             : factor_with<double>(context, arguments, *input, *rung, *preprocess);
}

}  // namespace

void add_factor(CLI::App& app, Context& context) {
  auto* command = add_command(app, "factor", "Factor a matrix: L U = P R A C Q",
                              "lulab factor A.mtx --rung klu --order metis -o factors");
  auto arguments = std::make_shared<FactorArguments>();
  command->add_option("matrix", arguments->matrix, "Matrix Market file, plain or .gz")->required();
  command->add_option("-o,--output", arguments->folder, "Folder for L.mtx U.mtx p.mtx q.mtx r.mtx c.mtx");
  add_solver_options(*command, arguments->solver);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_factor(context, *arguments); }; });
}

}  // namespace lulab::app
