#pragma once
// Host time.

#include <chrono>

namespace lulab {

using Clock = std::chrono::steady_clock;

inline double ms_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - start).count();
}
inline double ms_since(Clock::time_point start) { return ms_between(start, Clock::now()); }

}  // namespace lulab
