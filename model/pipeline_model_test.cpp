#include "model/pipeline_model.h"

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/matrix/generate.h"
#include "core/matrix/matrix_market.h"
#include "core/matrix/shared_matrices.h"
#include "testing/analysis.h"
#include "testing/paper_example.h"

namespace lulab {
namespace {

/// 1 GHz, every access hits L2; `period` cycles for the access and the 10 cycles of instructions before the next one.
DeviceConstants with_period(double period) {
  DeviceConstants c;
  c.device = "test";
  c.bandwidth_bytes_per_s = 1e12;
  c.flag_hop_us = 0.5;
  c.launch_us = 3;
  c.memory.sm_count = 1;
  c.memory.clock_ghz = 1;
  c.memory.l2_bytes = 1e9;
  c.memory.cache_cycle = period - 10;
  c.memory.global_cycle = 2 * c.memory.cache_cycle;
  return c;
}

Analysis analysis_of(FilledPattern filled) {
  Analysis analysis;
  analysis.plan = Plan::identity(filled.n);
  analysis.filled = std::move(filled);
  return analysis;
}

Prediction published(const FilledPattern& f, const DeviceConstants& c, int warps) {
  return predict_pipeline(analysis_of(f), c, {.model = PipelineModel::published, .warps_per_sm = warps});
}
Prediction extended(const FilledPattern& f, const DeviceConstants& c, int warps) {
  return predict_pipeline(analysis_of(f), c, {.model = PipelineModel::extended, .warps_per_sm = warps});
}

/// Column j < n - 1: the diagonal and row n - 1. Column n - 1: full.
FilledPattern arrow(std::int32_t n) {
  FilledPattern f;
  f.n = n;
  for (std::int32_t j = 0; j < n; ++j) {
    if (j + 1 == n)
      for (std::int32_t i = 0; i < j; ++i) f.row_idx.push_back(i);
    f.diag.push_back(f.nnz());
    f.row_idx.push_back(j);
    if (j + 1 < n) f.row_idx.push_back(n - 1);
    f.col_ptr.push_back(f.nnz());
  }
  return f;
}

// 100 cycles a subnode, 0.1 us: the hand-computed times of column_queue_test.cpp.
TEST(PipelineModel, PublishedTakesThePapersExampleThroughTheQueue) {
  const DeviceConstants c = with_period(100);
  EXPECT_NEAR(published(paper_example(), c, 9).ms, 12e-4, 1e-12);  // no more than five columns are at work
  EXPECT_NEAR(published(paper_example(), c, 2).ms, 18e-4, 1e-12);
  const Prediction one = published(paper_example(), c, 1);
  EXPECT_NEAR(one.ms, 31e-4, 1e-12);
  EXPECT_EQ(one.subnodes, (std::array<std::int64_t, 3>{0, 0, 31}));
  EXPECT_EQ(one.most_common, WarpCase::latency);
  EXPECT_EQ(one.critical_columns, 10);
  EXPECT_EQ(one.hop_ms, 0);
}

TEST(PipelineModel, PublishedRepeatsAPeriodForEvery32Entries) {
  FilledPattern f = arrow(2);  // column 0 gets 70 more entries of L: rows 2, 3, ... of a longer matrix
  f.n = 72;
  f.row_idx = {0};
  f.col_ptr = {0};
  f.diag = {0};
  for (std::int32_t i = 1; i < 72; ++i) f.row_idx.push_back(i);
  f.col_ptr.push_back(f.nnz());
  for (std::int32_t j = 1; j < 72; ++j) {
    if (j == 1) f.row_idx.push_back(0);
    f.diag.push_back(f.nnz());
    f.row_idx.push_back(j);
    f.col_ptr.push_back(f.nnz());
  }
  // Column 0 loads and stores 72 entries in 3 periods each; column 1 is updated by 71 of them in 3; 70 columns of 2.
  EXPECT_NEAR(published(f, with_period(100), 1).ms, (6 + (1 + 3 + 1) + 70 * 2) * 1e-4, 1e-12);
}

TEST(PipelineModel, PublishedReachesTheThreeCases) {
  DeviceConstants c = with_period(100);  // warp_exp = 10
  EXPECT_EQ(published(paper_example(), c, 9).most_common, WarpCase::latency);
  EXPECT_EQ(published(paper_example(), c, 10).most_common, WarpCase::compute);
  // From 3 warps on every access misses: 224 bytes a period.
  c.memory.periods = {{1, 1, c.memory.cache_cycle}, {1, 3, c.memory.global_cycle}};
  c.bandwidth_bytes_per_s = 224.0 * 4 * 1e9 / c.memory.global_cycle;  // MWP = 4
  EXPECT_EQ(published(paper_example(), c, 3).most_common, WarpCase::latency);
  const Prediction p = published(paper_example(), c, 5);
  EXPECT_EQ(p.most_common, WarpCase::bandwidth);
  EXPECT_NEAR(p.warp.miss_rate, 1, 1e-12);
  EXPECT_NEAR(mwp(p.warp), 4, 1e-9);
}

// Periods of 1 us. Column 0: 3 to take, 1 to load, 2 to store, 3 to publish. Column 1 is at the flag after 3 + 1 + 2,
// sees it half a period after column 0 is finished, fetches, updates, stores and publishes in 1 + 1 + 2 + 3.
TEST(PipelineModel, ExtendedFollowsAColumnThatWaits) {
  FilledPattern f;
  f.n = 2;
  f.col_ptr = {0, 2, 4};
  f.row_idx = {0, 1, 0, 1};
  f.diag = {0, 3};
  const Prediction p = extended(f, with_period(1000), 2);
  EXPECT_NEAR(p.launch_ms, 10 * 3e-3, 1e-12);
  EXPECT_NEAR(p.ms - p.launch_ms, (9 + 0.5 + 7) * 1e-3, 1e-12);
  EXPECT_NEAR(p.hop_ms, 0.5e-3, 1e-12);
  EXPECT_NEAR(p.work_ms, 16e-3, 1e-12);
  EXPECT_EQ(p.critical_columns, 2);
  EXPECT_EQ(p.critical_updates, 1);
  EXPECT_EQ(p.critical_hops, 1);
  EXPECT_EQ(p.subnodes, (std::array<std::int64_t, 3>{0, 0, 5}));
}

// Nine columns of 9 periods; the last one takes 3 + 1, two batches of 2 + 1 with 8 and 1 entries, 2 + 3.
TEST(PipelineModel, ExtendedFetchesFinishedColumnsInBatches) {
  const Prediction p = extended(arrow(10), with_period(1000), 1);
  EXPECT_NEAR(p.ms - p.launch_ms, (9 * 9 + 4 + (3 + 8) + (3 + 1) + 5) * 1e-3, 1e-12);
  EXPECT_EQ(p.critical_updates, 9);
  EXPECT_EQ(p.hop_ms, 0);
}

// Column 0 has 32 + 129 entries of L: two strips beyond the first 32 entries, two periods each.
TEST(PipelineModel, ExtendedTakesLongColumnsInStrips) {
  FilledPattern f;
  f.n = 162;
  for (std::int32_t j = 0; j < f.n; ++j) {
    if (j == 1) f.row_idx.push_back(0);
    f.diag.push_back(f.nnz());
    f.row_idx.push_back(j);
    if (j == 0)
      for (std::int32_t i = 1; i < f.n; ++i) f.row_idx.push_back(i);
    f.col_ptr.push_back(f.nnz());
  }
  const Prediction p = extended(f, with_period(1000), 1);
  const double first = 3 + 6 + 2 * 6 + 3;  // 162 entries are six times 32
  const double second = 3 + 1 + 3 + (1 + 2 * 2) + 2 + 3;
  EXPECT_NEAR(p.ms - p.launch_ms, (first + second + 160 * 9) * 1e-3, 1e-12);
}

TEST(PipelineModel, ExtendedSlowsDownWhenFactorsDoNotFitIntoL2) {
  DeviceConstants c = with_period(1000);
  const double fitting = extended(arrow(100), c, 32).ms;
  c.memory.l2_bytes = 12.0 * static_cast<double>(arrow(100).nnz()) / 4;
  const Prediction p = extended(arrow(100), c, 32);
  EXPECT_NEAR(p.warp.miss_rate, 0.75, 1e-12);
  EXPECT_GT(p.ms, 1.5 * fitting);
  c.bandwidth_bytes_per_s = 1e8;
  EXPECT_EQ(extended(arrow(100), c, 32).most_common, WarpCase::bandwidth);
}

TEST(PipelineModel, OfAGeneratedCircuitSaysWhereTheTimeGoes) {
  const auto a = generate("power_grid", {.n = 900, .seed = 3});
  ASSERT_TRUE(a.ok());
  const auto analysis = testing::analyze_ordered(*a, PreprocessOptions{});
  ASSERT_TRUE(analysis.ok());
  const DeviceConstants c = builtin_constants("NVIDIA H200");
  for (const PipelineModel model : {PipelineModel::published, PipelineModel::extended}) {
    const Prediction p = predict_pipeline(*analysis, c, {.model = model, .warps_per_sm = 8});
    EXPECT_NEAR(p.hop_ms + p.work_ms + p.launch_ms, p.ms, 1e-9 * p.ms);
    EXPECT_GE(p.critical_columns, p.critical_hops + 1);
    EXPECT_LE(p.warps_at_work, 8);
    const auto json = nlohmann::json::parse(to_json(p), nullptr, false);
    ASSERT_TRUE(json.is_object());
    EXPECT_EQ(json["ms"], p.ms);
    EXPECT_EQ(json["case"], 3);
    EXPECT_EQ(json["subnodes"][2], analysis->filled.nnz_u() + analysis->filled.n);
    EXPECT_NE(to_text(p).find("case 3"), std::string::npos) << to_text(p);
    EXPECT_NE(to_text(p).find(std::to_string(p.critical_columns) + " columns"), std::string::npos) << to_text(p);
  }
}

struct MeasuredOnH200 {
  const char* matrix;
  Order order;
  double ms;  // median of sparse_leftlooking/02_pipeline, f64, on an H200
};

void PrintTo(const MeasuredOnH200& m, std::ostream* out) { *out << m.matrix << ' ' << to_string(m.order); }

class PipelineModelOfRealMatrices : public ::testing::TestWithParam<MeasuredOnH200> {};

TEST_P(PipelineModelOfRealMatrices, IsWithinAQuarterOfTheMeasuredTime) {
  const auto& [name, order, ms] = GetParam();
  const auto path = shared_matrix(name);
  if (!path) GTEST_SKIP() << "no " << name << " in the collection of matrices";
  const auto file = read_matrix_market(*path);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  PreprocessOptions options;
  options.order = order;
  const auto analysis = testing::analyze_ordered(file->matrix, options);
  ASSERT_TRUE(analysis.ok()) << analysis.status().to_string();
  const Prediction p = predict_pipeline(*analysis, builtin_constants("NVIDIA H200"), {});
  EXPECT_NEAR(p.ms, ms, 0.25 * ms);
  EXPECT_EQ(p.most_common, WarpCase::latency);
}

// Long walks (circuit_1), wide levels (memplus), a chain (mna5_A), fill (bcsstk13).
INSTANTIATE_TEST_SUITE_P(
    H200, PipelineModelOfRealMatrices,
    ::testing::Values(MeasuredOnH200{"circuit_1", Order::amd, 0.850}, MeasuredOnH200{"memplus", Order::amd, 0.737},
                      MeasuredOnH200{"memplus", Order::metis, 1.073}, MeasuredOnH200{"mna5_A", Order::amd, 17.40},
                      MeasuredOnH200{"mna5_A", Order::metis, 0.136}, MeasuredOnH200{"bcsstk13", Order::metis, 4.223},
                      MeasuredOnH200{"west0479", Order::amd, 0.155}));

TEST(PipelineModel, OfAnEmptyMatrixIsItsLaunches) {
  const DeviceConstants c = with_period(1000);
  EXPECT_EQ(published(pattern_of_u({}), c, 4).ms, 0);
  EXPECT_NEAR(extended(pattern_of_u({}), c, 4).ms, 30e-3, 1e-12);
}

}  // namespace
}  // namespace lulab
