// The program as a user meets it: exit codes, messages, files and JSON.

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/matrix/generate.h"
#include "core/matrix/matrix_market.h"
#include "core/matrix/shared_matrices.h"
#include "core/rung.h"
#include "core/simt/device.h"
#include "solve/rungs.h"
#include "symbolic/rungs.h"
#include "testing/program.h"
#include "testing/schedules.h"

namespace lulab {
namespace {

namespace fs = std::filesystem;
using testing::read_text;

struct Answer : testing::Answer {
  nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

/// Runs the program of this build in a folder of its own.
class Cli : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string write(const std::string& name, const std::string& text) const { return folder_.write(name, text); }
  std::string write(const std::string& name, const CscMatrix<double>& a) const {
    EXPECT_TRUE(write_matrix_market(path(name), a).ok());
    return path(name);
  }
  std::string generated(const std::string& family, std::int32_t n, std::uint64_t seed = 1) const {
    return write(family + ".mtx", generate(family, {.n = n, .seed = seed}).value());
  }
  static Answer lulab(const std::string& arguments) { return {testing::run_program("lulab", arguments)}; }

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(Cli, EveryCommandHasHelpWithAnExample) {
  for (const char* command : {"doctor", "list", "info", "gen", "factor", "solve", "refactor", "verify", "judge", "demo",
                              "symbolic", "levels", "limits", "model", "calibrate", "draw", "explain", "timeline"}) {
    const Answer answer = lulab(std::string(command) + " --help");
    EXPECT_EQ(answer.code, 0) << command;
    EXPECT_TRUE(contains(answer.out, "Example: lulab ")) << command << answer.out;
  }
}

TEST_F(Cli, BadUsageIsTwo) {
  for (const char* arguments :
       {"", "nosuch", "factor", "list --nosuch", "factor A.mtx --precision f16", "gen ladder -n x"}) {
    const Answer answer = lulab(arguments);
    EXPECT_EQ(answer.code, 2) << arguments;
    EXPECT_TRUE(contains(answer.err, "lulab: error: ")) << arguments << answer.err;
  }
}

TEST_F(Cli, ListNamesEveryRung) {
  const Answer answer = lulab("list --json");
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto list = answer.json();
  ASSERT_EQ(list.size(), every_rung().size() + every_solve_rung().size() + every_fill_rung().size() + 1);
  EXPECT_EQ(list.back().at("id"), "sparse_hybrid/90_superlu_dist");
  const Answer table = lulab("list");
  for (const Rung* rung : every_rung()) EXPECT_TRUE(contains(table.out, std::string(rung->facts.id)));
  for (std::size_t k = 0; k < every_solve_rung().size(); ++k) {
    const SolveRung& rung = *every_solve_rung()[k];
    EXPECT_TRUE(contains(table.out, std::string(rung.id)));
    EXPECT_EQ(list.at(every_rung().size() + k).at("id"), rung.id);
    EXPECT_EQ(list.at(every_rung().size() + k).at("idea"), rung.idea);
  }
  for (std::size_t k = 0; k < every_fill_rung().size(); ++k) {
    const FillRung& rung = *every_fill_rung()[k];
    EXPECT_TRUE(contains(table.out, std::string(rung.id)));
    EXPECT_EQ(list.at(every_rung().size() + every_solve_rung().size() + k).at("id"), rung.id);
  }
}

TEST_F(Cli, ListNamesTheOptionsOfEachRung) {
  const auto list = lulab("list --json").json();
  const Answer table = lulab("list");
  std::size_t options = 0;
  for (std::size_t r = 0; r < every_rung().size(); ++r) {
    const RungFacts& facts = every_rung()[r]->facts;
    ASSERT_EQ(list.at(r).at("options").size(), facts.options.size()) << facts.id;
    for (std::size_t k = 0; k < facts.options.size(); ++k) {
      EXPECT_EQ(list.at(r).at("options").at(k).at("name"), facts.options[k].name);
      EXPECT_EQ(list.at(r).at("options").at(k).at("default"), facts.options[k].default_value);
      EXPECT_TRUE(contains(table.out, "--option " + std::string(facts.options[k].name) + "=")) << facts.id;
      ++options;
    }
  }
  EXPECT_GT(options, 0u);
}

TEST_F(Cli, UnknownRungListsTheRungsThereAre) {
  const std::string a = generated("ladder", 20);
  for (const char* command : {"factor", "solve", "verify", "refactor"}) {
    const Answer answer = lulab(std::string(command) + " " + a + " --rung nosuch");
    EXPECT_EQ(answer.code, 2) << command;
    EXPECT_TRUE(contains(answer.err, "sparse_leftlooking/00_reference")) << answer.err;
  }
}

TEST_F(Cli, UnknownOrderListsTheOrdersThereAre) {
  const Answer answer = lulab("factor " + generated("ladder", 20) + " --order nosuch");
  EXPECT_EQ(answer.code, 2);
  EXPECT_TRUE(contains(answer.err, "metis")) << answer.err;
}

TEST_F(Cli, DoctorNamesTheDevice) {
  const Answer answer = lulab("doctor --json");
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_FALSE(answer.json().at("device").get<std::string>().empty());
  EXPECT_FALSE(answer.json().at("calibration").get<std::string>().empty());
}

TEST_F(Cli, GeneratedFileHoldsWhatTheGeneratorMakes) {
  const Answer answer = lulab("gen random_dominant -n 300 --seed 5 -o " + path("a.mtx.gz") + " --json");
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto read = read_matrix_market(path("a.mtx.gz"));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->matrix, generate("random_dominant", {.n = 300, .seed = 5}).value());
  EXPECT_EQ(answer.json().at("nnz"), read->matrix.nnz());
}

TEST_F(Cli, UnknownFamilyListsTheFamiliesThereAre) {
  const Answer answer = lulab("gen nosuch -o " + path("a.mtx"));
  EXPECT_EQ(answer.code, 2);
  EXPECT_TRUE(contains(answer.err, "power_grid")) << answer.err;
  EXPECT_EQ(lulab("gen ladder").code, 2);
  EXPECT_TRUE(contains(lulab("gen list").out, "power_grid"));
}

TEST_F(Cli, InfoCountsWhatIsThere) {
  // Zero stored at (1,1), nothing at (3,3), one entry without a mirror.
  const std::string a = write("a.mtx",
                              "%%MatrixMarket matrix coordinate real general\n3 3 6\n"
                              "1 1 0\n1 2 -2\n2 2 5\n2 1 1\n3 1 8\n1 3 4\n");
  const Answer answer = lulab("info " + a + " --json");
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto j = answer.json();
  EXPECT_EQ(j.at("nnz"), 6);
  EXPECT_EQ(j.at("structural_rank"), 3);
  EXPECT_EQ(j.at("zero_diagonal"), 1);
  EXPECT_EQ(j.at("missing_diagonal"), 1);
  EXPECT_EQ(j.at("pattern_symmetry"), 1.0);
  EXPECT_EQ(j.at("smallest"), 1.0);
  EXPECT_EQ(j.at("largest"), 8.0);
  EXPECT_EQ(j.at("orderings").size(), 5u);
  EXPECT_EQ(lulab("info " + a).code, 0);
}

/// The files that `factor -o` writes, multiplied out entry by entry in the test itself.
TEST_F(Cli, WrittenFactorsMultiplyToTheScaledMatrix) {
  const std::int32_t n = 40;
  const std::string a_path = generated("random", n, 3);
  ASSERT_EQ(
      lulab("factor " + a_path + " --rung 00_reference --rung sparse_leftlooking/00_reference -o " + path("f")).code,
      2);
  const Answer answer =
      lulab("factor " + a_path + " --rung sparse_leftlooking/00_reference -o " + path("f") + " --json");
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto a = read_matrix_market(a_path).value().matrix;
  const auto l = read_matrix_market(path("f/L.mtx")).value().matrix,
             u = read_matrix_market(path("f/U.mtx")).value().matrix;
  const auto p = read_permutation(path("f/p.mtx")).value(), q = read_permutation(path("f/q.mtx")).value();
  const auto r = read_vector(path("f/r.mtx")).value(), c = read_vector(path("f/c.mtx")).value();
  const auto dense = [n](const CscMatrix<double>& m) {
    std::vector<double> d(static_cast<std::size_t>(n) * n, 0.0);
    for (std::int32_t j = 0; j < n; ++j)
      for (auto s = m.col_ptr[j]; s < m.col_ptr[j + 1]; ++s)
        d[m.row_idx[s] + static_cast<std::size_t>(j) * n] = m.values[s];
    return d;
  };
  const auto da = dense(a), dl = dense(l), du = dense(u);
  for (std::int32_t j = 0; j < n; ++j) {
    EXPECT_EQ(dl[j + j * n], 1.0);
    for (std::int32_t i = 0; i < n; ++i) {
      double lu = 0, size = 0;
      for (std::int32_t k = 0; k < n; ++k) {
        lu += dl[i + k * n] * du[k + j * n];
        size += std::abs(dl[i + k * n] * du[k + j * n]);
      }
      const double expected = r[p[i]] * da[p[i] + q[j] * n] * c[q[j]];
      // Gaussian elimination: |LU - PRACQ| <= n eps (|L||U|) entry by entry, up to a small factor.
      EXPECT_TRUE(std::abs(lu - expected) <= 2 * n * 0x1p-53 * (size + std::abs(expected))) << i << "," << j;
    }
  }
}

TEST_F(Cli, JudgeAcceptsOurFactorsAndRefusesSpoiltOnes) {
  const std::string a = generated("random_dominant", 200);
  ASSERT_EQ(lulab("factor " + a + " --rung klu -o " + path("f")).code, 0);
  const Answer good = lulab("judge " + a + " " + path("f"));
  EXPECT_EQ(good.code, 0) << good.out << good.err;

  auto u = read_matrix_market(path("f/U.mtx")).value().matrix;
  u.values[u.values.size() / 2] *= 1.0001;
  ASSERT_TRUE(write_matrix_market(path("f/U.mtx"), u).ok());
  const Answer spoilt = lulab("judge " + a + " " + path("f") + " --json");
  EXPECT_EQ(spoilt.code, 1) << spoilt.out;
  EXPECT_EQ(spoilt.json().at("status"), "failed");

  ASSERT_TRUE(write_matrix_market(path("f/U.mtx"), transpose(u.view())).ok());
  EXPECT_EQ(lulab("judge " + a + " " + path("f")).code, 1);  // not upper triangular
  fs::remove(path("f/U.mtx"));
  EXPECT_EQ(lulab("judge " + a + " " + path("f")).code, 2);
}

// SciPy and SuperLU do not store what cancels to zero.
TEST_F(Cli, JudgeAcceptsForeignFactorsThatLeaveOutZeros) {
  const std::string a = write("A.mtx",
                              "%%MatrixMarket matrix coordinate real general\n3 3 9\n1 1 1\n1 2 1\n1 3 1\n"
                              "2 1 1\n2 2 2\n2 3 1\n3 1 1\n3 2 1\n3 3 3\n");
  fs::create_directory(path("f"));
  write("f/L.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 1\n2 1 1\n3 1 1\n2 2 1\n3 3 1\n");
  const std::string u = "%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 1\n1 2 1\n1 3 1\n2 2 1\n3 3 ";
  write("f/U.mtx", u + "2\n");
  const Answer right = lulab("judge " + a + " " + path("f"));
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_TRUE(contains(right.out, "note: ")) << right.out;
  write("f/U.mtx", u + "2.0001\n");
  EXPECT_EQ(lulab("judge " + a + " " + path("f")).code, 1);
}

TEST_F(Cli, JudgeRefusesASwappedPermutation) {
  const std::string a = generated("random_dominant", 60);
  ASSERT_EQ(lulab("factor " + a + " -o " + path("f")).code, 0);
  auto p = read_permutation(path("f/p.mtx")).value();
  std::swap(p[3], p[40]);
  ASSERT_TRUE(write_permutation(path("f/p.mtx"), p).ok());
  EXPECT_EQ(lulab("judge " + a + " " + path("f")).code, 1);
}

TEST_F(Cli, JudgeReadsOtherConventionsAndSaysWhatIsWrong) {
  const std::string a = generated("random", 60);
  ASSERT_EQ(lulab("factor " + a + " --rung klu -o " + path("f")).code, 0);
  const std::string factors = "judge " + a + " --l " + path("f/L.mtx") + " --u " + path("f/U.mtx") + " --r " +
                              path("f/r.mtx") + " --c " + path("f/c.mtx");
  const std::string given = factors + " --p " + path("f/p.mtx") + " --q " + path("f/q.mtx");
  const Answer found = lulab(given + " --json");
  EXPECT_EQ(found.code, 0) << found.out << found.err;
  EXPECT_EQ(found.json().at("convention"), "lulab");
  EXPECT_TRUE(found.json().at("finding").is_null());

  // The same order as permutation matrices and as SuperLU's arrays, which count from 0.
  const auto p = read_permutation(path("f/p.mtx")).value(), q = read_permutation(path("f/q.mtx")).value();
  const std::string sizes = "%%MatrixMarket matrix coordinate real general\n60 60 60\n";
  std::string p_matrix = sizes, q_matrix = sizes;
  std::string perm_r = "%%MatrixMarket matrix array integer general\n60 1\n", perm_c = perm_r;
  for (int i = 0; i < 60; ++i) {
    p_matrix += fmt::format("{} {} 1\n", i + 1, p[i] + 1);
    q_matrix += fmt::format("{} {} 1\n", q[i] + 1, i + 1);
    perm_r += fmt::format("{}\n", inverse(p)[i]);
    perm_c += fmt::format("{}\n", inverse(q)[i]);
  }
  const std::string matrices = factors + " --p " + write("P.mtx", p_matrix) + " --q " + write("Q.mtx", q_matrix);
  EXPECT_EQ(lulab(matrices).code, 0);
  const std::string superlu = factors + " --p " + write("perm_r.mtx", perm_r) + " --q " + write("perm_c.mtx", perm_c);
  EXPECT_EQ(lulab(superlu + " --convention superlu").code, 0);
  EXPECT_EQ(lulab(superlu + " --json").json().at("convention"), "superlu");
  const Answer base = lulab(superlu + " --convention superlu --index-base 1 --json");
  EXPECT_EQ(base.code, 1);
  EXPECT_EQ(base.json().at("finding").at("fault"), "index_base");
  const Answer inverted = lulab(superlu + " --convention lulab --index-base 0");
  EXPECT_EQ(inverted.code, 1);
  EXPECT_TRUE(contains(inverted.out, "--convention superlu")) << inverted.out;

  auto u = read_matrix_market(path("f/U.mtx")).value().matrix;
  const std::int64_t pivot = u.col_ptr[31] - 1;
  u.values[pivot] *= -1;
  ASSERT_TRUE(write_matrix_market(path("f/U.mtx"), u).ok());
  const auto finding = lulab(given + " --json").json().at("finding");
  EXPECT_EQ(finding.at("fault"), "wrong_value");
  EXPECT_EQ(finding.at("row"), 31);
  EXPECT_EQ(finding.at("column"), 31);
  const Answer text = lulab(given);
  EXPECT_TRUE(contains(text.out, "wrong_value: U(31,31) = ")) << text.out;
  EXPECT_TRUE(contains(text.out, "rows 29..34, columns 29..34")) << text.out;

  EXPECT_EQ(lulab(given + " --x " + path("f/r.mtx")).code, 2);  // x without b

  std::string nan = testing::read_text(path("f/L.mtx"));
  nan.replace(nan.rfind(' ') + 1, std::string::npos, "nan\n");
  write("f/L.mtx", nan);
  const Answer not_finite = lulab(given + " --json");
  EXPECT_EQ(not_finite.code, 1) << not_finite.out << not_finite.err;
  EXPECT_EQ(not_finite.json().at("finding").at("fault"), "not_finite");

  EXPECT_EQ(lulab(given + " --convention mumps").code, 2);
  EXPECT_EQ(lulab(given + " --index-base 2").code, 2);
  EXPECT_EQ(lulab("judge " + a).code, 2);
}

TEST_F(Cli, JudgeJudgesASolution) {
  const std::string a = generated("random_dominant", 50);
  ASSERT_EQ(lulab("factor " + a + " -o " + path("f")).code, 0);
  const auto matrix = read_matrix_market(a).value().matrix;
  std::vector<double> x(50, 2.0), b(50);
  multiply<double>(matrix, x, b);
  ASSERT_TRUE(write_vector<double>(path("x.mtx"), x).ok());
  ASSERT_TRUE(write_vector<double>(path("b.mtx"), b).ok());
  const std::string given = "judge " + a + " " + path("f") + " --x " + path("x.mtx") + " --b " + path("b.mtx");
  EXPECT_EQ(lulab(given).code, 0);
  x[7] = 2.001;
  ASSERT_TRUE(write_vector<double>(path("x.mtx"), x).ok());
  const Answer wrong = lulab(given);
  EXPECT_EQ(wrong.code, 1);
  EXPECT_TRUE(contains(wrong.out, "x does not solve")) << wrong.out;
}

TEST_F(Cli, SolveFindsTheKnownSolution) {
  const std::string a = generated("random_dominant", 150);
  for (const char* precision : {"f64", "f32"}) {
    const Answer answer = lulab("solve " + a + " --json --precision " + precision);
    ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
    EXPECT_TRUE(answer.json().at("forward_error").get<double>() <= 1e-13)
        << answer.out;  // cond of a dominant matrix · eps
  }
}

TEST_F(Cli, SolveWithARightSideWritesX) {
  const auto a = generate("random_dominant", {.n = 80, .seed = 2}).value();
  const std::vector<double> x = random_vector(80, 9);
  std::vector<double> b(80);
  multiply<double>(a, x, b);
  ASSERT_TRUE(write_vector<double>(path("b.mtx"), b).ok());
  const Answer answer = lulab("solve " + write("a.mtx", a) + " " + path("b.mtx") + " -o " + path("x.mtx"));
  ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
  const auto found = read_vector(path("x.mtx")).value();
  ASSERT_EQ(found.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(std::abs(found[i] - x[i]) <= 1e-13) << i;

  ASSERT_TRUE(write_vector<double>(path("short.mtx"), std::vector<double>(79, 1.0)).ok());
  EXPECT_EQ(lulab("solve " + path("a.mtx") + " " + path("short.mtx")).code, 2);
}

TEST_F(Cli, VerifyAnswersOneObjectAMatrix) {
  const std::string a = generated("ladder", 60), b = generated("grid2d", 64);
  const Answer answer = lulab("verify " + a + " " + b + " --json");
  ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
  std::istringstream lines(answer.out);
  std::string line;
  std::vector<std::string> names;
  while (std::getline(lines, line)) {
    const auto j = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(j.is_object()) << line;
    names.push_back(j.at("matrix"));
    EXPECT_GT(j.at("n").get<int>(), 0);
    EXPECT_GT(j.at("nnz").get<int>(), 0);
    ASSERT_EQ(j.at("rungs").size(), all_rungs().size());
    for (const auto& rung : j.at("rungs")) {
      EXPECT_EQ(rung.at("status"), "ok") << rung;
      for (const char* key : {"id", "status", "device", "time_ms"}) EXPECT_TRUE(rung.contains(key)) << key;
      for (const char* key : {"finite", "pattern_contains_a", "klu_pattern_equal", "lu_residual", "solve_residual",
                              "backward_error", "growth"})
        EXPECT_TRUE(rung.at("checks").contains(key)) << key;
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"ladder", "grid2d"}));
}

TEST_F(Cli, VerifySaysWhatWasChosen) {
  const std::string a = generated("ladder", 60);
  const Answer answer = lulab("verify " + a + " --rung auto --rung klu --json");
  ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
  const auto rungs = nlohmann::json::parse(answer.out, nullptr, false)["rungs"];
  EXPECT_FALSE(rungs[0]["chosen_rung"].get<std::string>().empty());
  EXPECT_TRUE(contains(rungs[0]["choice_reason"], rungs[0]["chosen_rung"])) << rungs[0];
  EXPECT_FALSE(rungs[1].contains("chosen_rung"));
  EXPECT_TRUE(contains(lulab("verify " + a + " --rung auto").out, "auto chose sparse_"));
}

TEST_F(Cli, VerifyShrinksOnlyWhatFails) {
  const std::string command = "verify " + generated("ladder", 60) + " --rung klu --shrink --shrink-seconds 5";
  const Answer answer = lulab(command + " --json");
  ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_FALSE(nlohmann::json::parse(answer.out, nullptr, false).contains("shrunk"));
  EXPECT_FALSE(contains(lulab(command).out, "reproduce"));
}

TEST_F(Cli, VerifyTakesTheLimitOfDenseRungs) {
  const Answer answer = lulab("verify " + generated("ladder", 60) + " --rung dense/00 --max-dense-n 59 --json");
  ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
  const auto rung = nlohmann::json::parse(answer.out, nullptr, false)["rungs"][0];
  EXPECT_EQ(rung["status"], "skipped");
  EXPECT_TRUE(contains(rung["message"], "n = 60 is more than the 59")) << rung;
}

TEST_F(Cli, VerifyGoesOnAfterABadFile) {
  const Answer answer = lulab("verify " + path("missing.mtx") + " " + generated("ladder", 30));
  EXPECT_EQ(answer.code, 2);
  EXPECT_TRUE(contains(answer.err, "missing.mtx"));
  EXPECT_TRUE(contains(answer.out, "ladder"));
}

TEST_F(Cli, WithoutARungOneIsChosenAndTheReasonSaid) {
  const std::string a = generated("random_dominant", 100);
  for (const char* command : {"factor", "solve", "refactor"}) {
    const Answer answer = lulab(std::string(command) + " " + a + " --json");
    ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
    const auto j = answer.json();
    EXPECT_EQ(j.at("rung"), "auto");
    const auto chosen = j.at("chosen_rung").get<std::string>(), reason = j.at("choice_reason").get<std::string>();
    const bool cpu = chosen == "sparse_leftlooking/07_threads";
    EXPECT_TRUE(cpu || chosen == "sparse_syncfree/11_fan_in") << chosen;
    EXPECT_EQ(j.at("device"), cpu ? "cpu" : "gpu");
    if (simt::machine() == simt::Machine::simulator) {
      EXPECT_TRUE(cpu);
    }
    for (const char* id : {"sparse_leftlooking/07_threads", "sparse_syncfree/11_fan_in"})
      EXPECT_TRUE(contains(reason, id)) << reason;
    const Answer text = lulab(std::string(command) + " " + a);
    EXPECT_TRUE(contains(text.out, "chosen")) << text.out;
    EXPECT_TRUE(contains(text.out, chosen + ": ")) << text.out;
    const Answer named = lulab(std::string(command) + " " + a + " --rung klu --json");
    ASSERT_EQ(named.code, 0);
    EXPECT_FALSE(named.json().contains("chosen_rung"));
    EXPECT_EQ(named.json().at("rung"), "sparse_leftlooking/90_klu");
    EXPECT_FALSE(contains(lulab(std::string(command) + " " + a + " --rung klu").out, "chosen"));
  }
}

TEST_F(Cli, SmallPivotsArePerturbedOnRequestAndCounted) {
  // Without a matching the first pivot is 1e-12; the matrix is well conditioned, so that refinement makes good for
  // 1e-8.
  const std::string a = write("a.mtx",
                              "%%MatrixMarket matrix coordinate real general\n3 3 5\n"
                              "1 1 1e-12\n2 1 1\n1 2 1\n2 2 0.5\n3 3 1\n");
  const std::string options = a + " --order natural --no-scaling --no-matching --json";
  const auto perturbed = lulab("factor " + options + " --perturb-pivots 1e-8");
  ASSERT_EQ(perturbed.code, 0) << perturbed.out << perturbed.err;
  EXPECT_EQ(perturbed.json().at("perturbed_pivots"), 1) << perturbed.out;
  EXPECT_EQ(perturbed.json().at("repivots"), 0) << perturbed.out;
  const auto repivoted = lulab("factor " + options);
  EXPECT_EQ(repivoted.json().at("perturbed_pivots"), 0) << repivoted.out;
  EXPECT_EQ(repivoted.json().at("repivots"), 1) << repivoted.out;
  const auto solved = lulab("solve " + options + " --perturb-pivots 1e-8");
  EXPECT_EQ(solved.json().at("perturbed_pivots"), 1) << solved.out << solved.err;
  const auto replayed = lulab("refactor " + a + " " + options + " --perturb-pivots 1e-8");
  EXPECT_EQ(replayed.json().at("totals").at("perturbed_pivots"), 2) << replayed.out << replayed.err;
  EXPECT_TRUE(
      contains(lulab("factor " + a + " --no-matching --order natural --perturb-pivots 1e-8").out, "1 perturbed"));

  EXPECT_EQ(lulab("factor " + a + " --perturb-pivots 2").code, 2);
  EXPECT_EQ(lulab("factor " + a + " --perturb-pivots 1e-8 --rung klu").code, 2);
  EXPECT_EQ(lulab("factor " + a + " --option memory_ratio=1").code, 0);
}

TEST_F(Cli, OrdersInsideBlocks) {
  const std::string a = generated("random", 80, 2);
  for (const char* options : {" --btf --order amd", " --order btf+amd"}) {
    const Answer answer = lulab("factor " + a + options + " --json");
    ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
    EXPECT_EQ(answer.json().at("order"), "btf+amd");
  }
  const Answer info = lulab("info " + a + " --order btf+metis --json");
  ASSERT_EQ(info.code, 0) << info.err;
  EXPECT_EQ(info.json().at("orderings").at(0).at("order"), "btf+metis");
  EXPECT_EQ(lulab("factor " + a + " --order btf+nosuch").code, 2);
}

TEST_F(Cli, TakesAnOrderOfTheCallers) {
  const std::string a = generated("random", 40, 3), given = " --column-order " + path("f/q.mtx");
  ASSERT_EQ(lulab("factor " + a + " --order colamd -o " + path("f")).code, 0);
  const Answer answer = lulab("factor " + a + given + " --json -o " + path("g"));
  ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_EQ(answer.json().at("order"), "given");
  EXPECT_EQ(read_permutation(path("g/q.mtx")).value(), read_permutation(path("f/q.mtx")).value());
  EXPECT_EQ(lulab("solve " + a + given).code, 0);
  EXPECT_EQ(lulab("symbolic " + a + given + " --rung 01").code, 0);
  EXPECT_EQ(lulab("refactor " + a + given).code, 0);
  EXPECT_EQ(lulab("factor " + a + given + " --order amd").code, 2);
  EXPECT_TRUE(contains(lulab("factor " + a + given + " --btf").err, "leave out one of the two"));
  EXPECT_TRUE(contains(lulab("factor " + generated("random", 41, 3) + given).err, "has 40 columns, but A has n = 41"));
  EXPECT_TRUE(contains(lulab("factor " + a + " --order given").err, "--column-order FILE"));
  const Answer no_order = lulab("factor " + a + " --column-order " + path("f/r.mtx"));
  EXPECT_EQ(no_order.code, 2);
  EXPECT_TRUE(contains(no_order.err, "is not a permutation")) << no_order.err;
}

TEST_F(Cli, RefactorTakesNewValuesOnTheSamePattern) {
  auto a = generate("random_dominant", {.n = 120, .seed = 4}).value();
  const std::string first = write("a.mtx", a);
  const auto noise = random_vector(static_cast<std::int32_t>(a.nnz()), 6);
  for (std::size_t s = 0; s < noise.size(); ++s) a.values[s] *= 1 + 0.01 * noise[s];
  const Answer answer = lulab("refactor " + first + " " + write("b.mtx", a) + " --json");
  ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
  const auto matrices = answer.json().at("matrices");
  ASSERT_EQ(matrices.size(), 2u);
  EXPECT_EQ(matrices[0].at("phase"), "factor");
  EXPECT_EQ(matrices[1].at("phase"), "refactor");
}

TEST_F(Cli, RefactorNamesTheEntryThatDiffers) {
  const char* head = "%%MatrixMarket matrix coordinate real general\n";
  const std::string a = write("a.mtx", std::string(head) + "2 2 3\n1 1 1\n2 2 1\n2 1 1\n");
  const std::string b = write("b.mtx", std::string(head) + "2 2 3\n1 1 1\n2 2 1\n1 2 1\n");
  const Answer answer = lulab("refactor " + a + " " + b);
  EXPECT_EQ(answer.code, 2);
  EXPECT_TRUE(contains(answer.err, "(2, 1) is missing")) << answer.err;
}

TEST_F(Cli, RefactorReplaysAFolderInItsOrderWithItsRightSides) {
  fs::create_directory(path("seq"));
  auto a = generate("random_dominant", {.n = 60, .seed = 4}).value();
  for (const char* name : {"A_2", "A_10", "A_9"}) {
    write("seq/" + std::string(name) + ".mtx", a);
    for (double& v : a.values) v *= 1.01;
  }
  ASSERT_TRUE(write_vector<double>(path("seq/b_9.mtx"), random_vector(60, 3)).ok());
  ASSERT_TRUE(write_vector<double>(path("seq/A_10_b.mtx.gz"), random_vector(60, 5)).ok());
  const Answer answer = lulab("refactor '" + path("seq") + "' --rung klu --json");
  ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
  std::vector<std::string> names, right_sides;
  const auto j = answer.json();
  for (const auto& step : j.at("matrices")) {
    EXPECT_EQ(step.at("status"), "ok");
    EXPECT_EQ(step.at("phase"), names.empty() ? "factor" : "refactor");
    EXPECT_TRUE(step.at("backward_error").get<double>() <= 4 * 0x1p-53) << step;
    double parts = 0;
    for (const char* phase : {"upload_ms", "refactor_ms", "judge_ms", "download_ms", "solve_ms"}) {
      EXPECT_TRUE(step.at(phase).get<double>() > 0) << step;
      parts += step.at(phase).get<double>();
    }
    EXPECT_TRUE(step.at("time_ms").get<double>() > 0) << step;
    for (const char* seldom : {"pivots_ms", "prepare_ms"}) parts += step.at(seldom).get<double>();
    EXPECT_DOUBLE_EQ(step.at("step_ms").get<double>(), parts) << step;
    names.push_back(step.at("matrix"));
    right_sides.push_back(fs::path(step.at("right_side").get<std::string>()).filename());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"A_2", "A_9", "A_10"}));
  EXPECT_EQ(right_sides, (std::vector<std::string>{"A times ones", "b_9.mtx", "A_10_b.mtx.gz"}));
  EXPECT_EQ(j.at("totals").at("steps"), 3);
  EXPECT_TRUE(j.at("totals").at("median_ms").get<double>() > 0);
  EXPECT_TRUE(j.at("totals").at("median_step_ms").get<double>() > j.at("totals").at("median_ms").get<double>());

