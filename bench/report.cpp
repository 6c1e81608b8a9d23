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

/// Their speed is told against a yardstick.
bool is_compared(Phase phase) { return is_factorization(phase) || is_solver_phase(phase); }

bool is_alternative_solve(const Row& row) {
  return row.name.phase == Phase::solve &&
         (row.name.rung.starts_with("alternatives/") || row.name.rung.starts_with("solve/"));
}

bool is_fill(const Row& row) { return row.name.rung.starts_with("symbolic/"); }

/// Their speed is told against a yardstick, whatever their phase.
bool has_own_yardstick(const Row& row) { return is_alternative_solve(row) || is_fill(row); }

/// Name of the row whose time is the yardstick of this one.
std::string yardstick_name(const Row& row) {
  const Yardstick yardstick = yardstick_of(row);
  const bool dense = yardstick == Yardstick::cusolver || yardstick == Yardstick::cublas;
  const Phase phase = is_solver_phase(row.name.phase) ? row.name.phase
                      : dense                         ? Phase::factor
                      : yardstick == Yardstick::klu   ? Phase::refactor
                      : yardstick == Yardstick::fill  ? Phase::symbolic
                                                      : Phase::solve;
  return to_string(
      Name{std::string(rung_of(yardstick)), row.name.matrix, phase, dense ? row.name.scalar : Scalar::f64});
}

std::string_view title(Yardstick yardstick) {
  switch (yardstick) {
    case Yardstick::klu:
    case Yardstick::klu_step:
    case Yardstick::klu_step_device:
    case Yardstick::klu_first:
    case Yardstick::klu_run: return "x KLU";
    case Yardstick::cusolver: return "x cuSOLVER";
    case Yardstick::cublas: return "x cuBLAS";
    case Yardstick::host_solve: return "x KLU/host";
    case Yardstick::fill: return "x 01 GP";
  }
  return "?";
}

std::string_view json_key(Yardstick yardstick) {
  switch (yardstick) {
    case Yardstick::klu: return "speed_against_klu_refactor";
    case Yardstick::klu_step: return "speed_against_klu_step";
    case Yardstick::klu_step_device: return "speed_against_klu_step_device";
    case Yardstick::klu_first: return "speed_against_klu_first";
    case Yardstick::klu_run: return "speed_against_klu_run";
    case Yardstick::cusolver: return "speed_against_cusolver";
    case Yardstick::cublas: return "speed_against_cublas";
    case Yardstick::host_solve: return "speed_against_host_solve";
    case Yardstick::fill: return "speed_against_gilbert_peierls";
  }
  return "?";
}

bool is_klu_peer(const Row& row) { return row.name.rung == klu_peer_id || row.name.rung == klu_our_order_peer_id; }

/// A solver with a time in the phases step and first, KLU itself left out.
bool is_told_against_klu(const Row& row) {
  return is_solver_phase(row.name.phase) && row.error.empty() && !is_klu_peer(row);
}

/// "upload 0.0512 + refactor 0.07 + solve 0.47": the parts that took any time.
std::string sum_of(const std::vector<Part>& parts) {
  std::vector<std::string> terms;
  for (const Part& part : parts)
    if (part.ms > 0) terms.push_back(fmt::format("{} {:.3g}", part.name, part.ms));
  return fmt::format("{}", fmt::join(terms, " + "));
}

/// "2.3 GTEPS, 12.4% of the copy bandwidth, workspace 812 x the pattern, 5 groups, 4224 columns at once"
std::string text_of(const Row& row) {
  std::string text;
  if (const auto teps = edges_per_s(row)) text += fmt::format("{:.3g} GTEPS, ", *teps * 1e-9);
  if (const auto percent = percent_of_copy_bandwidth(row))
    text += fmt::format("{:.3g}% of the copy bandwidth, ", *percent);
  return text + fmt::format("workspace {:.3g} x the pattern, {} groups, {} columns at once",
                            row.fill->workspace_ratio(), row.fill->groups, row.fill->most_at_once);
}

/// What a line says at its end.
std::string notes(const Report& report, const Row& row) {
  std::vector<std::string> all;
  if (!row.label.empty()) all.push_back(row.label);
  if (row.fill) all.push_back(text_of(row));
  if (const std::string sum = sum_of(row.parts); !sum.empty()) all.push_back(sum);
  if (is_solver_phase(row.name.phase)) all.push_back(fmt::format("backward error {:.1e}", row.backward_error));
  if (const std::string why = report.why_no_klu(row); !why.empty()) all.push_back("no speed: " + why);
  return fmt::format("{}", fmt::join(all, ", "));
}

