// lulab symbolic A.mtx: the pattern of L + U by the rungs of symbolic/, compared with each other.

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/progress.h"
#include "app/table.h"
#include "core/timing.h"
#include "driver/analyze.h"
#include "symbolic/fill.h"
#include "symbolic/rungs.h"

namespace lulab::app {
namespace {

struct SymbolicArguments {
  std::string matrix, rung;
  FillLimits limits;
  SolverArguments solver;
};

/// Rungs that are not asked for by name search matrices up to this size: their work grows with n².
constexpr std::int32_t most_unasked = 40000;
/// The same where the device is simulated.
constexpr std::int32_t most_unasked_simulated = 2000;

/// All, where none is named; a part of an id names its rung, if no other id has it.
/// Errors    invalid_argument listing the rungs there are.
Result<std::vector<const FillRung*>> rungs_asked_for(const std::string& name) {
  std::vector<const FillRung*> rungs;
  std::string known;
  for (const FillRung* rung : every_fill_rung()) {
    known += fmt::format("\n  {}: {}", rung->id, rung->idea);
    if (rung->id.find(name) != std::string_view::npos) rungs.push_back(rung);
  }
  if (name.empty() || rungs.size() == 1) return rungs;
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("{} rung of symbolic factorization is named {}; there are{}",
                                   rungs.empty() ? "no" : "more than one", lulab::quoted(name), known));
}

/// Why a rung that was not asked for is left out; empty: it is not.
std::string left_out(const FillRung& rung, std::int32_t n) {
  const bool simulated = rung.device == Device::gpu && simt::machine() == simt::Machine::simulator;
  if (simulated && n > most_unasked_simulated) return fmt::format("simulated; ask for it with --rung {}", rung.id);
  const bool prunes = &rung == &fill_rungs::gilbert_peierls;
  if (!prunes && n > most_unasked) return fmt::format("slow; ask for it with --rung {}", rung.id);
  return "";
}

int run_symbolic(const Context& context, const SymbolicArguments& arguments) {
  const auto rungs = rungs_asked_for(arguments.rung);
  if (!rungs.ok()) return fail(context, rungs.status());
  auto preprocess = preprocess_options(arguments.solver);
  if (!preprocess.ok()) return fail(context, preprocess.status());
  auto input = load_matrix(arguments.matrix, Needs::square_pattern);
  if (!input.ok()) return fail(context, input.status());
  Progress progress;
  progress.show("ordering " + input->name);
  const auto analysis = analyze(input->a(), *preprocess);
  if (!analysis.ok()) return fail(context, concerning(input->path, analysis.status()));
  const CscPattern b = permute(CscPatternView(input->a()), analysis->plan.p, analysis->plan.q);

  Table table({{"rung", Table::Align::left},
               {"runs on", Table::Align::left},
               {"time"},
               {"sources at once"},
               {"groups"},
               {"entries of A read"},
               {"workspace"},
               {"result", Table::Align::left}});
  nlohmann::json rows = nlohmann::json::array();
  bool all_equal = true;
  for (const FillRung* rung : *rungs) {
    const std::string device = device_of({.device = rung->device});
    if (const std::string why = arguments.rung.empty() ? left_out(*rung, b.n_cols) : ""; !why.empty()) {
      table.add({std::string(rung->id), device, "-", "-", "-", "-", "-", why});
      continue;
    }
    progress.show(fmt::format("{} on {}", rung->id, input->name));
    FillWork work;
    const auto start = Clock::now();
    const auto filled = rung->fill(b, arguments.limits, &work);
    const double ms = ms_since(start);
    if (!filled.ok()) return fail(context, concerning(input->path, filled.status()));
    const bool equal = *filled == analysis->filled;
    all_equal = all_equal && equal;
    const bool counts = work.batches > 0;
    table.add({std::string(rung->id), device, time_on(device, ms), counts ? fmt::to_string(work.most_sources) : "-",
               counts ? fmt::to_string(work.batches) : "-", counts ? short_count(static_cast<double>(work.edges)) : "-",
               counts ? short_count(static_cast<double>(work.workspace_bytes)) + "B" : "-",
               equal ? "the same pattern" : "ANOTHER PATTERN"});
    nlohmann::json row = {{"rung", rung->id}, {"device", device}, {"time_ms", ms}, {"equal", equal}};
    if (counts) {
      row["most_sources"] = work.most_sources;
      row["fewest_sources"] = work.fewest_sources;
      row["groups"] = work.batches;
      row["entries_read"] = work.edges;
      row["workspace_bytes"] = work.workspace_bytes;
    }
    rows.push_back(std::move(row));
  }
  progress.wipe();
  if (context.json)
    print_json({{"matrix", input->name},
                {"n", input->n()},
                {"nnz", input->a().nnz()},
                {"order", analysis->plan.order},
                {"nnz_lu", analysis->filled.nnz()},
                {"rungs", std::move(rows)}});
  else
    fmt::print("{}  n = {}, nnz = {}, ordering {}, nnz(L+U) = {}\n{}", input->name, input->n(), input->a().nnz(),
               analysis->plan.order, analysis->filled.nnz(), table.to_string());
  return all_equal ? exit_ok : exit_check_failed;
}

}  // namespace

void add_symbolic(CLI::App& app, Context& context) {
  auto* command = add_command(app, "symbolic", "Find the pattern of L + U by each rung of symbolic/, and compare",
                              "lulab symbolic A.mtx --rung 06_gsofa_sources --workspace-bytes 1000000");
  auto arguments = std::make_shared<SymbolicArguments>();
  command->add_option("matrix", arguments->matrix, "Matrix Market file, plain or .gz")->required();
  command->add_option("--rung", arguments->rung, "One rung of symbolic/, with or without that word; default: all");
  FillLimits& limits = arguments->limits;
  add_integer<std::int64_t>(*command, "--workspace-bytes", limits.workspace_bytes,
                            "Device memory for searches from many columns; 0: an eighth of it", 0);
  add_integer<std::int32_t>(*command, "--sources", limits.sources,
                            "Columns searched from at once, at most; 0: what keeps the device busy", 0);
  add_integer<std::int64_t>(*command, "--queue-entries", limits.queue_entries,
                            "Length of the queue of 06_gsofa_sources, at most; 0: 256 a source, if there is room", 0);
  command->add_flag("--pass-found-rows", limits.passes_found_rows, "GSOFA with line 9.5 of Gaihre et al. 2021, Fig. 6");
  add_integer<int>(*command, "--threads", limits.threads, "Threads of 03_fill2; 0: all cores", 0);
  add_order_options(*command, arguments->solver);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_symbolic(context, *arguments); }; });
}

}  // namespace lulab::app
