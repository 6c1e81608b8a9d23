#include "bench/cost_estimate.h"

#include <cmath>

#include <fmt/format.h>

namespace lulab::bench {
namespace {

constexpr std::int32_t first_trial = 1024;

double scaled(const CostHistory::Point& p, std::int32_t n) { return p.ms * std::pow(static_cast<double>(n) / p.n, 3); }

}  // namespace

void CostHistory::add(const std::string& who, std::int32_t n, double ms) { ms_[who][n] = ms; }

std::optional<CostHistory::Point> CostHistory::nearest(const std::string& who, std::int32_t n) const {
  const auto known = ms_.find(who);
  if (known == ms_.end()) return std::nullopt;
  const auto above = known->second.upper_bound(n);
  if (above == known->second.begin()) return std::nullopt;
  return Point{std::prev(above)->first, std::prev(above)->second};
}

Result<double> estimate_ms(CostHistory& history, const std::string& who, std::int32_t n, double limit_ms,
                           const std::function<Result<double>(std::int32_t)>& trial) {
  for (;;) {
    const auto known = history.nearest(who, n);
    const double estimate = known ? scaled(*known, n) : 0;
    if (known && (estimate <= limit_ms || 2.0 * known->n >= n)) return estimate;
    const std::int32_t next = known ? 2 * known->n : first_trial;
    if (next >= n || (known && scaled(*known, next) > limit_ms)) return estimate;
    LULAB_ASSIGN_OR_RETURN(const auto ms, trial(next));
    history.add(who, next, ms);
  }
}

std::string reason_to_skip(double estimated_ms, double limit_ms) {
  if (estimated_ms <= limit_ms) return {};
  return fmt::format("skipped: one factorization would take about {:.2g} s (limit {:.2g} s)", estimated_ms * 1e-3,
                     limit_ms * 1e-3);
}

}  // namespace lulab::bench