nlohmann::ordered_json number(double x) {
  return std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::optional<double> percent_of_bound(const Row& row) {
  if (!row.error.empty() || !(row.bound_ms > 0) || !(row.time_ms > 0)) return std::nullopt;
  return 100 * row.bound_ms / row.time_ms;
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
}

void set_times(Row& row, std::vector<double> ms) {
  row.samples = static_cast<std::int64_t>(ms.size());
  const std::size_t stored = std::min(ms.size(), max_stored_samples);
  row.some_ms.resize(stored);
  for (std::size_t k = 0; k < stored; ++k) row.some_ms[k] = ms[k * ms.size() / stored];
  row.time_ms = median(ms);
  std::sort(ms.begin(), ms.end());
  row.min_ms = ms.front();
  row.max_ms = ms.back();
  const std::size_t tenth = ms.size() / 10;
  row.p10_ms = ms[tenth];
  row.p90_ms = ms[ms.size() - 1 - tenth];
}

std::optional<double> gflops_per_s(const Row& row) {
  if (!row.error.empty() || !(row.flops > 0) || !(row.time_ms > 0)) return std::nullopt;
  return row.flops / row.time_ms * 1e-6;
}

std::optional<double> edges_per_s(const Row& row) {
  if (!row.error.empty() || !row.fill || !(row.time_ms > 0)) return std::nullopt;
  return static_cast<double>(row.fill->edges) / row.time_ms * 1e3;
}

std::optional<double> percent_of_copy_bandwidth(const Row& row) {
  if (!row.error.empty() || !row.fill || !(row.time_ms > 0) || !(row.fill->bandwidth_bytes_per_s > 0))
    return std::nullopt;
  return 100 * static_cast<double>(row.fill->moved_bytes) / (row.time_ms * 1e-3) / row.fill->bandwidth_bytes_per_s;
}

Yardstick yardstick_of(const Row& row) {
  if (row.name.phase == Phase::step) return Yardstick::klu_step;
  if (row.name.phase == Phase::step_device) return Yardstick::klu_step_device;
  if (row.name.phase == Phase::first) return Yardstick::klu_first;
  if (row.name.phase == Phase::run) return Yardstick::klu_run;
  if (is_alternative_solve(row)) return Yardstick::host_solve;
  if (is_fill(row)) return Yardstick::fill;
  if (!(row.flops > 0)) return Yardstick::klu;
  return row.name.matrix.starts_with("batch=") ? Yardstick::cublas : Yardstick::cusolver;
}

std::string_view rung_of(Yardstick yardstick) {
  switch (yardstick) {
    case Yardstick::klu: return "sparse_leftlooking/90_klu";
    case Yardstick::klu_step:
    case Yardstick::klu_step_device:
    case Yardstick::klu_first:
    case Yardstick::klu_run: return klu_peer_id;
    case Yardstick::cusolver: return "dense/90_cusolver";
    case Yardstick::cublas: return "dense/92_cublas_batched";
    case Yardstick::host_solve: return "solve/00_reference";
    case Yardstick::fill: return "symbolic/01_gilbert_peierls";
  }
  return "?";
}

void Report::add(Row row) {
  const std::string name = to_string(row.name);
  if (row.error.empty() && name == yardstick_name(row)) yardstick_ms_[name] = row.time_ms;
  rows_.push_back(std::move(row));
}

std::optional<double> Report::speed(const Row& row) const {
  if (!row.error.empty() || !(is_compared(row.name.phase) || has_own_yardstick(row)) || !(row.time_ms > 0))
    return std::nullopt;
  if (is_solver_phase(row.name.phase)) {
    const Row* klu = klu_of(row);
    return klu != nullptr ? std::optional(klu->time_ms / row.time_ms) : std::nullopt;
  }
  const auto yardstick = yardstick_ms_.find(yardstick_name(row));
  return yardstick != yardstick_ms_.end() ? std::optional(yardstick->second / row.time_ms) : std::nullopt;
}

const Row* Report::klu_of(const Row& row) const {
  const Row* fastest = nullptr;
  if (!is_told_against_klu(row)) return nullptr;
  for (const Row& klu : rows_)
    if (is_klu_peer(klu) && klu.name.matrix == row.name.matrix && klu.name.phase == row.name.phase &&
        klu.error.empty() && klu.time_ms > 0 && (fastest == nullptr || klu.time_ms < fastest->time_ms))
      fastest = &klu;
  return fastest;
}

std::string Report::why_no_klu(const Row& row) const {
  if (!is_told_against_klu(row) || klu_of(row) != nullptr) return {};
  std::vector<std::string> reasons;
  for (const Row& klu : rows_)
    if (is_klu_peer(klu) && klu.name.matrix == row.name.matrix && klu.name.phase == row.name.phase)
      reasons.push_back(fmt::format("{}: {}", klu.name.rung, klu.error));
  return fmt::format("{}", fmt::join(reasons, "; "));
}

std::string table_header(Yardstick yardstick) {
  const bool dense = yardstick == Yardstick::cusolver || yardstick == Yardstick::cublas;
  const std::string gflops = dense ? fmt::format(" {:>9}", "GFLOP/s") : "";
  return fmt::format("{:<78} {:>12} {:>21}{}  {:>16}  {:>10} {:>7}  {}", "rung|matrix|phase|scalar", "time ms",
                     "10 to 90 % of runs", gflops, "% of the bound", title(yardstick), "threads", "notes");
}

std::string table_line(const Report& report, const Row& row) {
  if (!row.error.empty()) return fmt::format("{:<78} {:>12}  {}", to_string(row.name), "-", row.error);
  const auto gflops = gflops_per_s(row);
  const auto percent = percent_of_bound(row);
  const auto speed = report.speed(row);
  return fmt::format("{:<78} {:>12.4f} {:>21}{}  {:>16}  {:>10} {:>7}  {}", to_string(row.name), row.time_ms,
                     fmt::format("{:.4g} to {:.4g}", row.p10_ms, row.p90_ms),
                     gflops ? fmt::format(" {:>9.1f}", *gflops) : "",
                     percent ? fmt::format("{:.3g}% {}", *percent, row.bound_by) : "-",
                     speed ? fmt::format("{:.3g}", *speed) : "-", row.threads, notes(report, row));
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
    b["p10_ms"] = number(row.p10_ms);
    b["p90_ms"] = number(row.p90_ms);
    for (const double ms : row.some_ms) b["samples_ms"].push_back(std::stod(fmt::format("{:.5g}", ms)));
    b["threads"] = row.threads;
    for (const Part& part : row.parts) b["split_ms"][part.name] = number(part.ms);
    if (const auto percent = percent_of_bound(row)) {
      b["bound_ms"] = number(row.bound_ms);
      b["bound_by"] = row.bound_by;
      b["percent_of_bound"] = number(*percent);
    }
    if (const auto speed = report.speed(row)) b[std::string(json_key(yardstick_of(row)))] = number(*speed);
    if (const Row* klu = report.klu_of(row)) {
      b["klu"] = klu->name.rung;
      b["klu_ms"] = number(klu->time_ms);
      b["klu_backward_error"] = number(klu->backward_error);
    }
    if (const std::string why = report.why_no_klu(row); !why.empty()) b["no_klu"] = why;
    if (const auto gflops = gflops_per_s(row)) {
      b["gflops"] = number(*gflops);
      b["lu_residual"] = number(row.lu_residual);
      b["growth"] = number(row.growth);
    } else if (is_compared(row.name.phase) || is_alternative_solve(row)) {
      b["backward_error"] = number(row.backward_error);
    }
    if (row.fill) {
      b["entries_read"] = row.fill->edges;
      if (const auto teps = edges_per_s(row)) b["entries_read_per_s"] = number(*teps);
      b["groups"] = row.fill->groups;
      b["columns_at_once"] = row.fill->most_at_once;
      b["workspace_bytes"] = row.fill->workspace_bytes;
      b["pattern_bytes"] = row.fill->pattern_bytes;
      b["workspace_ratio"] = number(row.fill->workspace_ratio());
      b["six_arrays_ratio"] =
          number(static_cast<double>(row.fill->six_arrays_bytes) / static_cast<double>(row.fill->pattern_bytes));
      b["moved_bytes"] = row.fill->moved_bytes;
      if (const auto percent = percent_of_copy_bandwidth(row)) b["percent_of_copy_bandwidth"] = number(*percent);
    }
    if (row.solver_iterations > 0) b["solver_iterations"] = row.solver_iterations;
    if (row.peak_bytes > 0) b["peak_device_bytes"] = row.peak_bytes;
    if (row.host_bytes > 0) b["solver_host_bytes"] = row.host_bytes;
    if (row.device_bytes > 0) b["solver_device_bytes"] = row.device_bytes;
    if (row.energy) {
      b["gpu_energy_mj"] = number(1000 * row.energy->joules);
      b["gpu_watts"] = number(row.energy->watts);
    }
    benchmarks.push_back(std::move(b));
  }
  return {{"context", context}, {"benchmarks", std::move(benchmarks)}};
}

}  // namespace lulab::bench
