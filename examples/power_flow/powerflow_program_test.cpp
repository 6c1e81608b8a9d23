// lulab-powerflow as a user meets it.

#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "examples/power_flow/wscc9.h"
#include "testing/program.h"

namespace lulab::examples::power_flow {
namespace {

using lulab::testing::Answer;

class PowerFlowProgram : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const { return folder_.write(name, text); }
  static Answer power_flow(const std::string& arguments) {
    return lulab::testing::run_program("lulab-powerflow", arguments);
  }

 private:
  lulab::testing::TemporaryFolder folder_;
};

TEST_F(PowerFlowProgram, PrintsIterationsVoltagesAndTimes) {
  const Answer answer = power_flow("'" + write("wscc9.m", wscc9) + "' --rows 5 --host --klu");
  ASSERT_EQ(answer.code, 0) << answer.err;
  for (const char* part :
       {"largest mismatch", "0.99563", "-3.9888", "(4 more", "9 buses, 9 branches, 14 unknowns",
        "losses and shunts 4.641 MW", "90_klu (cpu), stamps: cpu", "0 re-pivotings", "analyze ", "total "})
    EXPECT_TRUE(contains(answer.out, part)) << part << "\n" << answer.out;
}

TEST_F(PowerFlowProgram, AnswersWithJson) {
  const Answer answer = power_flow("--case grid --buses 300 --seed 7 --host --klu --rows 3 --json");
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto j = nlohmann::json::parse(answer.out, nullptr, false);
  EXPECT_EQ(j.at("converged"), true);
  EXPECT_EQ(j.at("buses"), 300);
  EXPECT_EQ(j.at("rung"), "sparse_leftlooking/90_klu");
  EXPECT_EQ(j.at("mismatch_pu").size(), j.at("iterations").get<std::size_t>() + 1);
  EXPECT_TRUE(j.at("mismatch_pu").back().get<double>() <= 1e-8);
  ASSERT_EQ(j.at("voltages").size(), 3u);
  EXPECT_TRUE(std::abs(j.at("voltages")[2].at("magnitude_pu").get<double>() - 1) <= 0.1);
  for (const char* time : {"read_ms", "set_up_ms", "analyze_ms", "first_ms", "stamp_ms", "step_ms", "total_ms"})
    EXPECT_GT(j.at(time).get<double>(), 0) << time;
}

TEST_F(PowerFlowProgram, SaysWhatIsWrong) {
  const std::string text = wscc9;
  std::string alone = text, typo = text, overloaded = text;
  alone.replace(alone.find("  1  3    0"), 11, "  1  1    0");
  typo.replace(typo.find("  5  1  125"), 11, "  5  1  12x");
  overloaded.replace(overloaded.find("  5  1  125"), 11, "  5  1 2500");
  const std::string too_much = "'" + write("overloaded.m", overloaded) + "' --host";
  const std::tuple<std::string, int, const char*> cases[] = {
      {"--rung nosuch", 2, "90_klu"},
      {"--case ring", 2, "grid"},
      {"--buses 1", 2, "--buses"},
      {"--tolerance 0", 2, "--tolerance"},
      {"--host --device", 2, "--host"},
      {"--klu --rung 07_threads", 2, "--klu"},
      {"nosuch.m", 2, "nosuch.m"},
      {"'" + write("alone.m", alone) + "'", 2, "no slack bus"},
      {"'" + write("typo.m", typo) + "'", 2, "typo.m:10: column 9: expected a number, found '12x'"},
  };
  for (const auto& [arguments, code, part] : cases) {
    const Answer answer = power_flow(arguments);
    EXPECT_EQ(answer.code, code) << arguments << answer.err;
    EXPECT_TRUE(contains(answer.err, "lulab-powerflow: error: ")) << arguments << answer.err;
    EXPECT_TRUE(contains(answer.err, part)) << arguments << answer.err;
    EXPECT_EQ(answer.out, "") << arguments;
  }
  const Answer answer = power_flow(too_much);
  EXPECT_EQ(answer.code, 1) << answer.err;
  EXPECT_TRUE(contains(answer.err, "no convergence after ")) << answer.err;
  EXPECT_TRUE(contains(answer.err, " at bus ")) << answer.err;
  EXPECT_TRUE(contains(answer.out, "iteration")) << answer.out;
  const auto j = nlohmann::json::parse(power_flow(too_much + " --json").out, nullptr, false);
  EXPECT_EQ(j.at("converged"), false);
}

TEST_F(PowerFlowProgram, HelpHasAnExample) {
  const Answer answer = power_flow("--help");
  EXPECT_EQ(answer.code, 0);
  for (const char* part : {"grid", "--klu", "--host", "Example: "}) EXPECT_TRUE(contains(answer.out, part)) << part;
}

}  // namespace
}  // namespace lulab::examples::power_flow
