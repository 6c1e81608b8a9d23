// Every rung on the larger real matrices, and GPU rungs in the simulator where the default tests skip them.

#include <gtest/gtest.h>

#include "core/matrix/matrix_market.h"
#include "core/matrix/shared_matrices.h"
#include "verify/verify.h"

namespace lulab {
namespace {

class LargeMatrix : public ::testing::TestWithParam<const char*> {};

TEST_P(LargeMatrix, EveryRungPasses) {
  const auto path = shared_matrix(GetParam());
  if (!path) GTEST_SKIP() << GetParam() << " is not at hand";
  const auto file = read_matrix_market(*path);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  const MatrixReport report = verify_matrix(GetParam(), file->matrix);
  ASSERT_TRUE(report.status.ok()) << report.status.to_string();
  EXPECT_TRUE(report.klu_blocks_equal == true) << report.message;
  EXPECT_TRUE(report.any(Verdict::ok));
  for (const RungReport& r : report.rungs)
    EXPECT_TRUE(r.verdict == Verdict::ok || r.verdict == Verdict::skipped) << r.id << ": " << r.message;
}

INSTANTIATE_TEST_SUITE_P(Shared, LargeMatrix,
                         ::testing::Values("west0479", "rajat19", "circuit_1", "add20", "add32", "memplus", "mna5_A",
                                           "seq_nr_case_ACTIVSg10k/A_00", "orsreg_1", "sherman1", "jpwh_991", "mcca"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name)
                             if (c == '/') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace lulab
