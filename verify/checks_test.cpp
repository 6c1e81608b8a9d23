#include "verify/checks.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/matrix/generate.h"
#include "preprocess/preprocess.h"
#include "testing/dense_elimination.h"
#include "verify/klu_oracle.h"
#include "verify/verify.h"

namespace lulab {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// ||PRACQ - LU||_1 / (n ||RAC||_1 eps) on dense matrices, entry by entry.
double lu_residual_by_definition(const CscMatrix<double>& a, const Factors<double>& f) {
  const std::int32_t n = a.n_cols;
  std::vector<double> l(n * n, 0.0), u(n * n, 0.0), b(n * n, 0.0);
  const CscMatrix<double> ls = extract_l(f), us = extract_u(f);
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int64_t k = ls.col_ptr[j]; k < ls.col_ptr[j + 1]; ++k) l[ls.row_idx[k] + j * n] = ls.values[k];
    for (std::int64_t k = us.col_ptr[j]; k < us.col_ptr[j + 1]; ++k) u[us.row_idx[k] + j * n] = us.values[k];
  }
  std::vector<double> full(n * n, 0.0);
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) full[a.row_idx[k] + j * n] = a.values[k];
  double norm = 0, error = 0;
  for (std::int32_t j = 0; j < n; ++j) {
    double norm_j = 0, error_j = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      const std::int32_t pi = f.plan.p[i], qj = f.plan.q[j];
      double e = f.plan.r[pi] * full[pi + qj * n] * f.plan.c[qj];
      norm_j += std::abs(e);
      for (std::int32_t k = 0; k < n; ++k) e -= l[i + k * n] * u[k + j * n];
      error_j += std::abs(e);
    }
    norm = std::max(norm, norm_j);
    error = std::max(error, error_j);
  }
  return error / (n * norm * 0x1p-53);
}

TEST(LuResidual, EqualsItsDefinition) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto a = testing::random_dominant(25, 0.15, seed);
    auto f = testing::eliminate_densely<double>(a, testing::random_plan(25, seed));
    f.values[f.filled.diag[11]] *= 1 + 1e-6;  // large enough that rounding of the product does not matter
    const double expected = lu_residual_by_definition(a, f);
    const LuResidual got = lu_residual(a.view(), f, seed);
    EXPECT_EQ(got.method, "exact product");
    EXPECT_GE(expected, 1e4);
    EXPECT_NEAR(got.value / expected, 1, 1e-8);
  }
}

TEST(LuResidual, ProbingIsNoMilderThanTheProductAndPassesGoodFactors) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto a = testing::random_dominant(40, 0.1, seed);
    auto f = testing::eliminate_densely<double>(a, testing::random_plan(40, seed));
    const LuResidual good = lu_residual(a.view(), f, seed, 0);
    EXPECT_EQ(good.method, "10 probing vectors");
    EXPECT_LE(good.value, 30);
    f.values[f.filled.diag[11]] *= 1 + 1e-6;
    EXPECT_GE(lu_residual(a.view(), f, seed, 0).value,
              (1 - 1e-6) * lu_residual(a.view(), f, seed).value);  // both round
  }
}

TEST(LuResidual, NanInAnyValueIsNan) {
  const auto a = testing::random_dominant(12, 0.2, 1);
  const auto f = testing::eliminate_densely<double>(a, Plan::identity(12));
  for (std::size_t k = 0; k < f.values.size(); ++k) {
    auto broken = f;
    broken.values[k] = nan;
    for (double max_flops : {1e9, 0.0}) EXPECT_FALSE(lu_residual(a.view(), broken, 1, max_flops).value <= 1e300) << k;
  }
}

TEST(Judge, PassesRightFactorsInBothPrecisions) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto a = testing::random_dominant(60, 0.06, seed);
    const Plan plan = testing::random_plan(60, seed);
    EXPECT_EQ(judge(a, testing::eliminate_densely<double>(a, plan)).failures, std::vector<std::string>{});
    EXPECT_EQ(judge(a, testing::eliminate_densely<float>(a, plan)).failures, std::vector<std::string>{});
  }
}

TEST(Judge, EmptyAndOneByOne) {
  EXPECT_EQ(judge(CscMatrix<double>{}, Factors<double>{}).failures, std::vector<std::string>{});
  const auto a = testing::random_dominant(1, 0, 1);
  EXPECT_EQ(judge(a, testing::eliminate_densely<double>(a, Plan::identity(1))).failures, std::vector<std::string>{});
}

