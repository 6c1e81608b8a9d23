// lulab judge A.mtx DIR, lulab judge A.mtx --l L.mtx --u U.mtx: checks factors that another program wrote.

#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/factor_folder.h"
#include "app/input.h"
#include "app/progress.h"
#include "app/table.h"
#include "core/matrix/number_text.h"
#include "verify/foreign.h"

namespace lulab::app {
namespace {

struct JudgeArguments {
  std::string matrix, folder, convention, index_base = "auto";
  FactorPaths paths;
  double tolerance = 30;
};

// Two pieces side by side, 6 x 6 at most.
std::string window_text(const Window& w) {
  std::string text = fmt::format("  rows {}..{}, columns {}..{} of\n  {:<{}}L·U\n", w.row + 1, w.row + w.rows,
                                 w.column + 1, w.column + w.columns, "P·R·A·C·Q", 11 * w.columns + 4);
  const auto number = [](double v) { return v == 0 ? fmt::format("{:>11}", ".") : fmt::format("{:>11.3e}", v); };
  for (std::int32_t i = 0; i < w.rows; ++i) {
    std::string wanted, found;
    for (std::int32_t j = 0; j < w.columns; ++j) {
      wanted += number(w.wanted[6 * i + j]);
      found += number(w.found[6 * i + j]);
    }
    text += fmt::format("  {}   {}\n", wanted, found);
  }
  return text;
}

std::string judgement_text(const Judgement& judgement) {
  Table table({{"check", Table::Align::left},
               {"measured"},
               {"limit"},
               {"verdict", Table::Align::left},
               {"formula", Table::Align::left}});
  for (const JudgedCheck& c : judgement.checks)
    table.add({std::string(c.name), c.question ? (c.value == 1 ? "yes" : "NO") : short_number(c.value),
               c.question            ? "yes"
               : std::isnan(c.limit) ? ""
                                     : fmt::format("{:.3g}", c.limit),
               c.result == JudgedCheck::Result::failed ? "FAILED" : std::string(to_string(c.result)),
               std::string(c.formula)});
  std::string text = table.to_string();
  for (const std::string& note : judgement.notes) text += fmt::format("  note: {}\n", note);
  for (const std::string& failure : judgement.failures)  // those of numbers stand in the table
    if (failure.find(", limit ") == std::string::npos) text += fmt::format("  FAILED: {}\n", failure);
  if (!judgement.finding) return text;
  text += fmt::format("{}: {}\n  try: {}\n", to_string(judgement.finding->fault), judgement.finding->what,
                      judgement.finding->advice);
  if (judgement.finding->window) text += window_text(*judgement.finding->window);
  return text;
}

std::string_view verdict_of(const Judgement& judgement) {
  if (judgement.accepted) return "L·U reproduces A: accepted";
  return judgement.finding->fault == Fault::solution ? "x does not solve A·x = b: REJECTED"
                                                     : "L·U does not reproduce A: REJECTED";
}

Result<JudgeOptions> options_of(const JudgeArguments& arguments) {
  JudgeOptions options;
  const auto convention = convention_named(arguments.convention.empty() ? (arguments.folder.empty() ? "auto" : "lulab")
                                                                        : std::string_view(arguments.convention));
  if (!convention)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("there is no convention {}; known are klu, superlu, "
                                     "scipy, eigen, lapack-ipiv, umfpack, matlab, lulab, auto",
                                     lulab::quoted(arguments.convention)));
  options.convention = *convention;
  if (arguments.index_base != "auto" && arguments.index_base != "0" && arguments.index_base != "1")
    return Status::error(StatusCode::invalid_argument, fmt::format("the index base is {}; 0, 1 and auto are known",
                                                                   lulab::quoted(arguments.index_base)));
  if (arguments.index_base != "auto") options.index_base = arguments.index_base == "1";
  options.tolerance = arguments.tolerance;
  return options;
}

int run_judge(const Context& context, JudgeArguments arguments) {
  auto options = options_of(arguments);
  if (!options.ok()) return fail(context, options.status());
  if (!arguments.folder.empty()) {
    FactorPaths found = paths_in(arguments.folder);
    for (std::string FactorPaths::*path :
         {&FactorPaths::l, &FactorPaths::u, &FactorPaths::f, &FactorPaths::p, &FactorPaths::q, &FactorPaths::r,
          &FactorPaths::c, &FactorPaths::x, &FactorPaths::b})
      if ((arguments.paths.*path).empty()) arguments.paths.*path = found.*path;
  }
  if (arguments.paths.l.empty() || arguments.paths.u.empty())
    return fail(context, Status::error(StatusCode::invalid_argument,
                                       "no factors: name a folder with L.mtx and U.mtx, or both files by --l and --u"));
  auto input = load_matrix(arguments.matrix, Needs::square_values);
  if (!input.ok()) return fail(context, input.status());
  auto files = read_factors(arguments.paths, input->n());
  if (!files.ok()) return fail(context, files.status());
  Judgement judgement;
  if (files->not_finite) {
    judgement.finding = files->not_finite;
    judgement.failures = {files->not_finite->what};
    judgement.checks = {{"finite", "every value in the files is finite", 0, 1, true, JudgedCheck::Result::failed}};
    judgement.convention = options->convention;
  } else {
    options->x = files->x;
    options->b = files->b;
    Progress progress;
    progress.show("checking the factors");
    auto judged = judge_foreign(input->a(), files->factors, *options);
    if (!judged.ok()) return fail(context, judged.status());
    judgement = *std::move(judged);
  }
  judgement.notes.insert(judgement.notes.begin(), files->notes.begin(), files->notes.end());
  const std::string where =
      arguments.folder.empty() ? arguments.paths.l + " and " + arguments.paths.u : arguments.folder;
  if (context.json) {
    nlohmann::json json = {{"matrix", input->name}, {"n", input->n()}, {"nnz", input->a().nnz()}, {"factors", where}};
    json.update(lulab::to_json(judgement));
    print_json(json);
  } else {
    fmt::print("{}  n = {}, nnz = {}, factors in {}\n{}{}\n", input->name, input->n(), input->a().nnz(), where,
               judgement_text(judgement), verdict_of(judgement));
  }
  return judgement.accepted ? exit_ok : exit_check_failed;
}

}  // namespace

