#pragma once
// The schedules under which the tests of kernels repeat their launches. LULAB_SIM_SEED and LULAB_SIM_RESIDENT choose
// one of them: testing/replay.h prints both when a test fails. LULAB_SIM_SEEDS=200 asks for so many seeds.

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "core/simt/device.h"

namespace lulab::simt {

/// A build with ThreadSanitizer: races are reported, and simulated threads take ten times as long.
#ifdef __SANITIZE_THREAD__
inline constexpr bool race_detection = true;
#else
inline constexpr bool race_detection = false;
#endif

/// A build with a sanitizer: launches are slow, and it finds most faults whatever the schedule and the values.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool instrumented = true;
#else
inline constexpr bool instrumented = race_detection;
#endif

/// Those of `all` that the environment variable allows; all of them when it is not set.
template <class T>
std::vector<T> allowed_by(const char* variable, const std::vector<T>& all) {
  const char* value = std::getenv(variable);
  if (!value) return all;
  std::vector<T> allowed;
  for (const T& x : all)
    if (std::to_string(x) == value) allowed.push_back(x);
  return allowed;
}

/// How many seeds LULAB_SIM_SEEDS asks for.
inline std::optional<std::uint64_t> seeds_asked_for() {
  const char* count = std::getenv("LULAB_SIM_SEEDS");
  return count ? std::optional<std::uint64_t>(std::strtoull(count, nullptr, 10)) : std::nullopt;
}

/// The seeds 1 to count, or as many as are asked for.
inline std::vector<std::uint64_t> schedule_seeds(std::uint64_t count) {
  std::vector<std::uint64_t> seeds(seeds_asked_for().value_or(count));
  std::iota(seeds.begin(), seeds.end(), 1);
  return allowed_by("LULAB_SIM_SEED", seeds);
}

/// Eager and lazy schedulers, several orders. One seed on a GPU, where it has no effect.
inline std::vector<std::uint64_t> all_schedule_seeds() {
  if (machine() == Machine::gpu) return {0};
  return schedule_seeds(8);
}

/// The same, but two with a sanitizer: a race that one schedule hides is rare.
inline std::vector<std::uint64_t> schedule_seeds() {
  auto seeds = all_schedule_seeds();
  if (instrumented && !seeds_asked_for() && seeds.size() > 2) seeds.resize(2);
  return seeds;
}

/// Limits on the number of resident blocks (SimulatorOptions::resident_blocks).
inline std::vector<int> resident_limits(std::initializer_list<int> all) {
  return allowed_by<int>("LULAB_SIM_RESIDENT", all);
}

}  // namespace lulab::simt
