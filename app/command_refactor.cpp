// lulab refactor A.mtx B.mtx...: analyze and factor A once, then only new values, as a circuit simulator does.

#include <limits>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/progress.h"
#include "app/report_table.h"
#include "app/table.h"
#include "solve/solver.h"

namespace lulab::app {
namespace {

struct RefactorArguments {
  std::vector<std::string> matrices;
  SolverArguments solver;
};

/// Errors    invalid_argument naming the first entry that only one of them has.
Status check_same_pattern(const InputMatrix& first, const InputMatrix& other) {
  const CscMatrix<double>&a = first.a(), &b = other.a();
  const auto differs = [&](const std::string& how) {
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("not the pattern of {}: {}; refactor needs equal patterns (store the zeros too)", first.path, how),
        in_file(other.path));
  };
  if (a.n_rows != b.n_rows || a.n_cols != b.n_cols)
    return differs(fmt::format("n = {} instead of {}", other.n(), first.n()));
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    auto s = a.col_ptr[j], t = b.col_ptr[j];
    while (s < a.col_ptr[j + 1] || t < b.col_ptr[j + 1]) {
      const std::int32_t none = std::numeric_limits<std::int32_t>::max();
      const std::int32_t row_a = s < a.col_ptr[j + 1] ? a.row_idx[s] : none;
      const std::int32_t row_b = t < b.col_ptr[j + 1] ? b.row_idx[t] : none;
      if (row_a < row_b)
        return differs(fmt::format("entry ({}, {}) is missing (rows and columns from 1)", row_a + 1, j + 1));
      if (row_b < row_a)
        return differs(fmt::format("entry ({}, {}) is extra (rows and columns from 1)", row_b + 1, j + 1));
      ++s;
      ++t;
    }
  }
  return {};
}

template <class T>
int refactor_with(const Context& context, const RefactorArguments& arguments, const Rung& rung,
                  const PreprocessOptions& preprocess) {
  const std::string device = device_of(rung.facts);
  Solver<T> solver(rung, {.preprocess = preprocess, .factor = {}, .repivot = !arguments.solver.no_repivot});
  Table table({{"matrix", Table::Align::left},
               {"phase", Table::Align::left},
               {"status", Table::Align::left},
               {"backward error"},
               {"growth"},
               {"time", Table::Align::left}});
  nlohmann::json list = nlohmann::json::array();
  int code = exit_ok;
  InputMatrix first;
  std::vector<Status> errors;
  bool factored = false;
  for (std::size_t k = 0; k < arguments.matrices.size(); ++k) {
    auto read = load_matrix(arguments.matrices[k], Needs::square_values);
    if (!read.ok()) return fail(context, read.status());
    InputMatrix input = std::move(read).value();
    if (k > 0)
      if (Status status = check_same_pattern(first, input); !status.ok()) return fail(context, status);
    const CscMatrix<double>& a = input.a();
    Progress progress;
    progress.show(fmt::format("{} ({} of {})", input.name, k + 1, arguments.matrices.size()));
    if (k == 0)
      if (Status status = solver.analyze(a); !status.ok()) return progress.wipe(), fail(context, status);
    // After an error there are no factors to refactor: the next matrix starts with its own pivots.
    const char* phase = factored ? "refactor" : "factor";
    Status status = factored ? solver.refactor(a) : solver.factor(a);
    factored = status.ok();
    const auto n = static_cast<std::size_t>(input.n());
    std::vector<double> ones(n, 1.0), b(n), x(n, std::numeric_limits<double>::quiet_NaN());
    Refinement refinement;
    if (status.ok()) {
      multiply<double>(a, ones, b);
      auto solved = solver.solve(b, x);
      if (solved.ok())
        refinement = *solved;
      else
        status = solved.status();
    }
    progress.wipe();
    if (!status.ok()) {
      errors.push_back(status);
      code = worse(code, exit_code(status));
      table.add({input.name, phase, std::string(to_string(status.code)), "-", "-", "-"});
      list.push_back({{"matrix", input.name}, {"phase", phase}, {"status", to_json(status)}});
    } else {
      const bool good = refinement.backward_error <= 30 * 0x1p-53;
      if (!good) code = worse(code, exit_check_failed);
      const Statistics& statistics = solver.factors().statistics;
      const std::string verdict = good ? "ok" : "FAILED";
      table.add({input.name, phase, statistics.repivots > 0 ? verdict + ", re-pivoted" : verdict,
                 short_error(refinement.backward_error), short_error(statistics.pivot_growth),
                 time_on(device, solver.numeric_ms())});
      list.push_back({{"matrix", input.name},
                      {"phase", phase},
                      {"status", good ? "ok" : "failed"},
                      {"backward_error", refinement.backward_error},
                      {"growth", statistics.pivot_growth},
                      {"repivots", statistics.repivots},
                      {"time_ms", device == "simulator" ? nlohmann::json() : nlohmann::json(solver.numeric_ms())}});
    }
    if (k == 0) first = std::move(input);
  }
  if (context.json) {
    print_json(
        {{"rung", rung.facts.id}, {"scalar", arguments.solver.precision}, {"device", device}, {"matrices", list}});
  } else {
    fmt::print("{} ({}, {})\n{}", rung.facts.id, arguments.solver.precision, device, table.to_string());
  }
  std::fflush(stdout);
  for (const Status& error : errors) fail(Context{}, error);
  return code;
}

int run_refactor(const Context& context, const RefactorArguments& arguments) {
  auto rung = chosen_rung(arguments.solver);
  if (!rung.ok()) return fail(context, rung.status());
  auto preprocess = preprocess_options(arguments.solver);
  if (!preprocess.ok()) return fail(context, preprocess.status());
  return arguments.solver.precision == "f32" ? refactor_with<float>(context, arguments, **rung, *preprocess)
                                             : refactor_with<double>(context, arguments, **rung, *preprocess);
}

}  // namespace

void add_refactor(CLI::App& app, Context& context) {
  auto* command =
      add_command(app, "refactor", "Analyze and factor the first matrix, then refactor with the values of the others",
                  "lulab refactor A_00.mtx A_01.mtx A_02.mtx --rung klu");
  auto arguments = std::make_shared<RefactorArguments>();
  command->add_option("matrices", arguments->matrices, "Matrix Market files of one pattern")->required();
  add_solver_options(*command, arguments->solver);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_refactor(context, *arguments); }; });
}

}  // namespace lulab::app