  ASSERT_TRUE(write_vector<double>(path("seq/b_2.mtx"), random_vector(59, 3)).ok());
  const Answer short_b = lulab("refactor '" + path("seq") + "'");
  EXPECT_EQ(short_b.code, 2);
  EXPECT_TRUE(contains(short_b.err, "b_2.mtx: 59 values")) << short_b.err;
}

/// The pivot of the first column disappears at the third of five steps, and stays away.
TEST_F(Cli, RefactorRepivotsOnceWhenAPivotVanishesInTheMiddle) {
  fs::create_directory(path("seq"));
  auto a = generate("random_dominant", {.n = 60, .seed = 4}).value();
  for (int k = 0; k < 5; ++k) {
    for (std::int64_t s = a.col_ptr[0]; s < a.col_ptr[1] && k == 2; ++s)
      if (a.row_idx[s] == 0) a.values[s] = 0;
    write("seq/A_" + std::to_string(k) + ".mtx", a);
    for (double& v : a.values) v *= 1.01;
  }
  const std::string command = "refactor '" + path("seq") + "' --order natural --no-matching --no-scaling";
  for (const char* rung : {"klu", "sparse_leftlooking/00_reference", "02_pipeline"})
    for (const char* first : {"rung", "reference", "klu"}) {
      const std::string options = std::string(" --rung ") + rung + " --first " + first;
      const Answer answer = lulab(command + options + " --json");
      ASSERT_EQ(answer.code, 0) << options << answer.out << answer.err;
      const auto j = answer.json();
      EXPECT_EQ(j.at("totals").at("repivots"), 1) << options;
      EXPECT_EQ(j.at("totals").at("failed"), 0) << options;
      for (const auto& step : j.at("matrices")) {
        EXPECT_EQ(step.at("repivots"), step.at("matrix") == "A_2" ? 1 : 0) << options << step;
        EXPECT_TRUE(step.at("backward_error").get<double>() <= 4 * 0x1p-53) << options << step;
      }
    }
  const Answer text = lulab(command + " --rung klu");
  EXPECT_TRUE(contains(text.out, "5 steps, 1 re-pivot;")) << text.out;
  EXPECT_EQ(lulab(command + " --rung klu --no-repivot").code, 3);
}

