// lulab list: prints every rung with its facts.

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/table.h"
#include "solve/rungs.h"
#include "symbolic/rungs.h"

namespace lulab::app {
namespace {

const char* name_of(Pivoting pivoting) {
  switch (pivoting) {
    case Pivoting::fixed: return "fixed";
    case Pivoting::threshold: return "threshold";
    case Pivoting::partial: return "partial";
  }
  return "unknown";
}

int run_list(const Context& context) {
  Table table({{"rung", Table::Align::left},
               {"runs on", Table::Align::left},
               {"pivoting", Table::Align::left},
               {"scalars", Table::Align::left},
               {"refactors", Table::Align::left},
               {"deterministic", Table::Align::left},
               {"idea", Table::Align::left}});
  nlohmann::json list = nlohmann::json::array();
  std::string option_lines;
  for (const Rung* rung : every_rung()) {
    const RungFacts& f = rung->facts;
    std::vector<std::string> scalars;
    if (rung->supports<float>()) scalars.push_back("f32");
    if (rung->supports<double>()) scalars.push_back("f64");
    table.add({std::string(f.id), device_of(f), name_of(f.pivoting), fmt::format("{}", fmt::join(scalars, " ")),
               f.refactors ? "yes" : "no", f.deterministic ? "yes" : "no",
               f.fault.empty() ? std::string(f.idea) : fmt::format("{}; known fault: {}", f.idea, f.fault)});
    nlohmann::json options = nlohmann::json::array();
    for (const RungOption& o : f.options) {
      options.push_back({{"name", o.name},
                         {"default", o.default_value},
                         {"smallest", o.least},
                         {"largest", o.most},
                         {"meaning", o.meaning}});
      option_lines += fmt::format("  {} --option {}={:g}: {}\n", f.id, o.name, o.default_value, o.meaning);
    }
    list.push_back({{"id", f.id},
                    {"stage", f.stage},
                    {"paper", f.paper},
                    {"idea", f.idea},
                    {"device", device_of(f)},
                    {"pivoting", name_of(f.pivoting)},
                    {"scalars", scalars},
                    {"refactors", f.refactors},
                    {"deterministic", f.deterministic},
                    {"exact_pattern", f.exact_pattern},
                    {"options", std::move(options)},
                    {"fault", f.fault}});
  }
  Table solves(
      {{"triangular solve", Table::Align::left}, {"runs on", Table::Align::left}, {"idea", Table::Align::left}});
  for (const SolveRung* rung : every_solve_rung()) {
    const std::string device = device_of({.device = rung->method ? Device::gpu : Device::cpu});
    solves.add({std::string(rung->id), device, std::string(rung->idea)});
    list.push_back(
        {{"id", rung->id}, {"stage", "solve"}, {"paper", rung->paper}, {"idea", rung->idea}, {"device", device}});
  }
  Table searches(
      {{"symbolic factorization", Table::Align::left}, {"runs on", Table::Align::left}, {"idea", Table::Align::left}});
  for (const FillRung* rung : every_fill_rung()) {
    const std::string device = device_of({.device = rung->device});
    searches.add({std::string(rung->id), device, std::string(rung->idea)});
    list.push_back(
        {{"id", rung->id}, {"stage", "symbolic"}, {"paper", rung->paper}, {"idea", rung->idea}, {"device", device}});
  }
  const RungFacts& spread = distributed_rung().facts;
  const bool available = static_cast<bool>(context.distributed_lu);
  list.push_back({{"id", spread.id},
                  {"stage", spread.stage},
                  {"paper", spread.paper},
                  {"idea", spread.idea},
                  {"device", device_of(spread)},
                  {"over_ranks", true},
                  {"available", available}});
  if (context.json)
    print_json(list);
  else
    fmt::print(
        "{}options of single rungs, with their defaults:\n{}\n{}\n{}\n"
        "over the ranks of mpirun, by lulab solve and lulab refactor:\n  {}: {}; {}\n",
        table.to_string(), option_lines, solves.to_string(), searches.to_string(), spread.id, spread.idea,
        available ? "this build has it" : "not in this build, which found no SuperLU_DIST and MPI");
  return exit_ok;
}

}  // namespace

void add_list(CLI::App& app, Context& context) {
  auto* command = add_command(app, "list", "List the rungs of the ladder", "lulab list --json");
  command->callback([&context] { context.run = [&context] { return run_list(context); }; });
}

}  // namespace lulab::app
