#include "bench/dense_ladder.h"

#include <gtest/gtest.h>

#include "bench/batch_contender.h"
#include "bench/dense_contender.h"
#include "core/rung.h"
#include "core/simt/test_device.h"

namespace lulab::bench {
namespace {

constexpr AlternatingOptions once = {
    .min_samples = 1, .max_samples = 1, .budget_s = 0, .slow_ms = 1e9, .slow_samples = 1};

DeviceConstants constants() { return builtin_constants("test"); }

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
  const auto cases = dense_cases({{45}, {}, {}});
  ASSERT_TRUE(cases.ok()) << cases.status().to_string();
  ASSERT_EQ(cases->size(), 2u);
  for (const DenseCase& c : *cases) {
    CostHistory history;
    for (const Row& row : measure(c, constants(), history, {.limit_ms = 1e9, .sampling = once})) {
      expect_measured(row);
      EXPECT_GE(row.peak_bytes, 45 * 45 * (c.scalar == Scalar::f64 ? 8 : 4));
      EXPECT_TRUE(history.nearest(row.name.rung + "|" + std::string(to_string(c.scalar)), 45));
    }
  }
}

TEST(DenseLadder, MeasuresAndJudgesBatches) {
  LULAB_NEED_DEVICE();
  const auto all = dense_cases({});
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  for (DenseCase c : *all) {
    if (!c.batched() || c.shape.n > 32) continue;
    c.shape.batch = 5;
    CostHistory history;
    for (const Row& row : measure(c, constants(), history, {.limit_ms = 1e9, .sampling = once})) {
      expect_measured(row);
      EXPECT_EQ(row.flops, dense_flops(c.shape));
    }
  }
}

TEST(DenseLadder, SkipsARungThatWouldTakeTooLong) {
  LULAB_NEED_DEVICE();
  const std::string id = "dense/03_reduction_pivot";
  DenseCase c{{40, 1}, Scalar::f64, {id}};
  CostHistory history;
  history.add(id + "|f64", 20, 1000);
  const auto rows = measure(c, constants(), history, {.limit_ms = 5000, .sampling = once});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].error, "skipped: one factorization would take about 8 s (limit 5 s)");
  EXPECT_FALSE(history.nearest(id + "|f64", 40)->n == 40) << "it was run all the same";
}

TEST(DenseLadder, AMatrixThatDoesNotFitIsALineNotACrash) {
  LULAB_NEED_DEVICE();
  DenseCase c{{1 << 20, 1}, Scalar::f64, {"dense/03_reduction_pivot"}};  // 8.8 TB
  CostHistory history;
  history.add("dense/03_reduction_pivot|f64", 1 << 20, 1);
  const auto rows = measure(c, constants(), history, {.limit_ms = 1e9, .sampling = once});
  EXPECT_NE(rows.at(0).error.find("out_of_memory"), std::string::npos) << rows[0].error;
}

/// Leaves the matrix as it is: fast, and wrong.
template <class T>
class Idle final : public dense::DenseFactorizer<T> {
 public:
  Idle() : dense::DenseFactorizer<T>(Pivoting::partial) {}
  std::int64_t work_bytes() const override { return 0; }

 private:
  Status prepare(std::int32_t, simt::Stream&) override { return {}; }
  Status enqueue(const dense::DeviceDense<T>&) override { return {}; }
};

template <class T>
void idle_rung_has_no_verdict() {
  Rung idle;
  idle.facts.id = "test/idle";
  idle.facts.pivoting = Pivoting::partial;
  idle.facts.device = Device::gpu;
  idle.make_float = [](const FactorOptions&) -> std::unique_ptr<Factorizer<float>> {
    return std::make_unique<Idle<float>>();
  };
  idle.make_double = [](const FactorOptions&) -> std::unique_ptr<Factorizer<double>> {
    return std::make_unique<Idle<double>>();
  };
  ASSERT_TRUE(takes_device_matrix<T>(idle, 20));
  auto arena = DenseArena<T>::create(20);
  ASSERT_TRUE(arena.ok()) << arena.status().to_string();
  auto contender = DenseContender<T>::create(idle, *arena);
  ASSERT_TRUE(contender.ok()) << contender.status().to_string();
  ASSERT_TRUE((*contender)->run(1).ok());
  EXPECT_EQ((*contender)->judge().code, StatusCode::needs_repivot);
}

TEST(DenseLadder, RefusesTheTimeOfARungThatDoesNothing) {
  LULAB_NEED_DEVICE();
  idle_rung_has_no_verdict<double>();
  idle_rung_has_no_verdict<float>();
}

TEST(DenseLadder, RefusesTheTimeOfABatchThatNobodyFactored) {
  LULAB_NEED_DEVICE();
  const BatchRung idle = {"test/idle",
                          [](const dense::DeviceBatch<float>&, simt::Stream&) -> Result<BatchRoutine> {
                            return BatchRoutine([] { return Status{}; });
                          },
                          [](const dense::DeviceBatch<double>&, simt::Stream&) -> Result<BatchRoutine> {
                            return BatchRoutine([] { return Status{}; });
                          }};
  auto arena = BatchArena<double>::create({8, 3});
  ASSERT_TRUE(arena.ok()) << arena.status().to_string();
  auto contender = BatchContender<double>::create(idle, *arena);
  ASSERT_TRUE(contender.ok()) << contender.status().to_string();
  ASSERT_TRUE((*contender)->run(1).ok());
  EXPECT_EQ((*contender)->judge().code, StatusCode::needs_repivot);
}

}  // namespace
}  // namespace lulab::bench