void add_judge(CLI::App& app, Context& context) {
  auto* command =
      add_command(app, "judge", "Check the factors of this or another program; say where and why they are wrong",
                  "lulab judge A.mtx --l L.mtx --u U.mtx --p perm_r.mtx --q perm_c.mtx --convention superlu");
  auto arguments = std::make_shared<JudgeArguments>();
  command->add_option("matrix", arguments->matrix, "Matrix Market file, plain or .gz")->required();
  command->add_option(
      "folder", arguments->folder,
      "Folder with L.mtx and U.mtx, and p.mtx, q.mtx, r.mtx, c.mtx where they are not identity or ones");
  const auto file = [&](const char* name, std::string FactorPaths::*path, const char* what) {
    command->add_option(name, arguments->paths.*path, what)->type_name("FILE");
  };
  file("--l", &FactorPaths::l, "L; the same file as --u: both packed in one matrix");
  file("--u", &FactorPaths::u, "U");
  file("--f", &FactorPaths::f, "KLU's entries above the diagonal blocks");
  file("--p", &FactorPaths::p, "Order of the rows: numbers or a permutation matrix");
  file("--q", &FactorPaths::q, "Order of the columns");
  file("--r", &FactorPaths::r, "Scale factors of the rows: numbers or a diagonal matrix");
  file("--c", &FactorPaths::c, "Scale factors of the columns");
  file("--x", &FactorPaths::x, "A solution to judge, with --b");
  file("--b", &FactorPaths::b, "Its right-hand side");
  command->add_option(
      "--convention", arguments->convention,
      "What p, q, r, c mean: klu, superlu, scipy, eigen, lapack-ipiv, umfpack, matlab, lulab, or auto: the "
      "one that fits best (a folder: lulab)");
  command->add_option("--index-base", arguments->index_base,
                      "p and q count from 0 or 1 (auto: as the convention has it)");
  add_real(*command, "--tolerance", arguments->tolerance, "What a residual may measure, in units of its formula");
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_judge(context, *arguments); }; });
}

}  // namespace lulab::app
