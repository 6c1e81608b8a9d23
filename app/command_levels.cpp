// lulab levels A.mtx: levels of columns that can be eliminated together, by the dependency rules of the GLU papers.

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/progress.h"
#include "app/table.h"
#include "core/timing.h"
#include "driver/analyze.h"
#include "sparse_hybrid/03_kernel_modes.h"
#include "symbolic/dependencies_parallel.h"
#include "symbolic/levels_on_device.h"

namespace lulab::app {
namespace {

struct LevelsArguments {
  std::string matrix;
  bool plot = false;
  SolverArguments solver;
};

constexpr int samples = 5;

double median(std::array<double, samples> ms) {
  std::nth_element(ms.begin(), ms.begin() + samples / 2, ms.end());
  return ms[samples / 2];
}

/// Median of several calls.   Unit ms.
template <class Call>
double time_ms(Call call) {
  std::array<double, samples> ms;
  for (double& t : ms) {
    const auto start = Clock::now();
    call();
    t = ms_since(start);
  }
  return median(ms);
}

/// Time to read the pattern once, column by column, for comparison with the levelizations.   Unit ms.
double pass_ms(const FilledPattern& f) {
  volatile std::int64_t sink = 0;  // keeps the compiler from removing the loops
  return time_ms([&] {
    std::int64_t u = 0, l = 0;
    for (std::int32_t j = 0; j < f.n; ++j) {
      for (std::int64_t p = f.col_ptr[j]; p <= f.diag[j]; ++p) u += f.row_idx[p];
      for (std::int64_t p = f.diag[j] + 1; p < f.col_ptr[j + 1]; ++p) l += f.row_idx[p];
    }
    sink = u - l;
  });
}

/// Median time of several levelizations on the GPU; the pattern is already on the device.   Unit ms.
/// Errors    device_error, also when the levels differ from the expected ones.
Result<double> device_ms(DeviceLevels& levels, DependencyRule rule, const Schedule& expected, simt::Stream& stream) {
  LULAB_ASSIGN_OR_RETURN(auto timer, simt::Timer::create());
  std::array<double, samples> ms;
  for (double& t : ms) {
    LULAB_RETURN_IF_ERROR(timer.start(stream));
    LULAB_RETURN_IF_ERROR(levels.enqueue(rule, stream));
    LULAB_RETURN_IF_ERROR(timer.stop(stream));
    LULAB_ASSIGN_OR_RETURN(t, timer.elapsed_ms());
  }
  const auto found = levels.download(stream);
  if (!found.ok()) return found.status();
  if (found->level_of != expected.level_of)
    return Status::error(
        StatusCode::device_error,
        fmt::format("levels found on the GPU differ from those of the host (rule {})", to_string(rule)));
  return median(ms);
}

/// One dependency rule, and the times of the ways to compute its levels.   Unit ms.
struct RuleTimes {
  std::int64_t dependencies = 0;
  Schedule schedule;
  double list = 0, list_threads = 0, levels_of_list = 0;  // list of all dependencies; then its levels
  double one_pass = 0;                                    // levels without the list
  std::optional<double> device;                           // the same on the GPU, if there is one
};

RuleTimes time_on_host(const FilledPattern& f, DependencyRule rule) {
  RuleTimes times;
  ColumnDependencies dependencies;
  times.list_threads = time_ms([&] { dependencies = find_dependencies(f, rule, 0); });
  times.list = time_ms([&] { dependencies = find_dependencies(f, rule); });
  times.dependencies = static_cast<std::int64_t>(dependencies.columns.size());
  times.levels_of_list = time_ms([&] { times.schedule = levels_of(dependencies); });
  times.one_pass = time_ms([&] { times.schedule = levels_right_looking(f, rule); });
  return times;
}

/// All three rules.
Result<std::vector<RuleTimes>> compare_rules(const FilledPattern& f) {
  std::vector<RuleTimes> all;
  for (const DependencyRule rule : dependency_rules) all.push_back(time_on_host(f, rule));
  if (simt::machine() == simt::Machine::simulator || !simt::device_properties().ok()) return all;
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  auto levels = DeviceLevels::create(f, stream);
  if (levels.status().code == StatusCode::out_of_memory) return all;  // report the times of the host alone
  if (!levels.ok()) return levels.status();
  for (std::size_t r = 0; r < dependency_rules.size(); ++r) {
    LULAB_ASSIGN_OR_RETURN(const auto ms, device_ms(*levels, dependency_rules[r], all[r].schedule, stream));
    all[r].device = ms;
  }
  return all;
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

/// At most 20 lines, each a range of levels: mean columns per level and updates per column, as logarithmic bars.
std::string plot(const LevelSizes& sizes) {
  const auto n_levels = static_cast<std::int64_t>(sizes.columns.size());
  const std::int64_t lines = std::min<std::int64_t>(20, n_levels);
  const auto bar = [](double value) {  // one mark per factor of 2
    return std::string(value < 1 ? 0 : std::min(24, 1 + static_cast<int>(std::log2(value))), '#');
  };
  std::string text = fmt::format("{:>13}  {:>9} {:<24}  {:>9} {}\n", "levels", "columns", "(mean per level)", "updates",
                                 "(mean per column)");
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
  if (!analysis.ok()) return fail(context, concerning(input->path, analysis.status()));
  const FilledPattern& f = analysis->filled;

  progress.show("timing the levelizations of " + input->name);
  const double pass = pass_ms(f);
  const int threads = useful_threads(f);
  const auto compared = compare_rules(f);
  progress.wipe();
  if (!compared.ok()) return fail(context, concerning(input->path, compared.status()));

  Table table({{"rule", Table::Align::left},
               {"dependencies"},
               {"levels"},
               {"widest"},
               {"list"},
               {fmt::format("list, {} thread{}", threads, threads == 1 ? "" : "s")},
               {"levels of it"},
               {"one pass"},
               {"GPU"}});
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t r = 0; r < dependency_rules.size(); ++r) {
    const RuleTimes& times = (*compared)[r];
    const std::int32_t n_levels = times.schedule.n_levels();
    const std::vector<std::int64_t> columns = sizes_of(f, times.schedule).columns;
    const std::int64_t widest = columns.empty() ? 0 : *std::max_element(columns.begin(), columns.end());
    table.add({std::string(to_string(dependency_rules[r])), fmt::to_string(times.dependencies),
               fmt::to_string(n_levels), fmt::to_string(widest), short_time(times.list), short_time(times.list_threads),
               short_time(times.levels_of_list), short_time(times.one_pass),
               times.device ? short_time(*times.device) : "-"});
    rows.push_back({{"rule", to_string(dependency_rules[r])},
                    {"dependencies", times.dependencies},
                    {"levels", n_levels},
                    {"widest", widest},
                    {"list_ms", times.list},
                    {"list_threads_ms", times.list_threads},
                    {"levels_of_list_ms", times.levels_of_list},
                    {"one_pass_ms", times.one_pass},
                    {"device_ms", times.device ? nlohmann::json(*times.device) : nlohmann::json()}});
    if (arguments.plot) rows.back()["columns"] = columns;
  }
  const LevelSizes sizes = sizes_of(f, compared->back().schedule);
  const auto modes = sparse_hybrid::count_modes(compared->back().schedule, sparse_hybrid::paper_mode_limits);
  if (context.json) {
    nlohmann::json j = {{"matrix", input->name},
                        {"n", input->n()},
                        {"nnz", input->a().nnz()},
                        {"order", analysis->plan.order},
                        {"nnz_lu", f.nnz()},
                        {"pass_ms", pass},
                        {"threads", threads},
                        {"rules", std::move(rows)},
                        {"kernel_modes", {{"small_block", modes[0]}, {"large_block", modes[1]}, {"stream", modes[2]}}}};
    if (arguments.plot) {
      j["columns"] = sizes.columns;
      j["updates"] = sizes.updates;
    }
    print_json(j);
    return exit_ok;
  }
  fmt::print("{}  n = {}, nnz = {}, ordering {}, nnz(L+U) = {}\n{}", input->name, input->n(), input->a().nnz(),
             analysis->plan.order, f.nnz(), table.to_string());
  fmt::print("(up_looking misses hazards of right-looking kernels; reading the pattern once takes {}{})\n",
             short_time(pass), compared->back().device ? "" : "; GPU times need a build for the GPU");
  fmt::print(
      "levels per kernel mode of sparse_hybrid/03_glu3 with the limits of the GLU3.0 paper: "
      "{} small block, {} large block, {} stream\n",
      modes[0], modes[1], modes[2]);
  if (arguments.plot) fmt::print("\nlevels by the relaxed rule; each # is a factor of 2\n{}", plot(sizes));
  return exit_ok;
}

}  // namespace

void add_levels(CLI::App& app, Context& context) {
  auto* command = add_command(
      app, "levels", "Show levels of columns that can be eliminated together, by the rules of GLU 1.0, 2.0 and 3.0",
      "lulab levels A.mtx --order metis --plot");
  auto arguments = std::make_shared<LevelsArguments>();
  command->add_option("matrix", arguments->matrix, "Matrix Market file, plain or .gz")->required();
  command->add_flag("--plot", arguments->plot, "Plot columns per level and updates per column");
  add_order_options(*command, arguments->solver);
  add_column_order_option(*command, arguments->solver);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_levels(context, *arguments); }; });
}

}  // namespace lulab::app
