// The program on several ranks, as mpirun starts it. What ranks compute: symbolic/fill_over_ranks_test.cu.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/matrix/csc.h"
#include "core/matrix/generate.h"
#include "core/matrix/matrix_market.h"
#include "core/simt/device.h"
#include "solve/refine.h"
#include "testing/program.h"

namespace lulab {
namespace {

class SeveralRanks : public ::testing::Test {
 protected:
  static std::string quoted_program() {
    return "'" + (testing::this_program().parent_path() / "lulab").string() + "' ";
  }
  /// The command for a generated matrix.
  std::string symbolic(const std::string& options, const std::string& family = "logic_rent",
                       std::int32_t n = 150) const {
    const std::string matrix = folder_.path(family + ".mtx");
    EXPECT_TRUE(write_matrix_market(matrix, generate(family, {.n = n, .seed = 7}).value()).ok());
    return quoted_program() + "symbolic '" + matrix + "' " + options;
  }

  testing::TemporaryFolder folder_;
};

#ifdef LULAB_MPIEXEC

/// More ranks than cores, as root too. A job that hangs is stopped, with exit code 124.
testing::Answer mpirun(const std::string& ranks_and_programs) {
  return testing::run_command(
      "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
      "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_odls_base_sigkill_timeout=0; "
      "timeout 120 '" LULAB_MPIEXEC "' " +
      ranks_and_programs);
}

TEST_F(SeveralRanks, FindThePatternOfOne) {
  for (const char* limits : {"", " --workspace-bytes 4000"}) {
    const std::string options = "--json --rung 06" + std::string(limits);
    const auto one = nlohmann::json::parse(testing::run_command(symbolic(options)).out, nullptr, false);
    for (const int ranks : {1, 2, 3}) {
      const testing::Answer answer = mpirun("-np " + std::to_string(ranks) + " " + symbolic(options));
      ASSERT_EQ(answer.code, 0) << answer.err;
      const auto j = nlohmann::json::parse(answer.out, nullptr, false);  // one line: rank 0 alone prints
      ASSERT_TRUE(j.is_object()) << answer.out;
      EXPECT_EQ(j.at("ranks"), ranks);
      EXPECT_EQ(j.at("nnz_lu"), one.at("nnz_lu"));
      EXPECT_EQ(j.at("rungs").at(0).at("equal"), true) << answer.out;
      EXPECT_EQ(j.at("rungs").at(0).at("workspace_bytes") <= 4000, *limits != '\0') << answer.out;
      EXPECT_EQ(j.at("rungs").at(0).contains("imbalance"), ranks > 1);
    }
  }
}

TEST_F(SeveralRanks, ShareTheRungsThatCanBeShared) {
  const testing::Answer answer = mpirun("-np 3 " + symbolic(""));
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_TRUE(contains(answer.out, "busiest rank")) << answer.out;
  EXPECT_TRUE(contains(answer.out, "runs on one rank")) << answer.out;
  EXPECT_TRUE(contains(answer.out, "the same pattern")) << answer.out;
  const testing::Answer refused = mpirun("-np 2 " + symbolic("--rung 00"));
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err, "symbolic/00_reference runs on one rank")) << refused.err;
}

TEST_F(SeveralRanks, TheRungChosenIsRunByEachAlone) {
  const testing::Answer answer = mpirun("-np 2 " + symbolic("--json --rung auto"));
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto j = nlohmann::json::parse(answer.out, nullptr, false);
  ASSERT_TRUE(j.is_object()) << answer.out;
  EXPECT_EQ(j.at("ranks"), 2);
  EXPECT_EQ(j.at("rungs").at(0).at("rung"), "symbolic/01_gilbert_peierls") << "small";
  EXPECT_EQ(j.at("rungs").at(0).at("equal"), true) << answer.out;
  EXPECT_FALSE(j.at("rungs").at(0).contains("imbalance")) << answer.out;
}

TEST_F(SeveralRanks, ShareAMatrixOfNoOrOneColumn) {
  const std::string file = folder_.path("few.mtx");
  for (const CscMatrix<double>& a :
       {CscMatrix<double>{0, 0, {0}, {}, {}}, CscMatrix<double>{1, 1, {0, 1}, {0}, {2.0}}}) {
    ASSERT_TRUE(write_matrix_market(file, a).ok());
    for (const char* rung : {"04", "05", "06", "auto"}) {
      const testing::Answer answer =
          mpirun("-np 2 " + quoted_program() + "symbolic '" + file + "' --json --rung " + rung);
      ASSERT_EQ(answer.code, 0) << answer.err;
      const auto j = nlohmann::json::parse(answer.out, nullptr, false);
      ASSERT_TRUE(j.is_object()) << answer.out;
      EXPECT_EQ(j.at("nnz_lu"), a.nnz());
      EXPECT_EQ(j.at("rungs").at(0).at("equal"), true) << answer.out;
    }
  }
}

