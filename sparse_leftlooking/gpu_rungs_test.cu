// The rungs on the GPU on columns longer than their threads and on supernodes, on values that have no LU, and what they
// allocate and launch.

#include "core/factorizer.h"
#include "sparse_leftlooking/rungs.h"
#include "testing/contains.h"
#include "testing/device.h"
#include "testing/device_memory_limit.h"
#include "testing/failing_operations.h"
#include "testing/fixed_pivots.h"

namespace lulab::sparse_leftlooking {
namespace {

using namespace lulab::testing;  // fixed_pivots.h

#define LULAB_RUNG(name) &name,
const Rung* const rungs_of_the_room[] = {
#include "sparse_leftlooking/rungs.def"
};
#undef LULAB_RUNG

class LeftLookingOnGpu : public ::testing::TestWithParam<const Rung*> {};

INSTANTIATE_TEST_SUITE_P(Rungs, LeftLookingOnGpu, ::testing::ValuesIn(gpu_rungs(rungs_of_the_room)), name_of_rung);

/// By each of the options, also where the columns come one after the other, so that none waits.
template <class T>
void expect_right_factors(const Rung& rung, const CscPattern& pattern, const std::vector<FactorOptions>& all = {{}}) {
  const auto a = matrix_that_fills_to<T>(analysis_for(pattern).filled, 3);
  const Analysis analysis = analysis_for(a.pattern());
  const std::vector<T> expected = dense_factors(a, analysis);
  for (const FactorOptions& options : all)
    for (const int resident_blocks : simt::resident_limits({0, 1})) {
      SCOPED_TRACE(::testing::Message() << "option " << &options - all.data() << ", resident " << resident_blocks);
      const simt::SimulatorScope scope({.resident_blocks = resident_blocks});
      const auto factors = factor_with<T>(rung, analysis, a.values, options);
      LULAB_ASSERT_OK(factors);
      expect_like(factors->values, expected, a.n_cols);
    }
}

/// The first `wide` columns are full, and the last three have an entry of U for each of them.
CscPattern long_columns(std::int32_t n, std::int32_t wide) {
  return pattern_of(n, [=](std::int32_t i, std::int32_t j) { return i == j || j < wide || (j >= n - 3 && i < wide); });
}

TEST_P(LeftLookingOnGpu, SubtractsColumnsOfMoreRowsThanThreads) {
  LULAB_NEED_DEVICE();
  expect_right_factors<double>(*GetParam(), long_columns(400, 12));
  expect_right_factors<float>(*GetParam(), long_columns(400, 2));
}

/// Two full blocks that do not touch, and six full rows and columns.
TEST_P(LeftLookingOnGpu, SubtractsWideSupernodes) {
  LULAB_NEED_DEVICE();
  const CscPattern pattern =
      pattern_of(30, [](std::int32_t i, std::int32_t j) { return i >= 24 || j >= 24 || (i < 12) == (j < 12); });
  expect_right_factors<double>(*GetParam(), pattern);
  expect_right_factors<float>(*GetParam(), pattern);
}

/// Two levels of `wide` columns: the first one's with none to four entries of L, in the last five rows, the second
/// one's with one to three of U.
CscPattern two_wide_levels(std::int32_t wide) {
  return pattern_of(2 * wide + 5, [=](std::int32_t i, std::int32_t j) {
    if (i == j) return true;
    if (j < wide) return i >= 2 * wide && i - 2 * wide < j % 5;
    const std::int32_t ahead = (i - (j - wide) + wide) % wide;  // of the entry opposite
    return j < 2 * wide && i < wide && ahead <= j % 3;
  });
}

TEST_P(LeftLookingOnGpu, SubtractsColumnsOfUnlikeLengthsAtOnce) {
  LULAB_NEED_DEVICE();
  expect_right_factors<double>(*GetParam(), two_wide_levels(37));
  expect_right_factors<float>(*GetParam(), two_wide_levels(21));
}

TEST(VirtualGroups, OfLanesSubtractColumnsOfUnlikeLengthsAtOnce) {
  LULAB_NEED_DEVICE();
  const std::int32_t wide = 3 * simt::device_properties()->sm_count + 29;  // for a launch of each level
  std::vector<FactorOptions> all;
  for (const int lanes : {1, 2, 4, 8, 16, 32}) all.push_back({.of_rung = {{"group_lanes", lanes}}});
  expect_right_factors<double>(virtual_groups, two_wide_levels(wide), all);
}

/// Full blocks of 1, 1, 5, 1 and 7 columns and so on, each of which updates the last two columns alone.
CscPattern many_blocks(std::int32_t n) {
  const std::int32_t widths[] = {1, 1, 5, 1, 7};
  std::vector<std::int32_t> block_of;
  for (std::int32_t block = 0; std::ssize(block_of) < n; ++block)
    block_of.resize(block_of.size() + widths[block % 5], block);
  return pattern_of(
      n, [=](std::int32_t i, std::int32_t j) { return i >= n - 2 || j >= n - 2 || block_of[i] == block_of[j]; });
}

TEST_P(LeftLookingOnGpu, SubtractsHundredsOfColumnsAndSupernodesInTurn) {
  LULAB_NEED_DEVICE();
  expect_right_factors<double>(*GetParam(), many_blocks(317));
  expect_right_factors<float>(*GetParam(), many_blocks(90));
}

/// More columns than groups of a warp are resident in the simulator.
TEST(VirtualGroups, TakeOneColumnAfterTheOther) {
  LULAB_NEED_DEVICE();
  for (const CscPattern& pattern : {two_wide_levels(300), many_blocks(601)})
    expect_right_factors<double>(virtual_groups, pattern, {{.of_rung = {{"group_lanes", 32}, {"group_warps", 1}}}});
}

TEST(VirtualGroups, OfAnotherSizeAreRefusedByAnalyze) {
  LULAB_NEED_DEVICE();
  const Analysis analysis = analysis_for(long_columns(9, 1));
  for (const auto& [name, value] : {std::pair{"group_lanes", 3}, {"group_warps", 0}, {"group_warps", 3}}) {
    const FactorOptions wrong = {.of_rung = {{name, value}}};
    const Status s = virtual_groups.make<double>(wrong)->analyze(analysis);
    EXPECT_EQ(s.code, StatusCode::invalid_argument);
    EXPECT_TRUE(contains(s.message, "there are: ")) << s.message;
  }
}

TEST_P(LeftLookingOnGpu, TakesNoColumnOneAndTwo) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t n : {0, 1, 2}) {
    SCOPED_TRACE(n);
    expect_right_factors<double>(*GetParam(), pattern_of(n, [](std::int32_t, std::int32_t) { return true; }));
  }
}

