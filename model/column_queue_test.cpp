#include "model/column_queue.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "symbolic/levels.h"
#include "testing/paper_example.h"

namespace lulab {
namespace {

/// One unit to load, one for each entry of U once its column is finished, one to store.
ColumnWalk unit_walk(const FilledPattern& f) {
  return [&f](std::int32_t j, double start, std::span<const double> done) {
    ColumnRun run;
    double t = start + 1, waited = 0;
    for (std::int64_t s = f.col_ptr[j]; s < f.diag[j]; ++s) {
      const std::int32_t k = f.row_idx[s];
      if (done[k] > t) {
        waited += done[k] - t;
        t = run.freed_at = done[k];
        run.freed_by = k;
      }
      t += 1;
    }
    run.finish = t + 1;
    run.at_work = run.finish - start - waited;
    return run;
  };
}

Timeline run(const FilledPattern& f, std::int64_t warps) {
  return run_column_queue(levels_left_looking(f), warps, unit_walk(f));
}

/// Columns in the paper's numbering, from 1.
std::vector<int> from_1(std::vector<std::int32_t> columns) {
  std::vector<int> result;
  for (const std::int32_t j : columns) result.push_back(j + 1);
  return result;
}

TEST(ColumnQueue, OfThePapersExampleWithAWarpForEveryColumnIsTheCriticalPath) {
  const FilledPattern f = paper_example();
  const Timeline t = run(f, 10);
  //                                      1  2  3  4  5  6  7  8   9  10
  EXPECT_EQ(t.done, (std::vector<double>{2, 2, 2, 5, 2, 5, 2, 7, 10, 12}));
  EXPECT_EQ(t.finish, 12);
  EXPECT_EQ(from_1(t.critical), (std::vector<int>{1, 4, 9, 10}));
  EXPECT_EQ(t.hops, 3);
  EXPECT_EQ(t.hop_time, 0);
  EXPECT_EQ(t.at_work, 31);
}

// Tickets: 1 2 3 5 7 | 4 6 | 8 | 9 | 10. The first warp takes 1 3 7 6 9, the second one 2 5 4 8 10.
TEST(ColumnQueue, OfThePapersExampleWithTwoWarpsGivesAColumnToTheFirstThatIsFree) {
  const FilledPattern f = paper_example();
  const Timeline t = run(f, 2);
  //                                      1  2  3  4  5   6  7   8   9  10
  EXPECT_EQ(t.done, (std::vector<double>{2, 2, 4, 8, 4, 10, 6, 12, 16, 18}));
  EXPECT_EQ(from_1(t.critical), (std::vector<int>{1, 3, 7, 6, 9, 10}));
  EXPECT_EQ(t.hops, 1);  // 10 waited for 9
}

TEST(ColumnQueue, OfOneWarpIsTheSumOfAllColumns) {
  const FilledPattern f = paper_example();
  const Timeline t = run(f, 1);
  EXPECT_EQ(t.finish, 10 * 2 + 11);  // 11 entries of U above its diagonal
  EXPECT_EQ(t.finish, t.at_work);
  EXPECT_EQ(t.critical.size(), 10u);
  EXPECT_EQ(t.hops, 0);
}

TEST(ColumnQueue, OfAChainIsTheSumOfItsColumnsAfterTheyWereFreed) {
  std::vector<std::vector<int>> needs(50);
  for (int j = 1; j < 50; ++j) needs[j] = {j - 1};
  const FilledPattern f = pattern_of_u(needs);
  const Timeline t = run(f, 7);
  EXPECT_EQ(t.finish, 2 + 49 * 2);  // the first loads and stores, each other one updates and stores
  EXPECT_EQ(t.critical.size(), 50u);
  EXPECT_EQ(t.hops, 49);
}

TEST(ColumnQueue, OfNoColumnsIsEmpty) {
  const Timeline t = run(pattern_of_u({}), 4);
  EXPECT_EQ(t.finish, 0);
  EXPECT_TRUE(t.critical.empty());
}

TEST(ColumnQueue, IsNeverLongerWithMoreWarpsAndNeverShorterThanItsBounds) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<std::vector<int>> needs(120);
    for (int j = 1; j < 120; ++j)
      for (int entry = 0; entry < 3; ++entry) needs[j].push_back(static_cast<int>(random() % j));
    for (auto& k : needs) {
      std::sort(k.begin(), k.end());
      k.erase(std::unique(k.begin(), k.end()), k.end());
    }
    const FilledPattern f = pattern_of_u(needs);
    const double chain = run(f, 120).finish;
    double before = run(f, 1).finish;
    for (const int warps : {2, 3, 4, 7, 16, 50, 120}) {
      const Timeline t = run(f, warps);
      EXPECT_LE(t.finish, before) << warps;
      EXPECT_GE(t.finish, chain) << warps;
      EXPECT_GE(t.finish * warps, t.at_work) << warps;
      before = t.finish;
    }
  }
}

}  // namespace
}  // namespace lulab
