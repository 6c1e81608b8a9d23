// Pipeline mode ends with any number of resident blocks, and a flag that is seen comes with the values of its column.

#include "core/factorizer.h"
#include "sparse_leftlooking/02_pipeline_kernel.h"
#include "sparse_leftlooking/05_supernode_updates.h"
#include "sparse_leftlooking/rungs.h"
#include "symbolic/levels.h"
#include "testing/fixed_pivots.h"
#include "testing/launch.h"

namespace lulab::sparse_leftlooking {
namespace {

using testing::analysis_for;
using testing::nearby_values;
using testing::random_unsymmetric;

/// Column j needs column j - 1 and nothing else.
CscMatrix<double> chain(std::int32_t n) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = std::max(0, j - 1); i <= std::min(n - 1, j + 1); ++i) {
      a.row_idx.push_back(i);
      a.values.push_back(i == j ? 4 + 0.125 * j : 1.0 + 0.25 * i - 0.125 * j);
    }
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

/// Columns assigned to warps beforehand, as if every warp were resident.               Chen et al. 2015, appendix A.1
/// grid * block: 32 threads for each column   level_cols: (size)   finished: (n), 0 on entry   work: (size, n)
template <cuda::memory_order observe>
__global__ void eliminate_dealt_columns_kernel(DeviceFactorsView<double> f, const std::int32_t* level_cols,
                                               std::int64_t size, double* work, std::int32_t* finished) {
  const std::int64_t warp = (std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (warp >= size) return;
  eliminate_column(f, level_cols[warp], work + warp * f.n, WaitForColumns<observe>{f.row_idx, finished});
  publish_column(finished, level_cols[warp]);
}

/// One launch of the kernel above with a warp for each column, in blocks of one warp.
template <cuda::memory_order observe>
Status eliminate_dealt(const Analysis& analysis, std::span<const double> values, simt::SimulatorOptions options) {
  const simt::SimulatorScope scope(options);
  const std::int32_t n = analysis.filled.n;
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto factors, DeviceFactors<double>::create(analysis, stream));
  const Schedule schedule = levels_left_looking(analysis.filled);
  LULAB_ASSIGN_OR_RETURN(auto level_cols, simt::DeviceBuffer<std::int32_t>::create(schedule.level_cols, stream));
  LULAB_ASSIGN_OR_RETURN(auto work, simt::DeviceBuffer<double>::create(std::int64_t(n) * n));
  LULAB_ASSIGN_OR_RETURN(auto progress, PipelineProgress::create(schedule, 0, stream));
  LULAB_RETURN_IF_ERROR(factors.upload(values, stream));
  LULAB_RETURN_IF_ERROR(factors.clear(stream));
  LULAB_RETURN_IF_ERROR(factors.scatter(stream));
  LULAB_RETURN_IF_ERROR(progress.reset(stream));
  LULAB_RETURN_IF_ERROR(simt::launch(eliminate_dealt_columns_kernel<observe>,
                                     {.grid = static_cast<unsigned>(n), .block = 32}, stream, factors.view(),
                                     level_cols.data(), n, work.data(), progress.finished()));
  return factors.wait(stream);
}

Result<Factors<double>> factor_and_refactor(const Rung& rung, const CscMatrix<double>& a, const Analysis& analysis,
                                            std::span<const double> other_values, const FactorOptions& options = {}) {
  const auto f = rung.make<double>(options);
  LULAB_RETURN_IF_ERROR(f->analyze(analysis));
  LULAB_RETURN_IF_ERROR(f->upload(a.values));
  LULAB_RETURN_IF_ERROR(f->factor());
  LULAB_RETURN_IF_ERROR(f->wait());
  LULAB_RETURN_IF_ERROR(f->upload(other_values));
  LULAB_RETURN_IF_ERROR(f->refactor());
  return f->download();
}

TEST(Pipeline, ColumnsDealtToWarpsThatAreNotResidentDeadlock) {
  LULAB_NEED_SIMULATOR();
  const auto a = chain(24);
  const Analysis analysis = analysis_for(a.pattern());
  ASSERT_EQ(levels_left_looking(analysis.filled).n_levels(), 24);
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const Status s = eliminate_dealt<cuda::memory_order_acquire>(  // RACE: the correct order
        analysis, a.values, {.seed = seed, .resident_blocks = 2});
    EXPECT_EQ(s.code, StatusCode::deadlock) << "seed " << seed << ": " << s.to_string();
    EXPECT_TRUE(simt::contains(s.message, "only 2 can be resident")) << s.message;
    EXPECT_TRUE(simt::contains(s.message, " waits for column ")) << s.message;
  }
}

