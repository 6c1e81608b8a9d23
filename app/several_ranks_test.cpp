// The program on several ranks, as mpirun starts it. What ranks compute: symbolic/fill_over_ranks_test.cu.

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/matrix/generate.h"
#include "core/matrix/matrix_market.h"
#include "core/simt/device.h"
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

 private:
  testing::TemporaryFolder folder_;
};

#ifdef LULAB_MPIEXEC

/// More ranks than cores, as root too. A job that hangs is stopped, with exit code 124.
testing::Answer mpirun(const std::string& ranks_and_programs) {
  return testing::run_command(
      "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
      "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe; timeout 120 '" LULAB_MPIEXEC "' " +
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
}

#elif !defined(LULAB_MPI)

TEST_F(SeveralRanks, AreRefusedByABuildWithoutMpi) {
  const testing::Answer answer = testing::run_command("OMPI_COMM_WORLD_SIZE=2 " + symbolic(""));
  EXPECT_EQ(answer.code, 2);
  EXPECT_TRUE(contains(answer.err, "this build has no MPI")) << answer.err;
  EXPECT_EQ(testing::run_command("OMPI_COMM_WORLD_SIZE=1 " + symbolic("")).code, 0);
}

#endif

}  // namespace
}  // namespace lulab
