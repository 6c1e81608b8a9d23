#include "app/report_table.h"

#include <cstdio>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/table.h"
#include "core/matrix/number_text.h"

namespace lulab::app {

static std::string yes_no(const std::optional<bool>& check) { return !check ? "-" : *check ? "yes" : "NO"; }
static std::string figure(const std::optional<double>& check) { return check ? short_number(*check) : "-"; }

std::string to_text(const MatrixReport& report) {
  std::string text = fmt::format("{}  n = {}, nnz = {}\n", report.matrix, report.n, report.nnz);
  Table table({{"rung", Table::Align::left},
               {"status", Table::Align::left},
               {"LU residual"},
               {"solve residual"},
               {"backward error"},
               {"growth"},
               {"rcond"},
               {"KLU's pattern"},
               {"time", Table::Align::left}});
  std::string notes;
  for (const RungReport& rung : report.rungs) {
    const Checks& c = rung.checks;
    const bool ran = rung.verdict == Verdict::ok || rung.verdict == Verdict::failed;
    std::string name = rung.id;
    if (rung.scalar != "f64") name += " " + rung.scalar;
    const std::string status(to_string(rung.verdict));
    table.add({name,
               rung.verdict == Verdict::failed ? "FAILED"
               : rung.repivots > 0             ? status + ", re-pivoted"
                                               : status,
               figure(c.lu_residual), figure(c.solve_residual), figure(c.backward_error), figure(c.growth),
               figure(c.rcond), yes_no(c.klu_pattern_equal), ran ? time_on(rung.device, rung.time_ms) : "-"});
    for (const std::string& failure : c.failures) notes += fmt::format("  {}: {}\n", name, failure);
    if (!rung.chosen_rung.empty())
      notes += fmt::format("  {} chose {}: {}\n", name, rung.chosen_rung, rung.choice_reason);
    if (!rung.message.empty()) notes += fmt::format("  {}: {}\n", name, rung.message);
  }
  if (report.klu_blocks_equal == false) notes += fmt::format("  FAILED: block triangular form: {}\n", report.message);
  return text + table.to_string() + notes;
}

std::string to_text(const Checks& c) {
  Table table({{"check", Table::Align::left}, {"measured"}, {"limit"}});
  const auto add = [&](const char* name, const std::string& measured, const std::string& limit) {
    if (measured != "-") table.add({name, measured, limit});
  };
  add("all values finite", yes_no(c.finite), "yes");
  add("P and Q permutations", yes_no(c.permutations), "yes");
  add("R and C positive", yes_no(c.scalings), "yes");
  add("L unit lower, U upper", yes_no(c.structure), "yes");
  add("pattern contains PAQ", yes_no(c.pattern_contains_a), "yes");
  add("pattern equals KLU's", yes_no(c.klu_pattern_equal), "yes");
  add("||PRACQ - LU||_1 / (n ||RAC||_1 eps)", figure(c.lu_residual), "30");
  add("||b - Ax||_1 / (||A||_1 ||x||_1 eps)", figure(c.solve_residual), "30");
  add("HPL residual", figure(c.hpl_residual), "16");
  add("componentwise backward error", figure(c.backward_error), figure(30 * c.eps));
  add("omega1 + omega2", figure(c.omega), figure(30 * c.eps));
  add("backward error before refinement", figure(c.first_backward_error), "");
  add("pivot growth", figure(c.growth), "");
  add("reciprocal condition number", figure(c.rcond), "");
  std::string text = table.to_string();
  if (!c.note.empty()) text += "  note: " + c.note + "\n";
  for (const std::string& failure : c.failures) text += "  FAILED: " + failure + "\n";
  return text;
}

int exit_code(const MatrixReport& report) {
  if (!report.status.ok()) return exit_code(report.status);
  int code = report.failed() ? exit_check_failed : exit_ok;
  for (const RungReport& rung : report.rungs) {
    switch (rung.verdict) {
      case Verdict::ok:
      case Verdict::skipped:
      case Verdict::failed: break;
      case Verdict::needs_repivot:
      case Verdict::singular: code = worse(code, exit_singular); break;
      case Verdict::race:
      case Verdict::error: code = worse(code, exit_code(rung.status)); break;
    }
  }
  return code;
}

int show(const Context& context, const MatrixReport& report, const nlohmann::json* more) {
  nlohmann::json json = lulab::to_json(report);
  if (more != nullptr) json.update(*more);
  if (context.json)
    print_json(json);
  else if (report.status.ok())
    fmt::print("{}\n", to_text(report));
  else
    fail(context, report.status);
  std::fflush(stdout);
  return exit_code(report);
}

}  // namespace lulab::app
