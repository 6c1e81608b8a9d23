#include <gtest/gtest.h>

#include "testing/program.h"

namespace lulab {
namespace {

TEST(JudgeFromC, AcceptsRightFactorsAndNamesTheSpoiltEntry) {
  const testing::Answer answer = testing::run_program("lulab-judge-from-c", "");
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_TRUE(contains(answer.out, "accepted, 21 checks")) << answer.out;
  EXPECT_TRUE(contains(answer.out, "rejected, wrong_value: U(3,4) = ")) << answer.out;
}

}  // namespace
}  // namespace lulab