TEST_F(Cli, RefactorSweepsAPencilOnTheUnitedPattern) {
  const std::string a = write("A.mtx", generate("random_dominant", {.n = 60, .seed = 4}).value());
  const std::string e = write("E.mtx", generate("random_dominant", {.n = 60, .seed = 5}).value());
  const Answer answer = lulab("refactor " + a + " --sweep " + e + " --shifts=-2:0.25:-1.5,0.125 --rung klu --json");
  ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
  std::vector<double> shifts;
  const auto j = answer.json();
  for (const auto& step : j.at("matrices")) {
    shifts.push_back(step.at("shift"));
    EXPECT_EQ(step.at("status"), "ok") << step;
  }
  EXPECT_EQ(shifts, (std::vector<double>{-2, -1.75, -1.5, 0.125}));
  const Answer text = lulab("refactor " + a + " --sweep " + e + " --shifts 0:0.1:1 --rung klu");
  EXPECT_TRUE(contains(text.out, "A - 0.3 E ")) << text.out;
  EXPECT_TRUE(contains(text.out, "11 steps, 0 re-pivots;")) << text.out;
}

TEST_F(Cli, RefactorRefusesSequencesAndSweepsThatMakeNoSense) {
  fs::create_directory(path("empty"));
  const std::string a = generated("ladder", 40), other = generated("grid2d", 64);
  struct Case {
    std::string arguments, message;
  };
  for (const Case& bad : std::vector<Case>{{path("nosuch"), "nosuch: cannot be opened"},
                                           {path("empty"), "empty: no matrix in this folder"},
                                           {a + " --sweep " + a, "--sweep requires --shifts"},
                                           {a + " --shifts 1", "--shifts requires --sweep"},
                                           {a + " " + a + " --sweep " + a + " --shifts 1", "several were given"},
                                           {a + " --sweep " + other + " --shifts 1", "grid2d.mtx: A is 40 x 40"},
                                           {a + " --sweep " + a + " --shifts 1,x", "'x' is neither"},
                                           {a + " --sweep " + a + " --shifts 1:2", "'1:2' is neither"},
                                           {a + " --sweep " + a + " --shifts 1:-1:2", "'1:-1:2' has a step"},
                                           {a + " --sweep " + a + " --shifts 1:0:1", "'1:0:1' has a step"},
                                           {a + " --sweep " + a + " --shifts 0:1e-9:1", "more than 1000000"},
                                           {a + " --sweep " + a + " --shifts inf", "'inf' is neither"},
                                           {a + " --first nosuch", "rung reference klu"}}) {
    const Answer answer = lulab("refactor " + bad.arguments);
    EXPECT_EQ(answer.code, 2) << bad.arguments << answer.out;
    EXPECT_TRUE(contains(answer.err, bad.message)) << bad.arguments << answer.err;
  }
}

