// The siege of command lines: most commands with random options, at most one of them wrong. A right line ends with 0
// and does what it says; a wrong one ends with 2 before anything is written.

#include <algorithm>

#include "core/matrix/generate.h"
#include "core/matrix/matrix_market.h"
#include "core/simt/device.h"
#include "testing/siege.h"

namespace lulab::siege {
namespace {

/// An option with values that are right and wrong for it. A flag takes neither.
struct Option {
  std::string name;
  std::vector<std::string> right, wrong;

  bool is_flag() const { return right.empty() && wrong.empty(); }
};

struct Command {
  std::string name;
  std::vector<std::string> operands;  // of a right line
  std::vector<Option> options;
  std::size_t most_operands = 1;
  std::vector<std::string> always = {};  // options without which no line is right
};

const std::vector<std::string> wrong_integers = {"-1", "1.5", "x", "", "0x10", "1e3", "99999999999999999999",
                                                 " 1", "1 ",  "+"};
const std::vector<std::string> wrong_files = {"missing.mtx", "", "folder", "no/such/A.mtx", "/dev/null", "text.mtx"};

std::vector<Option> order_options() {
  return {{"--order",
           {"auto", "amd", "colamd", "metis", "nd", "natural", "btf+metis"},
           {"amdd", "", "btf+", "AMD ", "metis,amd"}},
          {"--btf", {}, {}},
          {"--no-matching", {}, {}},
          {"--no-scaling", {}, {}}};
}
std::vector<Option> solver_options() {
  std::vector<Option> options = {
      {"--rung",
       {"auto", "klu", "sparse_syncfree/10", "glu3_graph", "leftlooking/00"},
       {"nosuch", "sparse", "", "dense/0"}},
      {"--precision", {"f64"}, {"f16", "", "F64x", "double"}},
      {"--no-repivot", {}, {}},
      {"--allow-singular", {}, {}},
      {"--threads", {"0", "1", "2"}, wrong_integers},
      {"--perturb-pivots", {"0"}, {"nan", "inf", "-1", "x", "", "1e999", "1,5"}},
      {"--option", {}, {"x", "=", "nosuch=1", "total_warps=x", "total_warps=", "memory_ratio=nan", ""}}};
  for (const Option& option : order_options()) options.push_back(option);
  options.push_back({"--column-order", {}, wrong_files});
  return options;
}

const std::vector<Command>& commands() {
  static const std::vector<Command> all = [] {
    std::vector<Option> solve = solver_options(), factor = solver_options(), refactor = solver_options();
    solve.push_back({"-o", {"x.mtx", "x.mtx.gz"}, {"no/such/x.mtx", "folder", ""}});
    solve.push_back({"--seed", {"0", "17", "18446744073709551615"}, wrong_integers});
    solve.push_back({"--solve-method", {"solve/00_reference", "reference"}, {"nosuch", "solve/0", "KLU"}});
    factor.push_back({"--output", {"factors"}, {"A.mtx", "/proc/nosuch/folder"}});
    refactor.push_back({"--first", {"rung", "reference", "klu"}, {"x", "", "KLU!"}});
    refactor.push_back({"--download-factors", {}, {}});
    std::vector<Option> limits = order_options(), levels = order_options(), model = order_options(),
                        symbolic = order_options(), draw = order_options(), explained = order_options();
    limits.push_back({"--precision", {"f32", "f64"}, {"both", ""}});
    limits.push_back({"--constants", {"constants.json"}, {"A.mtx", "missing.json", "folder", ""}});
    levels.push_back({"--plot", {}, {}});
    draw.push_back({"--what", {"pattern", "fill", "etree", "levels", "waits", "density"}, {"x", "", "Fill"}});
    draw.push_back({"--svg", {"x.svg"}, {"no/such/x.svg", "folder", ""}});
    explained.push_back({"--algo", {"01_sflu", "pipeline", "sparse_hybrid/02_glu2"}, {"x", "sparse", ""}});
    explained.push_back({"--resident", {"0", "1", "7"}, wrong_integers});
    explained.push_back({"--seed", {"0", "17", "18446744073709551615"}, wrong_integers});
    explained.push_back({"--html", {"x.html"}, {"no/such/x.html", "folder", ""}});
    symbolic.push_back({"--rung", {"00_reference", "symbolic/03_fill2", "gsofa_sources"}, {"nosuch", "gsofa", "10"}});
    symbolic.push_back({"--workspace-bytes", {"0", "1000000"}, wrong_integers});
    symbolic.push_back({"--sources", {"0", "3"}, wrong_integers});
    symbolic.push_back({"--queue-entries", {"0", "7"}, wrong_integers});
    symbolic.push_back({"--pass-found-rows", {}, {}});
    symbolic.push_back({"--threads", {"0", "2"}, wrong_integers});
    model.push_back({"--warps", {"1", "32"}, wrong_integers});
    std::vector<Command> list = {{"solve", {"A.mtx"}, solve, 2},
                                 {"factor", {"A.mtx"}, factor},
                                 {"refactor", {"A.mtx", "A.mtx"}, refactor, 1000},
                                 {"info", {"A.mtx"}, {{"--order", {"amd", "natural"}, {"x", ""}}}},
                                 {"levels", {"A.mtx"}, levels},
                                 {"draw", {"A.mtx"}, draw},
                                 {"timeline", {"A.mtx"}, order_options()},
                                 {"symbolic", {"A.mtx"}, symbolic},
                                 {"limits", {"A.mtx"}, limits},
                                 {"model", {"A.mtx"}, model, 1000},
                                 {"gen",
                                  {"ladder"},
                                  {{"-n", {"1", "9", "30"}, wrong_integers},
                                   {"--seed", {"0", "3"}, wrong_integers},
                                   {"--degree", {"0", "2"}, wrong_integers},
                                   {"--decades", {"0", "100"}, {"-1", "101", "x", ""}}},
                                  1,
                                  {"-o", "made.mtx"}},
                                 {"list", {}, {}, 0},
                                 {"doctor", {}, {}, 0}};
    if (simt::machine() == simt::Machine::simulator) list.push_back({"explain", {"A.mtx"}, explained});
    return list;
  }();
  return all;
}

/// A file name that shells and terminals dislike.
std::string strange_name(Random& random) {
  constexpr const char* names[] = {"a b.mtx",  "a'b.mtx",   "a\"b.mtx", "ä.mtx",        "a\nb.mtx",
                                   "a\tb.mtx", "$HOME.mtx", "a;b.mtx",  "\xff\xfe.mtx", "*.mtx",
                                   "a\\b.mtx", "{}.mtx",    "%s%n.mtx", "A.mtx.mtx",    ".mtx"};
  return names[random.below(std::size(names))];
}

std::string random_word(Random& random) {
  std::string word;
  const auto length = 1 + random.below(12);
  for (std::int64_t k = 0; k < length; ++k) word += static_cast<char>(1 + random.below(255));
  return word;
}

/// One case. Returns what is wrong with the program's answer; empty when nothing is.
std::string attack_commands(Random& random, std::string& log) {
  const testing::TemporaryFolder folder;
  static const CscMatrix<double> matrix = generate("ladder", {.n = 12}).value();
  static const std::string constants = [] {
    const testing::TemporaryFolder made;
    EXPECT_EQ(lulab(made, "calibrate -o constants.json").code, 0);
    return testing::read_text(made.path("constants.json"));
  }();
  const std::string input = random.chance(0.2) ? strange_name(random) : "A.mtx";
  EXPECT_TRUE(write_matrix_market(folder.path("A.mtx"), matrix).ok());
  EXPECT_TRUE(write_matrix_market(folder.path(input), matrix).ok());
  folder.write("text.mtx", "no matrix\n");
  folder.write("constants.json", constants);
  std::filesystem::create_directory(folder.path("folder"));

  const Command& command = commands()[random.below(static_cast<std::int64_t>(commands().size()))];
  std::vector<std::string> words;
  std::vector<std::string> operands = command.operands;
  for (std::string& operand : operands)
    if (operand == "A.mtx") operand = input;
  bool wrong = false;
  std::string output;
  std::vector<std::string> culprit;  // words of which an error must have one
  for (const Option& option : command.options) {
    if (!random.chance(0.25)) continue;
    if (option.is_flag()) {
      words.push_back(option.name);
      continue;
    }
    const bool spoil = !wrong && !option.wrong.empty() && random.chance(0.2);
    if (!spoil && option.right.empty()) continue;
    const auto& values = spoil ? option.wrong : option.right;
    const std::string value = values[random.below(static_cast<std::int64_t>(values.size()))];
    if (spoil) {
      wrong = true;
      culprit = {option.name, value.empty() ? option.name : value};
      if (option.name == "--perturb-pivots") culprit.push_back("perturb_pivots");
      if (value.find('=') > 0 && value.find('=') != std::string::npos)
        culprit.push_back(value.substr(0, value.find('=')));
    }
    if (!spoil && (option.name == "-o" || option.name == "--output")) output = value;
    if (option.name.starts_with("--") && random.chance(0.5) && !value.empty())
      words.push_back(option.name + "=" + value);
    else
      words.push_back(option.name), words.push_back(value);
  }
  words.insert(words.end(), command.always.begin(), command.always.end());
  if (!command.always.empty()) output = command.always.back();
  if (!wrong && random.chance(0.25)) {
    wrong = true;
    switch (random.below(4)) {
      case 0: words.push_back("--nosuch"); break;
      case 1:
        if (operands.empty())
          operands.push_back("more");
        else
          operands[0] = command.name == "gen"
                            ? "nosuch"
                            : wrong_files[random.below(static_cast<std::int64_t>(wrong_files.size()))];
        break;
      case 2:
        if (operands.empty())
          operands.push_back("");
        else
          operands.clear();
        break;
      default:
        if (command.most_operands < 1000)
          operands.resize(command.most_operands + 1, "A.mtx");
        else
          operands.push_back("missing.mtx");
    }
  }
  // Options and operands in any order that keeps each option beside its value.
  const bool first = random.chance(0.5), as_json = random.chance(0.5);
  std::vector<std::string> line = {command.name};
  const auto add = [&](const std::vector<std::string>& more) { line.insert(line.end(), more.begin(), more.end()); };
  if (first) add(operands);
  add(words);
  if (!first) {
    if (!words.empty() && !operands.empty()) line.push_back("--");
    add(operands);
  }
  if (as_json) line.insert(line.begin() + random.below(2), "--json");
  if (random.chance(0.03)) line = {random_word(random), random_word(random)}, wrong = true, culprit.clear();

  std::string arguments;
  for (const std::string& word : line) arguments += shell_word(word) + " ";
  const bool full = !wrong && random.chance(0.05);
  const Answer answer = lulab(folder, arguments, full ? ">/dev/full" : "");
  log = transcript(arguments, answer);
  const bool says_json = std::ranges::find(line, "--json") != line.end();
  if (full)
    return answer.code == 2 || answer.code == 3 ? "" : "nothing could be written, but the exit code is neither 2 nor 3";
  if (std::string broken = broken_promise(answer, says_json); !broken.empty()) return broken;
  if (wrong) {
    if (answer.code != 2) return "a wrong line, but the exit code is not 2";
    const auto named = [&](const std::string& word) { return contains(answer.out + answer.err, word); };
    if (!culprit.empty() && std::ranges::none_of(culprit, named)) return "the error does not name what is wrong";
    for (const char* made : {"x.mtx", "x.mtx.gz", "made.mtx", "made.mtx.gz", "factors"})
      if (std::filesystem::exists(folder.path(made))) return std::string("a wrong line wrote ") + made;
    return "";
  }
  if (answer.code != 0) return "a right line refused";
  if (!output.empty() && !std::filesystem::exists(folder.path(output))) return "nothing was written";
  return "";
}

class SiegeOfCommandLines : public ::testing::TestWithParam<int> {};

TEST_P(SiegeOfCommandLines, AreDoneOrRefused) { besiege(GetParam(), 0.25, attack_commands); }
INSTANTIATE_TEST_SUITE_P(Shard, SiegeOfCommandLines, ::testing::Range(0, shards));

}  // namespace
}  // namespace lulab::siege
