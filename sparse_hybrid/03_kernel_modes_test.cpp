#include "sparse_hybrid/03_kernel_modes.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "symbolic/levels.h"

namespace lulab::sparse_hybrid {
namespace {

constexpr ModeLimits paper = paper_mode_limits;

simt::DeviceProperties device(int sm_count, int threads_per_sm) {
  simt::DeviceProperties d;
  d.sm_count = sm_count;
  d.max_threads_per_sm = threads_per_sm;
  d.max_threads_per_block = 1024;
  return d;
}

TEST(KernelModes, OfThePapersConstants) {
  const struct {
    std::int64_t columns;
    LevelMode mode;
  } cases[] = {{1, {KernelMode::stream, 32}},           {16, {KernelMode::stream, 32}},
               {17, {KernelMode::large_block, 32}},     {48, {KernelMode::large_block, 32}},
               {49, {KernelMode::small_block, 16}},     {96, {KernelMode::small_block, 16}},
               {97, {KernelMode::small_block, 8}},      {192, {KernelMode::small_block, 8}},
               {193, {KernelMode::small_block, 4}},     {384, {KernelMode::small_block, 4}},
               {385, {KernelMode::small_block, 2}},     {768, {KernelMode::small_block, 2}},
               {769, {KernelMode::small_block, 2}},     {100'000, {KernelMode::small_block, 2}},
               {1L << 40, {KernelMode::small_block, 2}}};
  for (const auto& [columns, expected] : cases) {
    const LevelMode m = mode_of_level(columns, paper);
    EXPECT_EQ(m.mode, expected.mode) << columns << " columns";
    EXPECT_EQ(m.warps, expected.warps) << columns << " columns";
  }
}

TEST(KernelModes, AWiderLevelNeverHasMoreWarpsAColumnNorAnEarlierMode) {
  const auto step = [](const LevelMode& m) {  // C, B, A
    return m.mode == KernelMode::stream ? 0 : m.mode == KernelMode::large_block ? 1 : 2;
  };
  const ModeLimits h200 = {.total_warps = 132 * 64, .large_block_warps = 32, .stream_columns = 88};
  for (const ModeLimits& limits : {paper, h200, ModeLimits{32, 16, 1}, ModeLimits{1, 32, 4}, ModeLimits{1536, 32, 0},
                                   ModeLimits{0, 32, 16}, ModeLimits{0, 32, 0}}) {
    LevelMode before = mode_of_level(1, limits);
    for (std::int64_t columns = 2; columns < 10'000; ++columns) {
      const LevelMode m = mode_of_level(columns, limits);
      ASSERT_GE(step(m), step(before)) << columns << " columns";
      ASSERT_LE(m.warps, before.warps) << columns << " columns";
      before = m;
    }
  }
}

TEST(KernelModes, SmallBlocksShareOutNoMoreWarpsThanThereAreAndAtLeastHalf) {
  for (std::int64_t columns = 49; columns <= 768; ++columns) {
    const LevelMode m = mode_of_level(columns, paper);
    ASSERT_EQ(m.mode, KernelMode::small_block);
    EXPECT_LE(columns * m.warps, 1536);
    EXPECT_GT(columns * (2 * m.warps + 1), 1536) << columns << " columns could have blocks of twice as many warps";
  }
}

TEST(KernelModes, ThatAreSwitchedOffAreNeverChosen) {
  for (std::int64_t columns = 1; columns < 5000; ++columns) {
    EXPECT_NE(mode_of_level(columns, {1536, 32, 0}).mode, KernelMode::stream);
    EXPECT_NE(mode_of_level(columns, {0, 32, 16}).mode, KernelMode::small_block);
    EXPECT_EQ(mode_of_level(columns, {0, 32, 0}), (LevelMode{KernelMode::large_block, 32}));
  }
}

TEST(KernelModes, ThePapersDeviceHasThePapersWarpsAndAnH200ItsThreshold) {
  const ModeLimits l = mode_limits(device(24, 2048), {});
  EXPECT_EQ(l.total_warps, 1536);
  EXPECT_EQ(l.large_block_warps, 32);
  EXPECT_EQ(l.stream_columns, 3);
  EXPECT_EQ(mode_limits(device(132, 2048), {}).stream_columns, 16);
  EXPECT_EQ(paper, (ModeLimits{.total_warps = 1536, .large_block_warps = 32, .stream_columns = 16}));
}

TEST(KernelModes, LimitsOfTheSmallestDeviceLeaveEveryModePossible) {
  const ModeLimits l = mode_limits(device(1, 1024), {});
  EXPECT_EQ(mode_of_level(1, l).mode, KernelMode::stream);
  EXPECT_EQ(mode_of_level(2, l).mode, KernelMode::large_block);
  EXPECT_EQ(mode_of_level(3, l).mode, KernelMode::small_block);
  EXPECT_EQ(l.large_block_warps, 16);  // of a larger one there would be no second
}

TEST(KernelModes, OptionsTakeTheDevicesPlace) {
  const ModeLimits l = mode_limits(device(132, 2048), {.of_rung = {{"total_warps", 1536}, {"stream_columns", 16}}});
  EXPECT_EQ(l.total_warps, 1536);
  EXPECT_EQ(l.stream_columns, 16);
  const ModeLimits off = mode_limits(device(132, 2048), {.of_rung = {{"total_warps", -1}, {"stream_columns", -1}}});
  for (const std::int64_t columns : {1, 16, 1000, 1'000'000})
    EXPECT_EQ(mode_of_level(columns, off), (LevelMode{KernelMode::large_block, 32}));
}

TEST(KernelModes, AreCountedLevelByLevel) {
  std::vector<std::int32_t> level_of;
  const std::vector<int> sizes = {769, 49, 1000, 17, 48, 16, 1, 1, 2};
  for (std::size_t l = 0; l < sizes.size(); ++l) level_of.insert(level_of.end(), sizes[l], static_cast<int>(l));
  EXPECT_EQ(count_modes(group_levels(level_of), paper), (std::array<std::int32_t, 3>{3, 2, 4}));
  EXPECT_EQ(count_modes(Schedule{}, paper), (std::array<std::int32_t, 3>{0, 0, 0}));
}

}  // namespace
}  // namespace lulab::sparse_hybrid
