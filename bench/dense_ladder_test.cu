#include "bench/dense_ladder.h"

#include <gtest/gtest.h>

#include "bench/dense_contender.h"
#include "core/rung.h"
#include "dense/dense_backend.h"
#include "testing/device.h"

namespace lulab::bench {
namespace {

constexpr Sampling once = {.min_samples = 1, .max_samples = 1, .budget_s = 0, .slow_ms = 1e9, .slow_samples = 1};

std::vector<Row> measured(const DenseSet& set, CostHistory& history, double limit_ms = 1e9) {
  const DeviceConstants constants = builtin_constants("test");
  Comparison comparison = dense_comparison(set, constants, history, once, limit_ms);
  return measure(comparison);
}

void expect_measured(const Row& row) {
  EXPECT_EQ(row.error, "") << to_string(row.name);
  EXPECT_EQ(row.samples, once.max_samples) << to_string(row.name);
  EXPECT_GE(row.time_ms, 0);
  EXPECT_TRUE(row.lu_residual > 0 && row.lu_residual <= 30) << to_string(row.name) << " " << row.lu_residual;
  EXPECT_GT(row.growth, 0);
  EXPECT_GT(row.bound_ms, 0);
}

TEST(DenseLadder, MeasuresAndJudgesEveryDenseGpuRungInBothPrecisions) {
  LULAB_NEED_DEVICE();
  const auto cases = dense_sets({{45}, {}, {}});
  ASSERT_TRUE(cases.ok()) << cases.status().to_string();
  ASSERT_EQ(cases->size(), 2u);
  for (const DenseSet& c : *cases) {
    CostHistory history;
    for (const Row& row : measured(c, history)) {
      expect_measured(row);
      EXPECT_GE(row.peak_bytes, 45 * 45 * (c.scalar == Scalar::f64 ? 8 : 4));
      EXPECT_TRUE(history.nearest(row.name.rung + "|" + std::string(to_string(c.scalar)), 45));
    }
  }
}

TEST(DenseLadder, MeasuresAndJudgesBatches) {
  LULAB_NEED_DEVICE();
  const auto all = dense_sets({});
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  for (DenseSet c : *all) {
    if (!c.batched() || c.shape.n > 32) continue;
    c.shape.batch = 5;
    CostHistory history;
    for (const Row& row : measured(c, history)) {
      expect_measured(row);
      EXPECT_EQ(row.flops, dense_flops(c.shape));
    }
  }
}

TEST(DenseLadder, SkipsARungThatWouldTakeTooLong) {
  LULAB_NEED_DEVICE();
  const std::string id = "dense/03_reduction_pivot";
  DenseSet c{{40, 1}, Scalar::f64, {id}};
  CostHistory history;
  history.add(id + "|f64", 20, 1000);
  const auto rows = measured(c, history, 5000);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].error, "skipped: one factorization would take about 8 s (limit 5 s)");
  EXPECT_FALSE(history.nearest(id + "|f64", 40)->n == 40) << "it was run all the same";
}

TEST(DenseLadder, AMatrixThatDoesNotFitIsALineNotACrash) {
  LULAB_NEED_DEVICE();
  DenseSet c{{1 << 20, 1}, Scalar::f64, {"dense/03_reduction_pivot"}};  // 8.8 TB
  CostHistory history;
  history.add("dense/03_reduction_pivot|f64", 1 << 20, 1);
  const auto rows = measured(c, history);
  EXPECT_NE(rows.at(0).error.find("out_of_memory"), std::string::npos) << rows[0].error;
}

/// Leaves the matrix as it is: fast, and wrong.
template <class T>
class Idle final : public dense::DenseBackend<T> {
 public:
  Idle() : dense::DenseBackend<T>(Pivoting::partial) {}
  std::int64_t work_bytes() const override { return 0; }

 private:
  Status prepare_rung(std::int32_t, simt::Stream&) override { return {}; }
  Status launch(const dense::DeviceDense<T>&) override { return {}; }
};

template <class T>
void idle_rung_has_no_verdict() {
  const RungFacts facts = {.id = "test/idle", .pivoting = Pivoting::partial, .device = Device::gpu};
  const Rung idle = rung_of<Idle>(facts);
  ASSERT_TRUE(takes_device_matrix<T>(idle, 20));
  auto arena = DenseArena<T>::create({20, 1});
  LULAB_ASSERT_OK(arena);
  const auto routine = prepare_matrix(idle, *arena);
  LULAB_ASSERT_OK(routine);
  LULAB_ASSERT_OK(run_dense(*routine, *arena, 1));
  EXPECT_EQ(judge_dense(*routine, *arena, 1).status().code, StatusCode::needs_repivot);
}

TEST(DenseLadder, RefusesTheTimeOfARungThatDoesNothing) {
  LULAB_NEED_DEVICE();
  idle_rung_has_no_verdict<double>();
  idle_rung_has_no_verdict<float>();
}

TEST(DenseLadder, RefusesTheTimeOfABatchThatNobodyFactored) {
  LULAB_NEED_DEVICE();
  const DenseRoutine idle = {.getrf = [] { return Status{}; }};
  auto arena = DenseArena<double>::create({8, 3});
  LULAB_ASSERT_OK(arena);
  LULAB_ASSERT_OK(run_dense(idle, *arena, 1));
  EXPECT_EQ(judge_dense(idle, *arena, 1).status().code, StatusCode::needs_repivot);
}

}  // namespace
}  // namespace lulab::bench
