// lulab verify A.mtx...: runs every rung on every matrix and applies every check.

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/progress.h"
#include "app/report_table.h"
#include "app/shrunk.h"
#include "driver/analyze.h"
#include "driver/solver.h"
#include "verify/verify.h"

namespace lulab::app {
namespace {

struct VerifyArguments {
  std::vector<std::string> matrices;
  std::vector<std::string> rungs;
  SolverArguments solver;
  std::int32_t max_simulator_n = VerifyOptions{}.max_simulator_n;
  std::int32_t max_dense_n = VerifyOptions{}.max_dense_n;
  bool shrink = false;
  double shrink_seconds = ShrinkOptions{}.seconds;
};

/// The choice for this matrix, in the places where auto was named.
Result<RungChoice> resolve_auto(const std::vector<const Rung*>& named, const CscView<double>& a,
                                VerifyOptions& options) {
  if (std::ranges::find(named, nullptr) == named.end()) return RungChoice{};
  LULAB_ASSIGN_OR_RETURN(const auto analysis, analyze(a, options.preprocess));
  RungChoice choice = choose_rung(analysis.filled, options.pivots.factor);
  options.rungs = named;
  std::ranges::replace(options.rungs, nullptr, choice.rung);
  return choice;
}

/// Its rows are called auto and say what was chosen.
void name_auto(const std::vector<const Rung*>& named, const RungChoice& choice, MatrixReport& report) {
  if (named.empty() || report.rungs.empty()) return;
  const std::size_t of_rung = report.rungs.size() / named.size();  // one for each precision
  for (std::size_t k = 0; k < report.rungs.size(); ++k) {
    if (named[k / of_rung] != nullptr) continue;
    report.rungs[k].id = "auto";
    report.rungs[k].chosen_rung = choice.rung->facts.id;
    report.rungs[k].choice_reason = choice.reason;
  }
}

/// Right factors of a singular matrix say nothing of x: such rungs are `singular`, as `solve` would answer.
void find_singular(const CscView<double>& a, const VerifyOptions& options, MatrixReport& report) {
  // Float factors see a singular matrix with an rcond of about 1e-8; the solver below has the last word.
  const auto suspect = [](const RungReport& rung) {
    return rung.verdict == Verdict::ok && !(rung.checks.rcond_scaled.value_or(0) >= 2000 * rung.checks.eps);
  };
  if (std::ranges::none_of(report.rungs, suspect)) return;
  Solver<double> solver({.preprocess = options.preprocess});
  Status singular = solver.analyze(a);
  if (singular.ok()) singular = solver.factor(a);
  if (singular.ok()) singular = judge_condition(solver, SolverArguments{}).status();
  if (singular.code != StatusCode::numerically_singular) return;
  for (RungReport& rung : report.rungs) {
    if (rung.verdict != Verdict::ok) continue;
    rung.verdict = Verdict::singular;
    rung.status = singular;
    rung.message = singular.message;
  }
}

int run_verify(const Context& context, const VerifyArguments& arguments) {
  VerifyOptions options;
  for (const std::string& id : arguments.rungs) {
    auto rung = named_rung(id);
    if (!rung.ok()) return fail(context, rung.status());
    options.rungs.push_back(*rung);
  }
  const std::vector<const Rung*> named = options.rungs;  // nullptr: auto
  auto preprocess = preprocess_options(arguments.solver);
  if (!preprocess.ok()) return fail(context, preprocess.status());
  options.preprocess = *preprocess;
  options.pivots.repivot = !arguments.solver.no_repivot;
  options.max_simulator_n = arguments.max_simulator_n;
  options.max_dense_n = arguments.max_dense_n;
  options.precision = arguments.solver.precision == "both"  ? Precision::both
                      : arguments.solver.precision == "f32" ? Precision::f32
                                                            : Precision::f64;
  int code = exit_ok;
  for (const std::string& path : arguments.matrices) {
    auto input = load_matrix(path, Needs::square_values);
    const auto choice = input.ok() ? resolve_auto(named, input->a(), options) : input.status();
    MatrixReport report;
    std::optional<Result<ShrunkFile>> shrunk;
    report.matrix = matrix_name(path);
    report.status = choice.status();
    if (choice.ok()) {
      Progress progress;
      report = verify_matrix(report.matrix, input->a(), options, [&](std::string_view id, int index, int count) {
        progress.show(fmt::format("{}: {} ({} of {})", input->name, id, index + 1, count));
      });
      find_singular(input->a(), options, report);
      if (arguments.shrink && first_failure(report))
        shrunk = write_shrunk(input->a(), report, options, arguments.shrink_seconds);
      name_auto(named, *choice, report);
    }
    if (!report.status.ok()) report.status = concerning(path, report.status);
    const bool found = shrunk && shrunk->ok();
    const nlohmann::json json = found ? nlohmann::json{{"shrunk", to_json(**shrunk)}} : nlohmann::json::object();
    code = worse(code, show(context, report, &json));
    if (shrunk && !found) code = worse(code, fail(context, shrunk->status()));
    if (found && !context.json) fmt::print("{}", to_text(**shrunk));
  }
  return code;
}

}  // namespace

void add_verify(CLI::App& app, Context& context) {
  auto* command = add_command(app, "verify",
                              "Run and check every rung on each matrix; --json prints one object per line and matrix",
                              "lulab verify A.mtx B.mtx.gz --rung 01_warp_per_column --json");
  auto arguments = std::make_shared<VerifyArguments>();
  command->add_option("matrices", arguments->matrices, "Matrix Market files, plain or .gz")->required();
  command
      ->add_option("--rung", arguments->rungs, "Only this rung, by id or unique part of it, or auto; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--precision", arguments->solver.precision, "f64, f32 or both")
      ->capture_default_str()
      ->check(CLI::IsMember({"f64", "f32", "both"}));
  add_integer(*command, "--max-simulator-n", arguments->max_simulator_n,
              "In the simulator, skip GPU rungs for larger matrices", 0);
  add_integer(*command, "--max-dense-n", arguments->max_dense_n, "Skip dense rungs for larger matrices", 0);
  command->add_flag("--no-repivot", arguments->solver.no_repivot,
                    "Report unstable fixed pivots as needs_repivot instead of choosing new ones");
  add_order_options(*command, arguments->solver);
  command->add_flag("--shrink", arguments->shrink,
                    "Of the first failure write the smallest matrix that still fails, and print the command that shows "
                    "it");
  add_real(*command, "--shrink-seconds", arguments->shrink_seconds, "How long it may look for it");
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_verify(context, *arguments); }; });
}

}  // namespace lulab::app
