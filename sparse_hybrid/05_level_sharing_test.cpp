#include "sparse_hybrid/05_level_sharing.h"

#include "symbolic/dependencies.h"
#include "testing/fixed_pivots.h"

namespace lulab::sparse_hybrid {
namespace {

UpdateTasks tasks_of(const FilledPattern& f) {
  return make_update_tasks(f, levels_right_looking(f, DependencyRule::relaxed));
}

TEST(LevelSharing, EveryLevelIsSharedOutInWholeGroupsAndAllBlocksMeetEquallyOften) {
  for (const testing::NamedPattern& pattern : testing::generated_patterns(300)) {
    const UpdateTasks tasks = tasks_of(pattern.filled);
    for (const int max_threads : {0, 32, 96, 768})
      for (const std::int64_t max_blocks : {1, 5, 132}) {
        SCOPED_TRACE(::testing::Message() << pattern.name << ", " << max_threads << " threads, " << max_blocks);
        const LevelSharing s = share_out(tasks, max_threads, max_blocks);
        ASSERT_EQ(s.of_block_0.size() + 1, tasks.level_ptr.size());
        EXPECT_EQ(s.threads % 32, 0);
        EXPECT_TRUE(1 <= s.blocks && s.blocks <= max_blocks);
        std::size_t meetings = 0, shared = 0;
        for (std::size_t l = 0; l < s.of_block_0.size(); ++l) {
          const LevelShape& level = s.of_block_0[l];
          EXPECT_EQ(level.begin, tasks.level_ptr[l]);
          EXPECT_EQ(level.begin + level.size, tasks.level_ptr[l + 1]);
          EXPECT_EQ((level.alone ? 1 : s.blocks) * s.threads % (1 << level.group_log2), 0);
          EXPECT_TRUE(level.meet || (level.alone && s.of_block_0[l + 1].alone)) << "a level that others work on";
          meetings += level.meet;
          shared += !level.alone;
        }
        ASSERT_EQ(s.of_others.size(), meetings);
        for (const LevelShape& level : s.of_others) {
          EXPECT_TRUE(level.meet);
          EXPECT_TRUE(!level.alone || level.size == 0);
          shared -= !level.alone;
        }
        EXPECT_EQ(shared, 0u);
      }
  }
}

TEST(LevelSharing, OneBlockDoesNarrowLevelsAloneAndWideOnesNeedAll) {
  UpdateTasks tasks;
  const auto level = [&](int n, std::int32_t rows) {
    for (int t = 0; t < n; ++t) tasks.tasks.push_back({.column = 0, .l = 0, .map = 0, .u = 0, .rows = rows});
    tasks.level_ptr.push_back(std::ssize(tasks.tasks));
  };
  level(20000, 8);
  level(3, 5);
  level(2, 4);
  level(5000, 60);
  const LevelSharing s = share_out(tasks, 512, 132);
  EXPECT_EQ(s.blocks, 132);
  std::vector<bool> alone, meet;
  for (const LevelShape& l : s.of_block_0) alone.push_back(l.alone), meet.push_back(l.meet);
  EXPECT_EQ(alone, (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(meet, (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ(s.of_others.size(), 3u);
}

TEST(LevelSharing, AFewThreadsAreEnoughForSmallMatrices) {
  UpdateTasks tasks;
  tasks.tasks.push_back({.column = 0, .l = 0, .map = 0, .u = 0, .rows = 40});
  tasks.level_ptr = {0, 1, 1};
  const LevelSharing s = share_out(tasks, 0, 132);
  EXPECT_EQ(s.threads, 64);
  EXPECT_EQ(s.blocks, 1);
}

}  // namespace
}  // namespace lulab::sparse_hybrid
