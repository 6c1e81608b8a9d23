// verify_matrix as the command line uses it: generated matrices, singular ones, and small real ones where they are at
// hand.

#include "verify/verify.h"

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "core/matrix/matrix_market.h"
#include "core/matrix/shared_matrices.h"

namespace lulab {
namespace {

std::string summary(const MatrixReport& report) {
  std::string text = report.matrix + ": " + report.status.to_string();
  for (const RungReport& r : report.rungs)
    text += "\n  " + r.id + " " + r.scalar + " " + std::string(to_string(r.verdict)) + " " + r.message;
  return text;
}

void expect_all_pass(const MatrixReport& report) {
  EXPECT_TRUE(report.status.ok()) << summary(report);
  EXPECT_TRUE(report.klu_blocks_equal == true) << report.message;
  EXPECT_TRUE(report.any(Verdict::ok)) << "nothing was judged: " << summary(report);
  EXPECT_FALSE(report.failed()) << summary(report);
  for (const Verdict bad : {Verdict::needs_repivot, Verdict::singular, Verdict::error})
    EXPECT_FALSE(report.any(bad)) << summary(report);
}

CscMatrix<double> generated(std::string_view family, std::int32_t n) {
  GenerateOptions options;
  options.n = n;
  auto a = generate(family, options);
  EXPECT_TRUE(a.ok()) << a.status().to_string();
  return std::move(*a);
}

class SharedMatrix : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto path = shared_matrix(GetParam());
    if (!path) GTEST_SKIP() << GetParam() << " is not at hand";
    auto file = read_matrix_market(*path);
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    file_ = std::move(*file);
  }
  MatrixMarket file_;
};

TEST(VerifyMatrix, EveryRungPassesOnGeneratedCircuitsInBothPrecisions) {
  VerifyOptions options;
  options.precision = Precision::both;
  for (const char* family : {"power_grid", "sram_array", "logic_rent"}) {
    int calls = 0;
    const MatrixReport report =
        verify_matrix(family, generated(family, 200), options, [&](std::string_view, int index, int count) {
          EXPECT_EQ(index, calls++);
          EXPECT_EQ(count, 2 * static_cast<int>(all_rungs().size()));
        });
    EXPECT_EQ(calls, 2 * static_cast<int>(all_rungs().size()));
    EXPECT_EQ(report.rungs.size(), 2 * all_rungs().size());
    expect_all_pass(report);
  }
}

TEST(VerifyMatrix, StructurallySingularNamesRowsAndColumns) {
  const MatrixReport report = verify_matrix("s", generated("structurally_singular", 50));
  EXPECT_EQ(report.status.code, StatusCode::structurally_singular);
  EXPECT_FALSE(report.status.where.rows.empty());
  EXPECT_FALSE(report.status.where.columns.empty());
  EXPECT_TRUE(report.rungs.empty());
}

TEST(VerifyMatrix, NumericallySingularIsSaidByEveryRungThatRan) {
  const MatrixReport report = verify_matrix("s", generated("numerically_singular", 50));
  ASSERT_TRUE(report.status.ok()) << report.status.to_string();
  for (const RungReport& r : report.rungs)
    EXPECT_TRUE(r.verdict == Verdict::singular || r.verdict == Verdict::skipped) << summary(report);
  EXPECT_TRUE(report.any(Verdict::singular));
}

TEST(VerifyMatrix, NotSquareIsInvalid) {
  CscMatrix<double> a;
  a.n_rows = 3;
  a.n_cols = 2;
  a.col_ptr = {0, 1, 2};
  a.row_idx = {0, 1};
  a.values = {1, 1};
  EXPECT_EQ(verify_matrix("a", a).status.code, StatusCode::invalid_argument);
}

TEST(VerifyMatrix, SkippedRungsSayWhy) {
  VerifyOptions options;
  options.max_simulator_n = 10;
  options.max_dense_n = 10;
  const MatrixReport report = verify_matrix("a", generated("random_dominant", 50), options);
  for (const RungReport& r : report.rungs)
    EXPECT_EQ(r.verdict == Verdict::skipped, !r.message.empty()) << summary(report);
  EXPECT_TRUE(report.any(Verdict::skipped));
}

std::string message_of(const MatrixReport& report, std::string_view id) {
  for (const RungReport& r : report.rungs)
    if (r.id == id) return r.message;
  return "no such rung";
}

TEST(VerifyMatrix, ADenseRungSaysWhichLimitSkipsIt) {
  VerifyOptions options;
  options.klu_oracle = false;
  options.rungs = {*find_rung(all_rungs(), "dense/00_reference")};
  options.max_dense_n = 49;
  const auto small = generated("random_dominant", 50);
  EXPECT_NE(message_of(verify_matrix("a", small, options), "dense/00_reference").find("n = 50 is more than the 49"),
            std::string::npos);
  options.max_dense_n = 50;
  EXPECT_EQ(message_of(verify_matrix("a", small, options), "dense/00_reference"), "");
  options.max_dense_n = 1 << 30;
  const auto large = generated("ladder", 2500);
  const std::string message = message_of(verify_matrix("a", large, options), "dense/00_reference");
  EXPECT_NE(message.find("takes 50 MB, more than the 33.6 MB that this rung takes on the CPU"), std::string::npos)
      << message;
}

class Passes : public SharedMatrix {};
TEST_P(Passes, EveryRung) {
  VerifyOptions options;
  options.max_simulator_n = 600;  // the slow tests run the larger ones in the simulator
  options.max_dense_n = 600;
  expect_all_pass(verify_matrix(GetParam(), file_.matrix, options));
}
INSTANTIATE_TEST_SUITE_P(Shared, Passes,
                         ::testing::Values("west0479", "rajat19", "circuit_1", "add20", "add32", "impcol_a"),
                         [](const auto& info) { return std::string(info.param); });

class Singular : public SharedMatrix {};
TEST_P(Singular, IsSaidByEveryPivotingRung) {
  const MatrixReport report = verify_matrix(GetParam(), file_.matrix);
  for (const RungReport& r : report.rungs)
    EXPECT_TRUE(r.verdict == Verdict::singular || r.verdict == Verdict::skipped) << summary(report);
}
INSTANTIATE_TEST_SUITE_P(Shared, Singular, ::testing::Values("saylr3"),
                         [](const auto& info) { return std::string(info.param); });

class NearlySingular : public SharedMatrix {};
TEST_P(NearlySingular, ReportsRcond) {
  const MatrixReport report = verify_matrix(GetParam(), file_.matrix);
  ASSERT_TRUE(report.status.ok()) << report.status.to_string();
  bool reported = false;
  for (const RungReport& r : report.rungs)
    if (r.checks.rcond) {
      reported = true;
      EXPECT_LE(*r.checks.rcond, 1e-12) << summary(report);
    }
  EXPECT_TRUE(reported) << summary(report);
}
INSTANTIATE_TEST_SUITE_P(Shared, NearlySingular, ::testing::Values("fpga_dcop_01"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lulab
