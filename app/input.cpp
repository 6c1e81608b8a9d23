#include "app/input.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/progress.h"
#include "app/table.h"

namespace lulab::app {

std::string matrix_name(const std::string& path) {
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
                         fmt::format("{} rows and {} columns, but a square matrix is needed", a.n_rows, a.n_cols),
                         in_file(path));
  if (needs == Needs::square_values && file->pattern_only)
    return Status::error(StatusCode::invalid_argument,
                         "the file has positions but no values (field 'pattern'), so it cannot be factored; "
                         "lulab info and lulab limits accept it",
                         in_file(path));
  return InputMatrix{path, matrix_name(path), std::move(file).value()};
}

CLI::Option* add_real(CLI::App& command, const std::string& name, double& value, const std::string& description) {
  const auto parse = [&value, name](const std::string& text) {
    std::string_view rest = text;
    double given = 0;
    if (take_real(rest, given) != NumberText::ok || !rest.empty())
      throw CLI::ValidationError(name, lulab::quoted(text) + " is not a finite number");
    value = given;
  };
  return command.add_option_function<std::string>(name, parse, description)
      ->type_name("FLOAT")
      ->default_str(fmt::format("{}", value));
}

void add_order_options(CLI::App& command, SolverArguments& arguments) {
  command
      .add_option(
          "--order", arguments.order,
          "Fill-reducing ordering: auto, amd, colamd, metis, nd or natural; btf+amd, ... stands for --btf --order amd")
      ->capture_default_str();
  command.add_flag(
      "--btf", arguments.btf,
      "Order inside the diagonal blocks of the block triangular form (with auto: only where predicted faster)");
  command.add_flag("--no-matching", arguments.no_matching, "Do not permute rows by maximum-product matching");
  command.add_flag("--no-scaling", arguments.no_scaling, "Do not scale rows and columns");
}

void add_solver_options(CLI::App& command, SolverArguments& arguments) {
  command.add_option(
      "--rung", arguments.rung,
      "Rung, by its id or a unique part of it (see lulab list); default: the one predicted to be fastest");
  command.add_option("--precision", arguments.precision, "f64 or f32")
      ->capture_default_str()
      ->check(CLI::IsMember({"f64", "f32"}));
  command.add_flag("--no-repivot", arguments.no_repivot,
                   "Report unstable fixed pivots as needs_repivot instead of choosing new ones");
  command.add_flag("--allow-singular", arguments.allow_singular,
                   "Go on with a warning where A is singular to working precision, instead of numerically_singular");
  add_integer(command, "--threads", arguments.factor.threads,
              "CPU threads of multithreaded rungs; 0: chosen from the matrix", 0);
  add_real(command, "--perturb-pivots", arguments.factor.perturb_pivots,
           "Replace pivots below this fraction of the largest entry (rungs that support it); 0: never");
  command
      .add_option_function<std::vector<std::string>>(
          "--option",
          [&arguments](const std::vector<std::string>& given) {
            for (const std::string& text : given) {
              const Status set = arguments.factor.set(text);
              if (!set.ok()) throw CLI::ValidationError("--option", set.message);
            }
          },
          "NAME=VALUE: an option of the rung (see lulab list); may be repeated")
      ->take_all();
  add_order_options(command, arguments);
  add_column_order_option(command, arguments);
}

void add_column_order_option(CLI::App& command, SolverArguments& arguments) {
  command
      .add_option("--column-order", arguments.column_order,
                  "File with an order of your own: the columns of A, from 1, as they are to be eliminated")
      ->excludes("--order");
}

Result<PreprocessOptions> preprocess_options(const SolverArguments& arguments) {
  auto options = with_order({}, arguments.order);
  if (!options.ok()) return options;
  options->blocks = options->blocks || arguments.btf;
  options->matching = !arguments.no_matching;
  options->scaling = !arguments.no_scaling;
  if (options->order == Order::given)
    return Status::error(StatusCode::invalid_argument, "the order given takes columns: --column-order FILE");
  if (!arguments.column_order.empty()) {
    LULAB_ASSIGN_OR_RETURN(auto columns, read_permutation(arguments.column_order));
    options->order = Order::given;  // --btf stays, to be refused
    options->given = std::move(columns);
  }
  return options;
}

static Result<const Rung*> any_named_rung(const std::string& name) {
  const auto rungs = every_rung();
  std::vector<const Rung*> all(rungs.begin(), rungs.end());
  all.push_back(&distributed_rung());
  return find_rung_or_auto(all, name);
}

Result<const Rung*> named_rung(const std::string& name) {
  auto rung = any_named_rung(name);
  if (rung.ok() && *rung == &distributed_rung())
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} leaves L and U spread over ranks, where this command does not reach them; "
                                     "lulab solve and lulab refactor run it",
                                     distributed_rung().facts.id));
  return rung;
}

bool names_distributed_rung(const std::string& name) {
  const auto rung = any_named_rung(name);
  return rung.ok() && *rung == &distributed_rung();
}

std::string_view rung_name(const Rung* rung) { return rung != nullptr ? rung->facts.id : "auto"; }

std::string to_text(const RungChoice& choice) { return fmt::format("{}: {}", choice.rung->facts.id, choice.reason); }

void add_choice(nlohmann::json& j, const RungChoice& choice) {
  if (choice.reason.empty()) return;
  j["chosen_rung"] = choice.rung->facts.id;
  j["choice_reason"] = choice.reason;
}

std::string device_of(const RungFacts& facts) {
  if (facts.device == Device::cpu) return "cpu";
  return simt::machine() == simt::Machine::gpu ? "gpu" : "simulator";
}

std::string time_on(const std::string& device, double ms) {
  return device == "simulator" ? "simulator (time not measured)" : short_time(ms);
}

}  // namespace lulab::app
