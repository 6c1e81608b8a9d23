#include "driver/analysis_sequence.h"

#include <cmath>
#include <map>
#include <random>
#include <utility>

#include "core/matrix/generate.h"
#include "model/panel_costs_cpu.h"
#include "preprocess/btf.h"
#include "symbolic/analyze_with_plan.h"
#include "symbolic/fill.h"
#include "testing/bad_pivots.h"
#include "testing/matrices.h"

namespace lulab {
namespace {

using testing::grid_matrix, testing::other_values, testing::random_matrix;

CscMatrix<double> one_of(std::uint64_t seed, std::int32_t n = 80) {
  return random_matrix(seed, {.n = n, .density = 0.04, .decades = 2, .full_rank = true});
}

/// An analysis, as Solver keeps it.
struct Sequence {
  AnalysisSequence sequence;
  Analysis analysis = {};
  bool is_known = false, kept = false, new_scales = false;
  double put_off_us = 0;

  explicit Sequence(const PreprocessOptions& options = {}, const Purpose& purpose = {}) : sequence(options, purpose) {}

  Status next(const CscView<double>& a) {
    auto result = sequence.next(a, is_known ? &analysis : nullptr);
    if (!result.ok()) return result.status();
    kept = !result->anew;
    new_scales = result->new_scales;
    if (result->anew) {
      put_off_us = result->anew->put_off_us;
      analysis = std::move(result->anew->analysis);
    }
    is_known = true;
    return {};
  }
};

void expect_equal(const Analysis& s, const Analysis& t) {
  EXPECT_EQ(s.plan.order, t.plan.order);
  EXPECT_EQ(s.plan.p, t.plan.p);
  EXPECT_EQ(s.plan.q, t.plan.q);
  EXPECT_EQ(s.plan.r, t.plan.r);
  EXPECT_EQ(s.plan.c, t.plan.c);
  EXPECT_EQ(s.filled, t.filled);
  EXPECT_EQ(s.a, t.a);
  EXPECT_EQ(s.a_to_filled, t.a_to_filled);
}

/// |diagonal| of P·R·A·C·Q in [½, 2], every other |entry| <= 2.
void expect_scaled(const CscMatrix<double>& a, const Plan& plan) {
  const auto b = apply(plan, a.view());
  std::int32_t diagonals = 0;
  for (std::int32_t j = 0; j < b.n_cols; ++j)
    for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) {
      EXPECT_TRUE(std::abs(b.values[k]) <= 2 + 1e-12);
      if (b.row_idx[k] != j) continue;
      ++diagonals;
      EXPECT_TRUE(std::abs(b.values[k]) >= 0.5 - 1e-12) << b.values[k];
    }
  EXPECT_EQ(diagonals, a.n_cols);
}

TEST(AnalysisSequence, NewValuesOfAKnownPatternKeepOrderAndFill) {
  int kept = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Sequence s;
    const auto a = one_of(seed);
    ASSERT_TRUE(s.next(a).ok());
    EXPECT_FALSE(s.kept);
    expect_equal(s.analysis, *analyze(a));
    const Analysis first = s.analysis;
    for (int step = 0; step < 4; ++step) {
      auto next = a;
      std::mt19937_64 random(100 * seed + step);
      for (double& v : next.values) v *= std::uniform_real_distribution<double>(0.95, 1.05)(random);
      ASSERT_TRUE(s.next(next).ok());
      expect_scaled(next, s.analysis.plan);
      kept += s.kept;
      if (!s.kept) break;
      EXPECT_EQ(s.analysis.plan.p, first.plan.p);
      EXPECT_EQ(s.analysis.plan.q, first.plan.q);
      EXPECT_EQ(s.analysis.filled, first.filled);
    }
  }
  EXPECT_GE(kept, 60);
}

// Rows that grow want other row scalings, which a matching finds; the rows are as good as before.
TEST(AnalysisSequence, TheSameRowsWithOtherScalingsKeepTheRest) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Sequence s;
    const auto a = one_of(seed);
    ASSERT_TRUE(s.next(a).ok());
    const Analysis first = s.analysis;
    auto next = a;
    for (std::size_t k = 0; k < next.values.size(); ++k) next.values[k] *= std::exp2(5 * (next.row_idx[k] % 7));
    ASSERT_TRUE(s.next(next).ok());
    EXPECT_TRUE(s.kept && s.new_scales);
    expect_scaled(next, s.analysis.plan);
    Analysis with_first_scales = s.analysis;
    with_first_scales.plan.r = first.plan.r;
    with_first_scales.plan.c = first.plan.c;
    expect_equal(with_first_scales, first);
  }
}

