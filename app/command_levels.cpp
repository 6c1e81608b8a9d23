// lulab levels A.mtx: how many columns can be eliminated at the same time, under the dependency rules of the GLU family.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/progress.h"
#include "app/table.h"
#include "symbolic/analyze.h"
#include "symbolic/dependencies.h"

namespace lulab::app {
namespace {

struct LevelsArguments {
  std::string matrix;
  bool plot = false;
  SolverArguments solver;
};

/// Median of several calls.   Unit ms.
template <class Call>
double time_ms(Call call) {
  std::array<double, 5> ms;
  for (double& t : ms) {
    const auto start = std::chrono::steady_clock::now();
    call();
    t = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  std::nth_element(ms.begin(), ms.begin() + 2, ms.end());
  return ms[2];
}

/// One pass over the pattern, the yardstick of a levelization. The sum keeps the compiler from leaving it out.
double pass_ms(const FilledPattern& f) {
  volatile std::int64_t sink = 0;
  return time_ms([&] { sink = std::accumulate(f.row_idx.begin(), f.row_idx.end(), std::int64_t{0}); });
}

/// Columns of each level, and the columns to their right that they update (Peng & Tan 2020: subcolumns).
struct LevelSizes {
  std::vector<std::int64_t> columns, updates;
};

LevelSizes sizes_of(const FilledPattern& f, const Schedule& s) {
  LevelSizes sizes{std::vector<std::int64_t>(s.n_levels()), std::vector<std::int64_t>(s.n_levels())};
  for (std::int32_t j = 0; j < f.n; ++j) {
    ++sizes.columns[s.level_of[j]];
    for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p) ++sizes.updates[s.level_of[f.row_idx[p]]];
  }
  return sizes;
}

/// Twenty lines, each a range of levels: mean columns a level, mean subcolumns a column, on logarithmic bars.
std::string plot(const LevelSizes& sizes) {
  const auto n_levels = static_cast<std::int64_t>(sizes.columns.size());
  const std::int64_t lines = std::min<std::int64_t>(20, n_levels);
  const auto bar = [](double value) {  // a mark for each factor of 2
    return std::string(value < 1 ? 0 : std::min(24, 1 + static_cast<int>(std::log2(value))), '#');
  };
  std::string text = fmt::format("{:>13}  {:>9} {:<24}  {:>9} {}\n", "levels", "columns", "(mean of a level)",
                                 "updates", "(mean of a column)");
  for (std::int64_t line = 0; line < lines; ++line) {
    const std::int64_t first = line * n_levels / lines, end = (line + 1) * n_levels / lines;
    const auto sum = [&](const std::vector<std::int64_t>& of) {
      return double(std::accumulate(of.begin() + first, of.begin() + end, std::int64_t{0}));
    };
    const double columns = sum(sizes.columns) / double(end - first), updates = sum(sizes.updates) / sum(sizes.columns);
    text += fmt::format("{:>13}  {:>9.1f} {:<24}  {:>9.1f} {}\n", fmt::format("{}-{}", first, end - 1), columns,
                        bar(columns), updates, bar(updates));
  }
  return text;
}

int run_levels(const Context& context, const LevelsArguments& arguments) {
  auto preprocess = preprocess_options(arguments.solver);
  if (!preprocess.ok()) return fail(context, preprocess.status());
  auto input = load_matrix(arguments.matrix, Needs::square_pattern);
  if (!input.ok()) return fail(context, input.status());
  Progress progress;
  progress.show("analyzing " + input->name);
  const auto analysis = analyze(input->a(), *preprocess);
  progress.wipe();
  if (!analysis.ok()) return fail(context, analysis.status());
  const FilledPattern& f = analysis->filled;

  const double pass = pass_ms(f);
  Table table({{"rule", Table::Align::left}, {"dependencies"}, {"levels"}, {"widest"}, {"time"}, {"of a pass"}});
  nlohmann::json rules = nlohmann::json::array();
  Schedule relaxed;
  for (const DependencyRule rule : {DependencyRule::up_looking, DependencyRule::double_u, DependencyRule::relaxed}) {
    const auto dependencies = static_cast<std::int64_t>(find_dependencies(f, rule).columns.size());
    Schedule schedule;
    const double ms = time_ms([&] { schedule = levels_right_looking(f, rule); });
    const LevelSizes sizes = sizes_of(f, schedule);
    const std::int64_t widest =
        sizes.columns.empty() ? 0 : *std::max_element(sizes.columns.begin(), sizes.columns.end());
    table.add({std::string(to_string(rule)), fmt::to_string(dependencies), fmt::to_string(schedule.n_levels()),
               fmt::to_string(widest), fmt::format("{:.3g} ms", ms),
               pass > 0 ? fmt::format("{:.1f}x", ms / pass) : "-"});
    rules.push_back({{"rule", to_string(rule)},
                     {"dependencies", dependencies},
                     {"levels", schedule.n_levels()},
                     {"widest", widest},
                     {"time_ms", ms}});
    if (rule == DependencyRule::relaxed) relaxed = std::move(schedule);
  }
  const LevelSizes sizes = sizes_of(f, relaxed);
  if (context.json) {
    nlohmann::json j = {{"matrix", input->name},         {"n", input->n()},   {"nnz", input->a().nnz()},
                        {"order", analysis->plan.order}, {"nnz_lu", f.nnz()}, {"pass_ms", pass},
                        {"rules", std::move(rules)}};
    if (arguments.plot) {
      j["columns"] = sizes.columns;
      j["updates"] = sizes.updates;
    }
    print_json(j);
    return exit_ok;
  }
  fmt::print("{}  n = {}, nnz = {}, ordering {}, nnz(L+U) = {}\n{}", input->name, input->n(), input->a().nnz(),
             analysis->plan.order, f.nnz(), table.to_string());
  fmt::print("(up_looking misses the hazards of right-looking kernels; one pass over the pattern takes {:.3g} ms)\n",
             pass);
  if (arguments.plot) fmt::print("\nlevels by the relaxed rule; each # a factor of 2\n{}", plot(sizes));
  return exit_ok;
}

}  // namespace

void add_levels(CLI::App& app, Context& context) {
  auto* command =
      add_command(app, "levels", "Columns that can be eliminated together, by the rules of GLU 1.0, 2.0, 3.0",
                  "lulab levels A.mtx --order metis --plot");
  auto arguments = std::make_shared<LevelsArguments>();
  command->add_option("matrix", arguments->matrix, "Matrix Market file, plain or .gz")->required();
  command->add_flag("--plot", arguments->plot,
                    "Columns a level and updates a column, from the first level to the last");
  add_order_options(*command, arguments->solver);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_levels(context, *arguments); }; });
}

}  // namespace lulab::app
