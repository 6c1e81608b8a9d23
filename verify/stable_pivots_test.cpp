#include "verify/stable_pivots.h"

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "verify/verify.h"

namespace lulab {
namespace {

const Rung& rung(std::string_view id) { return **find_rung(all_rungs(), id); }

/// A tiny diagonal and no matching to move it: fixed pivots grow without bound.
CscMatrix<double> with_tiny_diagonal(std::int32_t n) {
  GenerateOptions options;
  options.n = n;
  auto a = *generate("random_dominant", options);
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      if (a.row_idx[k] == j) a.values[k] = 1e-14;
  return a;
}

constexpr PreprocessOptions no_matching = {.order = Order::natural, .matching = false, .scaling = false};

TEST(StablePivots, RungsShareOneAnalysisOfThePlanAndOneOfPivotsByValue) {
  const auto a = with_tiny_diagonal(60);
  auto analyses = SharedAnalyses::create(a, no_matching);
  ASSERT_TRUE(analyses.ok()) << analyses.status().to_string();
  const auto fixed = factor_with_stable_pivots<double>(rung("sparse_hybrid/00_reference"), *analyses);
  const auto other = factor_with_stable_pivots<float>(rung("sparse_leftlooking/07_threads"), *analyses);
  const auto threshold = factor_with_stable_pivots<double>(rung("sparse_leftlooking/00_reference"), *analyses);
  ASSERT_TRUE(fixed.status.ok()) << fixed.status.to_string();
  ASSERT_TRUE(other.status.ok()) << other.status.to_string();
  ASSERT_TRUE(threshold.status.ok()) << threshold.status.to_string();
  EXPECT_EQ(fixed.repivot_cause.code, StatusCode::needs_repivot);
  EXPECT_EQ(other.repivot_cause.code, StatusCode::needs_repivot);
  EXPECT_TRUE(threshold.repivot_cause.ok());
  EXPECT_EQ(threshold.analysis, &analyses->planned());
  EXPECT_NE(fixed.analysis, &analyses->planned());
  EXPECT_EQ(fixed.analysis, other.analysis);
  EXPECT_EQ(*analyses->pivoted(ByValue::column), fixed.analysis);
  EXPECT_EQ(judge(a.view(), fixed.factors).failures, std::vector<std::string>{});
  EXPECT_EQ(judge(a.view(), other.factors).failures, std::vector<std::string>{});
}

TEST(StablePivots, WithoutRepivotingTheRungAsksForIt) {
  const auto a = with_tiny_diagonal(60);
  auto analyses = SharedAnalyses::create(a, no_matching);
  ASSERT_TRUE(analyses.ok());
  const auto factored = factor_with_stable_pivots<double>(rung("sparse_hybrid/00_reference"), *analyses,
                                                          {.factor = {}, .repivot = false});
  EXPECT_EQ(factored.status.code, StatusCode::needs_repivot);
  VerifyOptions options;
  options.preprocess = no_matching;
  options.rungs = {&rung("sparse_hybrid/00_reference")};
  options.pivots.repivot = false;
  EXPECT_EQ(verify_matrix("a", a, options).rungs[0].verdict, Verdict::needs_repivot);
  options.pivots.repivot = true;
  const MatrixReport report = verify_matrix("a", a, options);
  EXPECT_EQ(report.rungs[0].verdict, Verdict::ok) << report.rungs[0].message;
  EXPECT_EQ(report.rungs[0].repivots, 1);
  EXPECT_TRUE(report.rungs[0].message.starts_with("re-pivoted, because ")) << report.rungs[0].message;
}

/// Pivots by column grow to 2^(n-1) here, those by row do not grow.
TEST(StablePivots, AreByRowWhereThoseByColumnGrow) {
  const auto a = *generate("wilkinson_growth", {.n = 30});
  auto analyses = SharedAnalyses::create(a);
  ASSERT_TRUE(analyses.ok()) << analyses.status().to_string();
  const auto factored = factor_with_stable_pivots<double>(rung("sparse_hybrid/00_reference"), *analyses);
  ASSERT_TRUE(factored.status.ok()) << factored.status.to_string();
  EXPECT_EQ(factored.analysis, *analyses->pivoted(ByValue::row));
  EXPECT_EQ(factored.repivot_cause.code, StatusCode::needs_repivot);
  EXPECT_EQ(judge(a.view(), factored.factors).failures, std::vector<std::string>{});
}

TEST(StablePivots, ASingularMatrixHasNone) {
  GenerateOptions options;
  options.n = 50;
  const auto a = generate("numerically_singular", options);
  ASSERT_TRUE(a.ok());
  auto analyses = SharedAnalyses::create(*a);
  ASSERT_TRUE(analyses.ok());
  for (int call = 0; call < 2; ++call)
    EXPECT_EQ(analyses->pivoted(ByValue::column).status().code, StatusCode::numerically_singular);
  EXPECT_EQ(factor_with_stable_pivots<double>(rung("sparse_hybrid/00_reference"), *analyses).status.code,
            StatusCode::numerically_singular);
}

}  // namespace
}  // namespace lulab
