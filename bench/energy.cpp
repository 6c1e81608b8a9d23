#include "bench/energy.h"

#include <chrono>
#include <cstdint>

#include "core/timing.h"

namespace lulab::bench {
namespace {

constexpr double look_every_s = 5e-3;  // looking takes the driver some 10 us

}  // namespace

double steady_clock_s() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

Result<std::optional<Energy>> energy_of(const std::function<std::optional<double>()>& joules,
                                        const std::function<Status()>& call, double least_s, double patience_s,
                                        const std::function<double()>& now_s) {
  std::int64_t calls = 0;
  // Calls for `least` seconds and on until the counter moves.   Returns the reading; nullopt: it does not.
  const auto next_move = [&](double least) -> Result<std::optional<double>> {
    std::optional<double> before;
    const double start = now_s();
    double looked = start;
    for (double now = start; now < start + least + patience_s; now = now_s()) {
      LULAB_RETURN_IF_ERROR(call());
      ++calls;
      if (now < start + least || now < looked + look_every_s) continue;
      looked = now;
      const auto reading = joules();
      if (!reading || (before && *reading != *before)) return reading;
      before = reading;
    }
    return std::optional<double>();
  };
  LULAB_ASSIGN_OR_RETURN(const auto first, next_move(0));
  if (!first) return std::optional<Energy>();
  const double start = now_s();
  calls = 0;
  LULAB_ASSIGN_OR_RETURN(const auto last, next_move(least_s));
  const double s = now_s() - start;
  if (!last) return std::optional<Energy>();
  const double spent = *last - *first;
  return std::optional(Energy{spent / static_cast<double>(calls), spent / s});
}

}  // namespace lulab::bench
