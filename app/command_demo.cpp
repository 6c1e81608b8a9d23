// lulab demo [A.mtx...]: the first thing to run. Every rung on a generated circuit and on the files given.

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

MatrixReport judge_every_rung(const std::string& name, const CscMatrix<double>& a) {
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
        "Every rung factors L U = P R A C Q; every factorization is judged. GPU rungs run {}.\n"
        "Residuals are in units of rounding error (limit 30); the backward error's limit is 3.3e-15.\n\n",
        gpu ? "on the GPU" : "in the host simulator, where time means nothing");
  int code = exit_ok;
  const auto show = [&](const MatrixReport& report) {
    if (context.json)
      fmt::print("{}\n", lulab::to_json(report).dump());
    else
      fmt::print("{}\n", to_text(report));
    std::fflush(stdout);
    if (!report.status.ok()) fail(Context{}, report.status);
    code = worse(code, exit_code(report));
  };
  show(judge_every_rung(fmt::format("generated {}", family), *circuit));
  for (const std::string& path : matrices) {
    auto input = load_matrix(path, Needs::square_values);
    if (input.ok())
      show(judge_every_rung(input->name, input->a()));
    else
      code = worse(code, fail(context, input.status()));
  }
  return code;
}

}  // namespace

void add_demo(CLI::App& app, Context& context) {
  auto* command = add_command(app, "demo", "Judge every rung on a generated circuit, and on the files given",
                              "lulab demo A.mtx.gz");
  auto matrices = std::make_shared<std::vector<std::string>>();
  command->add_option("matrices", *matrices, "Matrix Market files, plain or .gz");
  command->callback(
      [&context, matrices] { context.run = [&context, matrices] { return run_demo(context, *matrices); }; });
}

}  // namespace lulab::app