TEST_F(Cli, RefactorInTheSimulatorHasNoTimes) {
  if (simt::machine() != simt::Machine::simulator) GTEST_SKIP() << "a property of the simulator";
  const std::string a = generated("ladder", 40);
  const Answer answer = lulab("refactor " + a + " " + a + " --rung 02_pipeline --json");
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto j = answer.json();
  for (const auto& step : j.at("matrices"))
    for (const char* phase : {"prepare_ms", "pivots_ms", "upload_ms", "refactor_ms", "judge_ms", "download_ms",
                              "solve_ms", "time_ms", "step_ms"})
      EXPECT_TRUE(step.at(phase).is_null()) << step;
  EXPECT_EQ(j.at("matrices").size(), 2u);
  EXPECT_TRUE(j.at("totals").at("median_ms").is_null());
  EXPECT_TRUE(j.at("totals").at("median_step_ms").is_null());
  EXPECT_EQ(j.at("totals").at("counted"), "upload + refactor");
  const Answer back = lulab("refactor " + a + " --rung 02_pipeline --download-factors --json");
  EXPECT_EQ(back.json().at("totals").at("counted"), "upload + refactor + download");
}

TEST_F(Cli, RefactorDownloadsFactorsOnlyOnRequest) {
  if (simt::machine() == simt::Machine::simulator) GTEST_SKIP() << "needs times, which the simulator does not measure";
  const std::string a = generated("ladder", 40);
  const std::string command = "refactor " + a + " " + a + " --rung 02_pipeline --json";
  for (const bool download : {false, true}) {
    const Answer answer = lulab(command + (download ? " --download-factors" : ""));
    ASSERT_EQ(answer.code, 0) << answer.err;
    EXPECT_EQ(answer.json().at("matrices")[1].at("download_ms").get<double>() > 0, download) << answer.out;
  }
}

