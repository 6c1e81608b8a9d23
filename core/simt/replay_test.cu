// A test that fails in the simulator prints the command that runs it again under the schedule that failed. The tests
// that fail on purpose are DISABLED_ and run in a process of their own.

#include <regex>

#include "testing/launch.h"
#include "testing/program.h"

namespace lulab::simt {
namespace {

__global__ void write_kernel(int* out) { out[threadIdx.x] = 1; }

/// Launches once, in a scope that is over when this returns.
void launch_under(const SimulatorOptions& options) {
  std::printf("ran seed %d resident %d\n", int(options.seed), options.resident_blocks);
  LULAB_ASSERT_OK(output_of<int>(write_kernel, {.grid = 1, .block = 1}, 1, options));
}

TEST(ReplayFails, DISABLED_AfterTheScope) {
  for (const std::uint64_t seed : all_schedule_seeds())
    for (const int resident : resident_limits({0, 1, 2})) {
      launch_under({.seed = seed, .resident_blocks = resident});
      EXPECT_FALSE(seed >= 5 && resident == 2) << "on purpose";
    }
}

TEST(ReplayFails, DISABLED_InAScopeBeforeItsFirstLaunch) {
  for (const std::uint64_t seed : schedule_seeds(100)) {
    const SimulatorScope scope({.seed = seed, .resident_blocks = 3});
    std::printf("ran seed %d resident 3\n", int(seed));
    EXPECT_NE(seed, 70u) << "on purpose";
  }
}

TEST(ReplayFails, DISABLED_WithoutALaunch) { FAIL() << "on purpose"; }

template <class T>
class ReplayFailsTyped : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ReplayFailsTyped, Types);
TYPED_TEST(ReplayFailsTyped, DISABLED_Typed) {
  for (const std::uint64_t seed : all_schedule_seeds()) {
    launch_under({.seed = seed});
    EXPECT_NE(seed, 6u) << "on purpose";
  }
}

class ReplayFailsWith : public ::testing::TestWithParam<int> {};
TEST_P(ReplayFailsWith, DISABLED_Parameter) {
  for (const std::uint64_t seed : all_schedule_seeds()) {
    launch_under({.seed = seed, .resident_blocks = GetParam()});
    EXPECT_NE(seed, 4u) << "on purpose";
  }
}
INSTANTIATE_TEST_SUITE_P(Sizes, ReplayFailsWith, ::testing::Values(1, 2));

/// Runs tests of this program that are DISABLED_; the filter and a ' follow.
const std::string run_disabled = std::string("'")
                                     .append(testing::this_program().string())
                                     .append("' --gtest_also_run_disabled_tests --gtest_filter='");

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// The command that the failing test prints, which is the only one.
std::string printed_command(const std::string& test) {
  const std::string command = run_disabled + test + "'";
  const testing::Answer first = testing::run_command(command);
  EXPECT_EQ(first.code, 1) << first.out << first.err;
  std::smatch line;
  EXPECT_TRUE(std::regex_search(first.out, line, std::regex("(^|\n)replay: (.*)\n"))) << first.out;
  EXPECT_EQ(count(first.out, "replay: "), 1) << first.out;
  return line[2];
}

/// The printed command begins with these settings, runs that schedule and no other, and fails as the first run did.
void expect_replayed(const std::string& test, int seed, int resident) {
  SCOPED_TRACE(test);
  const std::string command = printed_command(test);
  const std::string settings =
      "LULAB_SIM_SEED=" + std::to_string(seed) + " LULAB_SIM_RESIDENT=" + std::to_string(resident);
  EXPECT_TRUE(command.starts_with(settings + " ")) << command;
  const testing::Answer again = testing::run_command(command);
  EXPECT_EQ(again.code, 1) << again.out << again.err;
  EXPECT_TRUE(contains(again.out, "replay: " + command + "\n")) << again.out;
  EXPECT_EQ(count(again.out, "ran seed "), 1) << again.out;
  EXPECT_TRUE(contains(again.out, "ran seed " + std::to_string(seed) + " resident " + std::to_string(resident)))
      << again.out;
}

TEST(Replay, FailingTestPrintsTheCommandThatFailsAgain) {
  LULAB_NEED_SIMULATOR();
  expect_replayed("ReplayFails.DISABLED_AfterTheScope", 5, 2);
  expect_replayed("ReplayFails.DISABLED_InAScopeBeforeItsFirstLaunch", 70, 3);
  expect_replayed("ReplayFailsTyped/1.DISABLED_Typed", 6, 0);
  expect_replayed("Sizes/ReplayFailsWith.DISABLED_Parameter/1", 4, 2);
}

TEST(Replay, WithoutALaunchTheCommandNamesNoSchedule) {
  LULAB_NEED_SIMULATOR();
  const std::string command = printed_command("ReplayFails.DISABLED_WithoutALaunch");
  EXPECT_FALSE(contains(command, "LULAB_SIM_")) << command;
  EXPECT_EQ(testing::run_command(command).code, 1) << command;
}

TEST(Replay, PassingTestPrintsNone) {
  LULAB_NEED_SIMULATOR();
  const testing::Answer answer =
      testing::run_command("LULAB_SIM_SEED=1 " + run_disabled + "ReplayFails.DISABLED_AfterTheScope'");
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_FALSE(contains(answer.out, "replay: ")) << answer.out;
}

}  // namespace
}  // namespace lulab::simt