void expect_no_factors(const Rung& rung, const std::vector<std::vector<double>>& rows, const std::string& column) {
  const auto a = from_rows<double>(rows);
  const auto factors = factor_with<double>(rung, analysis_for(a.pattern()), a.values);
  EXPECT_EQ(factors.status().code, StatusCode::needs_repivot);
  EXPECT_TRUE(contains(factors.status().message, column)) << factors.status().message;
}

TEST_P(LeftLookingOnGpu, TellsTheFirstColumnWithAZeroPivotAnInfiniteLOrAnInfiniteU) {
  LULAB_NEED_DEVICE();
  const Rung& rung = *GetParam();
  expect_no_factors(rung, {{1, 1, 0}, {1, 1, 1}, {0, 1, 1}}, "column 2 (");
  expect_no_factors(rung, {{1, 0, 0}, {0, 1e-200, 0}, {1, 1e200, 1}}, "column 2 (");
  expect_no_factors(rung, {{1, 0, 1e200}, {-1e200, 1, 0}, {0, 0, 1}}, "column 3 (");
}

/// failed_column, perturbed and a_max: a few bytes that no size is told of.
constexpr std::int64_t outcome_bytes = 4 + 4 + 8;

void expect_told_memory(const Rung& rung, const Analysis& analysis) {
  const std::int64_t before = simt::allocated_bytes();
  const auto f = rung.make<double>();
  LULAB_ASSERT_OK(f->analyze(analysis));
  EXPECT_EQ(f->statistics().peak_bytes + outcome_bytes, simt::allocated_bytes() - before);
}

TEST_P(LeftLookingOnGpu, TellsTheMemoryThatItAllocates) {
  LULAB_NEED_DEVICE();
  for (const CscPattern& pattern : {long_columns(90, 5), long_columns(40, 1)})
    expect_told_memory(*GetParam(), analysis_for(pattern));
}

/// The last `full` columns have all entries of U, and L is empty.
CscPattern full_last_columns(std::int32_t n, std::int32_t full) {
  CscPattern a = {n, n, {0}, {}};
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = j < n - full ? j : 0; i <= j; ++i) a.row_idx.push_back(i);
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

/// More than shared memory holds.
std::int32_t too_many_rows() {
  return static_cast<std::int32_t>(simt::device_properties()->shared_bytes_per_block / sizeof(double) + 1);
}