TEST_F(Cli, LevelsComparesTheRulesAndPlots) {
  const std::string a = generated("grid2d", 400);
  const Answer answer = lulab("levels " + a + " --order amd --plot --json");
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto j = answer.json();
  std::int64_t dependencies = 0, levels = 0;
  for (const auto& rule : j.at("rules")) {  // up_looking, double_u, relaxed: each has what the one before has
    EXPECT_GE(rule.at("dependencies").get<std::int64_t>(), dependencies) << rule;
    EXPECT_GE(rule.at("levels").get<std::int64_t>(), levels) << rule;
    dependencies = rule.at("dependencies");
    levels = rule.at("levels");
    EXPECT_EQ(rule.at("columns").size(), static_cast<std::size_t>(levels)) << rule;
    for (const char* way : {"list_ms", "list_threads_ms", "levels_of_list_ms", "one_pass_ms"})
      EXPECT_TRUE(rule.at(way).get<double>() > 0) << way << rule;
    EXPECT_EQ(rule.at("device_ms").is_null(),
              simt::machine() == simt::Machine::simulator || !simt::device_properties().ok())
        << rule;
  }
  EXPECT_GE(j.at("threads").get<int>(), 1);
  EXPECT_EQ(j.at("rules").size(), 3u);
  std::int64_t columns = 0;
  for (const std::int64_t in_level : j.at("columns")) columns += in_level;
  EXPECT_EQ(columns, j.at("n").get<std::int64_t>());
  EXPECT_EQ(j.at("columns"), j.at("rules").back().at("columns"));

  const Answer text = lulab("levels " + a + " --plot");
  EXPECT_EQ(text.code, 0);
  EXPECT_TRUE(contains(text.out, "relaxed")) << text.out;
  EXPECT_TRUE(contains(text.out, "##")) << text.out;
}

TEST_F(Cli, DrawsFillTreeLevelsAndWaitsOfASmallMatrix) {
  // As entry (1,4) with (3,1): fill at (3,4), which column 1 writes and column 3 reads: 3 needs 1 by double_u.
  const std::string a = write("a.mtx",
                              "%%MatrixMarket matrix coordinate real general\n4 4 7\n"
                              "1 1 4\n3 1 1\n2 2 4\n3 3 4\n4 3 1\n1 4 1\n4 4 4\n");
  const auto draw = [&](const std::string& what) {
    const Answer answer = lulab("draw " + a + " --what " + what);
    EXPECT_EQ(answer.code, 0) << answer.err;
    return answer.out;
  };
  EXPECT_EQ(draw("pattern"), "a  4 x 4, 7 entries\n  1 2 3 4\n1 x . . x\n2 . x . .\n3 x . x .\n4 . . x x\n");
  const std::string title = "a  4 x 4, 7 entries, ordering natural\n";
  EXPECT_EQ(draw("fill"), title +
                              "  1 2 3 4\n1 x . . x\n2 . x . .\n3 x . x o\n4 . . x x\n"
                              "7 entries of A (x), 1 of fill-in (o)\n");
  EXPECT_EQ(draw("etree"), title + "2\n4\n+- 3\n   +- 1\n");
  EXPECT_EQ(draw("levels"), title +
                                "level  left_looking  up_looking  double_u  relaxed\n"
                                "-----  ------------  ----------  --------  -------\n"
                                "    0  1 2 3         1 2 3       1 2       1 2\n"
                                "    1  4             4           3         3\n"
                                "    2                            4         4\n");
  const auto waits = lulab("draw " + a + " --what waits --json").json();
  EXPECT_EQ(waits.at("needs"), nlohmann::json::parse("[[],[],[],[1,3]]"));
  EXPECT_EQ(waits.at("double_u_adds"), nlohmann::json::parse("[[],[],[1],[]]"));
  EXPECT_EQ(waits.at("relaxed_adds"), nlohmann::json::parse("[[],[],[],[]]"));
}

TEST_F(Cli, DrawWritesAnSvgAndRefusesALargeMatrix) {
  const std::string a = generated("ladder", 30);
  for (const auto& [what, shape] : {std::pair("fill", "<rect"), std::pair("levels", "<circle")}) {
    const Answer answer = lulab("draw " + a + " --what " + what + " --svg " + path("a.svg"));
    ASSERT_EQ(answer.code, 0) << answer.err;
    const std::string svg = read_text(path("a.svg"));
    EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n")) << svg;
    EXPECT_TRUE(contains(svg, shape)) << svg;
  }
  EXPECT_EQ(lulab("draw " + a + " --svg " + path("no/such.svg")).code, 2);
  EXPECT_EQ(lulab("draw " + a + " --what nosuch").code, 2);
  const Answer large = lulab("draw " + generated("banded", 101));
  EXPECT_EQ(large.code, 2);
  EXPECT_TRUE(contains(large.err, "at most 100")) << large.err;
}

TEST_F(Cli, DrawsTheDensityOfAMatrixOfAnySize) {
  // Column and row 1 are full; natural order fills everything, the reverse nothing.
  const std::string a = write("a.mtx",
                              "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 7\n"
                              "1 1\n2 1\n3 1\n4 1\n2 2\n3 3\n4 4\n");
  const Answer text = lulab("draw " + a + " --what density");
  EXPECT_EQ(text.out,
            "a  4 x 4, 10 entries, ordering natural\nbefore\n@@@@\n@@  \n@ @ \n@  @\n"
            "after\n@@@@\n@@  \n@ @ \n@  @\nfilled\n@@@@\n@@@@\n@@@@\n@@@@\n");
  const auto ordered = lulab("draw " + a + " --what density --order amd --no-matching --json").json();
  EXPECT_EQ(ordered.at("before"), nlohmann::json::parse("[[1,1,1,1],[1,1,0,0],[1,0,1,0],[1,0,0,1]]"));
  EXPECT_NE(ordered.at("after"), ordered.at("before"));
  EXPECT_EQ(ordered.at("filled"), ordered.at("after"));
  const auto large = lulab("draw " + generated("grid2d", 4900) + " --what density --json").json();
  std::int64_t entries = 0;
  for (const auto& row : large.at("before"))
    for (const std::int64_t count : row) entries += count;
  EXPECT_EQ(entries, large.at("nnz").get<std::int64_t>());
  EXPECT_EQ(large.at("before").size(), 64u);
}

TEST_F(Cli, TimelineSaysWhichBlockWaitedForWhich) {
  if (!simt::device_properties().ok()) GTEST_SKIP() << "no GPU";
  const std::string a = generated("power_grid", 60);
  const Answer answer = lulab("timeline " + a + " --order amd --json");
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto run = answer.json().at("timelines").at(0);
  EXPECT_EQ(run.at("unit") == "ns", simt::machine() == simt::Machine::gpu) << run.at("unit");
  const std::int64_t resolution = run.at("resolution");
  EXPECT_GT(resolution, 0);
  // The multiprocessors of a GPU may see a step of the clock one after the other.
  const std::int64_t skew = simt::machine() == simt::Machine::gpu ? resolution : 0;
  const auto& columns = run.at("columns");
  ASSERT_EQ(columns.size(), run.at("n").get<std::size_t>());
  int waits = 0;
  for (const auto& column : columns) {
    std::int64_t now = column.at(1);
    for (const auto& wait : column.at(3)) {
      EXPECT_GE(wait.at(1).get<std::int64_t>(), now) << column;
      now = wait.at(2);
      EXPECT_GE(now + skew, columns.at(wait.at(0).get<std::size_t>() - 1).at(2).get<std::int64_t>())
          << "went on before " << wait.at(0) << " was finished: " << column;
      ++waits;
    }
    EXPECT_GE(column.at(2).get<std::int64_t>(), now) << column;
  }
  EXPECT_GT(waits, 60);
  const Answer text = lulab("timeline " + a);
  EXPECT_EQ(text.code, 0);
  EXPECT_TRUE(contains(text.out, "waits for")) << text.out;
  EXPECT_EQ(contains(text.out, "no time"), simt::machine() == simt::Machine::simulator) << text.out;
}

