// lulab limits A.mtx: lower bounds of the time of one refactorization.

#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/progress.h"
#include "driver/analyze.h"
#include "model/limits.h"

namespace lulab::app {
namespace {

struct LimitsArguments {
  std::string matrix;
  std::string constants;
  SolverArguments solver;
};

int run_limits(const Context& context, const LimitsArguments& arguments) {
  auto preprocess = preprocess_options(arguments.solver);
  if (!preprocess.ok()) return fail(context, preprocess.status());
  DeviceConstants constants;
  if (!arguments.constants.empty()) {
    auto loaded = load_constants(arguments.constants);
    if (!loaded.ok()) return fail(context, loaded.status());
    constants = *loaded;
  } else {
    auto device = simt::device_properties();
    if (!device.ok()) return fail(context, device.status());
    constants = builtin_constants(device->name);
  }
  auto input = load_matrix(arguments.matrix, Needs::square_pattern);
  if (!input.ok()) return fail(context, input.status());
  Progress progress;
  progress.show("analyzing " + input->name);
  auto analysis = analyze(input->a(), *preprocess);
  if (!analysis.ok()) return progress.wipe(), fail(context, concerning(input->path, analysis.status()));
  progress.show("computing the critical path of " + input->name);
  const auto limits = compute_limits(*analysis, arguments.solver.precision == "f32" ? 4 : 8, constants);
  progress.wipe();
  if (context.json) {
    print_json({{"matrix", input->name},
                {"n", input->n()},
                {"nnz", input->a().nnz()},
                {"order", analysis->plan.order},
                {"nnz_lu", analysis->filled.nnz()},
                {"scalar", arguments.solver.precision},
                {"limits", nlohmann::json::parse(lulab::to_json(limits))},
                {"constants", nlohmann::json::parse(lulab::to_json(constants))}});
  } else {
    fmt::print("{}  n = {}, nnz = {}, ordering {}, nnz(L+U) = {}, {}\n{}", input->name, input->n(), input->a().nnz(),
               analysis->plan.order, analysis->filled.nnz(), arguments.solver.precision,
               lulab::to_text(limits, constants));
  }
  return exit_ok;
}

}  // namespace

void add_limits(CLI::App& app, Context& context) {
  auto* command = add_command(app, "limits",
                              "Show lower bounds of the time of one refactorization: arithmetic, memory, critical path",
                              "lulab limits A.mtx --order metis");
  auto arguments = std::make_shared<LimitsArguments>();
  command->add_option("matrix", arguments->matrix, "Matrix Market file, plain or .gz")->required();
  command->add_option("--constants", arguments->constants, "File of device constants written by lulab calibrate");
  command->add_option("--precision", arguments->solver.precision, "f64 or f32")
      ->capture_default_str()
      ->check(CLI::IsMember({"f64", "f32"}));
  add_order_options(*command, arguments->solver);
  add_column_order_option(*command, arguments->solver);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_limits(context, *arguments); }; });
}

}  // namespace lulab::app
