#include "core/ranks.h"

#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "testing/device.h"
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

/// Rank r gives r values, each of them r.
Status gather_on_device(Ranks& ranks, std::vector<std::int32_t>& all) {
  std::vector<std::int64_t> bytes;
  for (int rank = 0; rank < ranks.count(); ++rank) bytes.push_back(rank * std::int64_t{sizeof(std::int32_t)});
  const std::vector<std::int32_t> mine(ranks.rank(), ranks.rank());
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  simt::DeviceBuffer<std::int32_t> d_mine, d_all;
  LULAB_RETURN_IF_ERROR(simt::make(d_mine, mine, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_all, all, stream));
  LULAB_RETURN_IF_ERROR(ranks.all_gather_on_device(d_mine.data(), bytes, d_all.data(), stream));
  LULAB_RETURN_IF_ERROR(d_all.download(all, stream));
  return stream.wait();
}

TEST(Ranks, GatherOnDevicesRankAfterRank) {
  LULAB_NEED_DEVICE();
  for (int count = 1; count <= 4; ++count) {
    std::vector<std::int32_t> expected;
    for (int rank = 0; rank < count; ++rank) expected.insert(expected.end(), rank, rank);
    for (const auto& all : on_ranks(count, [&](Ranks& ranks) {
           std::vector<std::int32_t> all(expected.size(), -1);
           EXPECT_TRUE(gather_on_device(ranks, all).ok());
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