TEST(AnalysisSequence, OtherRowsAreAnalyzedAnew) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Sequence s;
    const auto a = one_of(seed);
    ASSERT_TRUE(s.next(a).ok());
    const Permutation rows = s.analysis.plan.p;
    auto next = a;
    std::mt19937_64 random(seed);
    for (double& v : next.values) v = std::exp2(std::uniform_real_distribution<double>(-20, 20)(random));
    ASSERT_TRUE(s.next(next).ok());
    EXPECT_FALSE(s.kept);
    expect_equal(s.analysis, *analyze(next));
  }
}

TEST(AnalysisSequence, PivotsChosenByValueAreNotThoseOfTheNextAnalysis) {
  Sequence s;
  const auto a = one_of(3);
  ASSERT_TRUE(s.next(a).ok());
  const Analysis first = s.analysis;
  Plan other = first.plan;
  std::swap(other.p[1], other.p[5]);
  s.analysis = *analyze_with_plan(a, other);
  ASSERT_TRUE(s.next(a).ok());
  EXPECT_FALSE(s.kept);
  expect_equal(s.analysis, first);
  ASSERT_TRUE(s.next(a).ok());
  EXPECT_TRUE(s.kept && !s.new_scales);
}

TEST(AnalysisSequence, WithoutRoundedScalingsItIsAFreshAnalysis) {
  for (const PreprocessOptions& options :
       {PreprocessOptions{.power_of_two = false}, {.scaling = false}, {.matching = false}, {.order = Order::colamd}}) {
    Sequence s(options);
    const auto a = one_of(4);
    ASSERT_TRUE(s.next(a).ok());
    const auto next = other_values(a, 9);
    ASSERT_TRUE(s.next(next).ok());
    if (options.order != Order::colamd) {
      expect_equal(s.analysis, *analyze(next, options));
    }
    EXPECT_EQ(s.analysis.plan.order, options.order == Order::colamd ? "colamd" : s.analysis.plan.order);
  }
}

TEST(AnalysisSequence, AnErrorLeavesTheEarlierAnalysisAsItWas) {
  Sequence s;
  const auto a = one_of(5);
  ASSERT_TRUE(s.next(a).ok());
  const Analysis first = s.analysis;
  auto bad = a;
  bad.values[3] = std::nan("");
  EXPECT_EQ(s.next(bad).code, StatusCode::invalid_argument);
  expect_equal(s.analysis, first);
  bad = a;
  for (std::int64_t k = a.col_ptr[7]; k < a.col_ptr[8]; ++k) bad.values[k] = 0;
  const Status singular = s.next(bad);
  EXPECT_EQ(singular.code, StatusCode::structurally_singular);
  EXPECT_EQ(singular.where.columns, std::vector<std::int32_t>({7}));
  expect_equal(s.analysis, first);
  ASSERT_TRUE(s.next(a).ok());
  expect_equal(s.analysis, first);
}

TEST(AnalysisSequence, AnAnalysisFromElsewhereIsNoOrderToKeep) {
  Sequence s;
  const auto a = one_of(6);
  ASSERT_TRUE(s.next(a).ok());
  s.sequence.forget();
  s.analysis = *analyze(a, {.order = Order::natural});
  ASSERT_TRUE(s.next(a).ok());
  EXPECT_FALSE(s.kept);
  expect_equal(s.analysis, *analyze(a));
}

/// A with entries set; 0 takes one away.
struct Entry {
  std::int32_t i, j;
  double value;
};
CscMatrix<double> with_entries(const CscMatrix<double>& a, const std::vector<Entry>& entries) {
  std::map<std::pair<std::int32_t, std::int32_t>, double> all;
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) all[{j, a.row_idx[k]}] = a.values[k];
  for (const Entry& e : entries) {
    all.erase({e.j, e.i});
    if (e.value != 0) all[{e.j, e.i}] = e.value;
  }
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  for (const auto& [place, value] : all) {
    columns.push_back(place.first);
    rows.push_back(place.second);
    values.push_back(value);
  }
  return from_triplets<double>(a.n_rows, a.n_cols, rows, columns, values);
}

/// That it is an analysis of A, under whatever plan.
void expect_analysis_of(const CscMatrix<double>& a, const Analysis& s) {
  EXPECT_EQ(s.a, a.pattern());
  EXPECT_EQ(s.filled, *fill_reference(permute(CscPatternView(a), s.plan.p, s.plan.q)));
  EXPECT_EQ(s.a_to_filled, *map_into_filled(a, s.plan, s.filled));
  expect_scaled(a, s.plan);
}

