// lulab verify A.mtx...: every rung on every matrix, judged by every check.

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/progress.h"
#include "app/report_table.h"
#include "verify/verify.h"

namespace lulab::app {
namespace {

struct VerifyArguments {
  std::vector<std::string> matrices;
  std::vector<std::string> rungs;
  SolverArguments solver;
  std::int32_t max_simulator_n = VerifyOptions{}.max_simulator_n;
  std::int32_t max_dense_n = VerifyOptions{}.max_dense_n;
};

int run_verify(const Context& context, const VerifyArguments& arguments) {
  VerifyOptions options;
  for (const std::string& id : arguments.rungs) {
    auto rung = find_rung(every_rung(), id);
    if (!rung.ok()) return fail(context, rung.status());
    options.rungs.push_back(*rung);
  }
  auto preprocess = preprocess_options(arguments.solver);
  if (!preprocess.ok()) return fail(context, preprocess.status());
  options.preprocess = *preprocess;
  options.repivot = !arguments.solver.no_repivot;
  options.max_simulator_n = arguments.max_simulator_n;
  options.max_dense_n = arguments.max_dense_n;
  options.precision = arguments.solver.precision == "both"  ? Precision::both
                      : arguments.solver.precision == "f32" ? Precision::f32
                                                            : Precision::f64;
  int code = exit_ok;
  for (const std::string& path : arguments.matrices) {
    auto input = load_matrix(path, Needs::square_values);
    if (!input.ok()) {
      code = worse(code, fail(context, input.status()));
      continue;
    }
    MatrixReport report;
    {
      Progress progress;
      report = verify_matrix(input->name, input->a(), options, [&](std::string_view id, int index, int count) {
        progress.show(fmt::format("{}: {} ({} of {})", input->name, id, index + 1, count));
      });
    }
    if (context.json)
      fmt::print("{}\n", lulab::to_json(report).dump());
    else
      fmt::print("{}\n", to_text(report));
    std::fflush(stdout);
    if (!report.status.ok()) fail(Context{}, report.status);
    code = worse(code, exit_code(report));
  }
  return code;
}

}  // namespace

void add_verify(CLI::App& app, Context& context) {
  auto* command =
      add_command(app, "verify", "Judge every rung on each matrix; with --json one line with one object a matrix",
                  "lulab verify A.mtx B.mtx.gz --rung 01_warp_per_column --json");
  auto arguments = std::make_shared<VerifyArguments>();
  command->add_option("matrices", arguments->matrices, "Matrix Market files, plain or .gz")->required();
  command->add_option("--rung", arguments->rungs, "Only this rung, by id or unique part of it; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--precision", arguments->solver.precision, "f64, f32 or both")
      ->capture_default_str()
      ->check(CLI::IsMember({"f64", "f32", "both"}));
  command
      ->add_option("--max-simulator-n", arguments->max_simulator_n, "Larger matrices skip GPU rungs in the simulator")
      ->capture_default_str();
  command->add_option("--max-dense-n", arguments->max_dense_n, "Larger matrices skip rungs that work on a dense copy")
      ->capture_default_str();
  command->add_flag("--no-repivot", arguments->solver.no_repivot,
                    "Report unstable fixed pivots instead of choosing new ones");
  add_order_options(*command, arguments->solver);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_verify(context, *arguments); }; });
}

}  // namespace lulab::app