TEST_F(Cli, ExplainsStepByStepAsTextPageAndJson) {
  const std::string a = write("a.mtx",
                              "%%MatrixMarket matrix coordinate real general\n4 4 7\n"
                              "1 1 4\n3 1 1\n2 2 4\n3 3 4\n4 3 1\n1 4 1\n4 4 4\n");
  if (simt::machine() == simt::Machine::gpu) {
    const Answer answer = lulab("explain " + a);
    EXPECT_EQ(answer.code, 2);
    EXPECT_TRUE(contains(answer.err, "LULAB_PRESET=sim")) << answer.err;
    return;
  }
  const Answer all = lulab("explain " + a + " --html " + path("a.html"));
  ASSERT_EQ(all.code, 0) << all.err;
  for (const char* step : {"divides by the pivot (1,1): writes (3,1)", "subtracts L(:,1)·U(1,4): writes (3,4) fill",
                           "column 4 is finished", "all 8 entries of L + U are right"})
    EXPECT_TRUE(contains(all.out, step)) << step << all.out;
  EXPECT_EQ(lulab("explain " + a + " --seed 1").out, all.out);
  EXPECT_NE(lulab("explain " + a + " --seed 5").out, all.out);
  const std::string page = read_text(path("a.html"));
  EXPECT_TRUE(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
  EXPECT_TRUE(contains(page, "writes (3,4) fill"));
  const auto json = lulab("explain " + a + " --json").json();
  EXPECT_EQ(json.at("status").at("code"), "ok");
  const std::size_t steps = json.at("steps").size();
  EXPECT_EQ(json.at("steps").back().at("kind"), "result");
  EXPECT_FALSE(json.at("events").empty());
  const Answer last = lulab("explain " + a + " --step " + std::to_string(steps));
  EXPECT_TRUE(contains(last.out, "\n1 U  .  .  U \n2 .  U  .  . \n3 L  .  U  U \n4 .  .  L  U \n")) << last.out;
  EXPECT_EQ(lulab("explain " + a + " --step " + std::to_string(steps + 1)).code, 2);
  EXPECT_EQ(lulab("explain " + a + " --algo nosuch").code, 2);
  EXPECT_EQ(lulab("explain " + a + " --html " + path("no/such.html")).code, 2);
  const Answer large = lulab("explain " + generated("banded", 41));
  EXPECT_EQ(large.code, 2);
  EXPECT_TRUE(contains(large.err, "at most 40")) << large.err;
}

TEST_F(Cli, ExplainEndsWithFourAfterADeadlockAndAfterARace) {
  if (simt::machine() == simt::Machine::gpu) GTEST_SKIP() << "a property of the simulator";
  const std::string chain = generated("banded", 12);
  int deadlocks = 0;
  for (int seed = 1; seed <= 4; ++seed) {
    const Answer answer = lulab("explain " + chain + " --algo deadlock --resident 1 --seed " + std::to_string(seed));
    if (answer.code == 0) continue;
    ++deadlocks;
    EXPECT_EQ(answer.code, 4) << answer.err;
    EXPECT_TRUE(contains(answer.out, "deadlock: every block that runs waits")) << answer.out;
    EXPECT_TRUE(contains(answer.out, ", which no block has taken")) << answer.out;
    EXPECT_TRUE(contains(answer.err, "lulab: error: deadlock: ")) << answer.err;
  }
  EXPECT_GT(deadlocks, 0);
  EXPECT_EQ(lulab("explain " + chain + " --algo deadlock --resident 0").code, 0);
  EXPECT_EQ(lulab("explain " + chain + " --algo 01_sflu --resident 1").code, 0);
  // Column 1 writes (2,3), column 2 of the same level reads it.
  const std::string racy = write("racy.mtx",
                                 "%%MatrixMarket matrix coordinate real general\n3 3 7\n"
                                 "1 1 4\n2 1 1\n2 2 4\n3 2 1\n1 3 1\n2 3 1\n3 3 4\n");
  const Answer race = lulab("explain " + racy + " --algo 01_glu1_racy --json");
  ASSERT_EQ(race.code, 4) << race.err;
  const std::string status = race.json().at("status").dump();
  EXPECT_EQ(race.json().at("status").at("code"), "race") << status;
  if (!simt::race_detection) {  // else ThreadSanitizer finds it first, in its own words
    EXPECT_TRUE(contains(status, "(2,3): columns 1 and 2 ")) << status;
  }
}

TEST_F(Cli, SymbolicRunsEveryRungThatTheSizeAllows) {
  const std::string small = generated("sram_array", 150), large = generated("grid2d", 2500);
  const auto j = lulab("symbolic " + small + " --json").json();
  ASSERT_EQ(j.at("rungs").size(), every_fill_rung().size());
  for (std::size_t k = 0; k < every_fill_rung().size(); ++k) {
    const auto& row = j.at("rungs").at(k);
    EXPECT_EQ(row.at("rung"), every_fill_rung()[k]->id);
    EXPECT_EQ(row.at("equal"), true) << row;
  }
  const Answer text = lulab("symbolic " + large);
  EXPECT_EQ(text.code, 0) << text.err;
  const bool simulated = simt::machine() == simt::Machine::simulator;
  EXPECT_EQ(contains(text.out, "simulated; ask for it with --rung symbolic/05_gsofa"), simulated) << text.out;

  const Answer tight = lulab("symbolic " + small + " --rung 06_gsofa_sources --workspace-bytes 5000 --json");
  ASSERT_EQ(tight.code, 0) << tight.err;
  const auto row = tight.json().at("rungs").at(0);
  EXPECT_LE(row.at("workspace_bytes"), 5000);
  EXPECT_GT(row.at("groups"), 1);
  const Answer too_tight = lulab("symbolic " + small + " --rung 06_gsofa_sources --workspace-bytes 100");
  EXPECT_EQ(too_tight.code, 4) << too_tight.err;
  EXPECT_TRUE(contains(too_tight.err, "columns takes 1016 bytes of device memory, 100 are allowed")) << too_tight.err;
  const Answer some_refuse = lulab("symbolic " + small + " --workspace-bytes 100 --json");
  ASSERT_EQ(some_refuse.code, 0) << some_refuse.err;
  const auto told = some_refuse.json();
  for (const auto& of_rung : told.at("rungs")) {
    const std::string rung = of_rung.at("rung");
    const bool has_limit = rung == "symbolic/05_gsofa" || rung == "symbolic/06_gsofa_sources";
    EXPECT_EQ(of_rung.contains("status"), !of_rung.contains("equal")) << of_rung;
    if (has_limit) {
      EXPECT_EQ(of_rung.at("status").at("code"), "out_of_memory") << of_rung;
    }
    if (rung < "symbolic/04") {
      EXPECT_EQ(of_rung.at("equal"), true) << of_rung;
    }
  }
  const Answer in_words = lulab("symbolic " + small + " --workspace-bytes 100");
  EXPECT_TRUE(contains(in_words.out, "refused: a search from one of")) << in_words.out;
  const auto automatic = lulab("symbolic " + small + " --rung auto --json").json();
  ASSERT_EQ(automatic["rungs"].size(), 1);
  EXPECT_EQ(automatic["rungs"][0]["rung"], "symbolic/01_gilbert_peierls") << "small";
  const auto modelled = lulab("symbolic " + small + " --rung 01 --model-ranks 2 --json").json()["modelled"];
  EXPECT_EQ(modelled["ranks"], 2);
  EXPECT_TRUE(modelled["imbalance"] >= 1 && modelled["imbalance"] < 1.2) << modelled;
  EXPECT_NEAR(modelled["speedup"].get<double>() * modelled["imbalance"].get<double>(), 2, 1e-9);
  const Answer unknown = lulab("symbolic " + small + " --rung nosuch");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(contains(unknown.err, "symbolic/03_fill2")) << unknown.err;
}

TEST_F(Cli, LimitsGiveThreeBounds) {
  const Answer answer = lulab("limits " + generated("grid2d", 400) + " --order amd --json");
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto limits = answer.json().at("limits");
  const double largest = std::max({limits.at("flop_bound_ms").get<double>(), limits.at("byte_bound_ms").get<double>(),
                                   limits.at("chain_bound_ms").get<double>()});
  EXPECT_EQ(limits.at("bound_ms").get<double>(), largest);
  EXPECT_EQ(lulab("limits " + path("grid2d.mtx")).code, 0);
}

TEST_F(Cli, ModelPredictsTimeCaseAndCriticalPath) {
  const std::string a = generated("grid2d", 400);
  const Answer answer = lulab("model " + a + " --order amd --warps 8 --json");
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto j = answer.json();
  EXPECT_EQ(j.at("rung"), "sparse_leftlooking/02_pipeline");
  EXPECT_EQ(j.at("warps_per_sm"), 8);
  EXPECT_TRUE(j.at("errors").empty());
  const auto matrix = j.at("matrices").at(0);
  EXPECT_EQ(matrix.at("matrix"), "grid2d");
  for (const char* model : {"extended", "published"}) {
    const auto p = matrix.at(model);
    const double ms = p.at("ms");
    EXPECT_GT(ms, 0);
    EXPECT_NEAR(p.at("hop_ms").get<double>() + p.at("work_ms").get<double>() + p.at("launch_ms").get<double>(), ms,
                1e-9 * ms);
    EXPECT_GT(p.at("critical_columns"), p.at("critical_hops"));
    for (const char* key : {"case", "miss_rate", "mem_cycle", "mwp", "mwp_req", "warp_exp", "critical_hops"})
      EXPECT_TRUE(p.contains(key)) << key;
  }
  const Answer text = lulab("model " + a + " --order amd --warps 8");
  EXPECT_EQ(text.code, 0);
  for (const char* part : {"predicted", "case 3", "MWP_req", "critical path"})
    EXPECT_TRUE(contains(text.out, part)) << part << text.out;
}

TEST_F(Cli, ModelTakesSeveralMatricesAndGoesOnAfterABadFile) {
  const Answer answer = lulab("model " + generated("ladder", 60) + " " + path("missing.mtx") + " " +
                              generated("grid2d", 64) + " --precision f32");
  EXPECT_EQ(answer.code, 2);
  EXPECT_TRUE(contains(answer.err, "missing.mtx")) << answer.err;
  EXPECT_TRUE(contains(answer.out, "ladder") && contains(answer.out, "grid2d")) << answer.out;
}

TEST_F(Cli, ModelIsOfOneRungAndMeasuresOnAGpuOnly) {
  const std::string a = generated("ladder", 60);
  const Answer other = lulab("model " + a + " --rung klu");
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(contains(other.err, "sparse_leftlooking/02_pipeline")) << other.err;
  EXPECT_EQ(lulab("model " + a + " --rung 02_pipeline").code, 0);
  EXPECT_EQ(lulab("model " + a + " --warps 0").code, 2);
  EXPECT_EQ(lulab("model " + a + " --constants " + write("bad.json", "{}")).code, 2);
  const Answer measured = lulab("model " + a + " --measure --json");
  if (simt::machine() == simt::Machine::simulator) {
    EXPECT_EQ(measured.code, 2);
    EXPECT_TRUE(contains(measured.out, "simulator")) << measured.out;
  } else {
    EXPECT_EQ(measured.code, 0) << measured.err;
    EXPECT_GT(measured.json().at("matrices").at(0).at("measured_ms"), 0);
    EXPECT_TRUE(measured.json().at("mean_relative_error").contains("extended"));
  }
}

TEST_F(Cli, CalibratedConstantsAreUsedByLimits) {
  const Answer answer = lulab("calibrate --json -o " + path("c.json"));
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(lulab("limits " + generated("ladder", 50) + " --constants " + path("c.json")).code, 0);
  EXPECT_EQ(lulab("limits " + path("ladder.mtx") + " --constants " + write("bad.json", "{}")).code, 2);
}

TEST_F(Cli, SolvesByEachRungOfSolve) {
  const std::string a = generated("power_grid", 100), on_device = " --rung 10_supernode_panels";
  for (const SolveRung* rung : every_solve_rung()) {
    const Answer answer = lulab("solve " + a + on_device + " --json --solve-method " + std::string(rung->id));
    ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
    EXPECT_EQ(answer.json().at("solve_method"), rung->id);
  }
  EXPECT_EQ(lulab("solve " + a + " --rung 07_threads --solve-method 00_reference").code, 0);
  const Answer no_factors = lulab("solve " + a + " --rung 07_threads --solve-method 04_chunks");
  EXPECT_EQ(no_factors.code, 2);
  EXPECT_TRUE(contains(no_factors.err, "07_threads leaves none there")) << no_factors.err;
  const Answer unknown = lulab("solve " + a + " --solve-method nosuch");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(contains(unknown.err, "solve/02_sync_free")) << unknown.err;
}

TEST_F(Cli, CalibratesForAutoFromTwoProcessesAtTheSameTime) {
  const std::string program = "'" + (testing::this_program().parent_path() / "lulab").string() + "'";
  const std::string in_cache = "unset LULAB_CALIBRATION; export XDG_CACHE_HOME='" + path("cache") + "'; ";
  const auto shown = [&] { return Answer{testing::run_command(in_cache + program + " calibrate --show --json")}; };
  EXPECT_EQ(shown().json().at("known"), false);
  const Answer both{testing::run_command(in_cache + program + " calibrate --auto & " + in_cache + program +
                                         " calibrate --auto; code=$?; wait $! && exit $code")};
  ASSERT_EQ(both.code, 0) << both.err;
  const auto j = shown().json();
  EXPECT_EQ(j.at("known"), true);
  EXPECT_GT(j.at("cpu"), 0);
  EXPECT_TRUE(contains(j.at("source"), path("cache") + "/lulab/calibration-")) << j;
  EXPECT_EQ(std::distance(fs::directory_iterator(path("cache") + "/lulab"), {}), 1);
  const Answer off{testing::run_command("LULAB_CALIBRATION=off " + program + " calibrate --show")};
  EXPECT_EQ(off.code, 0);
  EXPECT_TRUE(contains(off.out, "LULAB_CALIBRATION=off")) << off.out;
  EXPECT_EQ(lulab("calibrate --auto -o c.json").code, 2);
}

TEST_F(Cli, DemoEndsWithATableOfEveryRung) {
  const Answer answer = lulab("demo " + generated("ladder", 40));
  ASSERT_EQ(answer.code, 0) << answer.out << answer.err;
  for (const Rung* rung : all_rungs()) {
    const std::string id(rung->facts.id);
    EXPECT_TRUE(contains(answer.out, id)) << id;
    EXPECT_TRUE(contains(answer.out.substr(answer.out.find("ladder  n = ")), id)) << id;
  }
}

TEST_F(Cli, StructurallySingularIsThreeAndNamesRowsAndColumns) {
  // Rows 2 and 4 live in column 3 alone, and nothing is in column 4.
  const std::string a = write("a.mtx",
                              "%%MatrixMarket matrix coordinate real general\n4 4 6\n"
                              "1 1 1\n1 2 2\n3 1 1\n3 2 5\n2 3 4\n4 3 4\n");
  for (const char* command : {"factor", "solve", "refactor", "verify", "info"}) {
    const Answer answer = lulab(std::string(command) + " " + a + " --json");
    EXPECT_EQ(answer.code, 3) << command << answer.err;
    const auto j = answer.json();
    ASSERT_TRUE(j.is_object()) << command << answer.out;
    EXPECT_TRUE(contains(answer.out, "structurally_singular")) << command << answer.out;
  }
  const auto status = lulab("factor " + a + " --json").json().at("status");
  ASSERT_EQ(status.at("columns"), nlohmann::json({4}));
  ASSERT_EQ(status.at("rows").size(), 1u);
  EXPECT_EQ(lulab("factor " + generated("structurally_singular", 100)).code, 3);
}

TEST_F(Cli, NumericallySingularIsThree) {
  const std::string a = generated("numerically_singular", 100);
  for (const char* command : {"factor", "solve", "verify"}) {
    const Answer answer = lulab(std::string(command) + " " + a);
    EXPECT_EQ(answer.code, 3) << command << answer.out << answer.err;
  }
}

TEST_F(Cli, FilesThatCannotBeUsedAreTwo) {
  const std::string good = read_text(generated("ladder", 500));
  gzFile gz = gzopen(path("whole.mtx.gz").c_str(), "wb");
  ASSERT_NE(gz, nullptr);
  ASSERT_EQ(gzwrite(gz, good.data(), static_cast<unsigned>(good.size())), static_cast<int>(good.size()));
  ASSERT_EQ(gzclose(gz), Z_OK);
  const std::string packed = read_text(path("whole.mtx.gz"));
  const std::string real = "%%MatrixMarket matrix coordinate real general\n";
  struct Case {
    std::string file, message;
  };
  const std::vector<Case> cases = {
      {write("truncated.mtx.gz", packed.substr(0, packed.size() / 2)), "truncated.mtx.gz"},
      {write("huge.mtx", real + "10 10 1000000000000\n1 1 1\n"), "huge.mtx:2"},
      {write("empty.mtx", ""), "empty.mtx"},
      {write("complex.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n"), "complex"},
      {write("wide.mtx", real + "2 3 2\n1 1 1\n2 3 1\n"), "square"},
      {write("positions.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n"), "no values"},
      {write("nan.mtx", real + "1 1 1\n1 1 nan\n"), "nan.mtx:3"},
      {path("missing.mtx"), "missing.mtx"},
      {path(""), path("")},
  };
  for (const Case& bad : cases)
    for (const char* command : {"factor", "solve", "verify", "refactor"}) {
      const Answer answer = lulab(std::string(command) + " " + bad.file);
      EXPECT_EQ(answer.code, 2) << command << " " << bad.file << answer.err;
      EXPECT_TRUE(contains(answer.err, bad.message)) << command << " " << answer.err;
    }
}

TEST_F(Cli, TheSmallestMatricesWork) {
  const std::string real = "%%MatrixMarket matrix coordinate real general\n";
  for (const std::string& a : {write("zero.mtx", real + "0 0 0\n"), write("one.mtx", real + "1 1 1\n1 1 -4\n")}) {
    for (const char* command :
         {"info", "factor", "solve", "verify", "refactor", "symbolic", "levels", "limits", "model", "draw"}) {
      const Answer answer = lulab(std::string(command) + " " + a + " --json");
      EXPECT_EQ(answer.code, 0) << command << " " << a << answer.out << answer.err;
      EXPECT_FALSE(answer.json().is_discarded()) << answer.out;
    }
    ASSERT_EQ(lulab("factor " + a + " -o " + path("f")).code, 0);
    EXPECT_EQ(lulab("judge " + a + " " + path("f")).code, 0);
  }
}

TEST_F(Cli, CollectionMatricesGetTheirCodes) {
  const auto saylr3 = shared_matrix("saylr3"), rajat01 = shared_matrix("rajat01"), will199 = shared_matrix("will199");
  const auto fpga = shared_matrix("fpga_dcop_01"), add20 = shared_matrix("add20");
  if (!saylr3 || !rajat01 || !will199 || !fpga || !add20) GTEST_SKIP() << "the matrix collection is not here";
  EXPECT_EQ(lulab("verify " + *saylr3).code, 3);
  const Answer positions = lulab("verify " + *rajat01);
  EXPECT_EQ(positions.code, 2);
  EXPECT_TRUE(contains(positions.err, "no values")) << positions.err;
  EXPECT_EQ(lulab("verify " + *will199).code, 3);  // every value is 1: numerically singular
  const Answer nearly = lulab("verify " + *fpga + " --rung klu --json");
  EXPECT_EQ(nearly.code, 0) << nearly.out;
  EXPECT_TRUE(nearly.json().at("rungs")[0].at("checks").at("rcond").get<double>() < 1e-10) << nearly.out;
  EXPECT_EQ(lulab("verify " + *add20 + " --rung klu").code, 0);
}

/// tridiag(-1, 10, -1)
CscMatrix<double> tridiagonal(std::int32_t n) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  a.col_ptr = {0};
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = std::max(j - 1, 0); i <= std::min(j + 1, n - 1); ++i) {
      a.row_idx.push_back(i);
      a.values.push_back(i == j ? 10 : -1);
    }
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

