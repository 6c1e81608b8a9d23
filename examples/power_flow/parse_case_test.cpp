#include "examples/power_flow/parse_case.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "examples/power_flow/case_tables.h"
#include "examples/power_flow/wscc9.h"
#include "testing/contains.h"
#include "testing/schedules.h"

namespace lulab::examples::power_flow {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

Table table_of(const std::string& text) {
  constexpr std::string_view wanted[] = {"a"};
  const auto tables = read_tables(text, wanted, "case.m");
  EXPECT_TRUE(tables.ok()) << tables.status().to_string();
  return tables.ok() && tables->contains("a") ? tables->at("a") : Table();
}

std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  for (const Cell& cell : table_of(text).cells) numbers.push_back(cell.value);
  return numbers;
}

TEST(CaseTables, RowsAndColumnsAreSeparatedAsInMatlab) {
  const std::vector<double> expected = {1, -2, 3e3, 4, 0.5, 6};
  for (const char* text : {
           "a=[1 -2 3e3;4 .5 6]",
           "mpc.a = [ 1, -2, +3.0E+3\n 4,\t0.5 ,6 ];",
           "x.y.a = [\n\n1 -2 3e3;\n; 4 .5 6;\n\n];\r\n",
           "a = [1 -2 ... the rest of the row\n 3e3\r\n4 0.5 6 % six\n % nothing\n];",
           "%{\na = [9 9];\n%{\n%}\n]\n%}\na = [1 -2 3e3 %{ no block\n 4 .5 6];",
           "b = [7 7]; c = {'a = [8]', \"];\"; [3 % ]\n]}; d.e = b'; a = [1 -2 3e3;4 .5 6]; f = 'it''s; x'",
           "function a = case1\ndefine_constants;\n[PQ, PV] = idx_bus;\n], a = [1 -2 3e3;4 .5 6], b(3) = 4;",
       }) {
    EXPECT_EQ(numbers_of(text), expected) << text;
    EXPECT_EQ(table_of(text).columns, 3u) << text;
  }
  EXPECT_EQ(numbers_of("a = 100"), std::vector<double>{100});
  EXPECT_EQ(numbers_of("a = [];"), std::vector<double>{});
  const auto infinite = numbers_of("a = [Inf -Inf inf NaN];");
  ASSERT_EQ(infinite.size(), 4u);
  EXPECT_TRUE(infinite[0] == HUGE_VAL && infinite[1] == -HUGE_VAL && infinite[2] == HUGE_VAL);
  EXPECT_TRUE(infinite[3] != infinite[3]);
}

TEST(CaseTables, EveryNumberKnowsItsPlace) {
  const Table table = table_of("% one\na = [1 2\n  3,  4];\n");
  ASSERT_EQ(table.cells.size(), 4u);
  EXPECT_EQ(table.line, 2);
  EXPECT_EQ(table.cells[1].line, 2);
  EXPECT_EQ(table.cells[1].column, 8);
  EXPECT_EQ(table.cells[3].line, 3);
  EXPECT_EQ(table.cells[3].column, 7);
}

TEST(CaseTables, SaysWhereATableIsWrong) {
  constexpr std::string_view wanted[] = {"a"};
  const std::tuple<const char*, int, const char*> cases[] = {
      {"a = [1 2\n3];", 2, "column 2: this row has 1 numbers, the rows above have 2"},
      {"a = [1 2;\n3 4 5];", 2, "has 3 numbers"},
      {"\na = [1 2;\n3 4", 3, "no closing ']'"},
      {"a = [1 2; 3 x];", 1, "column 13: expected a number, found 'x'"},
      {"a = [1/3 2];", 1, "'1/3'"},
      {"a = [1 2 ; 1 - 2];", 1, "found '-'"},
      {"a = [1e999];", 1, "out of the range"},
      {"a = [1.2.3];", 1, "'1.2.3'"},
      {"a = [0x10];", 1, "'0x10'"},
      {"a = [1 {2}];", 1, "'{2}'"},
      {"a = [1,,2];", 1, "two commas"},
      {"a = [,1];", 1, "begins with a comma"},
      {"a = ;", 1, "expected a number, found ';'"},
      {"a = [1 2] * 3;", 1, "column 11: expected ';'"},
      {"a = 3 * 4;", 1, "expected ';'"},
      {"a = b;", 1, "'b'"},
      {"a = [1 2];\nmpc.a = [3];", 2, "has a value since line 1"},
      {"a = [1 2];\na(:, 1) = 3;", 2, "savecase"},
      {"a", 1, "expected '='"},
      {"a = ", 1, "expected a number"},
  };
  for (const auto& [text, line, part] : cases) {
    const auto tables = read_tables(text, wanted, "case.m");
    ASSERT_FALSE(tables.ok()) << text;
    EXPECT_EQ(tables.status().code, StatusCode::parse_error) << text;
    EXPECT_EQ(tables.status().where.file, "case.m") << text;
    EXPECT_EQ(tables.status().where.line, line) << text << "\n" << tables.status().to_string();
    EXPECT_TRUE(contains(tables.status().message, part)) << text << "\n" << tables.status().message;
  }
}

