#include "driver/flat_lu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "core/factors.h"
#include "core/matrix/generate.h"
#include "driver/analyze.h"
#include "driver/solver.h"
#include "preprocess/btf.h"
#include "solve/refine.h"
#include "sparse_leftlooking/rungs.h"
#include "symbolic/analyze_with_plan.h"
#include "testing/dense_elimination.h"

namespace lulab {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double eps = std::numeric_limits<double>::epsilon();

std::vector<double> random_vector(std::int32_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> v(n);
  for (double& x : v) x = std::uniform_real_distribution<double>(-1, 1)(random);
  return v;
}

struct System {
  CscMatrix<double> a;
  Analysis analysis;
};

/// From one block to a block for each column. The plan mixes the blocks.
std::vector<System> systems() {
  std::vector<System> list;
  for (const std::int32_t n : {1, 2, 3, 30, 61})
    for (const double entries : {0.0, 0.7, 1.3, 2.0})
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        auto a = testing::random_dominant(n, entries / n, seed);
        auto analysis = analyze_with_plan(a, testing::random_plan(n, seed)).value();
        list.push_back({std::move(a), std::move(analysis)});
      }
  return list;
}

TEST(FlatLists, KeepTheBlocksAndWhatAHasOutsideOfThem) {
  std::int64_t outside_of_some = 0;
  for (const System& s : systems()) {
    const auto lists = make_flat_lists(s.analysis);
    ASSERT_TRUE(lists.has_value());
    const CscPattern b = permute(s.a, s.analysis.plan.p, s.analysis.plan.q);
    const auto components = strong_components(b).value();
    std::vector<std::int32_t> block(b.n_cols);
    for (std::int32_t c = 0; c < components.n_blocks(); ++c)
      for (std::int32_t k = components.block_ptr[c]; k < components.block_ptr[c + 1]; ++k) block[components.q[k]] = c;
    std::int64_t outside = 0, l = 0, u = 0;
    const FilledPattern& f = s.analysis.filled;
    for (std::int32_t j = 0; j < b.n_cols; ++j) {
      for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) outside += block[b.row_idx[k]] != block[j];
      for (std::int64_t k = f.col_ptr[j]; k < f.col_ptr[j + 1]; ++k)
        if (block[f.row_idx[k]] == block[j]) (f.row_idx[k] > j ? l : u) += f.row_idx[k] != j;
    }
    EXPECT_EQ(std::ssize(lists->lower), l);
    EXPECT_EQ(std::ssize(lists->divisions), l);
    EXPECT_EQ(std::ssize(lists->upper), u + outside);
    const std::set<std::int32_t> places(lists->to.begin(), lists->to.end());
    EXPECT_EQ(std::ssize(places), s.a.nnz());
    EXPECT_LT(*places.rbegin(), lists->n_values());
    outside_of_some += outside;
  }
  EXPECT_GT(outside_of_some, 100);
}

TEST(FlatLists, ATriangularMatrixIsNotEliminated) {
  CscMatrix<double> a = testing::random_dominant(40, 0.2, 5);
  CscMatrix<double> lower;
  lower.n_rows = lower.n_cols = a.n_cols;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      if (a.row_idx[k] < j) continue;
      lower.row_idx.push_back(a.row_idx[k]);
      lower.values.push_back(a.values[k]);
    }
    lower.col_ptr.push_back(lower.nnz());
  }
  const auto lists = make_flat_lists(analyze_with_plan(lower, testing::random_plan(40, 1)).value());
  ASSERT_TRUE(lists.has_value());
  EXPECT_TRUE(lists->updates.empty());
  EXPECT_TRUE(lists->divisions.empty());
  EXPECT_EQ(std::ssize(lists->upper), lower.nnz() - 40);
}

