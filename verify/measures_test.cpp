// What checks.h says and measures, on matrices so small that the answer is known.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/factorizer.h"
#include "core/matrix/generate.h"
#include "core/rung.h"
#include "core/uninitialized_vector.h"
#include "symbolic/analyze_with_plan.h"
#include "testing/dense_elimination.h"
#include "verify/checks.h"
#include "verify/judge.h"
#include "verify/rebuild.h"

namespace lulab::measures {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double eps = 0x1p-53;

/// Columns of a dense matrix; zeros are not stored.
CscMatrix<double> from_columns(std::int32_t rows, const std::vector<std::vector<double>>& columns) {
  CscMatrix<double> a;
  a.n_rows = rows;
  a.n_cols = static_cast<std::int32_t>(columns.size());
  for (const auto& column : columns) {
    for (std::int32_t i = 0; i < rows; ++i)
      if (column[i] != 0) a.row_idx.push_back(i), a.values.push_back(column[i]);
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

/// [4 0 2; 1 8 0; 0 2 5] and its factors, whose L + U lacks only (3,1): rows 1 2 | 1 2 3 with fill | ...
struct Small {
  CscMatrix<double> a = from_columns(3, {{4, 1, 0}, {0, 8, 2}, {2, 0, 5}});
  Factors<double> f = testing::eliminate_densely<double>(a, Plan::identity(3));
};

TEST(StructureChecks, SayWhatIsWrongAndWhere) {
  const Small right;
  ASSERT_EQ(right.f.filled.row_idx, (UninitializedVector<std::int32_t>{0, 1, 1, 2, 0, 1, 2}));
  struct Case {
    std::function<void(Small&)> spoil;
    std::string sizes, permutations, scalings, structure, finite;
  };
  const std::vector<Case> cases = {
      {[](Small&) {}, "", "", "", "", ""},
      {[](Small& s) { s.a.n_rows = 4; }, "A is 4 x 3, not square", "", "", "", ""},
      {[](Small& s) { s.f.filled.n = 2; }, "A is 3 x 3, but the factors are 2 x 2", "", "", "", ""},
      {[](Small& s) { s.f.plan.r.pop_back(); }, "p, q, r, c have 3, 3, 2, 3 entries instead of 3", "", "", "", ""},
      {[](Small& s) { s.f.plan.c.pop_back(); }, "p, q, r, c have 3, 3, 3, 2 entries instead of 3", "", "", "", ""},
      {[](Small& s) { s.f.plan.p.push_back(3); }, "p, q, r, c have 4, 3, 3, 3 entries instead of 3", "p", "", "", ""},
      {[](Small& s) { s.f.filled.diag.push_back(7); }, "col_ptr and diag have 4 and 4 entries instead of 4 and 3", "",
       "", "", ""},
      {[](Small& s) { s.f.filled.col_ptr.push_back(7); }, "col_ptr and diag have 5 and 3 entries instead of 4 and 3",
       "", "", "", ""},
      {[](Small& s) { s.f.values.push_back(1); }, "8 values for 7 entries of L + U", "", "", "", ""},
      {[](Small& s) { s.f.filled.col_ptr[0] = 1; }, "col_ptr runs from 1 to 7 instead of 0 to 7", "", "", "-", ""},
      {[](Small& s) { s.f.filled.col_ptr[3] = 6; }, "col_ptr runs from 0 to 6 instead of 0 to 7", "", "", "-", ""},
      {[](Small& s) { s.f.filled.col_ptr[1] = 5; }, "col_ptr decreases at column 2", "", "", "-", ""},
      {[](Small& s) { s.f.filled.diag[0] = 2; }, "diag[0] = 2 is outside col_ptr[0] = 0 and its end 2", "", "", "-",
       ""},
      {[](Small& s) {
         s.f.filled.col_ptr = {0, 2, 2, 7};
       },
       "diag[1] = 2 is outside col_ptr[1] = 2 and its end 2", "", "", "-", ""},
      {[](Small& s) { s.f.filled.diag[1] = 1; }, "diag[1] = 1 is outside col_ptr[1] = 2 and its end 4", "", "", "-",
       ""},
      {[](Small& s) { s.f.filled.diag[1] = 4; }, "diag[1] = 4 is outside col_ptr[1] = 2 and its end 4", "", "", "-",
       ""},
      {[](Small& s) { s.f.filled.row_idx[3] = -1; }, "row 0 in column 2 of L + U is not in 1..3", "", "", "-", ""},
      {[](Small& s) { s.f.filled.row_idx[3] = 3; }, "row 4 in column 2 of L + U is not in 1..3", "", "", "-", ""},
      {[](Small& s) { s.f.plan.p[1] = -1; }, "", "p(2) = 0 is not in 1..3", "", "", ""},
      {[](Small& s) { s.f.plan.q[2] = 3; }, "", "q(3) = 4 is not in 1..3", "", "", ""},
      {[](Small& s) { s.f.plan.q[2] = 0; }, "", "q(1) = q(3) = 1: not a permutation", "", "", ""},
      {[](Small& s) { s.f.plan.r[1] = 0; }, "", "", "r(2) = 0 is not a positive finite scaling", "", ""},
      {[](Small& s) { s.f.plan.r[0] = nan; }, "", "", "r(1) = not a number is not a positive finite scaling", "", ""},
      {[](Small& s) { s.f.plan.c[2] = infinity; }, "", "", "c(3) = infinite is not a positive finite scaling", "", ""},
      {[](Small& s) { s.f.filled.row_idx[5] = 0; }, "", "", "", "column 3 of L + U is not sorted: row 1 before row 1",
       ""},
      {[](Small& s) { std::swap(s.f.filled.row_idx[0], s.f.filled.row_idx[1]); }, "", "", "",
       "column 1 of L + U is not sorted: row 2 before row 1", ""},
      {[](Small& s) { s.f.filled.diag[1] = 3; }, "", "", "", "the diagonal position of column 2 is that of row 3", ""},
      {[](Small& s) { s.f.values[1] = nan; }, "", "", "", "", "L(2,1) is not a number"},
      {[](Small& s) { s.f.values[2] = nan; }, "", "", "", "", "U(2,2) is not a number"},
      {[](Small& s) { s.f.values[6] = infinity; }, "", "", "", "", "U(3,3) is infinite"},
      {[](Small& s) { s.f.values[0] = nan; }, "", "", "", "", "U(1,1) is not a number"},
  };
  for (const Case& c : cases) {
    Small s;
    c.spoil(s);
    SCOPED_TRACE(c.sizes + c.permutations + c.scalings + c.structure + c.finite);
    EXPECT_EQ(check_sizes(s.a.view(), s.f).message, c.sizes);
    if (c.permutations != "p") {
      EXPECT_EQ(check_permutations(s.f.plan).message, c.permutations);
    }
    EXPECT_EQ(check_scalings(s.f.plan).message, c.scalings);
    if (c.sizes.empty()) {
      EXPECT_EQ(check_structure(s.f.filled).message, c.structure);
      EXPECT_EQ(check_finite(s.f).message, c.finite);
    }
  }
}

TEST(StructureChecks, AMissingEntryIsNamedInBothNumberings) {
  Small s;
  s.f.plan.p = {1, 2, 0};  // row 1 of A is row 3 of P·A
  s.f.plan.q = {2, 0, 1};
  EXPECT_EQ(check_pattern_contains_a(s.a.pattern(), s.f.plan, s.f.filled).message,
            "A(1,3), which is (3,1) of P·A·Q, is missing in L + U");
}

TEST(StructureChecks, LeftOutEntriesMustBeWhatTheProductGives) {
  // L·U of the factors without (3,1) gives 0 there, up to 30 (products + 1) eps |L||U|; here nothing is multiplied.
  Small s;
  EXPECT_EQ(check_missing_are_zero(s.a.view(), s.f).message, "");
  s.a = from_columns(3, {{4, 1, 1e-300}, {0, 8, 2}, {2, 0, 5}});
  EXPECT_EQ(check_missing_are_zero(s.a.view(), s.f).message,
            "A(3,1), which is (3,1) of P·A·Q, is missing in L + U, whose product is 0 there instead of 1e-300");
  // [1 1 1; 1 2 1; 1 1 3]: (2,3) and (3,2) are left out, L(2,1) U(1,3) = 1 is the entry; size 1, one product.
  CscMatrix<double> a = from_columns(3, {{1, 1, 1}, {1, 2, 1}, {1, 1, 3}});
  Factors<double> f;
  f.plan = Plan::identity(3);
  f.filled.n = 3;
  f.filled.col_ptr = {0, 3, 5, 7};
  f.filled.diag = {0, 4, 6};
  f.filled.row_idx = {0, 1, 2, 0, 1, 0, 2};
  f.values = {1, 1, 1, 1, 1, 1, 2};
  EXPECT_EQ(check_missing_are_zero(a.view(), f).message, "");
  a.values[7] = 1 + 59 * eps;  // A(2,3); rounded to 1 + 60 eps
  EXPECT_EQ(check_missing_are_zero(a.view(), f).message, "");
  a.values[7] = 1 + 64 * eps;
  EXPECT_FALSE(check_missing_are_zero(a.view(), f).ok());
  a.values[7] = 1 - 64 * eps;
  EXPECT_FALSE(check_missing_are_zero(a.view(), f).ok());
  a.values[7] = nan;
  EXPECT_FALSE(check_missing_are_zero(a.view(), f).ok());
  // The same with another value in each of the two, one of them negative.
  a = from_columns(3, {{1, 1, -3}, {1, 2, -3}, {5, 5, -12}});
  f.values = {1, 1, -3, 1, 1, 5, 3};
  EXPECT_EQ(check_missing_are_zero(a.view(), f).message, "");
}

TEST(StructureChecks, WhatStandsAboveADiagonalIsNotInL) {
  // [2 6 .; . 3 .; . 9 4] with (1,3) of A left out of L + U: U(2,3) = 1 times U(1,2) = 6 must not stand for it.
  CscMatrix<double> a = from_columns(3, {{2, 0, 0}, {6, 3, 9}, {6, 1, 7}});
  Factors<double> f;
  f.plan = Plan::identity(3);
  f.filled.n = 3;
  f.filled.col_ptr = {0, 1, 4, 6};
  f.filled.diag = {0, 2, 5};
  f.filled.row_idx = {0, 0, 1, 2, 1, 2};
  f.values = {2, 6, 3, 3, 1, 4};
  EXPECT_EQ(check_missing_are_zero(a.view(), f).message,
            "A(1,3), which is (1,3) of P·A·Q, is missing in L + U, whose product is 0 there instead of 6");
}

TEST(StructureChecks, OfTrianglesSayWhere) {
  const auto l = from_columns(3, {{1, 2, 0}, {0, 1, 4}, {0, 0, 1}}),
             u = from_columns(3, {{5, 0, 0}, {1, 6, 0}, {2, 0, 7}});
  EXPECT_EQ(check_unit_lower(l.view()).message, "");
  EXPECT_EQ(check_upper(u.view()).message, "");
  EXPECT_EQ(check_unit_lower(from_columns(2, {{1, 0}, {0, 1}, {0, 0}}).view()).message, "L is 2 x 3, not square");
  EXPECT_EQ(check_upper(from_columns(2, {{1, 0}}).view()).message, "U is 2 x 1, not square");
  EXPECT_EQ(check_unit_lower(u.view()).message, "L(1,1) = 5 instead of 1");
  EXPECT_EQ(check_unit_lower(from_columns(2, {{1, 0}, {3, 1}}).view()).message, "L(1,2) = 3 is above the diagonal");
  EXPECT_EQ(check_upper(from_columns(2, {{1, 3}, {0, 1}}).view()).message, "U(2,1) = 3 is below the diagonal");
  EXPECT_EQ(check_unit_lower(from_columns(2, {{1, 0}, {0, 0}}).view()).message,
            "L(2,2) is stored 0 times instead of once");
  EXPECT_EQ(check_upper(from_columns(2, {{0, 0}, {1, 1}}).view()).message, "U(1,1) is stored 0 times instead of once");
  auto twice = from_columns(2, {{1, 0}, {0, 1}});
  twice.row_idx = {0, 1, 1};
  twice.values = {1, 1, 1};
  twice.col_ptr = {0, 1, 3};
  EXPECT_EQ(check_unit_lower(twice.view()).message, "L(2,2) is stored 2 times instead of once");
  EXPECT_EQ(check_upper(twice.view()).message, "U(2,2) is stored 2 times instead of once");
}

TEST(Growth, IsItsDefinition) {
  // L = [1; 2 1; 0 -3 1], U = [4 -1 2; . 5 0; . . -6]
  Factors<double> f;
  f.plan = Plan::identity(3);
  f.filled.n = 3;
  f.filled.col_ptr = {0, 2, 5, 7};
  f.filled.diag = {0, 3, 6};
  f.filled.row_idx = {0, 1, 0, 1, 2, 0, 2};
  f.values = {4, 2, -1, 5, -3, 2, -6};
  const auto a = from_columns(3, {{4, 8, 0}, {-1, 3, -15}, {2, 4, -6}});
  EXPECT_EQ(pivot_growth(a.view(), f), 6.0 / 15);
  f.plan.r = {1, 1, 0.5};
  f.plan.c = {1, 2, 1};
  EXPECT_EQ(pivot_growth(a.view(), f), 6.0 / 15);
  f.plan.r = {2, 1, 0.25};  // 8 8 . | -4 6 -7.5 | 4 4 -1.5
  EXPECT_EQ(pivot_growth(a.view(), f), 6.0 / 8);
  f.values[4] = 100;  // of L
  EXPECT_EQ(pivot_growth(a.view(), f), 6.0 / 8);
  f.values[4] = -3;
  // |L||U|: 4 8 0 | 1 2+5 15 | 2 4 6
  EXPECT_EQ(factor_norm(f), 23);
  f.values[3] = nan;
  EXPECT_TRUE(std::isnan(pivot_growth(a.view(), f)));
  EXPECT_TRUE(std::isnan(factor_norm(f)));
  EXPECT_EQ(pivot_growth(CscMatrix<double>{}.view(), Factors<double>{}), 1);
  Factors<double> one;  // values below 1
  one.plan = Plan::identity(1);
  one.filled.n = 1;
  one.filled.col_ptr = {0, 1};
  one.filled.diag = {0};
  one.filled.row_idx = {0};
  one.values = {0.25};
  EXPECT_EQ(pivot_growth(from_columns(1, {{0.5}}).view(), one), 0.5);
  EXPECT_EQ(lu_residual(from_columns(1, {{0}}).view(), one, 1).value, infinity);  // of A = 0
  EXPECT_EQ(stable_growth(10), 1000);
  EXPECT_EQ(stable_growth(200), 2000);
}

TEST(Growth, IsReportedAsEachProgramDefinesIt) {
  const auto b = from_columns(3, {{4, -8, 0}, {-1, 3, 2}, {2, 4, -6}}),
             u = from_columns(3, {{16, 0, 0}, {-1, 6, 0}, {3, 3, 2}});
  ReciprocalGrowth g = reciprocal_growth(b, u, {});  // 8/16, 3/6, 6/3
  EXPECT_EQ(g.lapack, 8.0 / 16);
  EXPECT_EQ(g.superlu, 0.5);
  EXPECT_EQ(g.klu, 0.5);
  // Row 2 of columns 1 and 3 is outside of KLU's blocks: 4/16, 3/6, 6/3.
  CscPattern outside;
  outside.n_rows = outside.n_cols = 3;
  outside.col_ptr = {0, 1, 1, 2};
  outside.row_idx = {1, 1};
  g = reciprocal_growth(b, u, outside);
  EXPECT_EQ(g.klu, 0.25);
  EXPECT_EQ(g.superlu, 0.5);
  // Row 2 of column 1 and row 1 of column 2 are outside: 0.5/1, 0.125/0.5; then 0.5/4.
  const auto below_one = from_columns(2, {{0.5, 0.25}, {4, 0.125}});
  outside.n_rows = outside.n_cols = 2;
  outside.col_ptr = {0, 1, 2};
  outside.row_idx = {1, 0};
  EXPECT_EQ(reciprocal_growth(below_one, from_columns(2, {{1, 0}, {0, 0.5}}), outside).klu, 0.25);
  EXPECT_EQ(reciprocal_growth(below_one, from_columns(2, {{4, 0}, {0, 0.5}}), outside).klu, 0.125);
  outside.n_rows = outside.n_cols = 1;
  outside.col_ptr = {0, 1};
  outside.row_idx = {0};
  g = reciprocal_growth(from_columns(1, {{0.25}}), from_columns(1, {{0.5}}), outside);
  EXPECT_EQ(g.klu, 0);
  EXPECT_EQ(g.lapack, 0.5);
  EXPECT_EQ(g.superlu, 0.5);
  // Above 1 KLU says 1, SuperLU more; an empty column counts as 1 for SuperLU.
  const auto tiny = from_columns(2, {{0.5, 0}, {0, 0.25}});
  g = reciprocal_growth(from_columns(2, {{2, 0}, {0, 2}}), tiny, {});
  EXPECT_EQ(g.klu, 1);
  EXPECT_EQ(g.superlu, 4);
  EXPECT_EQ(g.lapack, 4);
  g = reciprocal_growth(from_columns(2, {{2, 0}, {0, 0.5}}), from_columns(2, {{1, 0}, {0, 0}}), {});
  EXPECT_EQ(g.superlu, 1);
  EXPECT_EQ(g.klu, 1);
  EXPECT_EQ(g.lapack, 2);
  g = reciprocal_growth(from_columns(1, {{2}}), from_columns(1, {{0}}), {});
  EXPECT_EQ(g.lapack, 1);
  EXPECT_EQ(g.superlu, 1);
  g = reciprocal_growth({}, {}, {});
  EXPECT_EQ(g.lapack, 1);
  EXPECT_EQ(g.superlu, 1);
  EXPECT_EQ(g.klu, 1);
  for (const bool first : {true, false}) {  // a NaN in the first column or in the last
    g = reciprocal_growth(from_columns(2, {{first ? nan : 1, 0}, {0, first ? 1 : nan}}),
                          from_columns(2, {{1, 0}, {0, 1}}), {});
    EXPECT_TRUE(std::isnan(g.lapack) && std::isnan(g.superlu) && std::isnan(g.klu)) << first;
    g = reciprocal_growth(from_columns(2, {{1, 0}, {0, 1}}),
                          from_columns(2, {{first ? nan : 1, 0}, {0, first ? 1 : nan}}), {});
    EXPECT_TRUE(std::isnan(g.lapack) && std::isnan(g.superlu) && std::isnan(g.klu)) << first;
  }
}

// Where entries tie the diagonal is the pivot: each step doubles the last column: U(n,n) = 2^(n-1); A holds only 1,
// -1 or 0 (Wilkinson 1965).
TEST(Growth, IsTwoToTheNMinusOneForWilkinsonsMatrix) {
  constexpr std::int32_t n = 20;
  const CscMatrix<double> a = generate("wilkinson_growth", {.n = n}).value();
  const Analysis analysis = analyze_with_plan(a, Plan::identity(n)).value();
  for (const char* id : {"sparse_leftlooking/00_reference", "sparse_leftlooking/90_klu", "dense/00_reference"}) {
    const auto factorizer = (*find_rung(all_rungs(), id))->make<double>({});
    ASSERT_TRUE(factorizer->analyze(analysis).ok() && factorizer->upload(a.values).ok() && factorizer->factor().ok());
    const Factors<double> f = factorizer->download().value();
    EXPECT_EQ(pivot_growth(a.view(), f), 0x1p19) << id;
    const ReciprocalGrowth g = reciprocal_growth(rebuild::pracq(f.plan, a), extract_u(f), {});
    EXPECT_EQ(g.lapack, 0x1p-19) << id;
    EXPECT_EQ(g.superlu, 0x1p-19) << id;
    EXPECT_EQ(g.klu, 0x1p-19) << id;
  }
}

/// A = 3 I, scaled by r = 2 and c = 5, with U = 30 (1 + error) I: whatever b is, x = b / (3 (1 + error)).
struct Diagonal {
  static constexpr std::int32_t n = 4;
  CscMatrix<double> a = from_columns(n, {{3, 0, 0, 0}, {0, 3, 0, 0}, {0, 0, 3, 0}, {0, 0, 0, 3}});
  Factors<double> f;

  explicit Diagonal(double error) {
    f.plan = Plan::identity(n);
    f.plan.r.assign(n, 2);
    f.plan.c.assign(n, 5);
    f.filled.n = n;
    f.filled.col_ptr = {0, 1, 2, 3, 4};
    f.filled.diag = f.filled.col_ptr;
    f.filled.diag.pop_back();
    f.filled.row_idx = {0, 1, 2, 3};
    f.values.assign(n, 30 * (1 + error));
  }
};

TEST(SolveResiduals, BeforeRefinementAreThoseOfTheFactors) {
  const double error = 0x1p-10;
  const Diagonal d(error);
  const SolveResiduals s = solve_residuals(d.a.view(), d.f, 1);
  // r = b error / (1 + error); |L||U| x / c = 30 (1 + error) b / (15 (1 + error)) = 2 b, and R r = 2 r.
  EXPECT_NEAR(s.scaled_residual * eps, error / (1 + error), 1e-12);
  EXPECT_NEAR(s.first_backward_error, error / (2 + error), 1e-12);
  EXPECT_GE(s.refinement_steps, 2);
  EXPECT_LE(s.solve_residual, 1);
  EXPECT_LE(s.hpl_residual, 1);
  EXPECT_LE(s.omega, 2 * eps);
  EXPECT_LE(s.forward_error, 2 * eps);
  EXPECT_EQ(lu_residual(d.a.view(), d.f, 1).value, error / (4 * eps));  // 30 error / (n 30 eps)
  EXPECT_EQ(lu_residual(d.a.view(), d.f, 1, 0).value, error / eps);     // probes are not divided by n
}

TEST(SolveResiduals, OfFactorsThatRefinementCannotMendAreTheirDefinitions) {
  const Diagonal d(-2);  // x = -b / 3, r = 2 b; each step makes it worse
  const SolveResiduals s = solve_residuals(d.a.view(), d.f, 1);
  EXPECT_NEAR(s.scaled_residual * eps, 2, 1e-12);
  EXPECT_NEAR(s.first_backward_error, 1, 1e-12);
  EXPECT_NEAR(s.solve_residual * eps, 2, 1e-12);              // |r| = 2 |b|, |A||x| = |b|
  EXPECT_NEAR(s.hpl_residual * eps * Diagonal::n, 1, 1e-12);  // 2 |b| / (|b| + |b|)
  EXPECT_NEAR(s.backward_error, 1, 1e-12);
  EXPECT_NEAR(s.omega, 1, 1e-12);
  EXPECT_NEAR(s.omega1, 1, 1e-12);
  EXPECT_EQ(s.omega2, 0);
  EXPECT_NEAR(s.forward_error, 2, 1e-12);
}

TEST(SolveResiduals, EachIsHeldAgainstItsLimit) {
  const Diagonal d(-2);
  const Checks checks = judge<double>(d.a.view(), d.f);
  ASSERT_EQ(checks.failures.size(), 6u);
  const char* const names[] = {"lu_residual",  "scaled_residual", "solve_residual",
                               "hpl_residual", "omega",           "forward_error"};
  for (std::size_t k = 0; k < 6; ++k) EXPECT_TRUE(checks.failures[k].starts_with(std::string(names[k]) + " = "));
  EXPECT_EQ(checks.lu_residual_method, "exact product");
  EXPECT_NEAR(*checks.backward_error, 1, 1e-12);
  EXPECT_EQ(checks.refinement_steps, 0);
  EXPECT_EQ(judge<double>(d.a.view(), Diagonal(0x1p-10).f).refinement_steps,
            solve_residuals(d.a.view(), Diagonal(0x1p-10).f, 1).refinement_steps);
}

// Two wrong entries of a row of U whose errors cancel where both columns are taken with the same sign.
TEST(SolveResiduals, ProbesHaveBothSigns) {
  Diagonal d(0);
  d.a = from_columns(4, {{3, 0, 0, 0}, {1, 3, 0, 0}, {1, 0, 3, 0}, {0, 0, 0, 3}});
  d.f.filled.col_ptr = {0, 1, 3, 5, 6};
  d.f.filled.row_idx = {0, 0, 1, 0, 2, 3};
  d.f.filled.diag = {0, 2, 4, 5};
  for (const double e : {0.5, -0.5}) {
    d.f.values = {30, 10 + e, 30, 10 - e, 30, 30};
    EXPECT_GE(lu_residual(d.a.view(), d.f, 1, 0).value, 1e10);
    d.f.values = {30 + e, 10 - e, 30, 10, 30, 30};
    EXPECT_GE(lu_residual(d.a.view(), d.f, 1, 0).value, 1e10);
    d.f.values = {30, 10, 30, 10 + e, 30, 30};  // and one alone is never multiplied by zero
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      EXPECT_NEAR(lu_residual(d.a.view(), d.f, seed, 0).value, 0.5 / (4 * 40 * eps), 1e-9 / eps);
  }
}

TEST(SolveResiduals, NothingIsWrongWithNothing) {
  const SolveResiduals s = solve_residuals(CscMatrix<double>{}.view(), Factors<double>{}, 1);
  EXPECT_EQ(s.scaled_residual, 0);
  EXPECT_EQ(s.solve_residual, 0);
  EXPECT_EQ(s.hpl_residual, 0);
  EXPECT_EQ(s.forward_error, 0);
  EXPECT_EQ(lu_residual(CscMatrix<double>{}.view(), Factors<double>{}, 1).value, 0);
}

}  // namespace
}  // namespace lulab::measures