// x decays below the smallest number: only omega1 + omega2, by which refinement stops, can judge such rows.
TEST_F(Cli, SolvesWhereTheSolutionDecaysToNothing) {
  const auto first_unit_vector = [&](std::int32_t n) {
    std::vector<double> b(n, 0.0);
    b[0] = 1;
    EXPECT_TRUE(write_vector<double>(path("b.mtx"), b).ok());
    return path("b.mtx");
  };
  for (const char* options : {"", " --precision f32", " --rung sparse_syncfree/10"})
    for (const std::int32_t n : {50, 320, 1000}) {
      const std::string a = write("A.mtx", tridiagonal(n));
      const Answer answer = lulab("solve " + a + " " + first_unit_vector(n) + options + " --json");
      EXPECT_EQ(answer.code, 0) << options << n << answer.out << answer.err;
      EXPECT_TRUE(answer.json().at("backward_error").get<double>() <= 30 * 0x1p-53) << answer.out;
      EXPECT_EQ(lulab("refactor " + a + " " + a + options).code, 0) << options << n;
    }
  const Answer ladder = lulab("solve " + generated("ladder", 1000, 3) + " " + first_unit_vector(1000));
  EXPECT_EQ(ladder.code, 0) << ladder.out << ladder.err;
}

TEST_F(Cli, AnySizeOfValuesIsSolvedInBothPrecisions) {
  for (const char* size : {"1e-310", "1e-50", "1e50", "1e300"})
    for (const char* options : {"", " --precision f32", " --rung sparse_syncfree/10",
                                " --rung sparse_syncfree/10 --precision f32", " --rung dense/03"}) {
      const std::string a = write("A.mtx", fmt::format("%%MatrixMarket matrix coordinate real general\n2 2 3\n"
                                                       "1 1 {0}\n2 2 {0}\n1 2 {0}\n",
                                                       size));
      const Answer answer = lulab("solve " + a + options + " --json");
      EXPECT_EQ(answer.code, 0) << size << options << answer.out << answer.err;
      // b = A x is rounded: of 1e-310 about 2^43 steps of the smallest number are left
      EXPECT_TRUE(answer.json().at("forward_error").get<double>() <= 1e-12) << size << options << answer.out;
    }
}