TEST(CaseTables, NoPrefixOfACaseCrashesOrHangs) {
  constexpr std::string_view wanted[] = {"baseMVA", "bus", "gen", "branch"};
  const std::string_view text = wscc9;
  const std::size_t every = simt::instrumented ? 29 : 5;
  for (std::size_t size = 0; size < text.size(); size += every)
    (void)read_tables(text.substr(0, size), wanted, "case.m");
  for (std::size_t k = 0; k + 1 < text.size(); k += every)
    for (const char c : {'[', ']', '\'', '%', '\n', '.'}) {
      std::string spoilt(text);
      spoilt[k] = c;
      (void)parse_case(spoilt);
    }
}

TEST(ParseCase, ReadsWhatIsInService) {
  const auto network = parse_case(wscc9);
  ASSERT_TRUE(network.ok()) << network.status().to_string();
  ASSERT_EQ(network->buses.size(), 9u);
  ASSERT_EQ(network->generators.size(), 3u);
  ASSERT_EQ(network->branches.size(), 9u);
  EXPECT_EQ(network->base_mva, 100);
  EXPECT_EQ(network->buses[0].type, BusType::slack);
  EXPECT_EQ(network->buses[4].load_mvar, 50);
  EXPECT_EQ(network->generators[1].mw, 163);
  EXPECT_EQ(network->generators[2].magnitude_pu, 1.025);
  EXPECT_EQ(network->branches[5].from, 4);
  EXPECT_EQ(network->branches[5].to, 6);
  EXPECT_EQ(network->branches[5].charging_pu, 0.306);
  EXPECT_EQ(network->branches[5].ratio, 1) << "0 in the file is a line";

  const auto other = parse_case(
      "baseMVA = 50; bus = [10 3 0 0 1 2 1 1.01 5; 7 1 3 4 0 0 1 1 0; 8 4 0 0 0 0 1 0 0];"
      "gen = [10 1 2 0 0 1.02 0 0; 10 3 4 NaN Inf 1.03 0 2];"
      "branch = [10 7 .1 .2 .3 0 0 0 .98 -30 1; 7 10 .1 .2 .3 0 0 0 0 0 0; 7 8 .1 .2 .3 0 0 0 0 0 1];");
  ASSERT_TRUE(other.ok()) << other.status().to_string();
  ASSERT_EQ(other->buses.size(), 3u);
  EXPECT_EQ(other->buses[0].id, 10);
  EXPECT_EQ(other->buses[0].shunt_mw, 1);
  EXPECT_EQ(other->buses[0].shunt_mvar, 2);
  EXPECT_EQ(other->buses[0].magnitude_pu, 1.01);
  EXPECT_EQ(other->buses[0].angle_deg, 5);
  ASSERT_EQ(other->generators.size(), 1u) << "the other one is out of service";
  EXPECT_EQ(other->generators[0].mvar, 4);
  ASSERT_EQ(other->branches.size(), 1u) << "one is out of service, one leads to an isolated bus";
  EXPECT_EQ(other->branches[0].ratio, 0.98);
  EXPECT_EQ(other->branches[0].shift_deg, -30);
  EXPECT_TRUE(check_network(*other).ok()) << check_network(*other).to_string();
}

