#pragma once
// What lulab refactor says: a line a step, and the totals.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "solve/solver.h"

namespace lulab::app {

struct StepReport {
  std::string name;
  std::string right_side;       // file; empty: A times ones
  std::optional<double> shift;  // of a sweep
  bool refactored = false;      // else factored: the first step, and the one after a failure
  Status status;                // why there is no solution
  bool accurate = false;        // the backward error is within its limit
  double backward_error = 0;
  double growth = 0;
  std::int64_t repivots = 0;
  std::int64_t perturbed_pivots = 0;
  StepTimes times;
};

struct RefactorReport {
  std::vector<StepReport> steps;
  std::string device;          // as device_of()
  bool factors_return = true;  // from the device: the download counts as part of a step
};

/// What a step costs: its phases, the download only where the factors return.   Unit ms.
double counted_ms(const RefactorReport& report, const StepReport& step);

/// Of the steps that were refactored and solved; nullopt: none, or in the simulator.   Unit ms.
std::optional<double> median_refactor_ms(const RefactorReport& report);

/// A table and one line of totals.
std::string to_text(const RefactorReport& report);
/// {"matrices": [...], "totals": {...}}; times are null in the simulator.
nlohmann::json to_json(const RefactorReport& report);

}  // namespace lulab::app