TEST_F(SeveralRanks, AFileThatCannotBeReadEndsTheJob) {
  const testing::Answer answer = mpirun("-np 3 " + quoted_program() + "symbolic nosuch.mtx");
  EXPECT_EQ(answer.code, 2) << answer.err;
  EXPECT_TRUE(contains(answer.err, "rank 0 of 3: cannot be opened")) << answer.err;
}

TEST_F(SeveralRanks, OneThatFailsEndsTheJobWithItsMessage) {
  const testing::Answer answer = mpirun("-np 2 " + symbolic("--json --rung 05") + " : -np 1 " +
                                        symbolic("--json --rung 05 --workspace-bytes 100"));
  EXPECT_EQ(answer.code, 4) << answer.err;
  const auto j = nlohmann::json::parse(answer.out, nullptr, false);
  ASSERT_TRUE(j.is_object()) << answer.out;
  EXPECT_TRUE(contains(j.at("status").at("message").get<std::string>(), "rank 2 of 3: a search from one")) << j;
}

TEST_F(SeveralRanks, OneThatDiesEndsTheJob) {
  // The search takes ten seconds in the simulator, and starting a GPU longer than 0.1 s.
  const std::string work = symbolic("--rung 05", "grid3d", 4000);
  const std::string lives_s = simt::machine() == simt::Machine::simulator ? "1" : "0.1";
  const testing::Answer answer = mpirun("-np 2 " + work + " : -np 1 timeout -s KILL " + lives_s + " " + work);
  EXPECT_NE(answer.code, 0);
  EXPECT_NE(answer.code, 124) << "the job hangs";
  const std::regex killed("[Ee]xit code: *137|signal 9");
  EXPECT_TRUE(std::regex_search(answer.err, killed)) << answer.err;
}

#ifdef LULAB_SUPERLU_DIST

class OverRanks : public ::testing::Test {
 protected:
  static std::string program() { return "'" + (testing::this_program().parent_path() / "lulab").string() + "' "; }
  static std::string two(const std::string& arguments) {
    return "-np 2 " + program() + arguments + " --rung 90_superlu_dist";
  }
  std::string file(const std::string& name, const CscMatrix<double>& a) const {
    EXPECT_TRUE(write_matrix_market(folder_.path(name), a).ok());
    return folder_.path(name);
  }
  /// A 3 x 3 matrix by columns; all three of these files have one pattern.
  std::string small(const std::string& name, double a11, double a23, double a32) const {
    return folder_.write(name, fmt::format("%%MatrixMarket matrix coordinate real general\n3 3 7\n1 1 {}\n2 1 1\n"
                                           "1 2 1\n2 2 1\n3 2 {}\n2 3 {}\n3 3 3\n",
                                           a11, a32, a23));
  }
  testing::TemporaryFolder folder_;
};

TEST_F(OverRanks, SolveAsTheBackwardErrorTells) {
  const auto a = generate("convection2d", {.n = 900, .seed = 5}).value();
  const std::vector<double> b = random_vector(a.n_cols, 11);
  const std::string matrix = file("A.mtx", a), side = folder_.path("b.mtx"), to = folder_.path("x.mtx");
  ASSERT_TRUE(write_vector<double>(side, b).ok());
  const std::string solve = program() + "solve '" + matrix + "' '" + side + "' -o '" + to + "' --rung superlu --json";
  for (const int ranks : {0, 1, 2, 3}) {  // 0: without mpirun
    std::filesystem::remove(to);
    const testing::Answer answer =
        ranks == 0 ? testing::run_command(solve) : mpirun("-np " + std::to_string(ranks) + " " + solve);
    ASSERT_EQ(answer.code, 0) << answer.err;
    const auto j = nlohmann::json::parse(answer.out, nullptr, false);  // one line: rank 0 alone prints
    ASSERT_TRUE(j.is_object()) << answer.out;
    EXPECT_EQ(j.at("ranks"), std::max(ranks, 1));
    const auto x = read_vector(to);
    ASSERT_TRUE(x.ok()) << x.status().to_string();
    // 30 units of roundoff, as RefinementRule::limit
    EXPECT_TRUE(componentwise_backward_error(a, *x, b) <= RefinementRule::limit);
    EXPECT_TRUE(j.at("backward_error").get<double>() <= RefinementRule::limit) << j;
    EXPECT_TRUE(j.at("normwise_backward_error").get<double>() <= RefinementRule::limit) << j;
    std::int64_t bytes = 0;
    for (const auto& of_rank : j.at("lu_bytes_of_ranks")) bytes += of_rank.get<std::int64_t>();
    EXPECT_EQ(j.at("lu_bytes"), bytes);
    EXPECT_GE(bytes, 8 * a.nnz());  // L and U hold more than A
    EXPECT_GE(j.at("bytes").get<std::int64_t>(), bytes);
  }
}