TEST(AnalysisSequence, AFewEntriesMoreOrLessKeepTheOrder) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    const auto a = testing::grid_matrix(20, seed);
    const auto more = with_entries(a, {{21, 45, 0.1}, {45, 21, -0.1}, {300, 280, 0.2}});
    const auto less = with_entries(a, {{41, 40, 0}, {40, 41, 0}, {61, 60, 0}});
    Sequence s;
    ASSERT_TRUE(s.next(a).ok());
    const Permutation q = s.analysis.plan.q;
    for (const auto* next : {&more, &a, &less, &more}) {
      ASSERT_TRUE(s.next(*next).ok());
      EXPECT_FALSE(s.kept);
      EXPECT_EQ(s.analysis.plan.q, q);
      expect_analysis_of(*next, s.analysis);
      ASSERT_TRUE(s.next(*next).ok());
      EXPECT_TRUE(s.kept && !s.new_scales);
      expect_analysis_of(*next, s.analysis);
    }
  }
}

TEST(AnalysisSequence, ManyChangesAskForAnotherOrder) {
  const auto a = testing::grid_matrix(20, 1);
  std::vector<Entry> many;
  std::mt19937_64 random(1);
  for (int k = 0; k < 400; ++k)
    many.push_back({static_cast<std::int32_t>(random() % 400), static_cast<std::int32_t>(random() % 400), 0.01});
  const auto next = with_entries(a, many);
  Sequence s;
  ASSERT_TRUE(s.next(a).ok());
  const Permutation q = s.analysis.plan.q;
  ASSERT_TRUE(s.next(next).ok());
  EXPECT_NE(s.analysis.plan.q, q);
  EXPECT_EQ(s.analysis.plan.q, analyze(next)->plan.q);
  expect_analysis_of(next, s.analysis);
}

TEST(AnalysisSequence, ManySmallChangesAskForAnotherOrderOnce) {
  auto a = testing::grid_matrix(12, 1);
  Sequence s;
  ASSERT_TRUE(s.next(a).ok());
  const Permutation q = s.analysis.plan.q;
  const std::int32_t all = static_cast<std::int32_t>(AnalysisSequence::max_changed * static_cast<double>(a.nnz())) + 1;
  int kept = 0;
  for (std::int32_t k = 0; k < 2 * all && s.analysis.plan.q == q; ++k) {
    // To and fro: the pattern stays near the first one, but the sum of changes grows.
    a = with_entries(a, {{0, 50, k % 2 ? 0.0 : 0.01}, {1, 60, k % 2 ? 0.01 : 0.0}});
    ASSERT_TRUE(s.next(a).ok());
    expect_analysis_of(a, s.analysis);
    ++kept;
  }
  EXPECT_GE(kept, all / 2 - 1);
  EXPECT_LE(kept, all + 1);
}

// The first vertex that is eliminated gets neighbours that have none.
TEST(AnalysisSequence, FillThatCostsMoreAsksForAnotherOrder) {
  const auto a = generate("arrow_last", {.n = 300, .seed = 2}).value();
  Sequence s({.order = Order::amd});
  ASSERT_TRUE(s.next(a).ok());
  const Analysis first = s.analysis;
  std::vector<Entry> entries;
  for (std::int32_t k = 1; k <= 20; ++k) {
    entries.push_back({first.plan.q[0], first.plan.q[k], 1e-3});
    entries.push_back({first.plan.q[k], first.plan.q[0], 1e-3});
  }
  const auto next = with_entries(a, entries);
  ASSERT_LE(next.nnz() - a.nnz(), AnalysisSequence::max_changed * static_cast<double>(a.nnz()));
  const auto kept = analyze_with_plan(next, first.plan);
  ASSERT_GT(cpu_costs(kept->filled, 1).predicted_us,
            AnalysisSequence::max_slowdown * cpu_costs(first.filled, 1).predicted_us);
  ASSERT_TRUE(s.next(next).ok());
  EXPECT_NE(s.analysis.plan.q, first.plan.q);
  EXPECT_LT(s.analysis.filled.nnz(), kept->filled.nnz());
  expect_analysis_of(next, s.analysis);
}