TEST(Pipeline, TheSameColumnsEndWhenAllWarpsAreResident) {
  LULAB_NEED_SIMULATOR();
  const auto a = chain(24);
  const Analysis analysis = analysis_for(a.pattern());
  for (const std::uint64_t seed : simt::schedule_seeds())
    LULAB_ASSERT_OK(eliminate_dealt<cuda::memory_order_acquire>(analysis, a.values, {.seed = seed}));  // RACE: as above
}

/// Full last row and column: the last column has an update by every other one, and more rows than shared memory takes.
CscMatrix<double> arrow(std::int32_t n) {
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  for (std::int32_t j = 0; j < n; ++j)
    for (const auto& [i, k] : {std::pair{j, j}, std::pair{n - 1, j}, std::pair{j, n - 1}}) {
      if (j == n - 1 && !rows.empty() && rows.back() == n - 1 && columns.back() == n - 1) continue;
      rows.push_back(i);
      columns.push_back(k);
      values.push_back(i == k ? 4 + 0.125 * (j % 17) : 0.5 / n * (1 + (i + 3 * k) % 7));
    }
  return from_triplets<double>(n, n, rows, columns, values);
}

// Each column takes its updates in the same order with the same roundings, so the results are equal bit by bit.
TEST(Pipeline, RungsEqualOneLaunchALevelBitwiseWithAnyResidency) {
  LULAB_NEED_DEVICE();
  const std::vector<CscMatrix<double>> matrices = {chain(24), random_unsymmetric<double>(70, 0.02, 30.0, 7),
                                                   random_unsymmetric<double>(40, 0.2, 30.0, 9)};
  for (const auto& a : matrices) {
    const Analysis analysis = analysis_for(a.pattern());
    const auto other = nearby_values(a, 8);
    const auto expected = factor_and_refactor(warp_per_column, a, analysis, other);
    LULAB_ASSERT_OK(expected);
    for (const Rung* rung : {&pipeline, &cluster_pipeline, &virtual_groups, &supernode_pipeline})
      for (const std::uint64_t seed : simt::schedule_seeds())
        for (const int resident : simt::resident_limits({0, 1 + int(seed % 2)})) {
          const simt::SimulatorScope scope({.seed = seed, .resident_blocks = resident});
          const auto f = factor_and_refactor(*rung, a, analysis, other);
          LULAB_ASSERT_OK(f);
          EXPECT_EQ(f->values, expected->values) << rung->facts.id << ", seed " << seed << ", resident " << resident;
        }
  }
}

void expect_supernode_pipeline_equals_one_launch_a_level(const CscMatrix<double>& a, const Analysis& analysis) {
  const auto other = nearby_values(a, 8);
  const auto expected = factor_and_refactor(warp_per_column, a, analysis, other);
  LULAB_ASSERT_OK(expected);
  const auto f = factor_and_refactor(supernode_pipeline, a, analysis, other);
  LULAB_ASSERT_OK(f);
  EXPECT_EQ(f->values, expected->values);
}

/// Left columns with long unlike patterns, each needed by every right column: updates of many rows and no supernodes.
CscMatrix<double> unlike_columns(std::int32_t left, std::int32_t right) {
  const std::int32_t n = left + right;
  std::mt19937_64 random(11);
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  const auto add = [&](std::int32_t i, std::int32_t j, double value) {
    rows.push_back(i);
    columns.push_back(j);
    values.push_back(value);
  };
  for (std::int32_t j = 0; j < n; ++j) {
    add(j, j, 9 + 0.25 * (j % 5));
    for (std::int32_t i = j < left ? left : 0; i < (j < left ? n : left); ++i)
      if (j >= left || random() % 2 == 0) add(i, j, 0.01 * (1 + double(random() % 9)));
  }
  return from_triplets<double>(n, n, rows, columns, values);
}

TEST(Pipeline, RowsAreSearchedForWhereAMapWouldTakeTooMuchMemory) {
  LULAB_NEED_DEVICE();
  const auto a = unlike_columns(110, 60);
  const Analysis analysis = analysis_for(a.pattern());
  const SupernodeUpdates updates = make_supernode_updates(analysis.filled, 32, 4, 64);
  ASSERT_GT(2 * updates.map_size, 24 * analysis.filled.nnz());  // so that there is no map
  expect_supernode_pipeline_equals_one_launch_a_level(a, analysis);
}

