#include "app/input.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/progress.h"
#include "app/table.h"

namespace lulab::app {

static std::string matrix_name(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (const std::string_view ending : {".gz", ".mtx"})
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

Result<InputMatrix> load_matrix(const std::string& path, Needs needs) {
  Progress progress;
  auto file = read_matrix_market(
      path, [&](std::int64_t done, std::int64_t total) { progress.show("reading " + path, done, total); });
  if (!file.ok()) return file.status();
  const CscMatrix<double>& a = file->matrix;
  if (needs != Needs::anything && a.n_rows != a.n_cols)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} rows and {} columns; a square matrix is needed", a.n_rows, a.n_cols),
                         in_file(path));
  if (needs == Needs::square_values && file->pattern_only)
    return Status::error(StatusCode::invalid_argument,
                         "the file has positions but no values (field 'pattern'), so there is nothing to factor; "
                         "lulab info and lulab limits work on positions alone",
                         in_file(path));
  return InputMatrix{path, matrix_name(path), std::move(file).value()};
}

void add_order_options(CLI::App& command, SolverArguments& arguments) {
  command
      .add_option("--order", arguments.order,
                  "Fill-reducing ordering: auto, amd, colamd, metis or natural; btf+amd, ...: as with --btf")
      ->capture_default_str();
  command.add_flag("--btf", arguments.btf,
                   "Order inside the blocks of the block triangular form (auto: where it is faster)");
  command.add_flag("--no-matching", arguments.no_matching, "Keep the rows in place (no maximum-product matching)");
  command.add_flag("--no-scaling", arguments.no_scaling, "Leave the values unscaled");
}

void add_solver_options(CLI::App& command, SolverArguments& arguments) {
  command.add_option(
      "--rung", arguments.rung,
      "Rung, by its id or a unique part of it (lulab list); else the one that is predicted to be the fastest");
  command.add_option("--precision", arguments.precision, "f64 or f32")
      ->capture_default_str()
      ->check(CLI::IsMember({"f64", "f32"}));
  command.add_flag("--no-repivot", arguments.no_repivot, "Report unstable fixed pivots instead of choosing new ones");
  command
      .add_option("--threads", arguments.factor.threads,
                  "Threads of a rung that uses several on the CPU; 0: what the matrix keeps busy")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--perturb-pivots", arguments.factor.perturb_pivots,
                  "Rungs that can: replace pivots smaller than this times the largest entry by that; 0: none")
      ->capture_default_str();
  command
      .add_option("--memory-ratio", arguments.factor.memory_ratio,
                  "sparse_syncfree/10: device memory in units of L and U up to which tables may save time")
      ->capture_default_str();
  add_order_options(command, arguments);
}

Result<PreprocessOptions> preprocess_options(const SolverArguments& arguments) {
  auto options = with_order({}, arguments.order);
  if (!options.ok()) return options;
  options->blocks = options->blocks || arguments.btf;
  options->matching = !arguments.no_matching;
  options->scaling = !arguments.no_scaling;
  return options;
}

Result<const Rung*> chosen_rung(const SolverArguments& arguments) {
  if (!arguments.rung.empty()) return find_rung(every_rung(), arguments.rung);
  return find_rung(all_rungs(), "sparse_auto/01_automatic");
}

std::string to_text(const Choice* choice) {
  return choice != nullptr ? fmt::format("{}: {}", choice->rung->facts.id, choice->reason) : "";
}

void add_choice(nlohmann::json& j, const Choice* choice) {
  if (choice == nullptr) return;
  j["chosen_rung"] = choice->rung->facts.id;
  j["choice_reason"] = choice->reason;
}

std::string device_of(const RungFacts& facts) {
  if (facts.device == Device::cpu) return "cpu";
  return simt::machine() == simt::Machine::gpu ? "gpu" : "simulator";
}

std::string time_on(const std::string& device, double ms) {
  return device == "simulator" ? "simulator (time not measured)" : short_time(ms);
}

}  // namespace lulab::app
