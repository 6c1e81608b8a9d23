#include "bench/energy.h"

#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "core/timing.h"

namespace lulab::bench {
namespace {

Status rest() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return {};
}

TEST(Energy, IsWhatTheCounterGainedFromMoveToMove) {
  const auto start = Clock::now();
  const auto counter = [&] { return std::optional(1000 + 4 * std::floor(ms_since(start) / 20)); };  // 200 W
  int calls = 0;
  const auto energy = energy_of(
      counter, [&] { return ++calls, rest(); }, 0.2);
  ASSERT_TRUE(energy.ok() && *energy);
  EXPECT_GE(calls, 50);
  EXPECT_TRUE((*energy)->watts > 120 && (*energy)->watts < 280) << (*energy)->watts;
  const double ms_a_call = 1e3 * (*energy)->joules / (*energy)->watts;
  EXPECT_TRUE(ms_a_call >= 1 && ms_a_call < 20) << ms_a_call;
}

TEST(Energy, IsNotKnownWhereTheCounterStandsStillOrSaysNothing) {
  for (const std::optional<double> reading : {std::optional(7.0), std::optional<double>()}) {
    const auto energy = energy_of([&] { return reading; }, rest, 0.01, 0.05);
    ASSERT_TRUE(energy.ok());
    EXPECT_FALSE(*energy);
  }
  // It stops after one move.
  int looks = 0;
  const auto stops = energy_of([&] { return std::optional(++looks < 3 ? 1.0 : 2.0); }, rest, 0.01, 0.05);
  ASSERT_TRUE(stops.ok());
  EXPECT_FALSE(*stops);
}

TEST(Energy, ACallThatFailsEndsIt) {
  const auto failed =
      energy_of([] { return std::optional(1.0); }, [] { return Status::error(StatusCode::device_error, "gone"); }, 10);
  EXPECT_EQ(failed.status().code, StatusCode::device_error);
}

}  // namespace
}  // namespace lulab::bench