TEST_F(OverRanks, RefactorTakesNewValues) {
  auto a = generate("convection2d", {.n = 900, .seed = 5}).value();
  const std::string first = file("A_0.mtx", a);
  // Each column by a factor of its own, from 1 to 1e6: no refinement arrives with the old factors.
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p) a.values[p] *= std::pow(10.0, j % 7);
  const std::string second = file("A_1.mtx", a);
  const testing::Answer answer = mpirun(two("refactor --no-repivot --json '" + first + "' '" + second + "'"));
  ASSERT_EQ(answer.code, 0) << answer.err << answer.out;
  const auto j = nlohmann::json::parse(answer.out, nullptr, false);
  ASSERT_TRUE(j.is_object()) << answer.out;
  EXPECT_EQ(j.at("totals").at("refactorizations"), 1);
  for (const auto& step : j.at("matrices")) {
    EXPECT_EQ(step.at("status"), "ok") << step;
    EXPECT_TRUE(step.at("backward_error").get<double>() <= RefinementRule::limit) << step;
  }
  EXPECT_EQ(j.at("matrices").at(1).at("phase"), "refactor");
  EXPECT_TRUE(j.at("matrices").at(0).at("rcond_scaled_at_most").get<double>() > 0) << "a bound, and told as one";
}

TEST_F(OverRanks, ASingularMatrixIsSaidAndTheNextOneFactored) {
  const std::string good = small("A_0.mtx", 4, 1, 1), singular = small("A_1.mtx", 1, 0, 0);
  const testing::Answer alone = mpirun(two("solve '" + singular + "'"));
  EXPECT_EQ(alone.code, 3) << alone.err;
  EXPECT_TRUE(contains(alone.err, "the pivot of column")) << alone.err;
  const testing::Answer answer =
      mpirun(two("refactor --json '" + good + "' '" + singular + "' '" + good + "' '" + good + "'"));
  EXPECT_EQ(answer.code, 3) << answer.err;
  const auto j = nlohmann::json::parse(answer.out, nullptr, false);
  ASSERT_TRUE(j.is_object()) << answer.out;
  const auto& steps = j.at("matrices");
  EXPECT_EQ(steps.at(1).at("status").at("code"), "numerically_singular");
  EXPECT_EQ(steps.at(2).at("phase"), "factor");
  EXPECT_EQ(steps.at(2).at("status"), "ok");
  EXPECT_EQ(steps.at(3).at("phase"), "refactor");
  EXPECT_EQ(steps.at(3).at("status"), "ok");
}

TEST_F(OverRanks, AMatrixSingularButForRoundingIsSaid) {
  // Conductances between nodes, none of which is grounded: the last pivot is rounding.
  auto a = generate("grid2d", {.n = 400, .seed = 2}).value();
  std::vector<double> sums(a.n_cols);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p)
      if (a.row_idx[p] != j) {
        a.values[p] = -1.0 / (3 + (a.row_idx[p] + j) % 5);  // symmetric
        sums[j] -= a.values[p];
      }
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p)
      if (a.row_idx[p] == j) a.values[p] = sums[j];
  const std::string matrix = file("A.mtx", a);
  EXPECT_EQ(mpirun(two("solve '" + matrix + "'")).code, 3);
  const testing::Answer warned = mpirun(two("solve --allow-singular '" + matrix + "'"));
  EXPECT_NE(warned.code, 124);
  EXPECT_TRUE(contains(warned.out, "WARNING") || contains(warned.err, "the pivot of column")) << warned.out;
}

