// The device finds the levels of the sequential pass under every schedule.

#include "symbolic/levels_on_device.h"

#include "testing/launch.h"
#include "testing/matrices.h"
#include "testing/patterns.h"
#include "testing/torn_atomics.h"

namespace lulab {
namespace {

// With sanitizers a launch is slow, and fewer patterns run the same kernels.
constexpr int fewer = simt::race_detection ? 6 : simt::instrumented ? 3 : 1;

using testing::NamedPattern;

void expect_same(const Schedule& s, const Schedule& expected) {
  EXPECT_EQ(s.level_of, expected.level_of);
  EXPECT_EQ(s.level_ptr, expected.level_ptr);
  EXPECT_EQ(s.level_cols, expected.level_cols);
}

void expect_the_sequential_levels(const NamedPattern& pattern, simt::SimulatorOptions options) {
  SCOPED_TRACE(pattern.name + ", schedule " + std::to_string(options.seed) + ", resident blocks " +
               std::to_string(options.resident_blocks));
  const simt::SimulatorScope scope(options);
  for (const DependencyRule rule : dependency_rules) {
    SCOPED_TRACE(to_string(rule));
    const auto s = levels_on_device(pattern.filled, rule);
    LULAB_ASSERT_OK(s);
    expect_same(*s, levels_right_looking(pattern.filled, rule));
  }
}

TEST(LevelsOnDevice, OfThePapersExample) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : simt::schedule_seeds())
    for (const int resident : {0, 1, 2})
      expect_the_sequential_levels({"example", testing::peng_tan_example()},
                                   {.seed = seed, .resident_blocks = resident});
}

TEST(LevelsOnDevice, OfRandomPatterns) {  // 0, 1, 2, ... columns
  LULAB_NEED_DEVICE();
  std::uint64_t seed = 0;
  for (const NamedPattern& pattern : testing::random_patterns(40 / fewer))
    for (const int resident : {0, 1, 3})
      expect_the_sequential_levels(pattern, {.seed = ++seed, .resident_blocks = resident});
}

TEST(LevelsOnDevice, OfCircuitsMeshesAndExtremes) {
  LULAB_NEED_DEVICE();
  std::uint64_t seed = 0;
  for (const NamedPattern& pattern : testing::generated_patterns(150 / fewer))
    for (const int resident : {0, 1})
      expect_the_sequential_levels(pattern, {.seed = ++seed, .resident_blocks = resident});
}

TEST(LevelsOnDevice, WhereATicketIsForSeveralColumnsAndTheLastOneForFewer) {
  LULAB_NEED_DEVICE();
  const auto device = simt::device_properties();
  LULAB_ASSERT_OK(device);
  // Eight columns per ticket for all threads that the device can hold, and one more.
  const std::int32_t n = std::min(200000, device->sm_count * device->max_threads_per_sm / 32 * 8 * 8 + 1);
  FilledPattern f;
  f.n = n;
  for (std::int32_t j = 0; j < n; ++j) {  // column j - 1 updates column j, but for every third one
    if (j % 3 != 0) f.row_idx.push_back(j - 1);
    f.diag.push_back(f.nnz());
    f.row_idx.push_back(j);
    if (j % 3 != 2 && j + 1 < n) f.row_idx.push_back(j + 1);
    f.col_ptr.push_back(f.nnz());
  }
  expect_the_sequential_levels({"chains of three", std::move(f)}, {.seed = 3});
}

TEST(LevelsOnDevice, AreNotThereBeforeTheyWereLookedFor) {
  LULAB_NEED_DEVICE();
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  const auto levels = DeviceLevels::create(testing::peng_tan_example(), *stream);
  LULAB_ASSERT_OK(levels);
  EXPECT_EQ(levels->download(*stream).status().code, StatusCode::invalid_argument);
}

TEST(LevelsOnDevice, AreFoundAgainByAnyRule) {  // nothing of one search is left for the next
  LULAB_NEED_DEVICE();
  const FilledPattern f = testing::generated_patterns(100).front().filled;
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  auto levels = DeviceLevels::create(f, *stream);
  LULAB_ASSERT_OK(levels);
  for (int round = 0; round < 2; ++round)
    for (const DependencyRule rule : dependency_rules) {
      SCOPED_TRACE(to_string(rule));
      LULAB_ASSERT_OK(levels->enqueue(rule, *stream));
      const auto s = levels->download(*stream);
      LULAB_ASSERT_OK(s);
      expect_same(*s, levels_right_looking(f, rule));
    }
}

/// Whether some schedule gives no levels or others.
bool levels_are_wrong() {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const FilledPattern f = *fill_reference(testing::random_matrix(seed, {.n = 40, .density = 0.06}).pattern());
    const simt::SimulatorScope scope({.seed = seed});
    for (const DependencyRule rule : dependency_rules) {
      const auto s = levels_on_device(f, rule);
      if (!s.ok() || s->level_of != levels_right_looking(f, rule).level_of) return true;
    }
  }
  return false;
}

TEST(LevelsOnDevice, EachAtomicThatIsTornIsSeen) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  const auto atomics = testing::tear_each_atomic(levels_are_wrong);
  // tickets and columns done of a pass, two of the queue and its slots, three of lists, last, two of needs, level
  EXPECT_EQ(atomics.met.size(), 12u);
  for (const std::string& place : atomics.unnoticed)  // RACE: one thread writes the slot, once
    EXPECT_TRUE(simt::contains(place, "(w.queue[slot]).store(")) << place;
}

}  // namespace
}  // namespace lulab
