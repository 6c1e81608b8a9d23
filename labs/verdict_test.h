#pragma once
// What the checks of the labs share: the options of the program, and how a failure is told.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/simt/device.h"
#include "core/status.h"
#include "testing/schedules.h"

namespace lulab::labs {

struct CheckOptions {
  std::string rung;        // the one that the lab's lines belong to
  std::uint64_t seed = 1;  // of the random inputs
};
/// As main_test.cpp read them from the command line.
const CheckOptions& check_options();

/// One failure as `what: value`, in the order in which a reader needs them. Kept for the verdict, too.
using Facts = std::vector<std::pair<std::string, std::string>>;

inline void fail_with(const Facts& facts) {
  std::string text;
  for (const auto& [what, value] : facts) {
    ::testing::Test::RecordProperty(what, value);
    text += fmt::format("\n{}: {}", what, value);
  }
  ADD_FAILURE() << text;
}

inline std::string to_text(const simt::SimulatorOptions& o) {
  return fmt::format(
      "seed {}, {}", o.seed,
      o.resident_blocks == 0 ? "all blocks resident" : fmt::format("{} resident block(s)", o.resident_blocks));
}

/// Watches a kernel that reaches no scheduling point for seconds, not for a minute; no schedule goes on for ever.
inline simt::SimulatorOptions schedule(std::uint64_t seed, int resident_blocks = 0) {
  return {.seed = seed,
          .resident_blocks = resident_blocks,
          .max_switches = 20'000'000,
          .watchdog_seconds = simt::race_detection ? 20.0 : 3.0};
}

/// A launch that failed: `what` happened on which matrix, under which schedule.
inline void fail_with_status(const std::string& matrix, const simt::SimulatorOptions& options, const Status& status) {
  const char* meaning = "the solver's own status says";
  if (status.code == StatusCode::deadlock)
    meaning = "the kernel hangs: threads wait for what never happens, or go on for ever";
  else if (status.code == StatusCode::data_race)
    meaning = "two threads use the same memory and nothing orders them";
  else if (status.code == StatusCode::needs_repivot)
    meaning =
        "a pivot is 0 or a value is not finite, and this matrix gives neither: a value is used before it is written";
  else if (status.code == StatusCode::numerically_singular)
    meaning = "the pivot that was chosen is 0, and this matrix has a larger entry in that column";
  fail_with({{"matrix", matrix}, {"schedule", to_text(options)}, {"meaning", meaning}, {"report", status.to_string()}});
}

}  // namespace lulab::labs