TEST_F(OverRanks, WhatCannotBeReadEndsTheJob) {
  const testing::Answer missing = mpirun(two("solve nosuch.mtx"));
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(contains(missing.err, "nosuch.mtx: cannot be opened")) << missing.err;
  const std::string nan =
      folder_.write("nan.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 nan\n2 2 1\n");
  const testing::Answer unfit = mpirun(two("solve '" + nan + "'"));
  EXPECT_EQ(unfit.code, 2);
  EXPECT_TRUE(contains(unfit.err, "not finite")) << unfit.err;
}

TEST_F(OverRanks, OneThatDiesEndsTheJob) {
  // Its factors fill up: some ten seconds of arithmetic.
  const std::string matrix = file("A.mtx", generate("random_dominant", {.n = 4500, .seed = 3}).value());
  const std::string solve = program() + "solve '" + matrix + "' --order natural --rung superlu";
  const testing::Answer answer = mpirun("-np 1 " + solve + " : -np 1 timeout -s KILL 1 " + solve);
  EXPECT_NE(answer.code, 0);
  EXPECT_NE(answer.code, 124) << "the job hangs";
}

TEST_F(OverRanks, OneWithoutMemoryEndsTheJobWithItsMessage) {
  const std::string matrix = file("A.mtx", generate("random_dominant", {.n = 4500, .seed = 3}).value());
  const std::string tiny = file("tiny.mtx", generate("grid2d", {.n = 9, .seed = 3}).value());
  const auto limited = [](const std::string& arguments) {
    return mpirun("-np 1 " + program() + arguments + " : -np 1 prlimit --as=300000000 " + program() + arguments);
  };
  // MPI alone may take that much elsewhere.
  if (limited("solve '" + tiny + "' --rung superlu").code != 0) GTEST_SKIP() << "the limit leaves MPI no room";
  const testing::Answer answer = limited("solve '" + matrix + "' --order natural --rung superlu");
  EXPECT_EQ(answer.code, 4) << answer.err;
  EXPECT_TRUE(contains(answer.err, "out of memory: rank 1 of 2: ")) << answer.err;
}

TEST_F(OverRanks, OptionsThatTheRungDoesNotKnowAreRefused) {
  const std::string matrix = small("A.mtx", 4, 1, 1);
  const char* const refused[][2] = {{"solve", "--precision f32"},
                                    {"solve", "--option a=1"},
                                    {"solve", "--perturb-pivots 0.1"},
                                    {"solve", "--solve-method 00"},
                                    {"refactor", "--first klu"},
                                    {"factor", ""},
                                    {"verify", ""},
                                    {"model", ""}};
  for (const auto& [command, option] : refused) {
    const testing::Answer answer =
        testing::run_command(program() + command + " '" + matrix + "' --rung 90_superlu_dist " + option);
    EXPECT_EQ(answer.code, 2) << command << option;
    EXPECT_TRUE(contains(answer.err, "sparse_hybrid/90_superlu_dist")) << command << option << answer.err;
  }
  for (const char* const option : {"solve --precision f32", "solve --solve-method 00", "refactor --first klu"}) {
    const testing::Answer answer = mpirun(two(option + (" '" + matrix + "'")));
    EXPECT_EQ(answer.code, 2) << option;
    const std::size_t told = answer.err.find("sparse_hybrid/90_superlu_dist");
    EXPECT_TRUE(told != std::string::npos) << option << answer.err;
    EXPECT_EQ(answer.err.find("sparse_hybrid/90_superlu_dist", told + 1), std::string::npos)
        << "only rank 0 says so: " << answer.err;
  }
}

#endif

#elif !defined(LULAB_MPI)

TEST_F(SeveralRanks, AreRefusedByABuildWithoutMpi) {
  const testing::Answer answer = testing::run_command("OMPI_COMM_WORLD_SIZE=2 " + symbolic(""));
  EXPECT_EQ(answer.code, 2);
  EXPECT_TRUE(contains(answer.err, "this build has no MPI")) << answer.err;
  EXPECT_EQ(testing::run_command("OMPI_COMM_WORLD_SIZE=1 " + symbolic("")).code, 0);
}

#endif

#ifndef LULAB_SUPERLU_DIST

TEST_F(SeveralRanks, ABuildWithoutSuperLuDistNamesThePackage) {
  const testing::Answer answer = testing::run_command(quoted_program() + "solve A.mtx --rung 90_superlu_dist");
  EXPECT_EQ(answer.code, 2);
  EXPECT_TRUE(contains(answer.err, "libsuperlu-dist-dev")) << answer.err;
}

#endif

}  // namespace
}  // namespace lulab
