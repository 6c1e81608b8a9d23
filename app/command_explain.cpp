// lulab explain: an algorithm step by step on a small matrix, from its run in the simulator.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/explain.h"
#include "app/explain_text.h"
#include "app/input.h"
#include "core/output_file.h"
#include "driver/analyze.h"

namespace lulab::app {
namespace {

struct ExplainArguments {
  std::string matrix;
  std::string html;
  std::int32_t step = 0;  // 0: all of them
  std::uint64_t seed = 1;
  std::int32_t resident = 0;
  ExplainOptions options;
  SolverArguments solver;
};

nlohmann::json explained_json(const std::vector<std::int64_t>& positions, const FilledPattern& f) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::int64_t p : positions) {
    const auto after = std::ranges::upper_bound(f.col_ptr, p);
    list.push_back({f.row_idx[p] + 1, after - f.col_ptr.begin()});
  }
  return list;
}

nlohmann::json explained_json(const ExplainStep& step, const FilledPattern& f) {
  nlohmann::json j = {{"kind", to_string(step.kind)}, {"text", step.text}};
  if (!step.worker.empty()) j["worker"] = step.worker;
  if (step.column >= 0) j["column"] = step.column + 1;
  if (!step.details.empty()) j["details"] = step.details;
  if (!step.read.empty()) j["read"] = explained_json(step.read, f);
  if (!step.written.empty()) j["written"] = explained_json(step.written, f);
  if (step.waits_for >= 0) j["waits_for"] = step.waits_for + 1;
  for (const std::int32_t column : step.finished) j["finished"].push_back(column + 1);
  return j;
}

int run_explain(const Context& context, const ExplainArguments& arguments) {
  auto preprocess = preprocess_options(arguments.solver);
  if (!preprocess.ok()) return fail(context, preprocess.status());
  auto input = load_matrix(arguments.matrix, Needs::square_values);
  if (!input.ok()) return fail(context, input.status());
  const CscMatrix<double>& a = input->a();
  const auto refuse = [&](StatusCode code, std::string why) {
    return fail(context, Status::error(code, std::move(why), in_file(input->path)));
  };
  if (a.n_cols > max_explained_n)
    return refuse(StatusCode::invalid_argument,
                  fmt::format("{} columns; at most {} can be explained", a.n_cols, max_explained_n));
  const auto analysis = analyze(a, *preprocess);
  if (!analysis.ok()) return fail(context, concerning(input->path, analysis.status()));
  ExplainOptions options = arguments.options;
  options.with_events = context.json;
  const auto explained = explain(*analysis, a.values, options);
  if (!explained.ok())
    return fail(context, explained.status(),
                explained.status().code == StatusCode::not_implemented ? "set LULAB_PRESET=sim" : "");
  const Explanation& e = *explained;
  const auto steps = static_cast<std::int32_t>(e.steps.size());
  if (arguments.step > steps)
    return refuse(StatusCode::invalid_argument,
                  fmt::format("there is no step {}; there are {}", arguments.step, steps));

  if (!arguments.html.empty()) {
    OutputFile file(arguments.html);
    file.add(explanation_as_page(e, analysis->filled, input->name));
    if (const Status written = file.close(); !written.ok()) return fail(context, written);
  }
  if (context.json) {
    nlohmann::json json = {{"matrix", input->name},
                           {"n", a.n_cols},
                           {"order", analysis->plan.order},
                           {"algorithm", e.algorithm},
                           {"seed", e.seed},
                           {"resident", e.resident},
                           {"status", to_json(e.outcome)},
                           {"steps", nlohmann::json::array()},
                           {"events", e.events}};
    for (const ExplainStep& step : e.steps) json["steps"].push_back(explained_json(step, analysis->filled));
    print_json(json);
    return exit_code(e.outcome);
  }
  fmt::print("{}  {} x {}, {} entries, ordering {}; {}, seed {}{}\n", input->name, a.n_rows, a.n_cols, a.nnz(),
             analysis->plan.order, e.algorithm, e.seed, e.resident > 0 ? fmt::format(", {} resident", e.resident) : "");
  fmt::print("{}", arguments.step > 0 ? step_as_text(e, analysis->filled, static_cast<std::size_t>(arguments.step))
                                      : steps_as_text(e));
  if (e.outcome.ok()) return exit_ok;
  (void)std::fflush(stdout);  // before what goes to stderr; finish() says where it cannot be written
  if (e.outcome.code == StatusCode::data_race)
    return fail(context, e.outcome, "the step 'race' names both accesses; other seeds run other schedules: --seed 2");
  if (e.outcome.code == StatusCode::deadlock)
    return fail(context, Status::error(e.outcome.code, "blocks wait for columns of blocks that cannot start"),
                "the step 'deadlock' names the columns that wait, and for which; --resident 0 lets all blocks run");
  return fail(context, concerning(input->path, e.outcome),
              e.outcome.code == StatusCode::needs_repivot
                  ? "what can be explained keeps its pivots on the diagonal: leave --no-matching out, or change --order"
                  : "");
}

}  // namespace

void add_explain(CLI::App& app, Context& context) {
  auto* command = add_command(app, "explain", "Replay an algorithm step by step on a small matrix, in the simulator",
                              "lulab explain A.mtx --algo 01_sflu --html sflu.html");
  auto arguments = std::make_shared<ExplainArguments>();
  arguments->solver.order = "natural";
  command->add_option("matrix", arguments->matrix, "Matrix Market file, plain or .gz")->required();
  std::string algorithms;
  for (const Explainable& e : explainables()) algorithms += fmt::format("\n  {}: {}", e.name, e.says);
  arguments->options.algorithm = "sparse_syncfree/01_sflu";
  command
      ->add_option("--algo", arguments->options.algorithm, "Name, or a part that only one of these has:" + algorithms)
      ->capture_default_str();
  const auto* seed = add_integer(*command, "--seed", arguments->seed,
                                 "Order in which the simulator runs blocks, warps and lanes; LULAB_SIM_SEED without it",
                                 std::uint64_t{0});
  const auto* resident = add_integer(
      *command, "--resident", arguments->resident,
      "At most so many blocks run at once; 0: as many as the device holds; LULAB_SIM_RESIDENT without it", 0, 1 << 20);
  add_integer(*command, "--step", arguments->step, "Draw L + U after this step, from 1; 0: list all", 0, 1 << 30);
  command->add_option("--html", arguments->html, "Also write all steps to this file, as a page for a browser");
  add_order_options(*command, arguments->solver);
  add_column_order_option(*command, arguments->solver);
  command->callback([&context, arguments, seed, resident] {
    if (seed->count() > 0) arguments->options.seed = arguments->seed;
    if (resident->count() > 0) arguments->options.resident = arguments->resident;
    context.run = [&context, arguments] { return run_explain(context, *arguments); };
  });
}

}  // namespace lulab::app
