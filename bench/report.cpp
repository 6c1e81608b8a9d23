#include "bench/report.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lulab::bench {
namespace {

constexpr std::string_view klu_id = "sparse_leftlooking/90_klu";

bool is_factorization(Phase phase) {
  return phase == Phase::factor || phase == Phase::refactor || phase == Phase::end_to_end;
}

nlohmann::ordered_json number(double x) {
  return std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::optional<double> percent_of_bound(const Row& row) {
  if (!row.error.empty() || !(row.bound_ms > 0) || !(row.time_ms > 0)) return std::nullopt;
  return 100 * row.bound_ms / row.time_ms;
}

void Report::add(Row row) {
  if (row.error.empty() && row.name.rung == klu_id && row.name.phase == Phase::refactor &&
      row.name.scalar == Scalar::f64) {
    klu_refactor_ms_[row.name.matrix] = row.time_ms;
  }
  rows_.push_back(std::move(row));
}

std::optional<double> Report::speed_against_klu(const Row& row) const {
  const auto klu = klu_refactor_ms_.find(row.name.matrix);
  if (klu == klu_refactor_ms_.end() || !row.error.empty() || !is_factorization(row.name.phase) || !(row.time_ms > 0)) {
    return std::nullopt;
  }
  return klu->second / row.time_ms;
}

std::string table_header() {
  return fmt::format("{:<78} {:>12}  {:>16}  {:>9}  {}", "rung|matrix|phase|scalar", "time ms", "% of the bound",
                     "x KLU", "notes");
}

std::string table_line(const Report& report, const Row& row) {
  if (!row.error.empty()) return fmt::format("{:<78} {:>12}  {}", to_string(row.name), "-", row.error);
  const auto percent = percent_of_bound(row);
  const auto speed = report.speed_against_klu(row);
  return fmt::format("{:<78} {:>12.4f}  {:>16}  {:>9}  {}", to_string(row.name), row.time_ms,
                     percent ? fmt::format("{:.3g}% {}", *percent, row.bound_by) : "-",
                     speed ? fmt::format("{:.3g}", *speed) : "-", row.label);
}

nlohmann::ordered_json to_json(const Report& report, const nlohmann::ordered_json& context) {
  auto benchmarks = nlohmann::ordered_json::array();
  for (const Row& row : report.rows()) {
    const std::string name = to_string(row.name);
    nlohmann::ordered_json b = {{"name", name}, {"run_name", name}, {"run_type", "iteration"}};
    if (!row.label.empty()) b["label"] = row.label;
    if (!row.error.empty()) {
      b["error_occurred"] = true;
      b["error_message"] = row.error;
      benchmarks.push_back(std::move(b));
      continue;
    }
    b["iterations"] = row.samples;
    b["real_time"] = number(row.time_ms);
    b["cpu_time"] = number(row.time_ms);
    b["time_unit"] = "ms";
    b["min_ms"] = number(row.min_ms);
    b["max_ms"] = number(row.max_ms);
    if (const auto percent = percent_of_bound(row)) {
      b["bound_ms"] = number(row.bound_ms);
      b["bound_by"] = row.bound_by;
      b["percent_of_bound"] = number(*percent);
    }
    if (const auto speed = report.speed_against_klu(row)) b["speed_against_klu_refactor"] = number(*speed);
    if (is_factorization(row.name.phase)) b["backward_error"] = number(row.backward_error);
    if (row.peak_bytes > 0) b["peak_device_bytes"] = row.peak_bytes;
    benchmarks.push_back(std::move(b));
  }
  return {{"context", context}, {"benchmarks", std::move(benchmarks)}};
}

}  // namespace lulab::bench
