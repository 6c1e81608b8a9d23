#include "bench/cost_estimate.h"

#include <vector>

#include <gtest/gtest.h>

namespace lulab::bench {
namespace {

/// ms of size n for a rung with a cost a column and a cost an operation.
struct Machine {
  double per_column = 0;
  double per_operation = 0;
  std::vector<std::int32_t> trials = {};

  Result<double> operator()(std::int32_t n) {
    trials.push_back(n);
    return per_column * n + per_operation * n * n * n;
  }
};

double estimate(CostHistory& history, std::int32_t n, double limit, Machine& machine) {
  const auto ms = estimate_ms(history, "x", n, limit, [&](std::int32_t m) { return machine(m); });
  EXPECT_TRUE(ms.ok());
  return ms.ok() ? *ms : -1;
}

TEST(CostEstimate, ScalesTheLargestKnownSizeByTheCube) {
  CostHistory history;
  history.add("x", 100, 1);
  history.add("x", 200, 10);
  history.add("x", 900, 1e9);
  history.add("y", 250, 1e9);
  Machine none;
  EXPECT_DOUBLE_EQ(estimate(history, 400, 1000, none), 80);
  EXPECT_DOUBLE_EQ(estimate(history, 200, 1000, none), 10);
  EXPECT_TRUE(none.trials.empty());
}

TEST(CostEstimate, TriesDoubledSizesWhereTheCubeOfASmallOneMisleads) {
  CostHistory history;
  Machine hops{.per_column = 2e-3, .per_operation = 0};  // 2 ms at 1024: by the cube 67 s at 32768, in truth 66 ms
  EXPECT_LE(estimate(history, 32768, 5000, hops), 5000);
  EXPECT_EQ(hops.trials.front(), 1024);
  for (std::size_t k = 1; k < hops.trials.size(); ++k) EXPECT_EQ(hops.trials[k], 2 * hops.trials[k - 1]);
  EXPECT_LT(hops.trials.back(), 32768);
}

TEST(CostEstimate, NeverTriesWhatWouldItselfTakeTooLong) {
  CostHistory history;
  Machine naive{.per_column = 0, .per_operation = 1e-6};  // 1.07 s at 1024, 8.6 s at 2048
  const double ms = estimate(history, 32768, 5000, naive);
  EXPECT_EQ(naive.trials, (std::vector<std::int32_t>{1024}));
  EXPECT_DOUBLE_EQ(ms, 1e-6 * 32768 * 32768 * 32768.0);
  EXPECT_NE(reason_to_skip(ms, 5000), "");
}

TEST(CostEstimate, LetsSmallSizesRunUntried) {
  CostHistory history;
  Machine machine;
  EXPECT_EQ(estimate(history, 1024, 1, machine), 0);
  EXPECT_TRUE(machine.trials.empty());
}

TEST(CostEstimate, PassesOnWhyATrialFailed) {
  CostHistory history;
  const auto ms = estimate_ms(history, "x", 4096, 1, [](std::int32_t) -> Result<double> {
    return Status::error(StatusCode::out_of_memory, "no room");
  });
  EXPECT_EQ(ms.status().code, StatusCode::out_of_memory);
}

TEST(CostEstimate, SaysHowLongASkippedRunWouldTake) {
  EXPECT_EQ(reason_to_skip(4999, 5000), "");
  EXPECT_EQ(reason_to_skip(46900, 5000), "skipped: one factorization would take about 47 s (limit 5 s)");
}

}  // namespace
}  // namespace lulab::bench
