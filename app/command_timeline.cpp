// lulab timeline A.mtx: when each block of a sync-free factorization took its column, waited, and for which column.

#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/progress.h"
#include "app/table.h"
#include "bench/context.h"
#include "bench/timeline.h"
#include "driver/analyze.h"

namespace lulab::app {
namespace {

struct TimelineArguments {
  std::string matrix;
  SolverArguments solver;
};

constexpr std::size_t most_lines = 20;

/// The longest waits of columns, longest first.
std::string longest_waits(const bench::Timeline& timeline) {
  struct Waiting {
    std::size_t column;
    bench::ColumnWait wait;
    std::int64_t length() const { return wait.end - wait.begin; }
  };
  std::vector<Waiting> all;
  for (std::size_t k = 0; k < timeline.columns.size(); ++k)
    for (const bench::ColumnWait& wait : timeline.columns[k].waits) all.push_back({k, wait});
  std::ranges::stable_sort(all, std::ranges::greater{}, &Waiting::length);
  all.resize(std::min(all.size(), most_lines));
  Table table({{"column"}, {"waits for"}, {"from"}, {"to"}, {"length"}});
  for (const Waiting& w : all)
    table.add({fmt::to_string(w.column + 1), fmt::to_string(w.wait.on + 1), fmt::to_string(w.wait.begin),
               fmt::to_string(w.wait.end), fmt::to_string(w.length())});
  return table.to_string();
}

int run_timeline(const Context& context, const TimelineArguments& arguments) {
  auto preprocess = preprocess_options(arguments.solver);
  if (!preprocess.ok()) return fail(context, preprocess.status());
  auto input = load_matrix(arguments.matrix, Needs::square_values);
  if (!input.ok()) return fail(context, input.status());
  const auto device = simt::device_properties();
  if (!device.ok()) return fail(context, device.status());
  Progress progress;
  progress.show("recording " + input->name);
  const auto analysis = analyze(input->a(), *preprocess);
  const auto timeline = analysis.ok() ? bench::record_sflu(*analysis, input->a().values) : analysis.status();
  progress.wipe();
  if (!timeline.ok()) return fail(context, concerning(input->path, timeline.status()));

  const bool is_time = simt::machine() == simt::Machine::gpu;
  const char* const unit = is_time ? "ns" : "steps of the simulator, no time";
  if (context.json) {
    auto run_context = bench::run_context(builtin_constants(device->name));
    const SolverArguments& given = arguments.solver;
    run_context["command"] = fmt::format("lulab timeline {}.mtx --order {}{}{}{} --json", input->name, given.order,
                                         given.btf ? " --btf" : "", given.no_matching ? " --no-matching" : "",
                                         given.no_scaling ? " --no-scaling" : "");
    nlohmann::ordered_json run = {{"matrix", input->name},
                                  {"n", input->n()},
                                  {"nnz_lu", analysis->filled.nnz()},
                                  {"order", analysis->plan.order},
                                  {"rung", "sparse_syncfree/01_sflu"},
                                  {"unit", unit}};
    run.update(bench::to_json(*timeline));
    print_json(nlohmann::ordered_json{{"context", std::move(run_context)}, {"timelines", {std::move(run)}}});
    return exit_ok;
  }
  fmt::print("{}  n = {}, ordering {}, nnz(L+U) = {}, sparse_syncfree/01_sflu on {}; {}\n{}", input->name, input->n(),
             analysis->plan.order, analysis->filled.nnz(), device->name, unit, longest_waits(*timeline));
  if (timeline->plain_ms && timeline->recorded_ms)
    fmt::print("median of 11 refactorizations: {}, with these records {}\n", short_time(*timeline->plain_ms),
               short_time(*timeline->recorded_ms));
  return exit_ok;
}

}  // namespace

void add_timeline(CLI::App& app, Context& context) {
  auto* command =
      add_command(app, "timeline", "Record a run of sparse_syncfree/01_sflu: which block waited when, for which column",
                  "lulab timeline A.mtx --order amd");
  auto arguments = std::make_shared<TimelineArguments>();
  command->add_option("matrix", arguments->matrix, "Matrix Market file, plain or .gz")->required();
  add_order_options(*command, arguments->solver);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_timeline(context, *arguments); }; });
}

}  // namespace lulab::app