/// Without the entries of L and U for which `leave_out` is true; the diagonal stays.
template <class LeaveOut>
Factors<double> without(const Factors<double>& f, LeaveOut&& leave_out) {
  Factors<double> kept;
  kept.plan = f.plan;
  kept.filled.n = f.filled.n;
  for (std::int32_t j = 0; j < f.filled.n; ++j) {
    for (std::int64_t k = f.filled.col_ptr[j]; k < f.filled.col_ptr[j + 1]; ++k) {
      if (k == f.filled.diag[j])
        kept.filled.diag.push_back(kept.filled.nnz());
      else if (leave_out(k))
        continue;
      kept.filled.row_idx.push_back(f.filled.row_idx[k]);
      kept.values.push_back(f.values[k]);
    }
    kept.filled.col_ptr.push_back(kept.filled.nnz());
  }
  return kept;
}

CscMatrix<double> cancelling() {  // [1 1 1; 1 2 1; 1 1 3]: U(1,2) and L(2,1) cancel to zero
  CscMatrix<double> a;
  a.n_rows = a.n_cols = 3;
  a.col_ptr = {0, 3, 6, 9};
  a.row_idx = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  a.values = {1, 1, 1, 1, 2, 1, 1, 1, 3};
  return a;
}

TEST(Judge, ForeignFactorsMayLeaveOutZeros) {
  const auto a = cancelling();
  const auto all = testing::eliminate_densely<double>(a, Plan::identity(3));
  const auto f = without(all, [&](std::int64_t k) { return all.values[k] == 0; });
  ASSERT_EQ(f.filled.nnz(), 7);
  EXPECT_FALSE(judge(a, f).failures.empty()) << "a rung stores every entry";
  const Checks foreign = judge(a, f, 1, Zeros::left_out);
  EXPECT_EQ(foreign.failures, std::vector<std::string>{});
  EXPECT_EQ(foreign.pattern_contains_a, false);
  EXPECT_FALSE(foreign.note.empty());
}

TEST(Judge, AMissingEntryThatIsNotZeroIsNeeded) {
  const auto a = testing::random_dominant(12, 0.3, 1);
  const auto all = testing::eliminate_densely<double>(a, testing::random_plan(12, 1));
  for (std::int64_t missing = 0; missing < all.filled.nnz(); ++missing) {
    if (std::ranges::count(all.filled.diag, missing) > 0 || all.values[missing] == 0) continue;
    const auto f = without(all, [&](std::int64_t k) { return k == missing; });
    EXPECT_FALSE(judge(a, f, 1, Zeros::left_out).failures.empty()) << missing;
  }
  // 1e-18 is small beside the norm of A, which is all that lu_residual sees
  auto small = cancelling();
  small.values = {1, 0, 0, 1e-18, 1, 0, 0, 0, 1};
  const auto complete = testing::eliminate_densely<double>(small, Plan::identity(3));
  EXPECT_EQ(judge(small, complete).failures, std::vector<std::string>{});
  const auto f = without(complete, [](std::int64_t) { return true; });
  const auto failures = judge(small, f, 1, Zeros::left_out).failures;
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_TRUE(failures[0].starts_with("pattern_contains_a")) << failures[0];
}

TEST(Triangles, ForeignFactorsMustBeUnitLowerAndUpper) {
  const auto f = testing::eliminate_densely<double>(testing::random_dominant(20, 0.2, 1), Plan::identity(20));
  const CscMatrix<double> l = extract_l(f), u = extract_u(f);
  EXPECT_TRUE(check_unit_lower(l.view()).ok());
  EXPECT_TRUE(check_upper(u.view()).ok());
  EXPECT_FALSE(check_unit_lower(u.view()).ok());
  EXPECT_FALSE(check_upper(l.view()).ok());
  for (double v : {0.5, nan}) {
    CscMatrix<double> not_unit = l;
    not_unit.values[not_unit.col_ptr[3]] = v;
    EXPECT_FALSE(check_unit_lower(not_unit.view()).ok());
  }
}

TEST(KluOracle, AgreesWithGilbertPeierlsOnEveryFamily) {
  for (const GeneratorFamily& family : generator_families()) {
    if (family.singular) continue;
    GenerateOptions options;
    options.n = 150;
    const CscMatrix<double> a = family.make(options);
    const auto analyses = SharedAnalyses::create(a);
    ASSERT_TRUE(analyses.ok()) << family.name << ": " << analyses.status().to_string();
    const Analysis& analysis = analyses->planned();
    const auto whole = compare_with_klu(a, analysis.plan, analysis.filled);
    ASSERT_TRUE(whole.ok()) << whole.status().to_string();
    EXPECT_TRUE(whole->equal) << family.name << ": " << whole->first_difference;
    const auto blocks = compare_blocks_with_klu(a);
    ASSERT_TRUE(blocks.ok()) << blocks.status().to_string();
    EXPECT_TRUE(blocks->equal) << family.name << ": " << blocks->first_difference;
  }
}

