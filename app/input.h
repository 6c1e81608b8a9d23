#pragma once
// Matrices and solver options of the command line.

#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "app/command.h"
#include "core/matrix/matrix_market.h"
#include "core/matrix/number_text.h"
#include "core/rung.h"
#include "core/simt/device.h"
#include "driver/choose_rung.h"
#include "driver/solver.h"
#include "preprocess/preprocess.h"

namespace lulab::app {

struct InputMatrix {
  std::string path;
  std::string name;  // matrix_name(path)
  MatrixMarket file;

  const CscMatrix<double>& a() const { return file.matrix; }
  std::int32_t n() const { return file.matrix.n_cols; }
};

enum class Needs {
  anything,        // any matrix
  square_pattern,  // positions are enough
  square_values,   // real values, to factor
};

/// The name of a file without folder, .gz and .mtx.
std::string matrix_name(const std::string& path);

/// Reads and checks a matrix; shows progress.
/// Errors    as read_matrix_market(); invalid_argument naming the file: not square, or positions without values.
Result<InputMatrix> load_matrix(const std::string& path, Needs needs);

/// An option that takes a whole number in decimal digits, least..most.
template <class Integer>
CLI::Option* add_integer(CLI::App& command, const std::string& name, Integer& value, const std::string& description,
                         Integer least, Integer most = std::numeric_limits<Integer>::max()) {
  const auto parse = [&value, name, least, most](const std::string& text) {
    Integer given = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, given);
    if (read.ec != std::errc() || read.ptr != end || given < least || given > most)
      throw CLI::ValidationError(name,
                                 fmt::format("{} is not a whole number in {}..{}", lulab::quoted(text), least, most));
    value = given;
  };
  return command.add_option_function<std::string>(name, parse, description)
      ->type_name("INT")
      ->default_str(fmt::format("{}", value));
}
/// An option that takes a finite real number.
CLI::Option* add_real(CLI::App& command, const std::string& name, double& value, const std::string& description);

/// Values of the solver options, named as the options.
struct SolverArguments {
  std::string rung;
  std::string order = "auto";
  std::string column_order;  // a file
  std::string precision = "f64";
  bool btf = false;
  bool no_matching = false;
  bool no_scaling = false;
  bool no_repivot = false;
  bool allow_singular = false;
  FactorOptions factor;
};
void add_order_options(CLI::App& command, SolverArguments& arguments);
/// For commands whose matrices all have one n.   Requires add_order_options().
void add_column_order_option(CLI::App& command, SolverArguments& arguments);
void add_solver_options(CLI::App& command, SolverArguments& arguments);

/// Reads the --column-order file, too.   Errors invalid_argument listing the valid orders; as read_permutation().
Result<PreprocessOptions> preprocess_options(const SolverArguments& arguments);

/// The rung of every_rung() with this id or unique part of one; nullptr for "auto" and "": the Solver chooses.
/// Errors    invalid_argument listing the rungs there are, or saying which commands run distributed_rung().
Result<const Rung*> named_rung(const std::string& name);
/// Does the name ask for distributed_rung()?
bool names_distributed_rung(const std::string& name);
/// "auto" or the rung's id.
std::string_view rung_name(const Rung* rung);

/// Its x is as good as refinement makes it.
template <class T>
Solver<T> make_solver(const Rung* rung, SolverOptions options) {
  options.backward_error = 0;
  return rung != nullptr ? Solver<T>(*rung, std::move(options)) : Solver<T>(std::move(options));
}

struct Condition {
  ConditionEstimate estimate;
  std::string warning;  // A is singular, and the caller asked to go on; else empty
};
/// The condition of A as the solver has factored it. Perturbed pivots ask to go on, too.
/// Errors    as Solver::condition(); as check_condition() without --allow-singular and --perturb-pivots.
template <class T>
Result<Condition> judge_condition(const Solver<T>& solver, const SolverArguments& arguments) {
  LULAB_ASSIGN_OR_RETURN(const auto estimate, solver.condition());
  const Status singular = check_condition(estimate);
  if (!arguments.allow_singular && !(arguments.factor.perturb_pivots > 0)) LULAB_RETURN_IF_ERROR(singular);
  return Condition{estimate, singular.message};
}

/// "sparse_leftlooking/07_threads: why".
std::string to_text(const RungChoice& choice);
/// Adds chosen_rung and choice_reason; nothing where the caller named the rung.
void add_choice(nlohmann::json& j, const RungChoice& choice);

/// Where this build runs the rung: "cpu", "gpu" or "simulator".
std::string device_of(const RungFacts& facts);

/// A time as text; in the simulator a note that time is not measured.
std::string time_on(const std::string& device, double ms);

}  // namespace lulab::app