// L is empty: no update has a row, and yet columns have rows that need their place in shared memory.
TEST(Pipeline, AnUpperTriangleHasNoRowsToMap) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 110;
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = 0; i <= j; ++i) {
      rows.push_back(i);
      columns.push_back(j);
      values.push_back(1 + (3 * i + 5 * j) % 7);
    }
  const auto a = from_triplets<double>(n, n, rows, columns, values);
  const Analysis analysis = analysis_for(a.pattern());
  ASSERT_EQ(make_supernode_updates(analysis.filled, 32, 4, 64).map_size, 0);
  expect_supernode_pipeline_equals_one_launch_a_level(a, analysis);
}

TEST(Pipeline, NonzerosOfLInAnyOrderGiveTheSameFactors) {
  LULAB_NEED_DEVICE();
  const auto a = random_unsymmetric<double>(60, 0.08, 30.0, 5);
  const Analysis analysis = analysis_for(a.pattern());
  const auto other = nearby_values(a, 8);
  const auto expected = factor_and_refactor(warp_per_column, a, analysis, other);
  LULAB_ASSERT_OK(expected);
  for (const Rung* rung : {&warp_per_column, &pipeline, &cluster_pipeline}) {
    const auto f =
        factor_and_refactor(*rung, a, analysis, other, {.of_rung = {{"warps_per_sm", 2}, {"shuffle_nonzeros", 1}}});
    LULAB_ASSERT_OK(f);
    EXPECT_EQ(f->values, expected->values) << rung->facts.id;
  }
}

TEST(Pipeline, VirtualGroupsOfEverySizeGiveTheSameFactors) {
  LULAB_NEED_DEVICE();
  const auto a = random_unsymmetric<double>(40, 0.08, 30.0, 5);
  const Analysis analysis = analysis_for(a.pattern());
  const auto other = nearby_values(a, 8);
  const auto expected = factor_and_refactor(warp_per_column, a, analysis, other);
  LULAB_ASSERT_OK(expected);
  const std::pair<int, int> lanes_and_warps[] = {{1, 1}, {2, 2}, {4, 4}, {8, 8}, {16, 16}, {32, 1}};
  for (const auto& [lanes, warps] : lanes_and_warps) {
    const auto f = factor_and_refactor(virtual_groups, a, analysis, other,
                                       {.of_rung = {{"group_lanes", lanes}, {"group_warps", warps}}});
    LULAB_ASSERT_OK(f);
    EXPECT_EQ(f->values, expected->values) << lanes << " lanes, " << warps << " warps";
  }
}

TEST(Pipeline, ColumnsThatExceedSharedMemoryAreEliminatedInGlobalMemory) {
  LULAB_NEED_DEVICE();
  if (simt::race_detection)
    GTEST_SKIP() << "minutes with ThreadSanitizer, and no access that a short column does not have";
  const auto device = simt::device_properties();
  LULAB_ASSERT_OK(device);
  const auto n = static_cast<std::int32_t>(device->shared_bytes_per_block / sizeof(double) / 4 + 100);
  const auto a = arrow(n);
  expect_supernode_pipeline_equals_one_launch_a_level(a, analysis_for(a.pattern()));
}

TEST(PipelineDeathTest, AFlagSeenWithoutAcquireIsARace) {
  if (!simt::race_detection) GTEST_SKIP() << "needs the preset sim-tsan";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto a = chain(24);
  const Analysis analysis = analysis_for(a.pattern());
  const auto all_seeds = [&](auto run) {
    for (const std::uint64_t seed : simt::schedule_seeds()) (void)run(simt::SimulatorOptions{.seed = seed});
    std::exit(0);  // with a report of ThreadSanitizer the exit code is 66
  };
  EXPECT_EXIT(all_seeds([&](simt::SimulatorOptions options) {
                return eliminate_dealt<cuda::memory_order_acquire>(analysis, a.values,
                                                                   options);  // RACE: the correct order
              }),
              ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(all_seeds([&](simt::SimulatorOptions options) {
                return eliminate_dealt<cuda::memory_order_relaxed>(analysis, a.values, options);  // RACE: the mutant
              }),
              ::testing::ExitedWithCode(66), "data race[^$]*01_warp_per_column_kernel.h");
}

}  // namespace
}  // namespace lulab::sparse_leftlooking
