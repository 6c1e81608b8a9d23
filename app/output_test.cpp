// What the program promises about its output: exit codes, one line of JSON a matrix, no lost output, words of errors.

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/command.h"
#include "app/report_table.h"
#include "core/matrix/generate.h"
#include "core/matrix/matrix_market.h"
#include "testing/program.h"
#include "testing/schedules.h"

namespace lulab {
namespace {

namespace fs = std::filesystem;
using testing::read_text;

const std::string real_general = "%%MatrixMarket matrix coordinate real general\n";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class Output : public ::testing::Test {
 protected:
  Output() {
    write("good.mtx", generate("ladder", {.n = 30}).value());
    folder_.write("structure.mtx", real_general + "2 2 2\n1 1 1\n2 1 1\n");  // nothing in column 2
    folder_.write("values.mtx", real_general + "2 2 4\n1 1 1\n2 1 1\n1 2 1\n2 2 1\n");
    folder_.write("overflow.mtx", real_general + "1 1 1\n1 1 1e-200\n");  // x = 1e400
    folder_.write("overflow_b.mtx", "%%MatrixMarket matrix array real general\n1 1\n1e200\n");
    // Its size line alone asks for 61 MiB.
    folder_.write("large.mtx", real_general + "16000000 16000000 1\n1 1 1\n");
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string write(const std::string& name, const std::string& text) const { return folder_.write(name, text); }
  void write(const std::string& name, const CscMatrix<double>& a) const {
    ASSERT_TRUE(write_matrix_market(path(name), a).ok());
  }
  /// Runs the program in the folder of this test; `before` is for its shell.
  testing::Answer lulab(const std::string& arguments, const std::string& before = "") const {
    const std::string program = (testing::this_program().parent_path() / "lulab").string();
    return testing::run_command("cd '" + path("") + "'; " + before + " '" + program + "' " + arguments);
  }

 private:
  testing::TemporaryFolder folder_;
};

/// The command lines that lead to an exit code.
struct Promise {
  int code;
  std::vector<std::string> lines;
};

// demo, which takes seconds: below, and in cli_test.cpp.
TEST_F(Output, EveryCommandKeepsItsExitCodes) {
  ASSERT_EQ(lulab("factor good.mtx -o factors").code, 0);
  fs::create_directory(path("bad"));
  fs::copy(path("factors/U.mtx"), path("bad/U.mtx"));
  write("bad/L.mtx", read_matrix_market(path("factors/U.mtx"))->matrix);
  fs::create_directory(path("text"));
  write("text/L.mtx", std::string("no matrix"));
  for (const auto& [code, lines] : std::vector<Promise>{
           {app::exit_ok,
            {"--help",
             "--version",
             "doctor",
             "list",
             "info good.mtx",
             "gen ladder -n 9 -o made.mtx",
             "gen list",
             "factor good.mtx",
             "solve good.mtx",
             "refactor good.mtx good.mtx",
             "verify good.mtx --rung klu",
             "judge good.mtx factors",
             "symbolic good.mtx",
             "levels good.mtx",
             "limits good.mtx",
             "model good.mtx",
             "draw good.mtx",
             "draw structure.mtx --what pattern",
             "draw good.mtx --what density",
             "calibrate -o made.json",
             "limits good.mtx --constants made.json"}},
           {app::exit_check_failed,
            {"solve overflow.mtx overflow_b.mtx", "solve overflow.mtx overflow_b.mtx -o x.mtx", "refactor overflow.mtx",
             "judge good.mtx bad"}},
           {app::exit_bad_input,
            {"",
             "nosuch",
             "doctor --nosuch",
             "list x y",
             "info",
             "info missing.mtx",
             "gen",
             "gen nosuch -o x.mtx",
             "gen ladder",
             "gen ladder -o no/such.mtx",
             "factor missing.mtx",
             "factor good.mtx -o good.mtx",
             "solve good.mtx missing.mtx",
             "solve good.mtx -o no/such.mtx",
             "refactor missing.mtx",
             "refactor factors",
             "verify missing.mtx",
             "judge good.mtx missing",
             "judge good.mtx text",
             "judge missing.mtx factors",
             "judge good.mtx " + std::string(5000, 'x'),
             "levels missing.mtx",
             "draw missing.mtx",
             "draw good.mtx --svg no/such.svg",
             "explain missing.mtx",
             "explain good.mtx --algo nosuch",
             "limits missing.mtx",
             "limits good.mtx --constants factors",
             "limits good.mtx --constants missing.json",
             "model missing.mtx",
             "model good.mtx --constants factors",
             "calibrate -o no/such.json"}},
           {app::exit_singular,
            {"info structure.mtx", "factor structure.mtx", "factor values.mtx", "solve structure.mtx",
             "solve values.mtx", "refactor structure.mtx", "refactor values.mtx", "verify structure.mtx",
             "verify values.mtx", "levels structure.mtx", "draw structure.mtx", "limits structure.mtx",
             "model structure.mtx"}},
       })
    for (const std::string& line : lines) {
      const testing::Answer answer = lulab(line);
      EXPECT_EQ(answer.code, code) << line << "\n" << answer.out << answer.err;
    }
}

TEST_F(Output, OutOfMemoryIsFour) {
  if (simt::instrumented) GTEST_SKIP() << "a sanitizer reserves more memory than any limit";
  for (const char* line : {"info large.mtx", "factor large.mtx", "solve large.mtx", "refactor large.mtx",
                           "verify large.mtx --rung klu", "judge large.mtx .", "levels large.mtx", "limits large.mtx",
                           "model large.mtx", "gen banded -n 10000000 -o x.mtx"}) {
    const testing::Answer answer = lulab(line, "ulimit -v 200000;");
    EXPECT_EQ(answer.code, app::exit_device) << line << "\n" << answer.out << answer.err;
    EXPECT_TRUE(contains(answer.err, "out of memory")) << line << answer.err;
  }
}

TEST_F(Output, WithoutThreadsTheWorkIsDone) {
  if (simt::instrumented) GTEST_SKIP() << "a sanitizer reserves more memory than any limit";
  // A thread's stack is as large as the limit of stacks, and does not fit.
  for (const char* line : {"factor good.mtx --rung 07_threads --threads 2", "levels good.mtx"}) {
    const testing::Answer answer = lulab(line, "ulimit -s 4000000; ulimit -v 3000000;");
    EXPECT_EQ(answer.code, app::exit_ok) << line << "\n" << answer.out << answer.err;
  }
  const testing::Answer simulated = lulab("factor good.mtx --rung 01_sflu", "ulimit -s 4000000; ulimit -v 3000000;");
  EXPECT_FALSE(contains(simulated.err, "unexpected")) << simulated.err;
}

TEST_F(Output, HelpListsEveryExitCode) {
  const std::string help = lulab("--help").out;
  for (const auto& [code, meaning] : app::exit_codes())
    EXPECT_TRUE(contains(help, std::to_string(code) + "  " + meaning)) << help;
}

/// Where stdout cannot be written, no command succeeds.
TEST_F(Output, LostOutputIsTwo) {
  ASSERT_EQ(lulab("factor good.mtx -o factors").code, 0);
  for (const std::string& line : std::vector<std::string>{"--help",
                                                          "--version",
                                                          "factor --help",
                                                          "doctor",
                                                          "list",
                                                          "list --json",
                                                          "info good.mtx",
                                                          "gen list",
                                                          "gen ladder -o made.mtx",
                                                          "factor good.mtx",
                                                          "solve good.mtx --json",
                                                          "refactor good.mtx good.mtx",
                                                          "verify good.mtx --rung klu",
                                                          "verify good.mtx --rung klu --json",
                                                          "judge good.mtx factors",
                                                          "levels good.mtx",
                                                          "limits good.mtx",
                                                          "model good.mtx",
                                                          "calibrate",
                                                          "info missing.mtx --json",
                                                          "nosuch --json"}) {
    const testing::Answer full = lulab(line + " >/dev/full");
    EXPECT_EQ(full.code, app::exit_bad_input) << line << full.err;
    EXPECT_TRUE(contains(full.err, "the output cannot be written")) << line << full.err;
    const testing::Answer closed = lulab(line + " >&-");
    EXPECT_EQ(closed.code, app::exit_bad_input) << line << closed.err;
  }
  EXPECT_TRUE(read_matrix_market(path("made.mtx")).ok());  // it was not mixed with the text of stdout
  EXPECT_EQ(lulab("info missing.mtx 2>/dev/full").code, app::exit_bad_input);
  EXPECT_EQ(lulab("factor values.mtx 2>&-").code, app::exit_singular);
}

TEST_F(Output, AFailedCheckOutranksLostOutput) {
  EXPECT_EQ(lulab("solve overflow.mtx overflow_b.mtx >/dev/full").code, app::exit_check_failed);
}

/// A file that cannot be written in full leaves the old one; a device or a link is never removed.
TEST_F(Output, FailedFilesLeaveWhatWasThere) {
  fs::create_symlink("/dev/full", path("full"));
  fs::create_symlink("old", path("link"));
  for (const std::string line :
       {"gen ladder -n 2000 -o ", "gen ladder -n 2000 -o ./", "solve grid.mtx -o ", "calibrate -o "}) {
    write("grid.mtx", generate("grid2d", {.n = 900}).value());
    for (const std::string name : {"old", "link"}) {
      write("old", std::string("old"));
      const testing::Answer answer = lulab(line + name, "trap '' XFSZ; ulimit -f 1;");
      EXPECT_EQ(answer.code, app::exit_bad_input) << line << answer.out << answer.err;
      EXPECT_TRUE(contains(answer.err, name + ": cannot be written")) << answer.err;
      EXPECT_EQ(read_text(path("old")), "old") << line;
    }
    const testing::Answer full = lulab(line + "full");
    EXPECT_EQ(full.code, app::exit_bad_input) << line << full.err;
    EXPECT_TRUE(contains(full.err, "No space left on device")) << full.err;
  }
  EXPECT_TRUE(fs::is_symlink(path("full")) && fs::is_symlink(path("link")));
  for (const auto& entry : fs::directory_iterator(path("")))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".lulab")) << entry.path();
}

TEST_F(Output, FactorsAreReplacedTogetherOrNotAtAll) {
  ASSERT_EQ(lulab("factor good.mtx -o factors").code, 0);
  const std::string l = read_text(path("factors/L.mtx"));
  write("other.mtx", generate("grid2d", {.n = 900}).value());
  EXPECT_EQ(lulab("factor other.mtx -o factors", "trap '' XFSZ; ulimit -f 40;").code, app::exit_bad_input);
  EXPECT_EQ(read_text(path("factors/L.mtx")), l);
  EXPECT_EQ(lulab("judge good.mtx factors").code, app::exit_ok);
  EXPECT_EQ(std::distance(fs::directory_iterator(path("factors")), {}), 6);
}

TEST_F(Output, JsonIsOneLineWithTheStatusOfEveryError) {
  for (const std::string& line : std::vector<std::string>{
           "", "factro good.mtx", "factor", "factor good.mtx --precision f16", "gen ladder -n x -o x.mtx",
           "list --nosuch", "info missing.mtx", "gen nosuch -o x.mtx", "factor values.mtx", "solve good.mtx good.mtx",
           "refactor missing.mtx", "judge good.mtx missing", "levels structure.mtx", "limits missing.mtx",
           "model missing.mtx", "calibrate -o no/such.json"}) {
    const testing::Answer answer = lulab(line + " --json");
    EXPECT_NE(answer.code, 0) << line;
    ASSERT_EQ(lines_of(answer.out).size(), 1u) << line << answer.out << answer.err;
    const auto status = nlohmann::json::parse(answer.out, nullptr, false).value("status", nlohmann::json());
    EXPECT_FALSE(status.value("code", "").empty()) << line << answer.out;
    EXPECT_FALSE(status.value("message", "").empty()) << line << answer.out;
    EXPECT_EQ(answer.err, "") << line;  // an error is reported once, on one stream
  }
  EXPECT_EQ(lines_of(lulab("--json=true info missing.mtx").out).size(), 1u);
}

TEST_F(Output, JsonHasOneLineAMatrixAlsoForUnreadableOnes) {
  write("text.mtx", std::string("no matrix"));
  for (const std::string command : {"verify --rung klu", "demo"}) {
    const testing::Answer answer = lulab(command + " good.mtx missing.mtx structure.mtx text.mtx good.mtx --json");
    EXPECT_EQ(answer.code, app::exit_bad_input) << answer.err;
    std::vector<std::string> names, statuses;
    for (const std::string& line : lines_of(answer.out)) {
      const auto j = nlohmann::json::parse(line, nullptr, false);
      ASSERT_TRUE(j.is_object()) << line;
      names.push_back(j.at("matrix"));
      statuses.push_back(j.at("status"));
    }
    if (command == "demo") names.erase(names.begin()), statuses.erase(statuses.begin());
    EXPECT_EQ(names, (std::vector<std::string>{"good", "missing", "structure", "text", "good"}));
    EXPECT_EQ(statuses, (std::vector<std::string>{"ok", "parse_error", "structurally_singular", "parse_error", "ok"}));
    EXPECT_EQ(answer.err, "");
  }
}

TEST_F(Output, JsonIsValidForFileNamesThatAreNotUtf8) {
  const std::string name = "a\xff\xfe.mtx";
  write(name, generate("ladder", {.n = 30}).value());
  for (const std::string& line : std::vector<std::string>{
           "info " + name, "factor " + name, "solve " + name, "refactor " + name, "verify --rung klu " + name,
           "levels " + name, "draw " + name, "limits " + name, "model " + name, "gen ladder -o " + name,
           "factor \xff.mtx", "verify \xff.mtx", "gen \xff -o x", "\xff"}) {
    const testing::Answer answer = lulab(line + " --json");
    for (const std::string& object : lines_of(answer.out))
      EXPECT_FALSE(nlohmann::json::parse(object, nullptr, false).is_discarded()) << line << object;
    EXPECT_FALSE(answer.out.empty()) << line;
    EXPECT_FALSE(contains(answer.out + answer.err, "unexpected")) << line << answer.out << answer.err;
  }
}

TEST_F(Output, AnErrorIsPrintedOnceOnStderr) {
  for (const std::string line :
       {"info structure.mtx", "factor structure.mtx", "solve values.mtx", "refactor values.mtx", "verify structure.mtx",
        "levels structure.mtx", "limits structure.mtx", "model structure.mtx good.mtx"}) {
    const testing::Answer answer = lulab(line);
    EXPECT_EQ(answer.code, app::exit_singular) << line;
    const std::vector<std::string> errors = lines_of(answer.err);
    const auto is_error = [](const std::string& text) { return text.starts_with("lulab: error: "); };
    EXPECT_EQ(std::ranges::count_if(errors, is_error), 1) << line << answer.err;
    EXPECT_FALSE(contains(answer.out, "lulab: error") || contains(answer.out, "structural rank is")) << answer.out;
    // It names the matrix.
    EXPECT_TRUE(contains(errors.front(), "structure") || contains(errors.front(), "values")) << line << answer.err;
  }
}

TEST_F(Output, ErrorsNameTheShift) {
  const testing::Answer answer = lulab("refactor values.mtx --sweep values.mtx --shifts 3");
  EXPECT_EQ(answer.code, app::exit_singular) << answer.err;
  EXPECT_TRUE(contains(answer.err, "values - 3 values: ")) << answer.err;
}

TEST_F(Output, WrongCommandLinesSayWhatIsRight) {
  struct Case {
    std::string line, message;
  };
  for (const Case& wrong : std::vector<Case>{
           {"", "no command is given"},
           {"factro good.mtx", "unknown command 'factro', did you mean 'factor'?"},
           {"--json=false lsit", "unknown command 'lsit', did you mean 'list'?"},
           {"completely_else", "unknown command 'completely_else'\n"},
           {"factor good.mtx --threads -1", "--threads: '-1' is not a whole number in 0..2147483647"},
           {"factor good.mtx --threads 1.5", "'1.5' is not a whole number"},
           {"factor good.mtx --threads 99999999999", "'99999999999' is not a whole number in 0..2147483647"},
           {"factor good.mtx --perturb-pivots nan", "--perturb-pivots: 'nan' is not a finite number"},
           {"factor good.mtx --perturb-pivots=-nan", "--perturb-pivots: '-nan' is not a finite number"},
           {"solve good.mtx --seed -1", "--seed: '-1' is not a whole number in 0..18446744073709551615"},
           {"gen ladder -n 0x10 -o x.mtx", "-n: '0x10' is not a whole number"},
           {"gen ladder -n '' -o x.mtx", "-n: '' is not a whole number"},
           {"gen badly_scaled --decades 1e999 -o x.mtx", "--decades: '1e999' is not a whole number"},
           {"model good.mtx --warps 65", "--warps: '65' is not a whole number in 1..64"},
           {"verify good.mtx --max-dense-n x", "--max-dense-n: 'x' is not a whole number"}}) {
    const testing::Answer answer = lulab(wrong.line);
    EXPECT_EQ(answer.code, app::exit_bad_input) << wrong.line << answer.out;
    EXPECT_TRUE(contains(answer.err, wrong.message)) << wrong.line << answer.err;
    EXPECT_LT(answer.err.size(), 200u) << answer.err;
  }
}

TEST_F(Output, NumbersAreDecimal) {
  ASSERT_EQ(lulab("gen ladder -n 010 -o ten.mtx").code, 0);
  EXPECT_EQ(read_matrix_market(path("ten.mtx"))->matrix.n_cols, 10);
  ASSERT_EQ(lulab("gen random -n 20 --seed 010 -o a.mtx").code, 0);
  EXPECT_EQ(read_matrix_market(path("a.mtx"))->matrix, generate("random", {.n = 20, .seed = 10}).value());
}

TEST_F(Output, IndicesCountFromOneAsInTheFile) {
  // Row 2 and column 3 are empty.
  write("a.mtx", real_general + "3 3 3\n1 1 1\n3 1 1\n3 2 1\n");
  const testing::Answer answer = lulab("factor a.mtx");
  EXPECT_TRUE(contains(answer.err, "covers row 2 and column 3;")) << answer.err;
  const auto status = nlohmann::json::parse(lulab("factor a.mtx --json").out, nullptr, false).at("status");
  EXPECT_EQ(status.at("rows"), nlohmann::json({2}));
  EXPECT_EQ(status.at("columns"), nlohmann::json({3}));

  // U has an entry in row 2, column 1.
  write("id.mtx", real_general + "2 2 2\n1 1 1\n2 2 1\n");
  fs::create_directory(path("f"));
  write("f/L.mtx", real_general + "2 2 0\n");
  write("f/U.mtx", real_general + "2 2 3\n1 1 1\n2 2 1\n2 1 1\n");
  const testing::Answer lower = lulab("judge id.mtx f");
  EXPECT_TRUE(contains(lower.out, "row 2, column 1")) << lower.out;
  write("f/U.mtx", real_general + "2 2 1\n1 1 1\n");
  EXPECT_TRUE(contains(lulab("judge id.mtx f").out, "no diagonal entry in column 2"));
  write("f/U.mtx", real_general + "2 2 2\n1 1 1\n2 2 1\n");
  write("f/L.mtx", real_general + "2 2 1\n2 2 3\n");
  EXPECT_TRUE(contains(lulab("judge id.mtx f").out, "the diagonal of L is 3 in column 2"));
}

/// What a command prints of a race; verify has a verdict for it.
TEST(OutputOfRaces, SaysRaceWithAHintAndIsFour) {
  const Status race = Status::error(StatusCode::data_race, "kernel k: x[3] is read and written");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(app::fail({}, app::concerning("a.mtx", race)), app::exit_device);
  const std::string error = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(error, "lulab: error: race: a.mtx: kernel k: x[3]")) << error;
  EXPECT_TRUE(contains(error, "hint: the five lines on stderr")) << error;