TEST(AnalysisSequence, AFirstAnswerPutsOtherOrdersOff) {
  const Purpose answer_first = {.first_answer_first = true};
  const auto a = grid_matrix(50, 1), more = with_entries(a, {{21, 45, 0.1}}), other = grid_matrix(50, 2);
  const Analysis quick = *analyze(a, {}, 1), full = *analyze(a);
  ASSERT_NE(quick.plan.q, full.plan.q);
  Sequence s({}, answer_first);
  EXPECT_EQ(s.sequence.first_steps(), nullptr);
  ASSERT_TRUE(s.next(a).ok());
  expect_equal(s.analysis, quick);
  EXPECT_GT(s.put_off_us, 0);
  EXPECT_FALSE(s.sequence.first_steps()->are_over);
  s.sequence.first_steps()->made = 7;
  ASSERT_TRUE(s.next(more).ok());
  EXPECT_EQ(s.analysis.plan.q, quick.plan.q);
  EXPECT_GT(s.put_off_us, 0) << "the order is still the first one";
  EXPECT_EQ(s.sequence.first_steps()->made, 7);
  auto ordered = s.sequence.order_for_all_steps(more);
  ASSERT_TRUE(ordered.ok());
  EXPECT_EQ(ordered->put_off_us, 0);
  expect_equal(ordered->analysis, *analyze(more));
  EXPECT_TRUE(s.sequence.first_steps()->are_over);
  s.analysis = std::move(ordered->analysis);
  ASSERT_TRUE(s.next(more).ok());
  EXPECT_TRUE(s.kept);
  ASSERT_TRUE(s.next(a).ok());
  EXPECT_EQ(s.analysis.plan.q, analyze(more)->plan.q);
  EXPECT_EQ(s.put_off_us, 0);
  EXPECT_TRUE(s.sequence.first_steps()->are_over) << "for a similar pattern, too";
  ASSERT_TRUE(s.next(grid_matrix(40, 2)).ok());
  EXPECT_GT(s.put_off_us, 0) << "another pattern begins with its first answer";
  EXPECT_FALSE(s.sequence.first_steps()->are_over);
  EXPECT_EQ(s.sequence.first_steps()->made, 0);
  for (const Purpose& at_once : {Purpose{}, {.expected_steps = 1, .first_answer_first = true}}) {
    Sequence all({}, at_once);
    ASSERT_TRUE(all.next(other).ok());
    EXPECT_EQ(all.put_off_us, 0);
    expect_equal(all.analysis, *analyze(other, {}, at_once.expected_steps));
  }
}

/// Each column has `band` entries.
CscMatrix<double> ring(std::int32_t n, std::int32_t band) {
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t k = 0; k < band; ++k) {
      rows.push_back((j + k) % n);
      columns.push_back(j);
      values.push_back(k == 0 ? 4 : 0.1);
    }
  return from_triplets<double>(n, n, rows, columns, values);
}

