#include "app/refactor_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/command.h"
#include "app/table.h"

namespace lulab::app {
namespace {

struct RefactorTotals {
  std::int64_t repivots = 0, perturbed_pivots = 0, failed = 0, refactored = 0;
};

bool succeeded(const StepReport& step) { return step.status.ok() && step.accurate; }

RefactorTotals totals_of(const RefactorReport& report) {
  RefactorTotals totals;
  for (const StepReport& step : report.steps) {
    totals.repivots += step.repivots;
    totals.perturbed_pivots += step.perturbed_pivots;
    totals.failed += !succeeded(step);
    totals.refactored += step.refactored && step.status.ok();
  }
  return totals;
}

const char* counted_phases(const RefactorReport& report) {
  return report.downloads ? "upload + refactor + download" : "upload + refactor";
}

template <class Time>
std::optional<double> median_of_steps(const RefactorReport& report, Time time) {
  std::vector<double> ms;
  for (const StepReport& step : report.steps)
    if (step.refactored && step.status.ok()) ms.push_back(time(step));
  if (ms.empty() || report.device == "simulator") return std::nullopt;
  std::sort(ms.begin(), ms.end());
  return (ms[(ms.size() - 1) / 2] + ms[ms.size() / 2]) / 2;
}

std::string plural(std::int64_t count, const char* one, const char* more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

}  // namespace

double counted_ms(const RefactorReport& report, const StepReport& step) {
  const StepTimes& t = step.times;
  return t.pivots + t.upload + t.refactor + (report.downloads ? t.download : 0);
}

double whole_ms(const StepReport& step) {
  const StepTimes& t = step.times;
  return t.prepare + t.pivots + t.upload + t.refactor + t.judge + t.download + step.solve_ms;
}

std::optional<double> median_refactor_ms(const RefactorReport& report) {
  return median_of_steps(report, [&](const StepReport& step) { return counted_ms(report, step); });
}

std::optional<double> median_step_ms(const RefactorReport& report) { return median_of_steps(report, whole_ms); }

std::string to_text(const RefactorReport& report) {
  Table table({{"matrix", Table::Align::left},
               {"phase", Table::Align::left},
               {"status", Table::Align::left},
               {"backward error"},
               {"growth"},
               {"pivots"},
               {"upload"},
               {"refactor"},
               {"judge"},
               {"download"},
               {"solve"}});
  const auto time = [&](double ms) { return report.device == "simulator" || ms == 0 ? "-" : short_time(ms); };
  for (const StepReport& step : report.steps) {
    const char* phase = step.refactored ? "refactor" : "factor";
    if (!step.status.ok()) {
      table.add({step.name, phase, std::string(to_string(step.status.code)), "-", "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    std::string verdict = step.accurate ? "ok" : "FAILED";
    if (step.times.prepare > 0) verdict += ", prepared for more";
    if (step.repivots > 0) verdict += ", re-pivoted";
    if (step.perturbed_pivots > 0) verdict += fmt::format(", {} perturbed", step.perturbed_pivots);
    table.add({step.name, phase, verdict, short_error(step.backward_error), short_error(step.growth),
               time(step.times.prepare + step.times.pivots), time(step.times.upload), time(step.times.refactor),
               time(step.times.judge), time(step.times.download), time(step.solve_ms)});
  }
  std::string conditions;
  for (const StepReport& step : report.steps) {
    if (step.rcond_scaled)
      conditions += fmt::format("{}: rcond {}{} after scaling\n", step.name, step.rcond_is_bound ? "at most " : "",
                                short_error(*step.rcond_scaled));
    if (!step.warning.empty()) conditions += fmt::format("{}: WARNING: {}\n", step.name, step.warning);
  }
  const RefactorTotals totals = totals_of(report);
  std::string line =
      plural(std::ssize(report.steps), "step", "steps") + ", " + plural(totals.repivots, "re-pivot", "re-pivots");
  if (totals.perturbed_pivots > 0)
    line += ", " + plural(totals.perturbed_pivots, "perturbed pivot", "perturbed pivots");
  if (totals.failed > 0) line += fmt::format(", {} FAILED", totals.failed);
  if (const auto median = median_refactor_ms(report))
    line += fmt::format("; median of {}: {} ({}), of whole steps {}",
                        plural(totals.refactored, "refactorization", "refactorizations"), short_time(*median),
                        counted_phases(report), short_time(*median_step_ms(report)));
  else if (report.device == "simulator")
    line += "; times are not measured in the simulator";
  return table.to_string() + conditions + line + "\n";
}

nlohmann::json to_json(const RefactorReport& report) {
  nlohmann::json list = nlohmann::json::array();
  const auto time = [&](double ms) { return report.device == "simulator" ? nlohmann::json() : nlohmann::json(ms); };
  for (const StepReport& step : report.steps) {
    nlohmann::json j = {{"matrix", step.name}, {"phase", step.refactored ? "refactor" : "factor"}};
    if (step.shift) j["shift"] = *step.shift;
    j["right_side"] = step.right_side.empty() ? "A times ones" : step.right_side;
    if (step.status.ok()) {
      j["status"] = step.accurate ? "ok" : "failed";
      j["backward_error"] = step.backward_error;
      j["growth"] = step.growth;
      if (step.rcond_scaled) j[step.rcond_is_bound ? "rcond_scaled_at_most" : "rcond_scaled"] = *step.rcond_scaled;
      if (!step.warning.empty()) j["warning"] = step.warning;
      j["repivots"] = step.repivots;
      j["perturbed_pivots"] = step.perturbed_pivots;
      j["prepare_ms"] = time(step.times.prepare);
      j["pivots_ms"] = time(step.times.pivots);
      j["upload_ms"] = time(step.times.upload);
      j["refactor_ms"] = time(step.times.refactor);
      j["judge_ms"] = time(step.times.judge);
      j["download_ms"] = time(step.times.download);
      j["solve_ms"] = time(step.solve_ms);
      j["time_ms"] = time(counted_ms(report, step));
      j["step_ms"] = time(whole_ms(step));
    } else {
      j["status"] = to_json(step.status);
    }
    list.push_back(std::move(j));
  }
  const RefactorTotals totals = totals_of(report);
  const auto or_null = [](std::optional<double> ms) { return ms ? nlohmann::json(*ms) : nlohmann::json(); };
  return {{"matrices", std::move(list)},
          {"totals",
           {{"steps", report.steps.size()},
            {"repivots", totals.repivots},
            {"perturbed_pivots", totals.perturbed_pivots},
            {"failed", totals.failed},
            {"refactorizations", totals.refactored},
            {"median_ms", or_null(median_refactor_ms(report))},
            {"median_step_ms", or_null(median_step_ms(report))},
            {"counted", counted_phases(report)}}}};
}

}  // namespace lulab::app
