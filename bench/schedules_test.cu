#include "bench/schedules.h"

#include <numeric>
#include <set>
#include <string>

#include "symbolic/rungs.h"
#include "testing/device.h"
#include "testing/matrices.h"

namespace lulab::bench {
namespace {

using Kind = Schedule::Kind;

TEST(Schedules, CountWhatFill2Reads) {
  LULAB_NEED_DEVICE();
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    const CscPattern b = testing::random_matrix(seed, {.n = 200, .density = 0.01}).pattern();
    FillWork work;
    LULAB_ASSERT_OK(fill_rungs::fill2_threads.fill(b, {}, &work));
    for (const int threads : {1, 3}) {
      const auto entries = entries_read_by_columns(b, threads);
      EXPECT_EQ(std::accumulate(entries.begin(), entries.end(), std::int64_t{0}), work.edges);
      EXPECT_EQ(entries[0], b.col_ptr[1]) << "no vertex is smaller";
    }
    EXPECT_GT(work.edges, 2 * b.nnz());
  }
  EXPECT_TRUE(entries_read_by_columns(CscPattern()).empty());
}

TEST(Schedules, GiveColumnsToDevicesAsTheySay) {
  const auto devices_of = [](Kind kind, std::int32_t n) {
    const Schedule schedule = {.name = "", .kind = kind, .chunk = 4, .nodes = 2, .devices = 2};
    std::vector<int> all;
    for (std::int32_t j = 0; j < n; ++j) all.push_back(schedule.device_of(j, n));
    return all;
  };
  EXPECT_EQ(devices_of(Kind::ranges, 12), (std::vector{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}));
  EXPECT_EQ(devices_of(Kind::inter_node, 12), (std::vector{0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1}));
  EXPECT_EQ(devices_of(Kind::two_levels, 12), (std::vector{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1}));
  EXPECT_EQ(devices_of(Kind::in_turn, 12), (std::vector{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
  std::set<std::string_view> names;
  for (const Schedule& schedule : gsofa_schedules()) {
    EXPECT_TRUE(names.insert(schedule.name).second) << schedule.name;
    for (const std::int32_t n : {1, 35, 36, 1000})
      for (std::int32_t j = 0; j < n; ++j) {
        const std::int32_t device = schedule.device_of(j, n);
        EXPECT_TRUE(device >= 0 && device < 36) << schedule.name << " " << j;
      }
  }
}

TEST(Schedules, AreComparedByTheBusiestDevice) {
  const std::vector<std::int64_t> growing = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto ratio = [&](Kind kind) {
    return busiest_over_mean(growing, {.name = "", .kind = kind, .chunk = 2, .nodes = 2, .devices = 2});
  };
  EXPECT_DOUBLE_EQ(ratio(Kind::ranges), 15 / 9.0);      // 7 + 8
  EXPECT_DOUBLE_EQ(ratio(Kind::two_levels), 12 / 9.0);  // 4 + 8
  EXPECT_DOUBLE_EQ(ratio(Kind::in_turn), 12 / 9.0);
  EXPECT_EQ(busiest_over_mean({}, gsofa_schedules().front()), 1);
}

}  // namespace
}  // namespace lulab::bench