TEST(AnalysisSequence, WhatSeemsToFillInIsNotPutOff) {
  const struct {
    CscMatrix<double> a;
    bool is_put_off;
  } cases[] = {{grid_matrix(150, 1), false},
               {grid_matrix(140, 1), true},
               {generate("ladder", {.n = 22'500, .seed = 1}).value(), true},
               {ring(4000, 10), false},
               {ring(4000, 9), true},
               {ring(3990, 10), true}};
  for (const auto& [a, is_put_off] : cases) {
    SCOPED_TRACE(::testing::Message() << a.n_cols << " columns, " << a.nnz() << " entries");
    Sequence s({}, {.first_answer_first = true});
    ASSERT_TRUE(s.next(a).ok());
    EXPECT_EQ(s.put_off_us > 0, is_put_off);
  }
}

// Matched anew where the scalings of before do not serve.
TEST(AnalysisSequence, AnOrderForAllStepsIsThatOfTheValuesGiven) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto a = one_of(seed);
    auto next = a;
    std::mt19937_64 random(seed);
    for (double& v : next.values) v = std::exp2(std::uniform_real_distribution<double>(-20, 20)(random));
    Sequence s({}, {.first_answer_first = true});
    ASSERT_TRUE(s.next(a).ok());
    auto bad = next;
    bad.values[3] = std::nan("");
    EXPECT_EQ(s.sequence.order_for_all_steps(bad).status().code, StatusCode::invalid_argument);
    EXPECT_FALSE(s.sequence.first_steps()->are_over);
    ASSERT_TRUE(s.next(a).ok());
    EXPECT_TRUE(s.kept) << "the order is what it was";
    const auto ordered = s.sequence.order_for_all_steps(next);
    ASSERT_TRUE(ordered.ok());
    expect_equal(ordered->analysis, *analyze(next));
  }
}

/// Two grids that do not meet.
CscMatrix<double> two_blocks() {
  const auto block = testing::grid_matrix(10, 3);
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  for (const std::int32_t at : {0, 100})
    for (std::int32_t j = 0; j < 100; ++j)
      for (std::int64_t k = block.col_ptr[j]; k < block.col_ptr[j + 1]; ++k) {
        rows.push_back(at + block.row_idx[k]);
        columns.push_back(at + j);
        values.push_back(block.values[k]);
      }
  return from_triplets<double>(200, 200, rows, columns, values);
}

bool is_in_blocks(const CscMatrix<double>& a, const Plan& plan) {
  const auto b = permute(CscPatternView(a), plan.p, plan.q);
  return is_block_order(b, *strong_components(b), identity_permutation(a.n_cols));
}

TEST(AnalysisSequence, BlocksStayBlocks) {
  const auto a = two_blocks();
  const std::vector<Entry> there = {{105, 7, 0.1}}, back = {{7, 105, 0.1}}, both = {there[0], back[0]};
  const std::vector<Entry> inside = {{55, 53, 0.1}}, corner_cut_off = {{0, 1, 0}, {0, 10, 0}};
  for (const PreprocessOptions& options : {PreprocessOptions{.order = Order::amd, .blocks = true},
                                           {.order = Order::nd, .blocks = true},
                                           {.blocks = true}}) {
    int kept = 0;
    for (const auto& entries : {there, back, both, inside, corner_cut_off}) {
      Sequence s(options);
      ASSERT_TRUE(s.next(a).ok());
      const Analysis first = s.analysis;
      ASSERT_TRUE(is_in_blocks(a, first.plan));
      const auto next = with_entries(a, entries);
      ASSERT_TRUE(s.next(next).ok());
      EXPECT_TRUE(is_in_blocks(next, s.analysis.plan));
      expect_analysis_of(next, s.analysis);
      kept += s.analysis.plan.q == first.plan.q;
    }
    EXPECT_GE(kept, 2);  // inside, and one of there and back
    EXPECT_LE(kept, 4) << "the other one asks for another order of the blocks";
  }
}

TEST(AnalysisSequence, OtherRowsOfAFewColumnsKeepTheOrder) {
  const auto a = testing::grid_matrix(20, 4);
  auto next = a;  // rows 0 and 1 change places in columns 0 and 1
  for (std::int32_t j = 0; j < 2; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      if (a.row_idx[k] < 2) next.values[k] = a.row_idx[k] == j ? 1e-6 : 10;
  Sequence s;
  ASSERT_TRUE(s.next(a).ok());
  const Plan first = s.analysis.plan;
  ASSERT_TRUE(s.next(next).ok());
  EXPECT_FALSE(s.kept);
  EXPECT_NE(s.analysis.plan.p, first.p);
  EXPECT_EQ(s.analysis.plan.q, first.q);
  expect_analysis_of(next, s.analysis);
}

TEST(AnalysisSequence, EmptiedRowsAndColumnsAreSingular) {
  const auto a = testing::grid_matrix(20, 5);
  Sequence s;
  ASSERT_TRUE(s.next(a).ok());
  const Analysis first = s.analysis;
  std::vector<Entry> column, row;
  for (const std::int32_t k : {43, 62, 63, 64, 83}) {
    column.push_back({k, 63, 0});
    row.push_back({63, k, 0});
  }
  const Status no_column = s.next(with_entries(a, column));
  EXPECT_EQ(no_column.code, StatusCode::structurally_singular);
  EXPECT_EQ(no_column.where.columns, std::vector<std::int32_t>({63}));
  const Status no_row = s.next(with_entries(a, row));
  EXPECT_EQ(no_row.code, StatusCode::structurally_singular);
  EXPECT_EQ(no_row.where.rows, std::vector<std::int32_t>({63}));
  auto unsorted = with_entries(a, {{21, 45, 0.1}});
  std::swap(unsorted.row_idx[0], unsorted.row_idx[1]);
  EXPECT_EQ(s.next(unsorted).code, StatusCode::invalid_argument);
  expect_equal(s.analysis, first);
  ASSERT_TRUE(s.next(testing::grid_matrix(19, 5)).ok()) << "another size";
  expect_equal(s.analysis, *analyze(testing::grid_matrix(19, 5)));
}

}  // namespace
}  // namespace lulab
