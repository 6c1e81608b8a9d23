#pragma once
// The report of lulab refactor: one line per step, and totals.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "driver/solver.h"

namespace lulab::app {

struct StepReport {
  std::string name;
  std::string right_side;       // file; empty: b = A times ones
  std::optional<double> shift;  // of --sweep
  bool refactored = false;      // false: factored (the first step, and the one after a failure)
  Status status;                // ok, or why there is no solution
  bool accurate = false;        // the backward error is within its limit
  double backward_error = 0;    // omega1 + omega2
  double growth = 0;
  std::optional<double> rcond_scaled;  // where factored
  bool rcond_is_bound = false;         // rcond_scaled is an upper bound
  std::string warning;                 // singular, and the caller asked to go on; else empty
  std::int64_t repivots = 0;
  std::int64_t perturbed_pivots = 0;
  StepTimes times;
  double solve_ms = 0;
};

struct RefactorReport {
  std::vector<StepReport> steps;
  std::string device;      // as device_of()
  bool downloads = false;  // every step downloads the factors from the GPU, and its time includes that
};

/// Time of a step: pivots, upload, refactor, and download if `downloads` is set.   Unit ms.
double counted_ms(const RefactorReport& report, const StepReport& step);
/// From new values to x: all of step.times, and the solve.   Unit ms.
double whole_ms(const StepReport& step);

/// Median of counted_ms() over the refactored and solved steps; nullopt without such steps and in the simulator.   Unit
/// ms.
std::optional<double> median_refactor_ms(const RefactorReport& report);
/// Likewise of whole_ms().
std::optional<double> median_step_ms(const RefactorReport& report);

/// A table and one line of totals.
std::string to_text(const RefactorReport& report);
/// {"matrices": [...], "totals": {...}}; times are null in the simulator.
nlohmann::json to_json(const RefactorReport& report);

}  // namespace lulab::app
