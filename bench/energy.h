#pragma once
// Energy of a call, from a counter that moves in large steps.

#include <functional>
#include <optional>

#include "core/status.h"

namespace lulab::bench {

struct Energy {
  double joules = 0;  // of one call
  double watts = 0;   // meanwhile
};

/// The time of core/timing.h's clock.   Unit s.
double steady_clock_s();

/// Calls again and again, from a move of the counter to the first one after `least_s`. What else draws from the counter
/// counts, too.   Unit joules: J.
///
/// Returns   nullopt: the counter tells nothing, or does not move within `patience_s`.
/// Errors    those of call().
Result<std::optional<Energy>> energy_of(const std::function<std::optional<double>()>& joules,
                                        const std::function<Status()>& call, double least_s, double patience_s = 2,
                                        const std::function<double()>& now_s = steady_clock_s);

}  // namespace lulab::bench
