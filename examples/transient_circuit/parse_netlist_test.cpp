#include "examples/transient_circuit/parse_netlist.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace lulab::examples {
namespace {

TEST(ParseNumber, KnowsTheFactorsOfSpice) {
  const std::pair<const char*, double> cases[] = {
      {"10", 10},         {"1k", 1e3},       {"2.5u", 2.5e-6}, {"3MEG", 3e6},      {"3m", 3e-3}, {"1e-3k", 1},
      {"4.7pF", 4.7e-12}, {"2.2kOhm", 2200}, {"5V", 5},        {"-1.5n", -1.5e-9}, {"+2", 2},    {"7f", 7e-15}};
  for (const auto& [text, expected] : cases) {
    const auto value = parse_number(text);
    ASSERT_TRUE(value.ok()) << text << value.status().to_string();
    EXPECT_FALSE(!(std::abs(*value - expected) <= 1e-15 * std::abs(expected))) << text << " " << *value;
  }
  for (const char* text : {"", "k", "1..2", "1e999", "nan", "inf", "1 2", "--1", "+-1", "1k=2", "1e300t", "-1e305meg"})
    EXPECT_EQ(parse_number(text).status().code, StatusCode::parse_error) << text;
}

TEST(ParseNetlist, ReadsEveryKindOfDevice) {
  const auto netlist = parse_netlist(
      "* rectifier\n"
      "V1 in 0 SIN(0 10 50 1m)\n"
      "V2 x gnd PULSE (0 5 1n 2n 3n 4n 20n) ; a clock\n"
      "V3 y 0 PULSE(1, 2)\n"
      "R1 in out 2.2k\n"
      "C1 OUT 0 100n\n"
      "L1 x y 10u\n"
      "I1 0 out dc 1m\n"
      "D1 in out IS=1e-15 N=1.5\n"
      "D2 in out\n"
      ".end\n"
      "no longer read\n");
  ASSERT_TRUE(netlist.ok()) << netlist.status().to_string();
  EXPECT_EQ(netlist->node_names(), (std::vector<std::string>{"in", "x", "y", "out"}));
  const auto& d = netlist->devices();
  ASSERT_EQ(d.size(), 9u);
  const auto& sine = std::get<Sine>(std::get<VoltageSource>(d[0]).voltage);
  EXPECT_EQ(sine.amplitude, 10);
  EXPECT_EQ(sine.frequency, 50);
  EXPECT_DOUBLE_EQ(sine.delay, 1e-3);
  const auto& pulse = std::get<Pulse>(std::get<VoltageSource>(d[1]).voltage);
  EXPECT_EQ(pulse.high, 5);
  EXPECT_DOUBLE_EQ(pulse.delay, 1e-9);
  EXPECT_DOUBLE_EQ(pulse.rise, 2e-9);
  EXPECT_DOUBLE_EQ(pulse.fall, 3e-9);
  EXPECT_DOUBLE_EQ(pulse.width, 4e-9);
  EXPECT_DOUBLE_EQ(pulse.period, 2e-8);
  EXPECT_EQ(value_at(std::get<VoltageSource>(d[2]).voltage, 1e9), 2) << "without a width the pulse is a step";
  EXPECT_EQ(std::get<Resistor>(d[3]).resistance, 2200);
  EXPECT_EQ(std::get<Resistor>(d[3]).a, 0);
  EXPECT_EQ(std::get<Resistor>(d[3]).b, 3);
  EXPECT_EQ(std::get<Capacitor>(d[4]).b, ground);
  EXPECT_DOUBLE_EQ(std::get<Inductor>(d[5]).inductance, 1e-5);
  EXPECT_EQ(std::get<CurrentSource>(d[6]).from, ground);
  EXPECT_DOUBLE_EQ(value_at(std::get<CurrentSource>(d[6]).current, 0), 1e-3);
  EXPECT_EQ(std::get<Diode>(d[7]).saturation_current, 1e-15);
  EXPECT_EQ(std::get<Diode>(d[7]).ideality, 1.5);
  EXPECT_EQ(std::get<Diode>(d[8]).saturation_current, 1e-14);
}

TEST(ParseNetlist, AnErrorHasFileLineAndReason) {
  const std::pair<const char*, const char*> cases[] = {{"R1 a 0", "takes 1 to 1 numbers, found 0"},
                                                       {"R1 a 0 x", "'x' is not a number"},
                                                       {"R1 a 0 -5", "must be positive"},
                                                       {"C1 a 0 0", "must be positive"},
                                                       {"R1", "needs two nodes"},
                                                       {"Q1 a b c", "must start with R, C, L, V, I or D"},
                                                       {"V1 a 0", "needs a value"},
                                                       {"V1 a 0 SIN(1 2)", "takes 3 to 4 numbers"},
                                                       {"V1 a 0 PULSE(0 1 0 -1)", "must not be negative"},
                                                       {"D1 a 0 BV=3", "neither IS=... nor N=..."},
                                                       {"D1 a 0 IS=0", "must be positive"},
                                                       {"r0 b 0 2", "there is already a device r0"}};
  for (const auto& [line, reason] : cases) {
    const auto netlist = parse_netlist(std::string("R0 a 0 1\n\n") + line + "\n", "my.cir");
    ASSERT_FALSE(netlist.ok()) << line;
    EXPECT_EQ(netlist.status().code, StatusCode::parse_error);
    EXPECT_EQ(netlist.status().where.file, "my.cir");
    EXPECT_EQ(netlist.status().where.line, 3);
    EXPECT_NE(netlist.status().message.find(reason), std::string::npos) << netlist.status().message;
  }
  EXPECT_EQ(read_netlist("no/such/file.cir").status().code, StatusCode::invalid_argument);
}

TEST(Waveform, PulsesRiseStayFallAndRepeat) {
  const Pulse once = {.low = 1, .high = 3, .delay = 10, .rise = 2, .fall = 4, .width = 5};
  Pulse train = once;
  train.period = 20;
  const std::pair<double, double> cases[] = {{0, 1}, {10, 1}, {11, 2}, {12, 3}, {17, 3}, {19, 2}, {21, 1}, {25, 1}};
  for (const auto& [time, expected] : cases) {
    EXPECT_EQ(value_at(once, time), expected) << time;
    EXPECT_EQ(value_at(train, time), expected) << time;
  }
  EXPECT_EQ(value_at(once, 31), 1);
  EXPECT_EQ(value_at(train, 31), 2);
  EXPECT_EQ(value_at(Pulse{.low = 0, .high = 1, .width = HUGE_VAL}, 0), 0);
  EXPECT_EQ(value_at(Pulse{.low = 0, .high = 1, .width = HUGE_VAL}, 1e-30), 1);
  EXPECT_EQ(value_at(Sine{2, 3, 50, 1}, 0.5), 2);
  EXPECT_FALSE(!(std::abs(value_at(Sine{2, 3, 50, 1}, 1.005) - 5) <= 1e-12));
}

}  // namespace
}  // namespace lulab::examples