TEST(ParseCase, SaysWhichValueIsWrong) {
  const std::string text = wscc9;
  const std::tuple<std::string, int, const char*> cases[] = {
      {replaced(text, "mpc.baseMVA = 100;", ""), 0, "there is no mpc.baseMVA"},
      {replaced(text, "mpc.bus = ", "mpc.buses = "), 0, "there is no mpc.bus"},
      {replaced(text, "mpc.gen = ", "mpc.generators = "), 0, "there is no mpc.gen"},
      {replaced(text, "mpc.branch = ", "mpc.lines = "), 0, "there is no mpc.branch"},
      {replaced(text, "baseMVA = 100", "baseMVA = 0"), 4, "must be positive"},
      {replaced(text, "baseMVA = 100", "baseMVA = Inf"), 4, "must be positive"},
      {replaced(text, "baseMVA = 100", "baseMVA = [100 200]"), 4, "one number"},
      {replaced(text, "  5  1  125", "  4  1  125"), 10, "column 3: there is already a bus 4"},
      {replaced(text, "  5  1  125", "  5.5  1  125"), 10, "5.5 is not the number of a bus"},
      {replaced(text, "  5  1  125", "  0  1  125"), 10, "positive whole number"},
      {replaced(text, "  5  1  125", "  -5  1  125"), 10, "positive whole number"},
      {replaced(text, "  5  1  125", "  NaN  1  125"), 10, "positive whole number"},
      {replaced(text, "  5  1  125", "  5  6  125"), 10, "column 6: 6 is no type of a bus"},
      {replaced(text, "  5  1  125", "  5  1.5  125"), 10, "no type"},
      {replaced(text, "  5  1  125", "  5  1  Inf"), 10, "column 9: inf in column 3"},
      {replaced(text, "  2  163", "  12  163"), 18, "there is no bus 12"},
      {replaced(text, "  2  163", "  2  NaN"), 18, "finite number"},
      {replaced(text, "  4  6  0.017", "  4  66  0.017"), 26, "column 6: there is no bus 66"},
      {replaced(text, "  4  6  0.017", "  4  6  Inf"), 26, "finite number"},
      {"baseMVA = 1; bus = [1 3 0 0 0 0 0 1];\ngen = []; branch = [];", 1,
       "mpc.bus has 8 columns; it needs at least 9"},
      {"baseMVA = 1; bus = [1 3 0 0 0 0 0 1 0];\ngen = [1 2 3]; branch = [];", 2, "needs at least 8"},
      {"baseMVA = 1; bus = [1 3 0 0 0 0 0 1 0];\ngen = [];\nbranch = [1 2 3];", 3, "needs at least 11"},
  };
  for (const auto& [spoilt, line, part] : cases) {
    const auto network = parse_case(spoilt, "case.m");
    ASSERT_FALSE(network.ok()) << part;
    EXPECT_EQ(network.status().code, StatusCode::parse_error) << part;
    EXPECT_EQ(network.status().where.file, "case.m") << part;
    EXPECT_EQ(network.status().where.line, line) << part << "\n" << network.status().to_string();
    EXPECT_TRUE(contains(network.status().message, part)) << part << "\n" << network.status().message;
  }
  EXPECT_EQ(read_case("nosuch.m").status().code, StatusCode::invalid_argument);
}

TEST(Network, WithoutAPowerFlowIsRefusedByName) {
  const std::string text = wscc9;
  const std::tuple<std::string, StatusCode, const char*> cases[] = {
      {"baseMVA = 1; bus = []; gen = []; branch = [];", StatusCode::invalid_argument, "no bus"},
      {replaced(text, "  1  3    0", "  1  1    0"), StatusCode::invalid_argument, "no slack bus"},
      {replaced(text, "  1    0  0  Inf  -Inf  1.04   100  1", "  1    0  0  Inf  -Inf  1.04   100  0"),
       StatusCode::invalid_argument, "slack bus 1 has no generator"},
      {replaced(text, "  2  163  0  Inf  -Inf  1.025", "  2  163  0  Inf  -Inf  0"), StatusCode::invalid_argument,
       "generator at bus 2"},
      {replaced(text, "  5  1  125  50  0  0  1  1", "  5  1  125  50  0  0  1  0"), StatusCode::invalid_argument,
       "bus 5 starts at 0"},
      {replaced(text, "  4  6  0.017   0.092", "  4  6  0   0"), StatusCode::invalid_argument, "no impedance"},
      {replaced(text, "  4  6  0.017", "  6  6  0.017"), StatusCode::invalid_argument, "bus 6 to bus 6"},
      {replaced(text, "  3  9  0       0.0586  0      250  250  250  0  0  1",
                "  3  9  0       0.0586  0      250  250  250  0  0  0"),
       StatusCode::numerically_singular, "bus 3 with a slack bus"},
  };
  for (const auto& [spoilt, code, part] : cases) {
    const auto network = parse_case(spoilt);
    ASSERT_TRUE(network.ok()) << part << network.status().to_string();
    const Status s = check_network(*network);
    EXPECT_EQ(s.code, code) << part << s.to_string();
    EXPECT_TRUE(contains(s.message, part)) << part << "\n" << s.message;
  }
  Network isolated = *parse_case(text);
  isolated.buses[4].type = BusType::isolated;
  EXPECT_TRUE(contains(check_network(isolated).message, "bus 5 is isolated"));
}

}  // namespace
}  // namespace lulab::examples::power_flow
