// lulab model A.mtx ...: how long the pipeline rung takes, by the performance model, and what the time is made of.

#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/progress.h"
#include "app/report_table.h"
#include "app/table.h"
#include "bench/context.h"
#include "bench/model_check.h"
#include "symbolic/analyze.h"

namespace lulab::app {
namespace {

struct ModelArguments {
  std::vector<std::string> matrices;
  std::string constants;
  std::string rung{bench::modelled_rung};
  SolverArguments solver;
  int warps_per_sm = 32;
  bool measure = false;
};

Result<bench::DeviceConstants> model_constants(const std::string& path) {
  if (!path.empty()) return bench::load_constants(path);
  auto device = simt::device_properties();
  if (!device.ok()) return device.status();
  return bench::builtin_constants(device->name);
}

Result<bench::ModelCheck> check_matrix(const std::string& path, const ModelArguments& arguments, const Rung& rung,
                                       const PreprocessOptions& preprocess, const bench::DeviceConstants& constants) {
  auto input = load_matrix(path, arguments.measure ? Needs::square_values : Needs::square_pattern);
  if (!input.ok()) return input.status();
  bench::Problem problem;
  problem.name = bench::problem_from_file(path).name;
  problem.a = std::move(input->file.matrix);
  problem.preprocess = preprocess;
  Progress progress;
  progress.show("analyzing " + problem.name);
  auto analysis = analyze(problem.a, preprocess);
  if (!analysis.ok()) return analysis.status();
  problem.analysis = std::move(*analysis);
  progress.show("predicting " + problem.name);
  const bool f32 = arguments.solver.precision == "f32";
  bench::ModelCheck check = bench::check_model(problem, constants, f32 ? 4 : 8, arguments.warps_per_sm);
  if (arguments.measure) {
    progress.show("measuring " + problem.name);
    const FactorOptions options = {.warps_per_sm = arguments.warps_per_sm};
    const auto ms = f32 ? bench::measure_refactor<float>(rung, problem, options)
                        : bench::measure_refactor<double>(rung, problem, options);
    if (!ms.ok()) return ms.status();
    check.measured_ms = *ms;
  }
  return check;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

void print_one(const bench::ModelCheck& check, const ModelArguments& arguments,
               const bench::DeviceConstants& constants) {
  fmt::print("{}  n = {}, nnz = {}, ordering {}, nnz(L+U) = {}, {} levels, {}\n", check.matrix, check.n, check.nnz,
             check.order, check.nnz_lu, check.levels, arguments.solver.precision);
  fmt::print("refactorization by {} on {}\n", bench::modelled_rung, constants.device);
  if (check.measured_ms)
    fmt::print("measured {:.4g} ms: the model is {} off, the published one {}\n", *check.measured_ms,
               percent(check.relative_error(check.extended)), percent(check.relative_error(check.published)));
  for (const auto& [model, prediction] : {std::pair{bench::PipelineModel::extended, check.extended},
                                          std::pair{bench::PipelineModel::published, check.published}})
    fmt::print("{} model\n{}", bench::to_string(model), bench::to_text(prediction));
}

void print_table(std::span<const bench::ModelCheck> checks, const bench::DeviceConstants& constants) {
  Table table({{"matrix", Table::Align::left},
               {"n"},
               {"nnz(L+U)"},
               {"levels"},
               {"critical path", Table::Align::left},
               {"case"},
               {"predicted"},
               {"published"},
               {"measured"},
               {"error"}});
  for (const bench::ModelCheck& c : checks)
    table.add({c.matrix, std::to_string(c.n), std::to_string(c.nnz_lu), std::to_string(c.levels),
               fmt::format("{} columns, {} updates, {} hops", c.extended.critical_columns, c.extended.critical_updates,
                           c.extended.critical_hops),
               std::to_string(static_cast<int>(c.extended.most_common)), short_time(c.extended.ms),
               short_time(c.published.ms), c.measured_ms ? short_time(*c.measured_ms) : "-",
               c.measured_ms ? percent(c.relative_error(c.extended)) : "-"});
  fmt::print("{} on {}\n{}", bench::modelled_rung, constants.device, table.to_string());
  const auto mean = bench::mean_relative_error(checks, bench::PipelineModel::extended);
  const auto published = bench::mean_relative_error(checks, bench::PipelineModel::published);
  if (mean) fmt::print("mean relative error {}, of the published model {}\n", percent(*mean), percent(*published));
}

int run_model(const Context& context, const ModelArguments& arguments) {
  auto rung = find_rung(all_rungs(), arguments.rung);
  if (!rung.ok()) return fail(context, rung.status());
  if ((*rung)->facts.id != bench::modelled_rung)
    return fail(context, Status::error(StatusCode::invalid_argument,
                                       fmt::format("there is no performance model of {}, only of {}", (*rung)->facts.id,
                                                   bench::modelled_rung)));
  if (arguments.measure && simt::machine() == simt::Machine::simulator)
    return fail(context, Status::error(StatusCode::not_implemented,
                                       "the simulator measures no time: leave --measure out, or build for a GPU"));
  auto preprocess = preprocess_options(arguments.solver);
  if (!preprocess.ok()) return fail(context, preprocess.status());
  const auto constants = model_constants(arguments.constants);
  if (!constants.ok()) return fail(context, constants.status());

  std::vector<bench::ModelCheck> checks;
  std::vector<Status> errors;
  int code = exit_ok;
  for (const std::string& path : arguments.matrices) {
    auto check = check_matrix(path, arguments, **rung, *preprocess, *constants);
    if (check.ok()) {
      checks.push_back(std::move(*check));
    } else {
      if (arguments.matrices.size() == 1) return fail(context, check.status());
      errors.push_back(check.status());
      code = worse(code, exit_code(check.status()));
    }
  }
  if (context.json) {
    nlohmann::json list = nlohmann::json::array(), failed = nlohmann::json::array();
    for (const bench::ModelCheck& check : checks) list.emplace_back(bench::to_json(check));
    for (const Status& error : errors) failed.push_back(to_json(error));
    nlohmann::json json = {{"context", bench::run_context(*constants)},
                           {"rung", bench::modelled_rung},
                           {"scalar", arguments.solver.precision},
                           {"warps_per_sm", arguments.warps_per_sm},
                           {"matrices", list},
                           {"errors", failed}};
    for (const auto model : {bench::PipelineModel::extended, bench::PipelineModel::published})
      if (const auto mean = bench::mean_relative_error(checks, model))
        json["mean_relative_error"][std::string(bench::to_string(model))] = *mean;
    print_json(json);
  } else if (arguments.matrices.size() == 1) {
    print_one(checks.front(), arguments, *constants);
  } else {
    print_table(checks, *constants);
  }
  std::fflush(stdout);
  for (const Status& error : errors) fail(Context{}, error);
  return code;
}

}  // namespace

void add_model(CLI::App& app, Context& context) {
  auto* command = add_command(app, "model", "Predict the time of a refactorization, its case and its critical path",
                              "lulab model A.mtx --order metis");
  auto arguments = std::make_shared<ModelArguments>();
  command->add_option("matrices", arguments->matrices, "Matrix Market files, plain or .gz")->required();
  command->add_option("--rung", arguments->rung, "The rung whose time is predicted")->capture_default_str();
  command->add_option("--warps", arguments->warps_per_sm, "Warps resident on one multiprocessor")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command->add_flag("--measure", arguments->measure, "Run the rung too and say how far off the model is (GPU)");
  command->add_option("--constants", arguments->constants, "Device constants that lulab calibrate wrote");
  command->add_option("--precision", arguments->solver.precision, "f64 or f32")
      ->capture_default_str()
      ->check(CLI::IsMember({"f64", "f32"}));
  add_order_options(*command, arguments->solver);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_model(context, *arguments); }; });
}

}  // namespace lulab::app
