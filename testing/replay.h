#pragma once
// A failed test of kernels ends with the one command that runs it again under the schedule that failed:
//   replay: LULAB_SIM_SEED=3 LULAB_SIM_RESIDENT=2 .../sparse_syncfree_simt_test --gtest_filter='SfluTest/0.Terminates'
// Including this header is enough.

#include <gtest/gtest.h>
#include <sys/personality.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>

#include "core/simt/device.h"
#include "testing/schedules.h"

namespace lulab::simt {

/// The schedule of the first failure of the running test.
struct FirstFailure {
  bool failed = false;
  std::optional<SimulatorOptions> schedule;

  void note() {
    if (failed) return;
    failed = true;
    schedule = current_schedule();
  }
};
inline FirstFailure first_failure;

/// The command that runs one test of this program alone, under that schedule if there is one.
inline std::string replay_command(const std::string& test, const std::optional<SimulatorOptions>& schedule) {
  std::string command;
  if (schedule)
    command += "LULAB_SIM_SEED=" + std::to_string(schedule->seed) +
               " LULAB_SIM_RESIDENT=" + std::to_string(schedule->resident_blocks) + " ";
  if (race_detection && (personality(0xffffffff) & ADDR_NO_RANDOMIZE)) command += "setarch -R ";
  char program[4096] = {};
  if (readlink("/proc/self/exe", program, sizeof program - 1) <= 0) return "";
  command.append(program).append(" --gtest_filter='").append(test).append("'");
  if (test.find("DISABLED_") != std::string::npos) command += " --gtest_also_run_disabled_tests";
  return command;
}

inline void print_replay_command(const ::testing::TestInfo& test) {
  const std::string name = std::string(test.test_suite_name()) + "." + test.name();
  std::printf("replay: %s\n", replay_command(name, first_failure.schedule).c_str());
  std::fflush(stdout);
}

class PrintReplayCommand : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo&) override {
    first_failure = {};
    forget_schedule();
  }
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.failed()) first_failure.note();
  }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    if (first_failure.failed && machine() == Machine::simulator) print_replay_command(test);
  }
};

inline const bool replay_command_is_printed = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new PrintReplayCommand);
  return true;
}();

}  // namespace lulab::simt

#ifdef __SANITIZE_ADDRESS__
// AddressSanitizer ends the process at its first report.
extern "C" void __sanitizer_set_death_callback(void (*callback)());
inline const bool replay_command_is_printed_on_death = [] {
  __sanitizer_set_death_callback([] {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    if (!test) return;
    lulab::simt::first_failure.note();
    lulab::simt::print_replay_command(*test);
  });
  return true;
}();
#endif

#ifdef __SANITIZE_THREAD__
#include "core/simt/host/race_report.h"
// Google Test hears nothing of races in launches whose status nobody looks at.
inline const bool races_are_noted = [] {
  lulab::simt::host::race_listener = [] { lulab::simt::first_failure.note(); };
  return true;
}();
#endif
