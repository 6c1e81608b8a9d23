// verify_matrix as the command line uses it: generated matrices, singular ones, and small real ones where they are at
// hand.

#include "verify/verify.h"

#include <gtest/gtest.h>

#include "core/backend.h"
#include "core/matrix/generate.h"
#include "core/matrix/matrix_market.h"
#include "core/matrix/shared_matrices.h"
#include "sparse_syncfree/rungs.h"

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

VerifyOptions only(const Rung& rung) {
  VerifyOptions options;
  options.klu_oracle = false;
  options.rungs = {&rung};
  return options;
}

TEST(VerifyMatrix, ARungRunsUpToItsLimitsAndSaysWhichOneSkipsIt) {
  const auto a = generated("random_dominant", 50);
  struct Case {
    std::int32_t max_n;
    double max_dense_bytes;
    std::string message;
  };
  for (const Case& c :
       {Case{50, 0, ""}, Case{49, 0, "n = 50 is more than the 49 that this rung takes"}, Case{0, 20000, ""},
        Case{0, 19999,
             "a dense copy of n = 50 takes 0.02 MB, more than the 0.02 MB that this rung "
             "takes on the CPU"}}) {
    Rung rung = sparse_syncfree::reference;
    rung.facts.max_n = c.max_n;
    rung.facts.max_dense_bytes = c.max_dense_bytes;
    const MatrixReport report = verify_matrix("a", a, only(rung));
    ASSERT_EQ(report.rungs.size(), 1u);
    EXPECT_EQ(report.rungs[0].message, c.message);
    EXPECT_EQ(report.rungs[0].verdict, c.message.empty() ? Verdict::ok : Verdict::skipped);
    EXPECT_EQ(report.rungs[0].time_ms > 0, c.message.empty());
  }
  if (simt::machine() != simt::Machine::simulator) return;
  VerifyOptions options = only(**find_rung(all_rungs(), "sparse_syncfree/01_sflu"));
  options.max_simulator_n = 50;
  EXPECT_EQ(verify_matrix("a", a, options).rungs[0].verdict, Verdict::ok);
  EXPECT_EQ(verify_matrix("a", a, options).rungs[0].device, "simulator");
  options.max_simulator_n = 49;
  EXPECT_EQ(verify_matrix("a", a, options).rungs[0].message,
            "n = 50 is more than the 49 that the simulator is asked to run");
}

TEST(VerifyMatrix, APrecisionThatARungLacksIsSkipped) {
  const auto a = generated("random_dominant", 20);
  Rung in_double = sparse_syncfree::reference, in_float = in_double;
  std::get<0>(in_double.make_backend) = nullptr;
  std::get<1>(in_float.make_backend) = nullptr;
  VerifyOptions options = only(in_double);
  options.rungs.push_back(&in_float);
  options.precision = Precision::both;
  const MatrixReport both = verify_matrix("a", a, options);
  ASSERT_EQ(both.rungs.size(), 4u) << summary(both);
  const char* scalars[] = {"f64", "f32", "f64", "f32"};
  const char* messages[] = {"", "does not factor f32", "does not factor f64", ""};
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(both.rungs[k].scalar, scalars[k]);
    EXPECT_EQ(both.rungs[k].device, "cpu");
    EXPECT_EQ(both.rungs[k].message, messages[k]);
    EXPECT_EQ(both.rungs[k].verdict, *messages[k] == 0 ? Verdict::ok : Verdict::skipped);
  }
  options.precision = Precision::f32;
  const MatrixReport one = verify_matrix("a", a, options);
  ASSERT_EQ(one.rungs.size(), 2u);
  EXPECT_EQ(one.rungs[1].scalar, "f32");
  EXPECT_EQ(one.rungs[1].verdict, Verdict::ok);
}

TEST(VerifyMatrix, KluIsAskedWhereTheOptionSaysSoAndTheRungPromisesItsPattern) {
  const auto a = generated("random_dominant", 30);
  Rung exact = sparse_syncfree::reference, padded = exact;
  exact.facts.exact_pattern = true;
  padded.facts.exact_pattern = false;
  VerifyOptions options = only(exact);
  options.rungs.push_back(&padded);
  EXPECT_EQ(verify_matrix("a", a, options).rungs[0].checks.klu_pattern_equal, std::nullopt);
  EXPECT_EQ(verify_matrix("a", a, options).klu_blocks_equal, std::nullopt);
  options.klu_oracle = true;
  const MatrixReport report = verify_matrix("a", a, options);
  EXPECT_EQ(report.klu_blocks_equal, true);
  EXPECT_EQ(report.message, "");
  EXPECT_EQ(report.rungs[0].checks.klu_pattern_equal, true);
  EXPECT_EQ(report.rungs[1].checks.klu_pattern_equal, std::nullopt);
}