TEST(FlatLists, ThereAreNoneWhereTheyDoNotPay) {
  const auto dense = testing::random_dominant(60, 1, 1);  // 20 multiply-adds an entry
  EXPECT_FALSE(make_flat_lists(analyze_with_plan(dense, Plan::identity(60)).value()).has_value());
  const auto bidiagonal = [](std::int32_t n) {
    CscPattern a;
    a.n_rows = a.n_cols = n;
    for (std::int32_t j = 0; j < n; ++j) {
      a.row_idx.push_back(j);
      if (j + 1 < n) a.row_idx.push_back(j + 1);
      a.col_ptr.push_back(a.nnz());
    }
    return analyze_with_plan(a, Plan::identity(n)).value();
  };
  for (const std::int32_t n : {100'000, 100'001}) {
    const Analysis analysis = bidiagonal(n);
    EXPECT_EQ(make_flat_lists(analysis).has_value(), n == 100'000);
    EXPECT_EQ(flat_step_us(analysis.filled).has_value(), n == 100'000);
  }
}

TEST(FlatLists, AStepTakesLongerTheMoreThereIsToDo) {
  const auto step_us = [](const CscMatrix<double>& a) {
    return flat_step_us(analyze_with_plan(a, Plan::identity(a.n_cols)).value().filled).value();
  };
  const double small = step_us(testing::random_dominant(40, 0.0, 1)),
               larger = step_us(testing::random_dominant(80, 0.0, 1));
  EXPECT_DOUBLE_EQ(larger, 2 * small);
  EXPECT_GT(step_us(testing::random_dominant(80, 0.02, 1)), larger);
}

TEST(FlatLists, ThereAreNoneForScalingsWhoseProductIsNoNormalNumber) {
  const auto a = testing::random_dominant(5, 0.5, 1);
  for (const double scale : {0x1p-600, 0x1p600}) {
    Plan plan = Plan::identity(5);
    plan.r[3] = plan.c[3] = scale;
    EXPECT_FALSE(make_flat_lists(analyze_with_plan(a, plan).value()).has_value());
  }
}

TEST(FlatLu, SolvesAndEveryProcessorGivesTheSameNumbers) {
  for (const System& s : systems()) {
    const std::int32_t n = s.a.n_cols;
    const std::vector<double> b = random_vector(n, 7);
    std::vector<double> first;
    for (const FlatLu::Kernels& kernels : FlatLu::kernels()) {
      FlatLu lu(make_flat_lists(s.analysis).value(), kernels);
      for (const double factor : {-3.0, 1.0}) {  // nothing stays of earlier values
        auto values = s.a.values;
        for (double& v : values) v *= factor;
        lu.upload(values);
        lu.eliminate();
        ASSERT_TRUE(lu.is_stable(10));
        std::vector<double> x(n, nan), in_place = b;
        lu.solve(b, x);
        CscView<double> a = s.a;
        a.values = values;
        // tol = 4 n eps: Higham 2002, theorem 9.4, with |L||U| <= 3|A| for a dominant matrix
        EXPECT_LE(componentwise_backward_error(a, x, b), 4 * (n + 2) * eps);
        lu.solve(in_place, in_place);
        EXPECT_EQ(in_place, x);
        const std::int32_t columns = 19;  // twice eight and some
        const std::vector<double> many = random_vector(columns * n, 8);
        std::vector<double> of_many(many.size(), nan), alone(n);
        lu.solve(many, of_many);
        for (std::int32_t c = 0; c < columns; ++c) {
          lu.solve(std::span(many).subspan(n * c, n), alone);
          EXPECT_TRUE(std::ranges::equal(std::span(of_many).subspan(n * c, n), alone)) << "right-hand side " << c;
        }
        if (first.empty() && factor == 1) first = x;
        if (factor == 1) {
          EXPECT_EQ(x, first);
        }
      }
    }
  }
}

TEST(FlatLu, WhatCannotBeSolvedIsNotStable) {
  const std::int32_t n = 30;
  const auto a = testing::random_dominant(n, 0.1, 2);
  const auto analysis = analyze_with_plan(a, testing::random_plan(n, 2)).value();
  for (const FlatLu::Kernels& kernels : FlatLu::kernels()) {
    FlatLu lu(make_flat_lists(analysis).value(), kernels);
    const auto is_stable = [&](const std::vector<double>& values, double max_growth) {
      lu.upload(values);
      lu.eliminate();
      return lu.is_stable(max_growth);
    };
    EXPECT_TRUE(is_stable(a.values, 2));
    EXPECT_FALSE(is_stable(a.values, 1e-3));
    EXPECT_FALSE(is_stable(std::vector<double>(a.values.size(), 0.0), 1e8));
    for (const double bad : {nan, infinity, -infinity, 0.0})
      for (const std::size_t k : {std::size_t(0), a.values.size() / 2, a.values.size() - 1}) {
        auto values = a.values;
        if (bad == 0)  // a whole column
          for (std::int64_t e = a.col_ptr[k * n / a.values.size()]; e < a.col_ptr[k * n / a.values.size() + 1]; ++e)
            values[e] = 0;
        else
          values[k] = bad;
        EXPECT_FALSE(is_stable(values, infinity)) << bad << " " << k;
      }
    EXPECT_TRUE(is_stable(a.values, 2));
  }
}

TEST(SolverWithFlatLists, StepsByThemAndHandsOutTheFactorsOfTheRung) {
  const auto a = generate("logic_rent", {.n = 300, .seed = 3}).value();
  const std::vector<double> b = random_vector(a.n_cols, 4);
  const auto analysis = analyze(a).value();
  auto flat = FlatLu::create(analysis);
  ASSERT_TRUE(flat.has_value());
  Solver<double> solver(sparse_leftlooking::threads, {.prepare_at_once = true});
  Solver<double> by_rung(sparse_leftlooking::threads, {.factor = {.threads = 2}});
  for (Solver<double>* s : {&solver, &by_rung}) {
    ASSERT_TRUE(s->analyze(a, analysis).ok());
    ASSERT_TRUE(s->factor(a.values).ok());
  }
  ASSERT_EQ(solver.statistics().repivots, 0);
  for (int step = 0; step < 4; ++step) {
    auto now = a.values;
    for (std::size_t k = 0; k < now.size(); ++k) now[k] *= 1 + 1e-2 * static_cast<double>((k + 31 * step) % 7);
    flat->upload(now);
    flat->eliminate();
    ASSERT_TRUE(flat->is_stable(1e8));
    std::vector<double> want(a.n_cols, nan), x(a.n_cols, nan), of_rung(a.n_cols, nan);
    flat->solve(b, want);
    ASSERT_TRUE(solver.step(now, b, x).ok());
    ASSERT_TRUE(by_rung.step(now, b, of_rung).ok());
    EXPECT_EQ(x, want);
    std::vector<double> pivots(a.n_cols, nan), of_lists(a.n_cols, nan), pivots_of_rung(a.n_cols, nan);
    ASSERT_TRUE(solver.pivots(pivots).ok());
    flat->pivots(of_lists);
    EXPECT_EQ(pivots, of_lists);
    ASSERT_TRUE(by_rung.pivots(pivots_of_rung).ok());
    for (std::int32_t j = 0; j < a.n_cols; ++j)  // sums in another order
      EXPECT_LE(std::abs(pivots[j] - pivots_of_rung[j]), 1e-10 * std::abs(pivots_of_rung[j])) << j;
    if (step % 2 == 0) {
      EXPECT_EQ(solver.factors().values, by_rung.factors().values);
      EXPECT_EQ(solver.statistics().pivot_growth, by_rung.statistics().pivot_growth);
      std::fill(x.begin(), x.end(), nan);
      ASSERT_TRUE(solver.solve(b, x).ok());
      EXPECT_EQ(x, want) << "the factors were asked for";
    }
    const auto transposed = solver.solve_transposed(b, x);
    const auto expected = by_rung.solve_transposed(b, of_rung);
    ASSERT_TRUE(transposed.ok() && expected.ok());
    EXPECT_EQ(x, of_rung);
  }
}

TEST(SolverWithFlatLists, MakesThemAfterADozenSteps) {
  const auto a = generate("logic_rent", {.n = 300, .seed = 3}).value();
  const std::vector<double> b = random_vector(a.n_cols, 4);
  const auto analysis = analyze(a).value();
  Solver<double> solver(sparse_leftlooking::threads), by_rung(sparse_leftlooking::threads, {.factor = {.threads = 1}}),
      by_lists(sparse_leftlooking::threads, {.prepare_at_once = true});
  for (int round = 0; round < 2; ++round) {  // of each analysis
    for (Solver<double>* s : {&solver, &by_lists}) {
      ASSERT_TRUE(s->analyze(a, analysis).ok());
      ASSERT_TRUE(s->factor(a.values).ok());
    }
    auto now = a.values;
    std::vector<double> x(a.n_cols, nan), of_rung(a.n_cols, nan), of_lists(a.n_cols, nan);
    for (int step = 1; step <= 13; ++step) {
      for (std::size_t k = 0; k < now.size(); ++k)
        now[k] = a.values[k] * (1 + 1e-2 * static_cast<double>((k + 31 * step) % 7));
      ASSERT_TRUE(by_rung.analyze(a, analysis).ok());  // whose first answer it is
      ASSERT_TRUE(by_rung.factor(a.values).ok());
      ASSERT_TRUE(by_rung.step(now, b, of_rung).ok());
      ASSERT_TRUE(by_lists.step(now, b, of_lists).ok());
      ASSERT_TRUE(solver.step(now, b, x).ok());
      EXPECT_TRUE(of_lists != of_rung);
      EXPECT_TRUE(x == (step < 12 ? of_rung : of_lists)) << "step " << step;
    }
  }
}

TEST(SolverWithFlatLists, RefinesByThem) {
  const auto a = generate("logic_rent", {.n = 300, .seed = 3}).value();
  const std::vector<double> b = random_vector(a.n_cols, 4);
  Solver<double> solver(sparse_leftlooking::threads, {.backward_error = 0, .prepare_at_once = true});
  ASSERT_TRUE(solver.analyze(a).ok());
  ASSERT_TRUE(solver.factor(a.values).ok());
  std::vector<double> x(a.n_cols, nan), unrefined(a.n_cols, nan);
  const auto refined = solver.step(a.values, b, x);
  ASSERT_TRUE(refined.ok());
  EXPECT_GE(refined->iterations, 1);
  EXPECT_EQ(refined->omega, backward_errors(a, x, b).sum());
  auto flat = FlatLu::create(solver.analysis());
  ASSERT_TRUE(flat.has_value());
  flat->upload(a.values);
  flat->eliminate();
  flat->solve(b, unrefined);
  EXPECT_LT(refined->omega, backward_errors(a, unrefined, b).sum());
}

}  // namespace
}  // namespace lulab
