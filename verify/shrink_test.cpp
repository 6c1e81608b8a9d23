#include "verify/shrink.h"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "core/backend.h"
#include "core/matrix/generate.h"
#include "core/matrix/matrix_market.h"
#include "sparse_leftlooking/rungs.h"
#include "testing/program.h"

namespace lulab {
namespace {

/// Wrong where some column of L has two entries below the diagonal or more: then the last of them has a wrong sign.
class WrongInTallColumns final : public Backend<double> {
 public:
  explicit WrongInTallColumns(const FactorOptions& options)
      : inner_(std::get<MakeBackend<double>>(sparse_leftlooking::reference.make_backend)(options)) {}

  Status prepare(const Analysis& analysis, std::int32_t systems) override { return inner_->prepare(analysis, systems); }
  Status upload(std::span<const double> values) override { return inner_->upload(values); }
  Status enqueue(Phase phase) override { return inner_->enqueue(phase); }
  Status collect(std::span<Status> statuses) override {
    LULAB_RETURN_IF_ERROR(inner_->collect(statuses));
    const auto f = inner_->download(0);
    if (says_singular && f.ok() && tall_column(*f) >= 0)
      statuses[0] = Status::error(StatusCode::numerically_singular, "so it is");
    return {};
  }
  Result<Factors<double>> download(std::int32_t system) override {
    auto f = inner_->download(system);
    if (!f.ok()) return f;
    if (const std::int64_t wrong = tall_column(*f); wrong >= 0) f->values[wrong] *= -1;
    return f;
  }

  static inline bool says_singular = false;

 private:
  static std::int64_t tall_column(const Factors<double>& f) {
    for (std::int32_t j = 0; j < f.filled.n; ++j)
      if (f.filled.col_ptr[j + 1] - f.filled.diag[j] > 2 && f.values[f.filled.col_ptr[j + 1] - 1] != 0)
        return f.filled.col_ptr[j + 1] - 1;
    return -1;
  }

  std::unique_ptr<Backend<double>> inner_;
};

Rung wrong_rung() {
  RungFacts facts = sparse_leftlooking::reference.facts;
  facts.id = "wrong in tall columns";
  return rung_in_double<WrongInTallColumns>(facts);
}

CscMatrix<double> random_60() { return generate("random", {.n = 60}).value(); }

void expect_shrinks(const MatrixReport& report, const CscMatrix<double>& a, const VerifyOptions& options,
                    const std::string& check, std::int32_t most_rows) {
  const auto failure = first_failure(report);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->check, check);
  const VerifyOptions alone = options_for(*failure, options);
  const Shrunk shrunk = shrink_failure(a, *failure, alone);
  EXPECT_TRUE(shrunk.finished);
  EXPECT_LE(shrunk.a.n_cols, most_rows) << shrunk.a.nnz();
  EXPECT_GE(shrunk.a.n_cols, 3) << "smaller ones are factored right";

  // What is written still fails, and in the same way.
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(write_matrix_market(folder.path("a.mtx"), shrunk.a).ok());
  const auto read = read_matrix_market(folder.path("a.mtx"));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_TRUE(shows(verify_matrix("a", read->matrix, alone), *failure));
}

TEST(Shrink, AWrongRungIsLeftWithAHandfulOfRows) {
  const Rung wrong = wrong_rung();
  const CscMatrix<double> a = random_60();
  VerifyOptions options;
  options.rungs = {&sparse_leftlooking::reference, &wrong};
  const MatrixReport report = verify_matrix("a", a, options);
  EXPECT_EQ(options_for(first_failure(report).value(), options).rungs, std::vector<const Rung*>{&wrong});
  expect_shrinks(report, a, options, "lu_residual", 6);
}

TEST(Shrink, ARungThatSaysSingularStaysBesideOneThatFactors) {
  WrongInTallColumns::says_singular = true;
  const Rung wrong = wrong_rung();
  const CscMatrix<double> a = random_60();
  VerifyOptions options;
  options.pivots.repivot = false;
  options.rungs = {&sparse_leftlooking::reference, &wrong};
  const MatrixReport report = verify_matrix("a", a, options);
  EXPECT_EQ(options_for(first_failure(report).value(), options).rungs, options.rungs);
  expect_shrinks(report, a, options, "singular", 6);
  WrongInTallColumns::says_singular = false;
}

TEST(Shrink, AnotherFailureOfTheRungIsNotThisOne) {
  RungReport rung;
  rung.id = "a";
  rung.scalar = "f64";
  rung.verdict = Verdict::failed;
  rung.checks.failures = {"omega = 3e+08, limit 30"};
  MatrixReport report;
  report.rungs = {rung};
  const Failure failure = first_failure(report).value();
  EXPECT_EQ(failure.check, "omega");
  EXPECT_TRUE(shows(report, failure));
  report.rungs[0].checks.failures = {"omega = 4e+08, limit 30", "growth"};
  EXPECT_TRUE(shows(report, failure));
  report.rungs[0].checks.failures = {"omega1 = 3e+08, limit 30"};
  EXPECT_FALSE(shows(report, failure));
  report.rungs[0] = rung;
  report.rungs[0].scalar = "f32";
  EXPECT_FALSE(shows(report, failure));
  report.rungs[0] = rung;
  report.rungs[0].verdict = Verdict::error;
  EXPECT_FALSE(shows(report, failure));
  report.rungs[0] = rung;
  report.rungs[0].status.code = StatusCode::device_error;
  EXPECT_FALSE(shows(report, failure));
  report.rungs[0].verdict = Verdict::ok;
  EXPECT_FALSE(first_failure(report));
  report.klu_blocks_equal = false;
  EXPECT_TRUE(shows(report, first_failure(report).value()));
}

TEST(Shrink, ValuesBecomeShortAndEntriesFew) {
  // Fails where an entry is above 0.5 and another below -0.25.
  const CscMatrix<double> a = random_60();
  const auto fails = [](const CscView<double>& m) {
    return std::ranges::any_of(m.values, [](double v) { return v > 0.5; }) &&
           std::ranges::any_of(m.values, [](double v) { return v < -0.25; });
  };
  ASSERT_TRUE(fails(a));
  const Shrunk shrunk = shrink(a, fails);
  EXPECT_TRUE(shrunk.finished);
  EXPECT_LE(shrunk.a.n_cols, 2);
  EXPECT_EQ(shrunk.a.nnz(), 2);
  for (const double v : shrunk.a.values) EXPECT_TRUE(v == 1 || v == -1) << v;
  EXPECT_LE(shrunk.tried, 400);
}

TEST(Shrink, EndsWhenTheTimeIsOver) {
  const CscMatrix<double> a = random_60();
  const Shrunk shrunk = shrink(a, [](const CscView<double>&) { return true; }, {.seconds = 0});
  EXPECT_FALSE(shrunk.finished);
  EXPECT_EQ(shrunk.tried, 0);
  EXPECT_EQ(shrunk.a, a);
}

TEST(Shrink, TheLastRowStays) {
  const Shrunk shrunk = shrink(random_60(), [](const CscView<double>&) { return true; });
  EXPECT_TRUE(shrunk.finished);
  EXPECT_EQ(shrunk.a.n_cols, 1);
  EXPECT_EQ(shrunk.a.nnz(), 0);
}

}  // namespace
}  // namespace lulab