template <StatusCode Code>
class Refuses final : public Backend<double> {
 public:
  Status prepare(const Analysis&, std::int32_t) override { return Status::error(Code, "so it is"); }
  Status upload(std::span<const double>) override { return {}; }
  Status enqueue(Phase) override { return {}; }
  Status collect(std::span<Status>) override { return {}; }
  Result<Factors<double>> download(std::int32_t) override { return Status::error(Code, "so it is"); }
};
template <StatusCode Code>
constexpr Rung refuses = rung_in_double<Refuses<Code>>({.id = "refuses"});

TEST(VerifyMatrix, ARefusalIsAVerdict) {
  const auto a = generated("random_dominant", 20);
  for (const auto& [rung, verdict] : {std::pair{&refuses<StatusCode::structurally_singular>, Verdict::singular},
                                      std::pair{&refuses<StatusCode::numerically_singular>, Verdict::singular},
                                      std::pair{&refuses<StatusCode::needs_repivot>, Verdict::needs_repivot},
                                      std::pair{&refuses<StatusCode::not_implemented>, Verdict::skipped},
                                      std::pair{&refuses<StatusCode::data_race>, Verdict::race},
                                      std::pair{&refuses<StatusCode::deadlock>, Verdict::error},
                                      std::pair{&refuses<StatusCode::out_of_memory>, Verdict::error}}) {
    VerifyOptions options = only(*rung);
    options.pivots.repivot = false;
    const RungReport report = verify_matrix("a", a, options).rungs[0];
    EXPECT_EQ(report.verdict, verdict) << report.message;
    EXPECT_EQ(report.message, report.status.to_string());
    EXPECT_NE(report.message.find("so it is"), std::string::npos) << report.message;
  }
}

/// [1 1; 1 1 + d], whose condition is about 4 / d.
CscMatrix<double> nearly_singular(double d) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = 2;
  a.col_ptr = {0, 2, 4};
  a.row_idx = {0, 1, 0, 1};
  a.values = {1, 1, 1, 1 + d};
  return a;
}

TEST(VerifyMatrix, OnlyASafeConditionNumberInTheSamePrecisionContradictsARungThatSaysSingular) {
  VerifyOptions options = only(refuses<StatusCode::numerically_singular>);
  options.rungs.push_back(&sparse_syncfree::reference);
  // 1000 eps is 2^-43: rcond is 2^-42 with the first and 2^-47 with the second.
  const MatrixReport safe = verify_matrix("a", nearly_singular(0x1p-40), options);
  ASSERT_EQ(safe.rungs[1].verdict, Verdict::ok) << summary(safe);
  EXPECT_EQ(safe.rungs[0].verdict, Verdict::failed);
  EXPECT_EQ(safe.rungs[0].message,
            "says singular (numerically_singular: so it is), but sparse_syncfree/00_reference factors it with rcond "
            "2.27e-13 after scaling");
  EXPECT_EQ(safe.rungs[0].checks.failures, std::vector{safe.rungs[0].message});
  EXPECT_TRUE(safe.rungs[1].checks.failures.empty());
  const MatrixReport unsafe = verify_matrix("a", nearly_singular(0x1p-45), options);
  ASSERT_EQ(unsafe.rungs[1].verdict, Verdict::ok) << summary(unsafe);
  EXPECT_EQ(unsafe.rungs[0].verdict, Verdict::singular) << summary(unsafe);
  Rung in_float = sparse_syncfree::reference;
  std::get<1>(in_float.make_backend) = nullptr;
  options.rungs[1] = &in_float;
  options.precision = Precision::both;
  const MatrixReport other = verify_matrix("a", nearly_singular(0.5), options);
  ASSERT_EQ(other.rungs[3].verdict, Verdict::ok) << summary(other);
  EXPECT_EQ(other.rungs[0].verdict, Verdict::singular) << summary(other);
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
