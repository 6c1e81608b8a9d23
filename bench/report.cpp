#include "bench/report.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lulab::bench {
namespace {

bool is_factorization(Phase phase) {
  return phase == Phase::factor || phase == Phase::refactor || phase == Phase::end_to_end || phase == Phase::batch;
}

bool is_alternative_solve(const Row& row) {
  return row.name.phase == Phase::solve && row.name.rung.starts_with("alternatives/");
}

/// Name of the row whose time is the yardstick of this one.
std::string yardstick_name(const Row& row) {
  const Yardstick yardstick = yardstick_of(row);
  const bool dense = yardstick == Yardstick::cusolver || yardstick == Yardstick::cublas;
  const Phase phase = dense ? Phase::factor : yardstick == Yardstick::klu ? Phase::refactor : Phase::solve;
  return to_string(
      Name{std::string(rung_of(yardstick)), row.name.matrix, phase, dense ? row.name.scalar : Scalar::f64});
}

std::string_view title(Yardstick yardstick) {
  switch (yardstick) {
    case Yardstick::klu: return "x KLU";
    case Yardstick::cusolver: return "x cuSOLVER";
    case Yardstick::cublas: return "x cuBLAS";
    case Yardstick::host_solve: return "x KLU/host";
  }
  return "?";
}

std::string_view json_key(Yardstick yardstick) {
  switch (yardstick) {
    case Yardstick::klu: return "speed_against_klu_refactor";
    case Yardstick::cusolver: return "speed_against_cusolver";
    case Yardstick::cublas: return "speed_against_cublas";
    case Yardstick::host_solve: return "speed_against_host_solve";
  }
  return "?";
}

nlohmann::ordered_json number(double x) {
  return std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::optional<double> percent_of_bound(const Row& row) {
  if (!row.error.empty() || !(row.bound_ms > 0) || !(row.time_ms > 0)) return std::nullopt;
  return 100 * row.bound_ms / row.time_ms;
}

void set_times(Row& row, std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  row.samples = static_cast<std::int64_t>(ms.size());
  row.time_ms = (ms[(ms.size() - 1) / 2] + ms[ms.size() / 2]) / 2;
  row.min_ms = ms.front();
  row.max_ms = ms.back();
}

std::optional<double> gflops_per_s(const Row& row) {
  if (!row.error.empty() || !(row.flops > 0) || !(row.time_ms > 0)) return std::nullopt;
  return row.flops / row.time_ms * 1e-6;
}

Yardstick yardstick_of(const Row& row) {
  if (is_alternative_solve(row)) return Yardstick::host_solve;
  if (!(row.flops > 0)) return Yardstick::klu;
  return row.name.matrix.starts_with("batch=") ? Yardstick::cublas : Yardstick::cusolver;
}

std::string_view rung_of(Yardstick yardstick) {
  switch (yardstick) {
    case Yardstick::klu: return "sparse_leftlooking/90_klu";
    case Yardstick::cusolver: return "dense/90_cusolver";
    case Yardstick::cublas: return "dense/92_cublas_batched";
    case Yardstick::host_solve: return "alternatives/host_solve";
  }
  return "?";
}

void Report::add(Row row) {
  const std::string name = to_string(row.name);
  if (row.error.empty() && name == yardstick_name(row)) yardstick_ms_[name] = row.time_ms;
  rows_.push_back(std::move(row));
}

std::optional<double> Report::speed(const Row& row) const {
  const auto yardstick = yardstick_ms_.find(yardstick_name(row));
  if (yardstick == yardstick_ms_.end() || !row.error.empty() ||
      !(is_factorization(row.name.phase) || is_alternative_solve(row)) || !(row.time_ms > 0)) {
    return std::nullopt;
  }
  return yardstick->second / row.time_ms;
}

std::string table_header(Yardstick yardstick) {
  const bool dense = yardstick == Yardstick::cusolver || yardstick == Yardstick::cublas;
  const std::string gflops = dense ? fmt::format(" {:>9}", "GFLOP/s") : "";
  return fmt::format("{:<78} {:>12}{}  {:>16}  {:>10}  {}", "rung|matrix|phase|scalar", "time ms", gflops,
                     "% of the bound", title(yardstick), "notes");
}

std::string table_line(const Report& report, const Row& row) {
  if (!row.error.empty()) return fmt::format("{:<78} {:>12}  {}", to_string(row.name), "-", row.error);
  const auto gflops = gflops_per_s(row);
  const auto percent = percent_of_bound(row);
  const auto speed = report.speed(row);
  return fmt::format("{:<78} {:>12.4f}{}  {:>16}  {:>10}  {}", to_string(row.name), row.time_ms,
                     gflops ? fmt::format(" {:>9.1f}", *gflops) : "",
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
    if (!row.chosen_rung.empty()) {
      b["chosen_rung"] = row.chosen_rung;
      b["choice_reason"] = row.choice_reason;
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
    if (const auto speed = report.speed(row)) b[std::string(json_key(yardstick_of(row)))] = number(*speed);
    if (const auto gflops = gflops_per_s(row)) {
      b["gflops"] = number(*gflops);
      b["lu_residual"] = number(row.lu_residual);
      b["growth"] = number(row.growth);
    } else if (is_factorization(row.name.phase) || is_alternative_solve(row)) {
      b["backward_error"] = number(row.backward_error);
    }
    if (row.solver_iterations > 0) b["solver_iterations"] = row.solver_iterations;
    if (row.peak_bytes > 0) b["peak_device_bytes"] = row.peak_bytes;
    benchmarks.push_back(std::move(b));
  }
  return {{"context", context}, {"benchmarks", std::move(benchmarks)}};
}

}  // namespace lulab::bench
