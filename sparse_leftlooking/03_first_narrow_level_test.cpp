#include "sparse_leftlooking/03_first_narrow_level.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace lulab::sparse_leftlooking {
namespace {

Schedule with_level_sizes(const std::vector<std::int64_t>& sizes) {
  Schedule schedule;
  schedule.level_ptr = {0};
  for (const std::int64_t size : sizes) schedule.level_ptr.push_back(schedule.level_ptr.back() + size);
  return schedule;
}

TEST(FirstNarrowLevel, HasLessThanTwoColumnsForAMultiprocessor) {
  EXPECT_EQ(first_narrow_level(with_level_sizes({7, 4, 3}), 5), 0);
  EXPECT_EQ(first_narrow_level(with_level_sizes({10, 4, 3}), 5), 1);
  EXPECT_EQ(first_narrow_level(with_level_sizes({30, 10, 9, 3}), 5), 2);
}

TEST(FirstNarrowLevel, IsTheFirstOneEvenBeforeWideOnes) {
  EXPECT_EQ(first_narrow_level(with_level_sizes({20, 9, 20, 1}), 5), 1);
}

TEST(FirstNarrowLevel, IsBehindTheLastWhereAllAreWide) {
  EXPECT_EQ(first_narrow_level(with_level_sizes({20, 10}), 5), 2);
  EXPECT_EQ(first_narrow_level(with_level_sizes({}), 5), 0);
}

}  // namespace
}  // namespace lulab::sparse_leftlooking
