#pragma once
// How long a dense factorization would take, told before it is started.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/status.h"

namespace lulab::bench {

/// Times that were measured, and what they say of larger sizes: n^3, which holds for arithmetic and is too much where
/// launches or hops dominate.
class CostHistory {
 public:
  struct Point {
    std::int32_t n = 0;
    double ms = 0;
  };
  void add(const std::string& who, std::int32_t n, double ms);
  /// The largest size measured that is at most n.
  std::optional<Point> nearest(const std::string& who, std::int32_t n) const;

 private:
  std::map<std::string, std::map<std::int32_t, double>> ms_;
};

/// Estimate of one run of size n. Where it exceeds limit_ms and rests on less than n / 2, trial(m) is timed at doubled
/// sizes m < n as long as the trial itself stays below the limit.   Unit ms; 0: nothing is known, and n is small.
///
/// Errors    those of trial().
Result<double> estimate_ms(CostHistory& history, const std::string& who, std::int32_t n, double limit_ms,
                           const std::function<Result<double>(std::int32_t)>& trial);

/// "skipped: one factorization would take about 47 s (limit 5 s)"; empty when the estimate is within the limit.
std::string reason_to_skip(double estimated_ms, double limit_ms);

}  // namespace lulab::bench