  MatrixReport report;
  report.matrix = "a";
  for (const Verdict verdict : {Verdict::ok, Verdict::race, Verdict::singular}) {
    RungReport rung;
    rung.id = verdict == Verdict::race ? "racy" : "other";
    rung.verdict = verdict;
    rung.scalar = "f64";
    if (verdict == Verdict::race) rung.status = race, rung.message = race.to_string();
    report.rungs.push_back(rung);
  }
  const std::string table = app::to_text(report);
  EXPECT_TRUE(contains(table, "racy   race ")) << table;
  EXPECT_TRUE(contains(table, "racy: race: kernel k: x[3]")) << table;
  EXPECT_EQ(app::exit_code(report), app::exit_device);
  EXPECT_FALSE(report.failed());
}

TEST_F(Output, JudgeSaysWhatItAssumed) {
  ASSERT_EQ(lulab("factor good.mtx -o f").code, 0);
  const testing::Answer all = lulab("judge good.mtx f --json");
  EXPECT_EQ(nlohmann::json::parse(all.out, nullptr, false).at("notes"), nlohmann::json::array()) << all.out;
  for (const char* name : {"p", "q"}) fs::remove(path("f/" + std::string(name) + ".mtx"));
  const testing::Answer some = lulab("judge good.mtx f");
  EXPECT_TRUE(contains(some.out, "no p.mtx: p = 1..n")) << some.out;
  EXPECT_TRUE(contains(some.out, "no q.mtx: q = 1..n")) << some.out;
  EXPECT_FALSE(contains(some.out, "no r.mtx")) << some.out;
}

TEST_F(Output, InfoOfAStoredZeroDoesNotContradictItself) {
  write("zero.mtx", real_general + "1 1 1\n1 1 0\n");
  const testing::Answer answer = lulab("info zero.mtx");
  EXPECT_TRUE(contains(answer.out, "every entry is 0")) << answer.out;
  EXPECT_EQ(answer.code, app::exit_singular) << answer.out << answer.err;
}

}  // namespace
}  // namespace lulab
