// lulab-transient as a user meets it.

#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testing/program.h"

namespace lulab::examples {
namespace {

using testing::Answer;

class TransientProgram : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const { return folder_.write(name, text); }
  static Answer transient(const std::string& arguments) { return testing::run_program("lulab-transient", arguments); }

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(TransientProgram, PrintsATableAndWhatItTook) {
  const Answer answer = transient("--circuit bridge --steps 200 --rows 10");
  ASSERT_EQ(answer.code, 0) << answer.err;
  for (const char* part : {"v(out)", "0.0000e+00", "1.0000e-01", "4 unknowns", "200 steps (0 halved)",
                           "1 analysis, 1 factorization, ", "0 re-pivotings", "refactor "})
    EXPECT_TRUE(contains(answer.out, part)) << part << "\n" << answer.out;
}

TEST_F(TransientProgram, SimulatesANetlistAndAnswersWithJson) {
  const std::string file = write("rc.cir", "V1 in 0 PULSE(0 1)\nR1 in out 1k\nC1 out 0 1u\n");
  const Answer answer = transient("'" + file + "' --stop 2m --steps 400 --probe out,in --rows 4 --json");
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto j = nlohmann::json::parse(answer.out, nullptr, false);
  ASSERT_EQ(j.at("time").size(), 5u);
  EXPECT_EQ(j.at("time")[4], 2e-3);
  for (std::size_t k = 0; k < 5; ++k) {
    const double expected = 1 - std::exp(-j.at("time")[k].get<double>() / 1e-3);
    EXPECT_FALSE(!(std::abs(j.at("curves").at("v(out)")[k].get<double>() - expected) <= 2e-5)) << k;
  }
  EXPECT_EQ(j.at("curves").at("v(in)")[4], 1.0);
  EXPECT_EQ(j.at("steps"), 400);
  EXPECT_EQ(j.at("factorizations"), 1);
  EXPECT_EQ(j.at("refactorizations").get<int>(), j.at("newton_iterations").get<int>() - 1);
  EXPECT_EQ(j.at("repivots"), 0);
  EXPECT_EQ(j.at("device"), "cpu");
  for (const char* time : {"analyze_ms", "factor_ms", "refactor_ms", "numeric_ms", "solve_ms", "stamp_ms"})
    EXPECT_GT(j.at(time).get<double>(), 0) << time;
}

TEST_F(TransientProgram, PrintsTheSpreadOfManySamples) {
  const std::string file = write("divider.cir", "V1 in 0 DC 10\nR1 in out 1k\nR2 out 0 1k\n");
  const std::string arguments = "'" + file + "' --monte-carlo 200 --tolerance 0.1 --rung 07_threads";
  const Answer table = transient(arguments), json = transient(arguments + " --json --probe out");
  ASSERT_EQ(table.code, 0) << table.err;
  for (const char* part : {"v(in)", "10.00000", "sigma", "200 samples"}) EXPECT_TRUE(contains(table.out, part)) << part;
  ASSERT_EQ(json.code, 0) << json.err;
  const auto j = nlohmann::json::parse(json.out, nullptr, false);
  const auto& spread = j.at("spread").at("v(out)");
  EXPECT_TRUE(std::abs(spread.at("mean").get<double>() - 5) <= 0.06) << spread;        // 4 sigma / √200
  EXPECT_TRUE(std::abs(spread.at("sigma").get<double>() - 0.204) <= 0.042) << spread;  // 4 sigma / √400
}

TEST_F(TransientProgram, SaysWhatIsWrong) {
  const std::string lost = write("lost.cir", "V1 in 0 1\nR1 in 0 1k\nR2 lost other 1k\n");
  const std::string typo = write("typo.cir", "V1 in 0 1\nR1 in 0 1kk2\n");
  const std::tuple<std::string, int, const char*> cases[] = {{"--rung nosuch", 2, "90_klu"},
                                                             {"--circuit nosuch", 2, "multiplier"},
                                                             {"--probe nosuch", 2, "'nosuch'"},
                                                             {"--steps 0", 2, "--steps"},
                                                             {"--stop never", 2, "'never'"},
                                                             {"--stop -1", 2, "positive"},
                                                             {"--method heun", 2, "trapezoidal"},
                                                             {"'" + lost + "'", 3, "node 'lost'"},
                                                             {"'" + typo + "'", 2, "typo.cir:2"},
                                                             {"nosuch.cir", 2, "nosuch.cir"},
                                                             {"--monte-carlo 2 --rung 90_klu", 2, "fixed pivots"}};
  for (const auto& [arguments, code, part] : cases) {
    const Answer answer = transient(arguments);
    EXPECT_EQ(answer.code, code) << arguments << answer.err;
    EXPECT_TRUE(contains(answer.err, "lulab-transient: error: ")) << arguments << answer.err;
    EXPECT_TRUE(contains(answer.err, part)) << arguments << answer.err;
    EXPECT_EQ(answer.out, "") << arguments;
  }
}

TEST_F(TransientProgram, HelpNamesEveryCircuit) {
  const Answer answer = transient("--help");
  EXPECT_EQ(answer.code, 0);
  for (const char* name : {"bridge", "ringing", "multiplier", "mesh", "--rung", "Example: "})
    EXPECT_TRUE(contains(answer.out, name)) << name;
}

}  // namespace
}  // namespace lulab::examples
