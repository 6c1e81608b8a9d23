#include "bench/energy.h"

#include <cmath>
#include <functional>
#include <optional>

#include <gtest/gtest.h>

namespace lulab::bench {
namespace {

/// A call takes a millisecond of its clock, and its counter gains 20 J every tenth of a second: 200 W.
struct MeteredMachine {
  double s = 5;
  int looks = 0;

  std::function<Status()> call() {
    return [this] {
      s += 1e-3;
      return Status();
    };
  }
  std::function<double()> now_s() {
    return [this] { return s; };
  }
  std::function<std::optional<double>()> joules() {
    return [this] {
      ++looks;
      return std::optional(1000 + 20 * std::floor(s / 0.1));
    };
  }
};

TEST(Energy, IsWhatTheCounterGainedFromMoveToMove) {
  MeteredMachine machine;
  const auto energy = energy_of(machine.joules(), machine.call(), 1, 2, machine.now_s());
  ASSERT_TRUE(energy.ok() && *energy);
  EXPECT_NEAR((*energy)->watts, 200, 2);
  EXPECT_NEAR((*energy)->joules, 0.2, 0.002);
  EXPECT_NEAR(machine.s, 6.2, 0.01) << "to a move, for a second, and to the next move";
  EXPECT_LT(machine.looks, 60) << "at most one in five milliseconds, none in the second";
}

TEST(Energy, IsNotKnownWhereTheCounterStandsStillOrSaysNothing) {
  MeteredMachine machine;
  for (const std::optional<double> reading : {std::optional(7.0), std::optional<double>()}) {
    const auto energy = energy_of([&] { return reading; }, machine.call(), 1, 2, machine.now_s());
    ASSERT_TRUE(energy.ok());
    EXPECT_FALSE(*energy);
  }
  EXPECT_NEAR(machine.s, 7, 0.02) << "two seconds for the one, nothing for the other";
  int looks = 0;
  const auto once =
      energy_of([&] { return std::optional(++looks < 3 ? 1.0 : 2.0); }, machine.call(), 1, 2, machine.now_s());
  ASSERT_TRUE(once.ok());
  EXPECT_FALSE(*once);
  EXPECT_GT(looks, 300) << "it moved once and was waited for again";
}

TEST(Energy, ACallThatFailsEndsIt) {
  const auto failed =
      energy_of([] { return std::optional(1.0); }, [] { return Status::error(StatusCode::device_error, "gone"); }, 10);
  EXPECT_EQ(failed.status().code, StatusCode::device_error);
}

}  // namespace
}  // namespace lulab::bench
