// lulab judge A.mtx DIR: checks factors that another program wrote.

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/factor_folder.h"
#include "app/input.h"
#include "app/progress.h"
#include "app/report_table.h"
#include "verify/verify.h"

namespace lulab::app {
namespace {

int run_judge(const Context& context, const std::string& matrix, const std::string& folder) {
  auto input = load_matrix(matrix, Needs::square_values);
  if (!input.ok()) return fail(context, input.status());
  auto files = read_factors(folder, input->n());
  if (!files.ok()) return fail(context, files.status());
  Checks checks;
  if (files->failures.empty()) {
    Progress progress;
    progress.show("checking " + folder);
    checks = judge<double>(input->a(), files->factors, 1, Zeros::left_out);
  } else {
    checks.structure = false;
    checks.failures = files->failures;
  }
  const bool good = checks.failures.empty();
  if (context.json) {
    print_json({{"matrix", input->name},
                {"n", input->n()},
                {"nnz", input->a().nnz()},
                {"folder", folder},
                {"status", good ? "ok" : "failed"},
                {"failures", checks.failures},
                {"notes", files->notes},
                {"checks", lulab::to_json(checks)}});
  } else {
    fmt::print("{}  n = {}, nnz = {}, factors in {}\n{}", input->name, input->n(), input->a().nnz(), folder,
               to_text(checks));
    for (const std::string& note : files->notes) fmt::print("  {}\n", note);
    fmt::print("{}\n", good ? "L·U reproduces A: accepted" : "L·U does not reproduce A: REJECTED");
  }
  return good ? exit_ok : exit_check_failed;
}

}  // namespace

void add_judge(CLI::App& app, Context& context) {
  auto* command = add_command(app, "judge", "Check the factors in a folder, from this or another program",
                              "lulab judge A.mtx factors");
  auto matrix = std::make_shared<std::string>(), folder = std::make_shared<std::string>();
  command->add_option("matrix", *matrix, "Matrix Market file, plain or .gz")->required();
  command
      ->add_option("folder", *folder,
                   "Folder with L.mtx and U.mtx; without p.mtx, q.mtx (r.mtx, c.mtx) identity (ones) is used")
      ->required();
  command->callback([&context, matrix, folder] {
    context.run = [&context, matrix, folder] { return run_judge(context, *matrix, *folder); };
  });
}

}  // namespace lulab::app
