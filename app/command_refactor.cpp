// lulab refactor: analyzes and factors once, then refactors with new values, as a circuit simulator does.

#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/over_ranks.h"
#include "app/progress.h"
#include "app/refactor_report.h"
#include "app/report_table.h"
#include "app/sequence.h"
#include "core/timing.h"

namespace lulab::app {
namespace {

struct RefactorArguments {
  std::vector<std::string> matrices;
  std::string sweep, shifts;
  std::string first = "rung";
  bool download_factors = false;
  SolverArguments solver;
};

Result<Sequence> sequence_of(const RefactorArguments& arguments) {
  if (arguments.sweep.empty()) return Sequence::of_paths(arguments.matrices);
  LULAB_ASSIGN_OR_RETURN(auto shifts, parse_shifts(arguments.shifts));
  if (arguments.matrices.size() != 1)
    return Status::error(StatusCode::invalid_argument,
                         "--sweep forms A - s E from one matrix A, but several were given; name one");
  return Sequence::sweep(arguments.matrices[0], arguments.sweep, std::move(shifts));
}

template <class T>
void solve_and_judge(const Solver<T>& solver, const SequenceStep& step, StepReport& report) {
  std::vector<double> x(step.right_side.b.size(), std::numeric_limits<double>::quiet_NaN());
  const auto start = Clock::now();
  const auto solved = solver.solve(step.right_side.b, x);
  report.solve_ms = ms_since(start);
  report.status = solved.status();
  if (!solved.ok()) return;
  report.backward_error = solved->omega;
  report.accurate = solved->converged;
}

/// stopped: why the sequence ends early; else ok.   Returns the code.
int print_report(const Context& context, const RefactorReport& report, const nlohmann::json& facts,
                 const std::string& title, const Status& stopped, int code) {
  if (context.json) {
    nlohmann::json j = to_json(report);
    j.update(facts);
    j["device"] = report.device;
    if (!stopped.ok()) j["stopped"] = to_json(stopped);
    print_json(j);
  } else {
    fmt::print("{}{}", title, to_text(report));
  }
  std::fflush(stdout);
  if (context.json) return code;  // the object holds the errors
  for (const StepReport& line : report.steps)
    if (!line.status.ok()) fail(context, concerning(line.name, line.status));
  if (!stopped.ok()) fail(context, stopped);
  return code;
}

template <class T>
int refactor_with(const Context& context, const RefactorArguments& arguments, const Rung* rung,
                  const SolverOptions& options, Sequence& sequence) {
  RefactorReport report;
  report.device = rung != nullptr ? device_of(rung->facts) : "cpu";  // until one is chosen
  auto solver = make_solver<T>(rung, options);
  bool analyzed = false, factored = false;
  int code = exit_ok;
  Status stopped;
  for (std::size_t k = 0; k < sequence.size(); ++k) {
    const auto step = sequence.load(k);
    if (!step.ok()) {
      if (k == 0) return fail(context, step.status());
      stopped = step.status();  // the finished steps are still reported
      code = worse(code, exit_code(stopped));
      break;
    }
    Progress progress;
    progress.show(fmt::format("{} ({} of {})", step->name, k + 1, sequence.size()));
    StepReport line;
    line.name = step->name;
    line.right_side = step->right_side.file;
    line.shift = step->shift;
    if (!analyzed) {
      line.status = solver.analyze(step->a);
      analyzed = line.status.ok();
      if (!analyzed && exit_code(line.status) != exit_singular)
        return progress.wipe(), fail(context, concerning(line.name, line.status));
    }
    if (analyzed) {
      // After an error there are no factors to refactor: the next matrix is factored with new pivots.
      line.refactored = factored;
      line.status = factored ? solver.refactor(step->a) : solver.factor(step->a);
      factored = line.status.ok();
    }
    if (factored && !line.refactored) {
      progress.show("estimating the condition of " + step->name);
      const auto condition = judge_condition(solver, arguments.solver);
      line.status = condition.status();
      factored = condition.ok();
      if (factored) {
        line.rcond_scaled = condition->estimate.rcond_scaled;
        line.warning = condition->warning;
      }
    }
    if (factored) {
      const Rung& working = *solver.choice().rung;
      report.device = device_of(working.facts);
      report.downloads = working.facts.device == Device::gpu && arguments.download_factors;
      if (report.downloads) line.status = solver.download_factors().status();
      line.times = solver.times();
      if (line.status.ok()) solve_and_judge(solver, *step, line);
      // After the solve: before it, statistics cost a probe solve and on the host a pass over the factors.
      line.growth = solver.statistics().pivot_growth;
      line.repivots = solver.statistics().repivots;
      line.perturbed_pivots = solver.statistics().perturbed_pivots;
    }
    progress.wipe();
    code = worse(code, !line.status.ok() ? exit_code(line.status) : line.accurate ? exit_ok : exit_check_failed);
    report.steps.push_back(std::move(line));
  }
  nlohmann::json facts = {
      {"rung", rung_name(rung)}, {"first", to_string(options.first)}, {"scalar", arguments.solver.precision}};
  add_choice(facts, solver.choice());
  std::string title = fmt::format("{} ({}, {})\n", rung_name(rung), arguments.solver.precision, report.device);
  if (!solver.choice().reason.empty()) title += fmt::format("chosen: {}\n", to_text(solver.choice()));
  return print_report(context, report, facts, title, stopped, code);
}

/// Factors or refactors, solves and judges one system.
void step_over_ranks(OverRanks& over, const SequenceStep& step, const SolverArguments& arguments, StepReport& line) {
  const auto factored = line.refactored ? over.solver.refactor(step.a) : over.solver.factor(step.a);
  line.status = factored.status();
  if (!factored.ok()) return;
  (line.refactored ? line.times.upload : line.times.pivots) += factored->analysis_ms;
  line.times.refactor += factored->numeric_ms;
  if (!line.refactored) {
    const auto condition = judge_condition(over.solver, arguments);
    line.status = condition.status();
    if (!condition.ok()) return;
    line.rcond_scaled = condition->estimate.rcond_scaled;
    line.rcond_is_bound = true;
    line.warning = condition->warning;
  }
  std::vector<double> x(step.right_side.b.size(), std::numeric_limits<double>::quiet_NaN());
  const auto start = Clock::now();
  const Refinement refinement = over.solver.solve(step.a, step.right_side.b, x);
  line.solve_ms += ms_since(start);
  line.backward_error = refinement.omega;
  line.accurate = refinement.converged;
}

/// As refactor_with(), by the rung over ranks: pivots that do not suit new values are chosen anew.
int refactor_over_ranks(const Context& context, const RefactorArguments& arguments, OverRanks& over) {
  auto sequence = sequence_of(arguments);
  if (!sequence.ok()) return fail(context, sequence.status());
  RefactorReport report;
  report.device = "cpu";
  bool factored = false;
  int code = exit_ok;
  Status stopped;
  for (std::size_t k = 0; k < sequence->size(); ++k) {
    const auto step = sequence->load(k);
    if (!step.ok()) {
      if (k == 0) return fail(context, step.status());
      stopped = step.status();  // the finished steps are still reported
      code = worse(code, exit_code(stopped));
      break;
    }
    Progress progress;
    progress.show(fmt::format("{} ({} of {})", step->name, k + 1, sequence->size()));
    StepReport line;
    line.name = step->name;
    line.right_side = step->right_side.file;
    line.shift = step->shift;
    line.growth = std::numeric_limits<double>::quiet_NaN();
    line.refactored = factored;
    step_over_ranks(over, *step, arguments.solver, line);
    if (factored && !(line.status.ok() && line.accurate) && !arguments.solver.no_repivot) {
      line.refactored = false;
      line.repivots = 1;
      step_over_ranks(over, *step, arguments.solver, line);
      line.refactored = true;
    }
    factored = line.status.ok();
    progress.wipe();
    code = worse(code, !factored ? exit_code(line.status) : line.accurate ? exit_ok : exit_check_failed);
    report.steps.push_back(std::move(line));
  }
  const std::string id(distributed_rung().facts.id);
  return print_report(context, report, {{"rung", id}, {"scalar", "f64"}, {"ranks", over.ranks}},
                      fmt::format("{} (f64, cpu, {} rank{})\n", id, over.ranks, over.ranks == 1 ? "" : "s"), stopped,
                      code);
}

int run_refactor(const Context& context, const RefactorArguments& arguments) {
  if (names_distributed_rung(arguments.solver.rung)) {
    Status refused;
    if (arguments.first != "rung" || arguments.download_factors)
      refused = Status::error(StatusCode::invalid_argument,
                              fmt::format("{} takes neither --first nor --download-factors: its pivots are those of "
                                          "the matching, and its factors stay with the ranks",
                                          distributed_rung().facts.id));
    return run_over_ranks(context, arguments.solver, refused,
                          [&](OverRanks& over) { return refactor_over_ranks(context, arguments, over); });
  }
  auto rung = named_rung(arguments.solver.rung);
  if (!rung.ok()) return fail(context, rung.status());
  auto preprocess = preprocess_options(arguments.solver);
  if (!preprocess.ok()) return fail(context, preprocess.status());
  const auto first = parse_first_factorization(arguments.first);
  if (!first.ok()) return fail(context, first.status());
  auto sequence = sequence_of(arguments);
  if (!sequence.ok()) return fail(context, sequence.status());
  const SolverOptions options = {.preprocess = *preprocess,
                                 .factor = arguments.solver.factor,
                                 .repivot = !arguments.solver.no_repivot,
                                 .first = *first};
  return arguments.solver.precision == "f32" ? refactor_with<float>(context, arguments, *rung, options, *sequence)
                                             : refactor_with<double>(context, arguments, *rung, options, *sequence);
}

}  // namespace

void add_refactor(CLI::App& app, Context& context) {
  auto* command =
      add_command(app, "refactor", "Analyze and factor the first matrix, then refactor with the values of the others",
                  "lulab refactor A_00.mtx A_01.mtx --rung klu;  lulab refactor FOLDER --first klu;  "
                  "lulab refactor A.mtx --sweep E.mtx --shifts 0:1:10");
  auto arguments = std::make_shared<RefactorArguments>();
  command->add_option("matrices", arguments->matrices, "Matrix Market files of one pattern, or folders of them")
      ->required();
  auto* sweep = command->add_option("--sweep", arguments->sweep, "File of E: refactor A - s E for every s of --shifts");
  auto* shifts =
      command->add_option("--shifts", arguments->shifts, "Values of s: a list 0,0.5,1e3 or a range first:step:last");
  sweep->needs(shifts);
  shifts->needs(sweep);
  command
      ->add_option(
          "--first", arguments->first,
          "Pivots of the first factorization: by value with reference or klu (on the CPU), or those of the rung (rung)")
      ->capture_default_str();
  command->add_flag("--download-factors", arguments->download_factors,
                    "GPU rungs: download L and U in every step and count it in the time of the step");
  add_solver_options(*command, arguments->solver);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_refactor(context, *arguments); }; });
}

}  // namespace lulab::app