TEST(KluOracle, SeesAManyBlockMatrixBlockByBlock) {
  // Block upper triangular by construction: A(i,j) = 0 where block(i) > block(j), then permuted at random.
  CscMatrix<double> a;
  a.n_rows = a.n_cols = 60;
  for (std::int32_t j = 0; j < 60; ++j) {
    for (std::int32_t i = 0; i < 60; ++i) {
      const bool same = i / 6 == j / 6, above = i / 6 < j / 6;
      if (!(i == j || (same && (i + 1) % 6 == j % 6) || (same && (i * 7 + j) % 3 == 0) ||
            (above && (i * 5 + j * 3) % 17 == 0)))
        continue;
      a.row_idx.push_back(i);
      a.values.push_back(1 + i + j);
    }
    a.col_ptr.push_back(a.nnz());
  }
  Plan shuffle = testing::random_plan(60, 5);
  const CscPattern shuffled = permute(a.pattern(), shuffle.p, testing::random_plan(60, 6).p);
  const auto blocks = compare_blocks_with_klu(shuffled);
  ASSERT_TRUE(blocks.ok()) << blocks.status().to_string();
  EXPECT_TRUE(blocks->equal) << blocks->first_difference;
}

TEST(KluOracle, NamesTheFirstDifference) {
  const auto a = testing::random_dominant(30, 0.1, 2);
  const Plan plan = testing::random_plan(30, 2);
  auto filled = testing::eliminate_densely<double>(a, plan).filled;
  ASSERT_TRUE(compare_with_klu(a, plan, filled)->equal);
  const std::int64_t last = filled.nnz() - 1;  // entry (29,29); the one before it is U(i,29)
  const std::int32_t i = filled.row_idx[last - 1];
  filled.row_idx.erase(filled.row_idx.begin() + last - 1);
  filled.col_ptr.back() = last;
  filled.diag.back() = last - 1;
  const auto compared = compare_with_klu(a, plan, filled);
  ASSERT_TRUE(compared.ok());
  EXPECT_EQ(compared->first_difference, "column 30: U(" + std::to_string(i + 1) + ",30) is in KLU's factors only");
}

TEST(KluOracle, EmptyMatrixIsEqual) {
  EXPECT_TRUE(compare_with_klu(CscMatrix<double>{}, Plan{}, FilledPattern{})->equal);
  EXPECT_TRUE(compare_blocks_with_klu(CscMatrix<double>{})->equal);
}

TEST(ReportJson, IsValidAndHasTheAgreedKeysWhateverTheNumbers) {
  RungReport rung;
  rung.id = "x";
  rung.verdict = Verdict::failed;
  rung.checks.lu_residual = nan;
  rung.checks.growth = std::numeric_limits<double>::infinity();
  rung.checks.finite = false;
  MatrixReport report;
  report.matrix = "a \"quoted\" name";
  report.n = 3;
  report.rungs = {rung};
  const auto json = nlohmann::json::parse(to_json(report).dump());
  for (const char* key : {"matrix", "n", "nnz", "rungs"}) EXPECT_TRUE(json.contains(key)) << key;
  const auto& r = json["rungs"][0];
  for (const char* key : {"id", "status", "device", "checks", "time_ms"}) EXPECT_TRUE(r.contains(key)) << key;
  for (const char* key : {"finite", "pattern_contains_a", "klu_pattern_equal", "lu_residual", "solve_residual",
                          "backward_error", "growth"})
    EXPECT_TRUE(r["checks"].contains(key)) << key;
  EXPECT_EQ(r["status"], "failed");
  EXPECT_EQ(r["checks"]["lu_residual"], "nan");
  EXPECT_EQ(r["checks"]["growth"], "inf");
  EXPECT_TRUE(r["checks"]["solve_residual"].is_null());
  EXPECT_EQ(r["checks"]["finite"], false);
}

TEST(Report, FailsWhenARungOrTheBlocksDo) {
  MatrixReport report;
  report.rungs.resize(2);
  EXPECT_FALSE(report.failed());
  report.klu_blocks_equal = true;
  EXPECT_FALSE(report.failed());
  report.klu_blocks_equal = false;
  EXPECT_TRUE(report.failed());
  report.klu_blocks_equal.reset();
  report.rungs[1].verdict = Verdict::failed;
  EXPECT_TRUE(report.failed());
}

}  // namespace
}  // namespace lulab
