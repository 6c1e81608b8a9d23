#include "bench/energy.h"

#include <cstdint>

#include "core/timing.h"

namespace lulab::bench {
namespace {

constexpr double look_every_ms = 5;  // looking takes the driver some 10 us

}  // namespace

Result<std::optional<Energy>> energy_of(const std::function<std::optional<double>()>& joules,
                                        const std::function<Status()>& call, double least_s, double patience_s) {
  // Calls for `least_ms` and on until the counter moves.   Returns the reading; nullopt: it does not.
  std::int64_t calls = 0;
  const auto next_move = [&](double least_ms) -> Result<std::optional<double>> {
    std::optional<double> before;
    auto looked = Clock::now();
    for (const auto start = looked; ms_since(start) < least_ms + 1000 * patience_s;) {
      LULAB_RETURN_IF_ERROR(call());
      ++calls;
      if (ms_since(start) < least_ms || ms_since(looked) < look_every_ms) continue;
      looked = Clock::now();
      const auto now = joules();
      if (!now || (before && *now != *before)) return now;
      before = now;
    }
    return std::optional<double>();
  };
  LULAB_ASSIGN_OR_RETURN(const auto first, next_move(0));
  if (!first) return std::optional<Energy>();
  const auto start = Clock::now();
  calls = 0;
  LULAB_ASSIGN_OR_RETURN(const auto last, next_move(1000 * least_s));
  const double s = 1e-3 * ms_since(start);
  if (!last) return std::optional<Energy>();
  const double spent = *last - *first;
  return std::optional(Energy{spent / static_cast<double>(calls), spent / s});
}

}  // namespace lulab::bench
