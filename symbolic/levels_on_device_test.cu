// The levels that the device finds are those of the sequential pass, whatever the schedule.

#include "symbolic/levels_on_device.h"

#include "core/simt/test_launch.h"
#include "symbolic/test_patterns.h"

#ifdef __SANITIZE_THREAD__
constexpr int smaller = 3;  // race detection takes its time
#else
constexpr int smaller = 1;
#endif

namespace lulab {
namespace {

using testing::NamedPattern;
using testing::rules;

void expect_same(const Schedule& s, const Schedule& expected) {
  EXPECT_EQ(s.level_of, expected.level_of);
  EXPECT_EQ(s.level_ptr, expected.level_ptr);
  EXPECT_EQ(s.level_cols, expected.level_cols);
}

void expect_the_sequential_levels(const NamedPattern& pattern, simt::SimulatorOptions options) {
  SCOPED_TRACE(pattern.name + ", schedule " + std::to_string(options.seed) + ", resident blocks " +
               std::to_string(options.resident_blocks));
  const simt::SimulatorScope scope(options);
  for (const DependencyRule rule : rules) {
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
  for (const NamedPattern& pattern : testing::random_patterns(40 / smaller))
    for (const int resident : {0, 1, 3})
      expect_the_sequential_levels(pattern, {.seed = ++seed, .resident_blocks = resident});
}

TEST(LevelsOnDevice, OfCircuitsMeshesAndExtremes) {
  LULAB_NEED_DEVICE();
  std::uint64_t seed = 0;
  for (const NamedPattern& pattern : testing::generated_patterns(150 / smaller))
    for (const int resident : {0, 1})
      expect_the_sequential_levels(pattern, {.seed = ++seed, .resident_blocks = resident});
}

TEST(LevelsOnDevice, AreFoundAgainByAnyRule) {  // nothing of one search is left for the next
  LULAB_NEED_DEVICE();
  const FilledPattern f = testing::generated_patterns(100).front().filled;
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  auto levels = DeviceLevels::create(f, *stream);
  LULAB_ASSERT_OK(levels);
  for (int round = 0; round < 2; ++round)
    for (const DependencyRule rule : rules) {
      SCOPED_TRACE(to_string(rule));
      LULAB_ASSERT_OK(levels->enqueue(rule, *stream));
      const auto s = levels->download(*stream);
      LULAB_ASSERT_OK(s);
      expect_same(*s, levels_right_looking(f, rule));
    }
}

}  // namespace
}  // namespace lulab
