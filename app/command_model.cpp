// lulab model A.mtx ...: time of the pipeline rung as predicted by the performance model, and its parts.

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
#include "driver/analyze.h"

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

Result<DeviceConstants> model_constants(const std::string& path) {
  if (!path.empty()) return load_constants(path);
  LULAB_ASSIGN_OR_RETURN(auto device, simt::device_properties());
  return builtin_constants(device.name);
}

Result<bench::ModelCheck> check_matrix(const std::string& path, const ModelArguments& arguments, const Rung& rung,
                                       const PreprocessOptions& preprocess, const DeviceConstants& constants) {
  LULAB_ASSIGN_OR_RETURN(auto input,
                         load_matrix(path, arguments.measure ? Needs::square_values : Needs::square_pattern));
  bench::Problem problem;
  problem.name = bench::problem_from_file(path).name;
  problem.a = std::move(input.file.matrix);
  problem.preprocess = preprocess;
  Progress progress;
  progress.show("analyzing " + problem.name);
  LULAB_ASSIGN_OR_RETURN(problem.analysis, analyze(problem.a, preprocess));
  progress.show("predicting " + problem.name);
  const bool f32 = arguments.solver.precision == "f32";
  bench::ModelCheck check = bench::check_model(problem, constants, f32 ? 4 : 8, arguments.warps_per_sm);
  if (arguments.measure) {
    progress.show("measuring " + problem.name);
    const FactorOptions options = {.of_rung = {{"warps_per_sm", arguments.warps_per_sm}}};
    LULAB_ASSIGN_OR_RETURN(check.measured_ms, f32 ? bench::measure_refactor<float>(rung, problem, options)
                                                  : bench::measure_refactor<double>(rung, problem, options));
  }
  return check;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

void print_one(const bench::ModelCheck& check, const ModelArguments& arguments, const DeviceConstants& constants) {
  fmt::print("{}  n = {}, nnz = {}, ordering {}, nnz(L+U) = {}, {} levels, {}\n", check.matrix, check.n, check.nnz,
             check.order, check.nnz_lu, check.levels, arguments.solver.precision);
  fmt::print("refactorization by {} on {}\n", bench::modelled_rung, constants.device);
  if (check.measured_ms)
    fmt::print("measured {:.4g} ms: error of the model {}, of the published model {}\n", *check.measured_ms,
               percent(check.relative_error(check.extended)), percent(check.relative_error(check.published)));
  for (const auto& [model, prediction] :
       {std::pair{PipelineModel::extended, check.extended}, std::pair{PipelineModel::published, check.published}})
    fmt::print("{} model\n{}", to_string(model), lulab::to_text(prediction));
}

void print_table(std::span<const bench::ModelCheck> checks, const DeviceConstants& constants) {
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
  const auto mean = bench::mean_relative_error(checks, PipelineModel::extended);
  const auto published = bench::mean_relative_error(checks, PipelineModel::published);
  if (mean) fmt::print("mean relative error {}, of the published model {}\n", percent(*mean), percent(*published));
}

int run_model(const Context& context, const ModelArguments& arguments) {
  auto rung = named_rung(arguments.rung);
  if (!rung.ok()) return fail(context, rung.status());
  if (*rung == nullptr || (*rung)->facts.id != bench::modelled_rung)
    return fail(context, Status::error(StatusCode::invalid_argument,
                                       fmt::format("there is no performance model of {}; choose --rung {}",
                                                   rung_name(*rung), bench::modelled_rung)));
  if (arguments.measure && simt::machine() == simt::Machine::simulator)
    return fail(context, Status::error(StatusCode::not_implemented,
                                       "the simulator does not measure time: drop --measure, or build for a GPU"));
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
      errors.push_back(concerning(path, check.status()));
      if (arguments.matrices.size() == 1) return fail(context, errors.back());
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
    for (const auto model : {PipelineModel::extended, PipelineModel::published})
      if (const auto mean = bench::mean_relative_error(checks, model))
        json["mean_relative_error"][std::string(to_string(model))] = *mean;
    print_json(json);
  } else if (arguments.matrices.size() == 1) {
    print_one(checks.front(), arguments, *constants);
  } else {
    print_table(checks, *constants);
  }
  std::fflush(stdout);
  for (const Status& error : errors)
    if (!context.json) fail(context, error);
  return code;
}

}  // namespace

void add_model(CLI::App& app, Context& context) {
  auto* command = add_command(app, "model", "Predict the time of a refactorization by Chen et al.'s performance model",
                              "lulab model A.mtx --order metis");
  auto arguments = std::make_shared<ModelArguments>();
  command->add_option("matrices", arguments->matrices, "Matrix Market files, plain or .gz")->required();
  command->add_option("--rung", arguments->rung, "Rung whose time is predicted")->capture_default_str();
  add_integer(*command, "--warps", arguments->warps_per_sm, "Warps resident on one multiprocessor", 1, 64);
  command->add_flag("--measure", arguments->measure, "Also run the rung and show the error of the model (GPU builds)");
  command->add_option("--constants", arguments->constants, "File of device constants written by lulab calibrate");
  command->add_option("--precision", arguments->solver.precision, "f64 or f32")
      ->capture_default_str()
      ->check(CLI::IsMember({"f64", "f32"}));
  add_order_options(*command, arguments->solver);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_model(context, *arguments); }; });
}

}  // namespace lulab::app