TEST(SupernodePipeline, LongColumnsAtOnceEachHaveMemoryOfTheirOwn) {
  LULAB_NEED_DEVICE();
  const CscPattern pattern = full_last_columns(too_many_rows(), 4);
  const Analysis analysis = analysis_for(pattern);
  std::vector<double> values;
  for (std::size_t p = 0; p < pattern.row_idx.size(); ++p) values.push_back(1 + 0.25 * static_cast<double>(p % 1000));
  const auto factors = factor_with<double>(supernode_pipeline, analysis, values);
  LULAB_ASSERT_OK(factors);
  EXPECT_EQ(factors->values, values) << "without L, U is A";
}

TEST(SupernodePipeline, AsksForMemoryForAColumnThatSharedMemoryDoesNotHold) {
  LULAB_NEED_DEVICE();
  const Analysis analysis = analysis_for(full_last_columns(too_many_rows(), 1));
  expect_told_memory(supernode_pipeline, analysis);

  const auto analyze = [&] { return supernode_pipeline.make<double>()->analyze(analysis); };
  std::int64_t requests = 0;
  {
    const DeviceMemoryLimit counts;
    LULAB_ASSERT_OK(analyze());
    requests = counts.requests();
  }
  for (std::int64_t refused = 1; refused <= requests; ++refused) {
    const DeviceMemoryLimit limit(refused, refused);
    EXPECT_EQ(analyze().code, StatusCode::out_of_memory) << "request " << refused;
  }
}

/// Four levels: of five, three, two and one column for each of the simulator's multiprocessors.
CscPattern four_levels(std::int32_t sm_count) {
  const std::int32_t first[] = {0, 5 * sm_count, 8 * sm_count, 10 * sm_count, 11 * sm_count};
  return pattern_of(first[4], [=](std::int32_t i, std::int32_t j) {
    const auto level = std::ranges::upper_bound(first, j) - first - 1;
    return i == j || (level > 0 && i == first[level - 1] + j - first[level]);
  });
}

TEST_P(LeftLookingOnGpu, SaysThatItRefactorsAndIsDeterministic) {
  EXPECT_TRUE(GetParam()->facts.refactors);
  EXPECT_TRUE(GetParam()->facts.deterministic);
}

/// Launches and copies of a refactorization, of which the one counted as `failing` fails.
Result<std::int64_t> operations_of(const Rung& rung, const CscPattern& pattern, std::int64_t failing = 0) {
  const auto a = matrix_that_fills_to<double>(analysis_for(pattern).filled, 3);
  const Analysis analysis = analysis_for(a.pattern());
  const auto f = rung.make<double>();
  LULAB_RETURN_IF_ERROR(f->analyze(analysis));
  LULAB_RETURN_IF_ERROR(f->upload(a.values));
  LULAB_RETURN_IF_ERROR(f->factor());
  LULAB_RETURN_IF_ERROR(f->wait());
  const FailingOperations<false> counted(failing, failing);
  LULAB_RETURN_IF_ERROR(f->refactor());
  LULAB_RETURN_IF_ERROR(f->wait());
  return counted.requests();
}

TEST_P(LeftLookingOnGpu, TellsOfEachOperationThatFails) {
  LULAB_NEED_FAILING_OPERATIONS();
  const CscPattern pattern = four_levels(simt::device_properties()->sm_count);
  const auto operations = operations_of(*GetParam(), pattern);
  LULAB_ASSERT_OK(operations);
  for (std::int64_t failing = 1; failing <= *operations; ++failing)
    EXPECT_EQ(operations_of(*GetParam(), pattern, failing).status().code, StatusCode::device_error) << failing;
}

TEST(LaunchesOfLeftLooking, AreOneForEachWideLevelAndOneForTheRest) {
  LULAB_NEED_FAILING_OPERATIONS();
  const CscPattern pattern = four_levels(simt::device_properties()->sm_count);
  const auto by_level = operations_of(warp_per_column, pattern), at_once = operations_of(pipeline, pattern);
  LULAB_ASSERT_OK(by_level);
  LULAB_ASSERT_OK(at_once);
  EXPECT_EQ(*by_level - *at_once, 4 - (1 + 1)) << "four levels; flags, then all levels";
  for (const Rung* rung : {&cluster_pipeline, &virtual_groups}) {
    SCOPED_TRACE(rung->facts.id);
    const auto both = operations_of(*rung, pattern);
    LULAB_ASSERT_OK(both);
    EXPECT_EQ(*both - *at_once, 3) << "three wide levels";
  }
}

}  // namespace
}  // namespace lulab::sparse_leftlooking
