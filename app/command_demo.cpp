// lulab demo [A.mtx...]: runs and checks every rung on a generated circuit and on the given files.

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/progress.h"
#include "app/report_table.h"
#include "core/matrix/generate.h"
#include "verify/verify.h"

namespace lulab::app {
namespace {

MatrixReport check_every_rung(const std::string& name, const CscMatrix<double>& a) {
  Progress progress;
  return verify_matrix(name, a, {}, [&](std::string_view id, int index, int count) {
    progress.show(fmt::format("{}: {} ({} of {})", name, id, index + 1, count));
  });
}

int run_demo(const Context& context, const std::vector<std::string>& matrices) {
  constexpr const char* family = "power_grid";
  auto circuit = generate(family, {.n = 2000, .seed = 1});
  if (!circuit.ok()) return fail(context, circuit.status());
  const bool gpu = simt::machine() == simt::Machine::gpu;
  if (!context.json)
    fmt::print(
        "Every rung computes L U = P R A C Q, and every factorization is checked. GPU rungs run {}.\n"
        "Residuals are in units of rounding error (limit 30); the backward error's limit is 3.3e-15.\n\n",
        gpu ? "on the GPU" : "in the host simulator, where times are not measured");
  int code = show(context, check_every_rung(fmt::format("generated {}", family), *circuit));
  for (const std::string& path : matrices) {
    const auto input = load_matrix(path, Needs::square_values);
    MatrixReport report;
    report.matrix = matrix_name(path);
    report.status = input.status();
    if (input.ok()) report = check_every_rung(input->name, input->a());
    if (!report.status.ok()) report.status = concerning(path, report.status);
    code = worse(code, show(context, report));
  }
  return code;
}

}  // namespace

void add_demo(CLI::App& app, Context& context) {
  auto* command = add_command(app, "demo", "Run and check every rung on a generated circuit and on the given files",
                              "lulab demo A.mtx.gz");
  auto matrices = std::make_shared<std::vector<std::string>>();
  command->add_option("matrices", *matrices, "Matrix Market files, plain or .gz");
  command->callback(
      [&context, matrices] { context.run = [&context, matrices] { return run_demo(context, *matrices); }; });
}

}  // namespace lulab::app