/// An ungrounded triangle of resistors: rows and columns add up to zero.
constexpr const char* ungrounded =
    "%%MatrixMarket matrix coordinate real symmetric\n3 3 6\n1 1 .8\n2 2 .9\n3 3 1.1\n2 1 -.3\n3 2 -.6\n3 1 -.5\n";

TEST_F(Cli, ASingularMatrixIsSingularForEveryRung) {
  const std::string triangle = write("triangle.mtx", ungrounded);
  const std::string b = write("b.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n0\n0\n");
  std::vector<std::string> matrices = {triangle};
  for (const std::uint64_t seed : {1, 2, 3, 4})
    for (const std::int32_t n : {20, 200}) {
      matrices.push_back(write(fmt::format("singular_{}_{}.mtx", n, seed),
                               generate("numerically_singular", {.n = n, .seed = seed}).value()));
    }
  for (const std::string& a : matrices)
    for (const char* rung : {"", " --rung sparse_leftlooking/00", " --rung klu", " --rung sparse_syncfree/10",
                             " --rung sparse_syncfree/01", " --rung sparse_leftlooking/05", " --rung sparse_hybrid/03"})
      for (const char* command : {"solve ", "factor ", "refactor "}) {
        const Answer answer = lulab(command + a + rung + " --json");
        EXPECT_EQ(answer.code, 3) << command << a << rung << answer.out << answer.err;
        EXPECT_TRUE(contains(answer.out, "numerically_singular")) << command << a << rung << answer.out;
      }
  EXPECT_EQ(lulab("solve " + triangle + " " + b).code, 3);
  EXPECT_EQ(lulab("solve " + triangle + " --precision f32").code, 3);
}

TEST_F(Cli, GoesOnWithASingularMatrixOnRequestAndWarns) {
  const std::string a = write("triangle.mtx", ungrounded);
  for (const char* command : {"solve ", "factor ", "refactor "}) {
    const Answer words = lulab(command + a + " --allow-singular");
    EXPECT_EQ(words.code, 0) << command << words.out << words.err;
    EXPECT_TRUE(contains(words.out, "WARNING: A is singular to working precision")) << words.out;
    const Answer json = lulab(command + a + " --allow-singular --json");
    EXPECT_EQ(json.code, 0) << command << json.out << json.err;
    EXPECT_TRUE(contains(json.out, "\"warning\":\"A is singular")) << json.out;
    EXPECT_TRUE(contains(json.out, "\"rcond_scaled\":")) << json.out;
  }
}

// rcond of A is below eps; R and C take that away.
TEST_F(Cli, BadScalingAloneIsNotSingular) {
  std::vector<std::string> matrices = {write("scaled.mtx",
                                             "%%MatrixMarket matrix coordinate real general\n3 3 5\n"
                                             "1 1 1e-20\n1 2 2e-9\n2 2 1\n2 3 1e8\n3 3 1e12\n")};
  for (const char* name : {"fpga_dcop_01", "oscil_dcop_01", "mna5_A"})
    if (const auto file = shared_matrix(name)) matrices.push_back(*file);
  for (const std::string& a : matrices)
    for (const char* command : {"solve ", "factor ", "refactor "}) {
      const Answer answer = lulab(command + a + " --json");
      EXPECT_EQ(answer.code, 0) << command << a << answer.out << answer.err;
    }
  const Answer factored = lulab("factor " + matrices[0] + " --json");
  EXPECT_TRUE(factored.json().at("rcond").get<double>() < 0x1p-53) << factored.out;
  EXPECT_TRUE(factored.json().at("rcond_scaled").get<double>() > 1e-3) << factored.out;
}

TEST_F(Cli, RecoversFromTheGrowthOfWilkinsonsMatrix) {
  for (const char* rung : {"", " --rung klu", " --rung sparse_syncfree/10", " --rung sparse_hybrid/03"})
    for (const std::int32_t n : {30, 60}) {
      if (n > 30 && contains(rung, "klu")) continue;  // KLU keeps pivots by column
      const Answer answer = lulab("solve " + generated("wilkinson_growth", n) + rung);
      EXPECT_EQ(answer.code, 0) << rung << n << answer.out << answer.err;
    }
}

}  // namespace
}  // namespace lulab
