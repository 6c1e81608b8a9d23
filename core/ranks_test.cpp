#include "core/ranks.h"

#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "testing/pretended_ranks.h"

namespace lulab {
namespace {

using testing::on_ranks;

TEST(Ranks, GiveEveryoneWhatTheRootHas) {
  for (int count = 1; count <= 5; ++count)
    for (int root = 0; root < count; ++root)
      for (const std::vector<int>& values : on_ranks(count, [&](Ranks& ranks) {
             std::vector<int> mine(7, ranks.rank());
             broadcast_values(ranks, mine, root);
             return mine;
           }))
        EXPECT_EQ(values, std::vector<int>(7, root));
}

TEST(Ranks, GatherRankAfterRank) {
  for (int count = 1; count <= 5; ++count) {
    std::vector<std::int64_t> expected(2 * static_cast<std::size_t>(count));
    std::iota(expected.begin(), expected.end(), 0);
    for (const auto& all : on_ranks(count, [&](Ranks& ranks) {
           const std::int64_t mine[] = {2 * ranks.rank(), 2 * ranks.rank() + 1};
           std::vector<std::int64_t> all(expected.size(), -1);
           ranks.all_gather(mine, all);
           return all;
         }))
      EXPECT_EQ(all, expected);
  }
}

TEST(Ranks, OneRankKeepsWhatItHas) {
  OneRank one;
  int value = 3;
  broadcast_values(one, std::span(&value, 1), 0);
  EXPECT_EQ(value, 3);
  const std::int64_t mine[] = {4, 5};
  std::int64_t all[] = {-1, -1};
  one.all_gather(mine, all);
  EXPECT_TRUE(std::ranges::equal(all, mine));
  one.abort(4);
  const Status error = Status::error(StatusCode::deadlock, "why", {"a.mtx", 0, {}, {}});
  EXPECT_EQ(agree(one, error).message, "why");
  EXPECT_TRUE(agree(one, {}).ok());
}

TEST(Ranks, AgreeThatAllIsWell) {
  for (const Status& status : on_ranks(4, [](Ranks& ranks) { return agree(ranks, {}); })) EXPECT_TRUE(status.ok());
}

TEST(Ranks, AgreeOnTheFirstError) {
  for (int first = 0; first < 4; ++first)
    for (const Status& status : on_ranks(4, [&](Ranks& ranks) {
           const bool fails = ranks.rank() == first || ranks.rank() == 3;
           return agree(ranks,
                        fails ? Status::error(StatusCode::out_of_memory, "no memory" + std::string(ranks.rank(), '!'),
                                              {std::string(ranks.rank(), 'f'), 0, {}, {}})
                              : Status());
         })) {
      EXPECT_EQ(status.code, StatusCode::out_of_memory);
      EXPECT_EQ(status.message, "rank " + std::to_string(first) + " of 4: no memory" + std::string(first, '!'));
      EXPECT_EQ(status.where.file, std::string(first, 'f'));
    }
}

}  // namespace
}  // namespace lulab
