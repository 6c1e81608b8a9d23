#pragma once
// Matrices and options as the command line names them.

#include <string>

#include "app/command.h"
#include "core/matrix/matrix_market.h"
#include "core/rung.h"
#include "preprocess/preprocess.h"

namespace lulab::app {

struct InputMatrix {
  std::string path;
  std::string name;  // file name without folder, .gz and .mtx
  MatrixMarket file;

  const CscMatrix<double>& a() const { return file.matrix; }
  std::int32_t n() const { return file.matrix.n_cols; }
};

enum class Needs {
  anything,        // any matrix
  square_pattern,  // positions are enough
  square_values,   // real values, to factor
};

/// Reads and checks, with progress.
/// Errors    as read_matrix_market(); invalid_argument naming the file: not square, or positions without values.
Result<InputMatrix> load_matrix(const std::string& path, Needs needs);

/// --rung, --order, --btf, --precision, --no-matching, --no-scaling, --threads, --perturb-pivots, --memory-ratio as given; empty
/// strings: defaults.
struct SolverArguments {
  std::string rung;
  std::string order = "auto";
  std::string precision = "f64";
  bool btf = false;
  bool no_matching = false;
  bool no_scaling = false;
  bool no_repivot = false;
  FactorOptions factor;
};
void add_order_options(CLI::App& command, SolverArguments& arguments);
void add_solver_options(CLI::App& command, SolverArguments& arguments);

/// Errors    invalid_argument listing the orders there are.
Result<PreprocessOptions> preprocess_options(const SolverArguments& arguments);

/// The rung named, else sparse_auto/01_automatic.
/// Errors    invalid_argument listing the rungs there are.
Result<const Rung*> chosen_rung(const SolverArguments& arguments);

/// The rung that works: the one that `rung` chose, else itself.
inline const Rung& working_rung(const Rung& rung, const Choice* choice) {
  return choice != nullptr ? *choice->rung : rung;
}

/// "sparse_leftlooking/07_threads: why"; empty where the rung does not choose.
std::string to_text(const Choice* choice);
/// Adds chosen_rung and choice_reason; nothing where the rung does not choose.
void add_choice(nlohmann::json& j, const Choice* choice);

/// "cpu", "gpu" or "simulator": where this build runs the rung.
std::string device_of(const RungFacts& facts);

/// A time measured on `device`, or why there is none.
std::string time_on(const std::string& device, double ms);

}  // namespace lulab::app
