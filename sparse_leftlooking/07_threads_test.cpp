#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <thread>

#include "core/factors.h"
#include "sparse_leftlooking/07_faster_of_two.h"
#include "sparse_leftlooking/07_group_arithmetic.h"
#include "sparse_leftlooking/07_group_schedule.h"
#include "sparse_leftlooking/07_thread_team.h"
#include "sparse_leftlooking/rungs.h"
#include "testing/analysis.h"
#include "testing/rungs.h"
#include "testing/schedules.h"

namespace lulab::sparse_leftlooking {
namespace {

using testing::from_rows;
using testing::nearby_values;
using testing::random_plan;
using testing::random_unsymmetric;

template <class T>
class Threads : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Threads, Scalars);

/// a[i][j] != 0 for which has(i, j) or i == j, values in (-1, 1), the diagonal large enough for fixed pivots.
template <class T>
CscMatrix<T> matrix_of(std::int32_t n, std::uint64_t seed, const std::function<bool(std::int32_t, std::int32_t)>& has) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  CscMatrix<T> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i) {
      if (i != j && !has(i, j)) continue;
      a.row_idx.push_back(i);
      a.values.push_back(static_cast<T>(i == j ? 4 + unit(random) : unit(random)));
    }
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

/// Unsymmetric grid with nested fill: large enough that threads pay.
template <class T>
CscMatrix<T> grid(std::int32_t side, std::uint64_t seed) {
  return matrix_of<T>(side * side, seed, [&](std::int32_t i, std::int32_t j) {
    const std::int32_t distance = std::abs(i % side - j % side) + std::abs(i / side - j / side);
    return distance == 1 || (distance == 2 && i % 3 == 0 && j % 2 == 0);
  });
}

template <class T>
Analysis analysis_of(const CscMatrix<T>& a, Plan plan) {
  auto analysis = analyze_with_plan(a.pattern(), std::move(plan));
  EXPECT_TRUE(analysis.ok()) << analysis.status().to_string();
  return std::move(*analysis);
}

/// The reference with the plan's diagonal as pivots, whatever their size.
template <class T>
Result<Factors<T>> expected(const Analysis& analysis, std::span<const T> values) {
  return testing::factor_with<T>(reference, analysis, values, {.pivot_tol = 0});
}

// Equal numbers; 0 and -0 are equal, as padded lanes may change the sign of a zero.
template <class T>
void expect_equal(const Result<Factors<T>>& got, const Result<Factors<T>>& want) {
  ASSERT_TRUE(want.ok()) << want.status().to_string();
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(got->plan.p, want->plan.p);
  EXPECT_EQ(got->plan.q, want->plan.q);
  ASSERT_EQ(got->filled, want->filled);
  EXPECT_EQ(got->values, want->values);
}

template <class T>
void expect_equals_reference(const CscMatrix<T>& a, const Plan& plan, const std::vector<int>& thread_counts) {
  const Analysis analysis = analysis_of(a, plan);
  const auto want = expected<T>(analysis, a.values);
  for (const int count : thread_counts) {
    SCOPED_TRACE(count);
    expect_equal(testing::factor_with<T>(threads, analysis, a.values, {.threads = count}), want);
  }
}

const std::vector<int> one_to_eight = {1, 2, 3, 4, 5, 6, 7, 8};

TYPED_TEST(Threads, EqualsTheReferenceOnRandomUnsymmetricMatrices) {
  for (const std::int32_t n : {2, 9, 40, 130})
    for (const double density : {0.01, 0.1, 0.6})
      expect_equals_reference(random_unsymmetric<TypeParam>(n, density, 4.0 + n * density, n), random_plan(n, true, n),
                              {1, 4});
}

TYPED_TEST(Threads, EqualsTheReferenceForEachNumberOfThreads) {
  const auto a = grid<TypeParam>(48, 3);
  expect_equals_reference(a, Plan::identity(a.n_cols), one_to_eight);
  const auto b = random_unsymmetric<TypeParam>(330, 0.05, 40.0, 4);
  expect_equals_reference(b, random_plan(330, true, 4), one_to_eight);
}

// The last column needs every other one, the first row reaches every column.
TYPED_TEST(Threads, EqualsTheReferenceWithOneGiantColumn) {
  const std::int32_t n = 1500;
  const auto a = matrix_of<TypeParam>(n, 5, [&](std::int32_t i, std::int32_t j) {
    return j == n - 1 || (i > n - 60 && j > n - 60) || (i > n - 30 && (i + j) % 7 == 0);
  });
  expect_equals_reference(a, Plan::identity(n), {1, 2, 8});
}

TYPED_TEST(Threads, EqualsTheReferenceOnAChain) {
  const std::int32_t n = 700;
  const auto a = matrix_of<TypeParam>(n, 6, [&](std::int32_t i, std::int32_t j) {
    return i - j == 1 || j - i == 1 || (i < j && j - i < 60) || (i > j && i - j < 50 && i % 2 == 0);
  });
  expect_equals_reference(a, Plan::identity(n), {1, 2, 8});
}

TYPED_TEST(Threads, EmptyAndOneByOne) {
  for (const int count : {0, 1, 8}) {
    const auto none = testing::factor_with<TypeParam>(threads, analysis_of(CscMatrix<TypeParam>{}, Plan::identity(0)),
                                                      std::vector<TypeParam>{}, {.threads = count});
    ASSERT_TRUE(none.ok()) << none.status().to_string();
    EXPECT_EQ(none->filled.nnz(), 0);
    expect_equals_reference(from_rows<TypeParam>({{-3}}), Plan::identity(1), {count});
  }
}

TYPED_TEST(Threads, RefactorAfterOtherValuesEqualsFreshFactor) {
  const auto a = grid<TypeParam>(24, 7);
  const Analysis analysis = analysis_of(a, Plan::identity(a.n_cols));
  for (const int count : {0, 1, 5}) {  // 0: groups and threads after some factorizations
    const auto f = threads.make<TypeParam>({.threads = count});
    ASSERT_TRUE(f->analyze(analysis).ok());
    ASSERT_TRUE(f->upload(a.values).ok());
    ASSERT_TRUE(f->factor().ok());
    for (std::uint64_t round = 0; round < 40; ++round) {
      const auto values = nearby_values(a, round);
      ASSERT_TRUE(f->upload(values).ok());
      ASSERT_TRUE(f->refactor().ok());
      expect_equal(f->download(), expected<TypeParam>(analysis, values));
    }
    // A second analysis: nothing of the first one stays.
    const auto b = grid<TypeParam>(27, 8);
    const Analysis other = analysis_of(b, Plan::identity(b.n_cols));
    ASSERT_TRUE(f->analyze(other).ok());
    ASSERT_TRUE(f->upload(b.values).ok());
    ASSERT_TRUE(f->factor().ok());
    expect_equal(f->download(), expected<TypeParam>(other, b.values));
  }
}

TYPED_TEST(Threads, NamesTheFirstFailedColumnAndRecovers) {
  const auto a = grid<TypeParam>(24, 9);
  const std::int32_t n = a.n_cols;
  const Analysis analysis = analysis_of(a, random_plan(n, true, 9));
  const auto want = expected<TypeParam>(analysis, a.values);
  for (const int count : {0, 1, 2, 8}) {
    const auto f = threads.make<TypeParam>({.threads = count});
    ASSERT_TRUE(f->analyze(analysis).ok());
    for (const std::int32_t first : {0, n / 3, n - 1}) {
      SCOPED_TRACE(first);
      auto values = a.values;
      for (std::int32_t k = first; k < n; k += n / 5) {  // zero columns: several threads may find one
        const std::int32_t j = analysis.plan.q[k];
        std::fill(values.begin() + a.col_ptr[j], values.begin() + a.col_ptr[j + 1], TypeParam(0));
      }
      ASSERT_TRUE(f->upload(a.values).ok());
      ASSERT_TRUE(f->factor().ok());
      ASSERT_TRUE(f->upload(values).ok());
      const Status s = f->refactor();
      EXPECT_EQ(s.code, StatusCode::needs_repivot);
      EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{analysis.plan.q[first]});
      EXPECT_EQ(f->download().status().code, StatusCode::needs_repivot);
      ASSERT_TRUE(f->upload(a.values).ok());
      ASSERT_TRUE(f->factor().ok());
      expect_equal(f->download(), want);
    }
  }
}

// Also where columns are eliminated together: what comes of dividing by zero must not reach the columns before.
TYPED_TEST(Threads, NamesTheZeroColumnWhereverItStandsInItsGroup) {
  const std::int32_t n = 20;
  const auto a = random_unsymmetric<TypeParam>(n, 1.0, 40.0, 12);
  const Analysis analysis = analysis_of(a, Plan::identity(n));
  const auto f = threads.make<TypeParam>({.threads = 1});
  ASSERT_TRUE(f->analyze(analysis).ok());
  for (std::int32_t k = 0; k < n; ++k) {
    SCOPED_TRACE(k);
    auto values = a.values;
    std::fill(values.begin() + a.col_ptr[k], values.begin() + a.col_ptr[k + 1], TypeParam(0));
    ASSERT_TRUE(f->upload(values).ok());
    const Status s = f->factor();
    EXPECT_EQ(s.code, StatusCode::needs_repivot);
    EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{k});
    EXPECT_NE(s.message.find("its pivot is zero"), std::string::npos) << s.message;
  }
}

TYPED_TEST(Threads, OverflowAsksForOtherPivots) {
  const TypeParam big = std::numeric_limits<TypeParam>::max();
  auto a = from_rows<TypeParam>({{1, 1}, {1, 1}});
  a.values = {1, 500, big / 2, 1};  // U(1,1) = 1 - 500 · big / 2
  const auto f = testing::factor_with<TypeParam>(threads, analysis_of(a, Plan::identity(2)), a.values);
  ASSERT_FALSE(f.ok());
  EXPECT_EQ(f.status().code, StatusCode::needs_repivot);
  EXPECT_EQ(f.status().where.columns, std::vector<std::int32_t>{1});
}

// No entry of L depends on it: U itself must be checked, whether updates come at once or in steps.
TYPED_TEST(Threads, OverflowInUAloneIsSeenAndForgotten) {
  const TypeParam big = std::numeric_limits<TypeParam>::max();
  const auto a = from_rows<TypeParam>({{1, 0, 2, 0}, {3, 1, 4, 0}, {0, 0, 5, 6}, {0, 0, 0, 7}});
  const Analysis analysis = analysis_of(a, Plan::identity(4));
  for (const int count : {1, 2}) {
    const auto f = threads.make<TypeParam>({.threads = count});
    ASSERT_TRUE(f->analyze(analysis).ok());
    ASSERT_TRUE(f->upload(a.values).ok());
    ASSERT_TRUE(f->factor().ok());
    auto values = a.values;
    values[1] = 500;      // L(1,0)
    values[3] = big / 2;  // U(0,2), hence U(1,2) = 4 - 500 · big / 2
    ASSERT_TRUE(f->upload(values).ok());
    const Status s = f->refactor();
    EXPECT_EQ(s.code, StatusCode::needs_repivot);
    EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{2});
    ASSERT_TRUE(f->upload(a.values).ok());
    ASSERT_TRUE(f->factor().ok());
    expect_equal(f->download(), expected<TypeParam>(analysis, a.values));
  }
}

TYPED_TEST(Threads, HostArraysAreTheFactorsOfTheLastGoodFactorization) {
  const auto a = grid<TypeParam>(12, 7);
  const Analysis analysis = analysis_of(a, random_plan(a.n_cols, true, 9));
  const auto f = threads.make<TypeParam>({.threads = 1});
  ASSERT_TRUE(f->analyze(analysis).ok());
  EXPECT_TRUE(f->host_arrays().lu.empty());
  for (std::uint64_t round = 0; round < 3; ++round) {
    const auto values = nearby_values(a, round);
    ASSERT_TRUE(f->upload(values).ok());
    EXPECT_TRUE(f->host_arrays().lu.empty());
    ASSERT_TRUE((round == 0 ? f->factor() : f->refactor()).ok());
    const auto want = f->download();
    ASSERT_TRUE(want.ok());
    EXPECT_TRUE(std::ranges::equal(f->host_arrays().lu, want->values));
    EXPECT_EQ(pivot_growth(max_abs_u(*want), f->host_arrays().max_pracq), want->statistics.pivot_growth);
  }
  ASSERT_TRUE(f->upload(std::vector<TypeParam>(a.values.size(), TypeParam(0))).ok());
  EXPECT_FALSE(f->refactor().ok());
  EXPECT_TRUE(f->host_arrays().lu.empty());
}

TYPED_TEST(Threads, RefusesANegativeNumberOfThreadsAndAnAnalysisWithoutFill) {
  const auto a = from_rows<TypeParam>({{4, 1}, {2, 3}});
  const Analysis analysis = analysis_of(a, Plan::identity(2));
  EXPECT_EQ(threads.make<TypeParam>({.threads = -1})->analyze(analysis).code, StatusCode::invalid_argument);
  EXPECT_EQ(threads.make<TypeParam>()->analyze(testing::analysis_of(a, Plan::identity(2))).code,
            StatusCode::invalid_argument);
}

TYPED_TEST(Threads, KernelsOfAllInstructionSetsEqualTheReference) {
  const auto a = grid<TypeParam>(24, 10);
  const Analysis analysis = analysis_of(a, Plan::identity(a.n_cols));
  const auto want = expected<TypeParam>(analysis, a.values);
  ASSERT_TRUE(want.ok()) << want.status().to_string();
  const ColumnGroups groups = make_column_groups(analysis.filled);
  for (const GroupKernel<TypeParam>& kernel : group_kernels<TypeParam>()) {
    for (const bool in_steps : {false, true}) {
      std::vector<TypeParam> values(analysis.filled.nnz(), std::numeric_limits<TypeParam>::quiet_NaN());
      const GroupFactors<TypeParam> f{analysis.filled, groups, values.data()};
      GroupWork<TypeParam> work(a.n_cols, groups);
      for (std::int32_t s = 0; s < groups.size(); ++s) {
        std::int32_t failed = 0;
        if (in_steps) {
          kernel.start(f, a.view(), s, work);
          for (std::int64_t p = 0; p < std::ssize(groups.sources_of(s)); ++p) kernel.update(f, s, p, p + 1, work);
          failed = kernel.finish(f, s, work);
        } else {
          failed = kernel.eliminate(f, a.view(), s, s + 1, work);
        }
        EXPECT_EQ(failed, GroupKernel<TypeParam>::no_column);
      }
      EXPECT_EQ(values, want->values);
    }
  }
}

TYPED_TEST(Threads, KernelsAreThoseThatTheProcessorRuns) {
  std::size_t count = 1;
#ifdef __x86_64__
  for (const bool runs : {__builtin_cpu_supports("avx2") != 0, __builtin_cpu_supports("avx512f") != 0}) count += runs;
#endif
  EXPECT_EQ(group_kernels<TypeParam>().size(), count);
}

TYPED_TEST(Threads, EachFactorizationCountsItsOwnPerturbedPivots) {
  const auto a = grid<TypeParam>(24, 13);
  const Analysis analysis = analysis_of(a, Plan::identity(a.n_cols));
  auto values = a.values;
  for (std::int32_t k = 5; k < a.n_cols; k += 50)
    for (std::int64_t p = a.col_ptr[k]; p < a.col_ptr[k + 1]; ++p) values[p] = 0;
  for (const int count : {0, 1, 4}) {
    const auto f = threads.make<TypeParam>({.perturb_pivots = 0.01, .threads = count});
    ASSERT_TRUE(f->analyze(analysis).ok());
    ASSERT_TRUE(f->upload(values).ok());
    for (int run = 0; run < 3; ++run) {
      ASSERT_TRUE(f->factor().ok());
      EXPECT_EQ(f->statistics().perturbed_pivots, 12) << run;
    }
    ASSERT_TRUE(f->upload(a.values).ok());
    ASSERT_TRUE(f->refactor().ok());
    EXPECT_EQ(f->statistics().perturbed_pivots, 0);
  }
}

// Without a number of threads the first factorizations take one column at a time, with one they take groups at once.
constexpr int columns_and_groups[] = {0, 1};

TYPED_TEST(Threads, AnOverflowBelowAPivotIsAnErrorOfItsColumn) {
  using Limits = std::numeric_limits<TypeParam>;
  const std::int32_t n = 10;
  auto a = random_unsymmetric<TypeParam>(n, 1.0, 20.0, 14);
  std::fill_n(a.values.begin(), n, Limits::max());
  a.values[0] = Limits::min();  // L(:,0) is infinite
  const Analysis analysis = analysis_of(a, Plan::identity(n));
  for (const int count : columns_and_groups) {
    const Status s = testing::factor_with<TypeParam>(threads, analysis, a.values, {.threads = count}).status();
    EXPECT_EQ(s.code, StatusCode::needs_repivot);
    EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{0});
  }
}

TYPED_TEST(Threads, APivotAtTheLimitStaysAndAZeroBecomesPositive) {
  auto a = from_rows<TypeParam>({{1, 1, 1}, {1, 1, 1}, {1, 1, 1}});
  a.values = {2, 0, 0, 4, 0, 0, 1, 1, -1};  // column by column; the limit is 0.5 · 4
  const Analysis analysis = analysis_of(a, Plan::identity(3));
  for (const int count : columns_and_groups) {
    const auto f =
        testing::factor_with<TypeParam>(threads, analysis, a.values, {.perturb_pivots = 0.5, .threads = count});
    ASSERT_TRUE(f.ok()) << f.status().to_string();
    EXPECT_EQ(f->values, (std::vector<TypeParam>{2, 0, 0, 4, 2, 0, 1, 1, -2}));
    EXPECT_EQ(f->statistics.perturbed_pivots, 2);
  }
}

TYPED_TEST(Threads, APivotThatIsNoNumberIsAnErrorAndNotReplaced) {
  const TypeParam big = 10 * std::sqrt(std::numeric_limits<TypeParam>::max());
  const auto a = from_rows<TypeParam>({{1, 0, big}, {0, 1, big}, {big, -big, 1}});  // U(2,2) = 1 - big² + big²
  const Analysis analysis = analysis_of(a, Plan::identity(3));
  for (const int count : columns_and_groups) {
    const Status s =
        testing::factor_with<TypeParam>(threads, analysis, a.values, {.perturb_pivots = 0.1 / big, .threads = count})
            .status();
    EXPECT_EQ(s.code, StatusCode::needs_repivot);
    EXPECT_EQ(s.where.columns, std::vector<std::int32_t>{2});
  }
}

// One column alone, and columns in lanes: [±tiny 1; 1 2] and blocks of it.
TYPED_TEST(Threads, ASmallPivotIsReplacedWithItsSign) {
  using T = TypeParam;
  for (const double sign : {1.0, -1.0})
    for (const std::int32_t blocks : {1, 40}) {
      SCOPED_TRACE(::testing::Message() << sign << " in " << blocks << " blocks");
      CscMatrix<T> a;
      a.n_rows = a.n_cols = 2 * blocks;
      for (std::int32_t j = 0; j < a.n_cols; ++j) {
        const std::int32_t first = j / 2 * 2;
        a.row_idx.insert(a.row_idx.end(), {first, first + 1});
        a.values.push_back(j % 2 == 0 ? static_cast<T>(sign * 1e-12) : T(1));
        a.values.push_back(j % 2 == 0 ? T(1) : T(2));
        a.col_ptr.push_back(a.nnz());
      }
      const Analysis analysis = analysis_of(a, Plan::identity(a.n_cols));
      const auto f = testing::factor_with<T>(threads, analysis, a.values, {.perturb_pivots = 1e-3});
      ASSERT_TRUE(f.ok()) << f.status().to_string();
      EXPECT_EQ(f->statistics.perturbed_pivots, blocks);
      const T least = static_cast<T>(1e-3 * 2);
      for (std::int32_t j = 0; j < a.n_cols; j += 2) EXPECT_EQ(f->values[f->filled.diag[j]], sign < 0 ? -least : least);
    }
}

std::vector<ColumnGroups> some_groups() {
  std::vector<ColumnGroups> list;
  for (const auto& a : {grid<double>(40, 1), random_unsymmetric<double>(300, 0.1, 30.0, 2)})
    list.push_back(make_column_groups(analysis_of(a, Plan::identity(a.n_cols)).filled));
  return list;
}

TEST(ColumnGroups, HoldEveryRowAndColumnThatTheirColumnsNeed) {
  for (const auto& a : {grid<double>(40, 1), random_unsymmetric<double>(300, 0.1, 30.0, 2)}) {
    const FilledPattern f = analysis_of(a, Plan::identity(a.n_cols)).filled;
    const ColumnGroups groups = make_column_groups(f);
    std::int32_t widest = 0;
    for (std::int32_t s = 0; s < groups.size(); ++s) {
      std::vector<std::int32_t> sources, rows;
      for (std::int32_t k = groups.first[s]; k < groups.first[s + 1]; ++k) {
        EXPECT_EQ(groups.group_of[k], s);
        for (std::int64_t p = f.col_ptr[k]; p < f.col_ptr[k + 1]; ++p)
          (f.row_idx[p] < groups.first[s] ? sources : rows).push_back(f.row_idx[p]);
      }
      for (auto* list : {&sources, &rows}) {
        std::sort(list->begin(), list->end());
        list->erase(std::unique(list->begin(), list->end()), list->end());
      }
      EXPECT_TRUE(std::ranges::equal(sources, groups.sources_of(s))) << s;
      EXPECT_TRUE(std::ranges::equal(rows, groups.rows_of(s))) << s;
      widest = std::max(widest, groups.width(s));
    }
    EXPECT_EQ(groups.first.back(), a.n_cols);
    EXPECT_EQ(widest, ColumnGroups::max_width);  // else the wide kernel goes untested
  }
}

/// Cost of a pass over a column of L.
double pass(const FilledPattern& f, std::int32_t j) {
  return 4.0 + static_cast<double>(f.col_ptr[j + 1] - f.diag[j] - 1);
}

/// Width of the group that starts at d by its definition: what a pass over columns of L costs for each column of the
/// group, less what it costs for all of them at once.
std::int32_t width_that_saves_most(const FilledPattern& f, std::int32_t d) {
  std::set<std::int32_t> sources, rows;
  double alone = 0, most_saved = 0;
  std::int32_t best = 1;
  const std::int32_t end = std::min(f.n, (d / ColumnGroups::columns_a_part + 1) * ColumnGroups::columns_a_part);
  for (std::int32_t w = 1; w <= ColumnGroups::max_width && d + w <= end; ++w) {
    const std::int32_t k = d + w - 1;
    for (std::int64_t p = f.col_ptr[k]; p < f.col_ptr[k + 1]; ++p)
      (f.row_idx[p] < d ? sources : rows).insert(f.row_idx[p]);
    for (std::int64_t p = f.col_ptr[k]; p < f.diag[k]; ++p) alone += pass(f, f.row_idx[p]);
    double together = 0;
    for (const std::int32_t j : sources) together += pass(f, j);
    const double saved = alone - 3 * (together + static_cast<double>(std::ssize(rows) * w));
    if (w > 1 && saved > most_saved) best = w, most_saved = saved;
    if (w > 1 && 3 * together > alone * ColumnGroups::max_width / w) break;
  }
  return best;
}

TEST(ColumnGroups, WorkIsThatOfPassesAndRows) {
  const auto a = random_unsymmetric<double>(400, 0.01, 30.0, 3);
  const FilledPattern f = analysis_of(a, Plan::identity(a.n_cols)).filled;
  const ColumnGroups groups = make_column_groups(f);
  std::set<bool> alone;
  for (std::int32_t s = 0; s < groups.size(); ++s) {
    double passes = 0;
    for (const std::int32_t j : groups.sources_of(s)) passes += pass(f, j);
    const auto rows = static_cast<double>(groups.rows_of(s).size());
    const std::int32_t width = groups.width(s);
    EXPECT_EQ(groups.work[s], width == 1 ? passes + rows : 3 * (passes + rows * width)) << s;
    alone.insert(width == 1);
  }
  EXPECT_EQ(alone.size(), 2U);
}

TEST(ColumnGroups, AreTheSameForAnyNumberOfThreads) {
  const auto a = grid<double>(60, 4);
  const FilledPattern f = analysis_of(a, Plan::identity(a.n_cols)).filled;
  ASSERT_GT(f.n, 3 * ColumnGroups::columns_a_part);
  const ColumnGroups one = make_column_groups(f, 1);
  for (const int threads : {2, 7}) {
    const ColumnGroups groups = make_column_groups(f, threads);
    EXPECT_EQ(groups.first, one.first);
    EXPECT_EQ(groups.group_of, one.group_of);
    EXPECT_EQ(groups.source_ptr, one.source_ptr);
    EXPECT_EQ(groups.source_cols, one.source_cols);
    EXPECT_EQ(groups.row_ptr, one.row_ptr);
    EXPECT_EQ(groups.rows, one.rows);
    EXPECT_EQ(groups.work, one.work);
  }
}

TEST(ColumnGroups, HaveTheWidthThatSavesMost) {
  for (const auto& a : {grid<double>(40, 1), random_unsymmetric<double>(300, 0.1, 30.0, 2),
                        random_unsymmetric<double>(400, 0.01, 30.0, 3)}) {
    const FilledPattern f = analysis_of(a, Plan::identity(a.n_cols)).filled;
    const ColumnGroups groups = make_column_groups(f);
    std::set<std::int32_t> widths;
    for (std::int32_t s = 0; s < groups.size(); ++s) {
      EXPECT_EQ(groups.width(s), width_that_saves_most(f, groups.first[s])) << groups.first[s];
      widths.insert(groups.width(s));
    }
    EXPECT_GT(widths.size(), 1U);
  }
}

TEST(ColumnGroups, KnowHowManyColumnsOfLHaveOnePattern) {
  const auto a = from_rows<double>({{1, 0, 0, 0, 0, 0},
                                    {0, 1, 0, 0, 0, 0},
                                    {0, 1, 1, 0, 0, 0},
                                    {0, 1, 1, 1, 0, 0},
                                    {1, 0, 0, 0, 1, 0},
                                    {0, 1, 1, 1, 0, 1}});
  std::vector<std::int32_t> lengths, runs;
  for (const auto& column : single_columns(analysis_of(a, Plan::identity(6)).filled).l) {
    lengths.push_back(column.length);
    runs.push_back(column.run);
  }
  EXPECT_EQ(lengths, (std::vector<std::int32_t>{1, 3, 2, 1, 0, 0}));
  EXPECT_EQ(runs, (std::vector<std::int32_t>{1, 3, 2, 1, 1, 1}));
}

/// Group s is column s, takes so much work and needs these columns.
ColumnGroups groups_of_columns(std::vector<double> work, const std::vector<std::vector<std::int32_t>>& sources) {
  ColumnGroups groups;
  groups.work = std::move(work);
  for (std::int32_t s = 0; s < std::ssize(groups.work); ++s) {
    groups.first.push_back(s + 1);
    groups.group_of.push_back(s);
    if (s < std::ssize(sources))
      groups.source_cols.insert(groups.source_cols.end(), sources[s].begin(), sources[s].end());
    groups.source_ptr.push_back(std::ssize(groups.source_cols));
  }
  return groups;
}

// Groups 0 to 19 are small and need nothing. 20 is too large together with 0, and 22 needs 20; 21 and 23 are large.
TEST(GroupSchedule, TakesLargeClustersFirstAndThenLevelByLevel) {
  std::vector<double> work;
  for (int s = 0; s < 20; ++s) work.push_back(10 + 0.1 * (7 * s % 20));
  work.insert(work.end(), {9, 30, 5, 30});
  std::vector<std::vector<std::int32_t>> sources(20);
  sources.insert(sources.end(), {{0}, {}, {20}, {21}});
  const GroupSchedule schedule = schedule_groups(groups_of_columns(work, sources), 2);
  std::vector<std::int32_t> expected(20);
  std::iota(expected.begin(), expected.end(), 0);
  std::ranges::sort(expected, std::greater{}, [&](std::int32_t s) { return work[s]; });
  expected.insert(expected.end(), {21, 20, 23, 22});
  EXPECT_EQ(schedule.groups, expected);
  EXPECT_EQ(schedule.n_cluster_tasks, 20);
  EXPECT_EQ(schedule.n_tasks(), 24);
}

TEST(GroupSchedule, ThreadsAreThoseThatWorkAndLongestPathKeepBusy) {
  EXPECT_EQ(useful_threads(groups_of_columns(std::vector<double>(10, 99e3), {}), 100), 1);   // less than two threads'
  EXPECT_EQ(useful_threads(groups_of_columns(std::vector<double>(10, 100e3), {}), 100), 2);  // 1,000,000
  EXPECT_EQ(useful_threads(groups_of_columns({900e3, 900e3}, {{}, {0}}), 100), 2);           // one after the other
  // The last group has a step for each of eight that it needs, and one of its own: 500 + 9 · 100 of 4,900 thousand.
  std::vector<double> work(8, 500e3);
  work.push_back(900e3);
  std::vector<std::vector<std::int32_t>> sources(8);
  sources.push_back({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(useful_threads(groups_of_columns(work, sources), 100), 4);
  EXPECT_EQ(useful_threads(groups_of_columns(work, sources), 2), 2);
}

TEST(GroupSchedule, EveryGroupOnceAfterAllThatItWaitsFor) {
  for (const ColumnGroups& groups : some_groups()) {
    for (const int count : {2, 8}) {
      const GroupSchedule schedule = schedule_groups(groups, count);
      EXPECT_EQ(schedule.threads, count);
      EXPECT_LT(schedule.n_cluster_tasks, schedule.n_tasks());
      std::vector<std::int32_t> task_of(groups.size(), -1);
      for (std::int32_t t = 0; t < schedule.n_tasks(); ++t) {
        for (std::int32_t i = schedule.task_ptr[t]; i < schedule.task_ptr[t + 1]; ++i) {
          const std::int32_t s = schedule.groups[i];
          ASSERT_EQ(task_of[s], -1);
          task_of[s] = t;
          for (const std::int32_t j : groups.sources_of(s)) {
            const std::int32_t needed = task_of[groups.group_of[j]];
            ASSERT_NE(needed, -1);
            if (t < schedule.n_cluster_tasks)
              EXPECT_EQ(needed, t);
            else
              EXPECT_LT(needed, t);
          }
        }
      }
      EXPECT_EQ(std::count(task_of.begin(), task_of.end(), -1), 0);
    }
  }
}

TEST(GroupSchedule, ThreadsThatTheWorkDoesNotKeepBusyAreNotTaken) {
  const auto little = random_unsymmetric<double>(50, 0.1, 4.0, 1);
  const auto much = random_unsymmetric<double>(400, 0.1, 40.0, 1);
  const auto useful = [](const CscMatrix<double>& a, int max_threads) {
    return useful_threads(make_column_groups(analysis_of(a, Plan::identity(a.n_cols)).filled), max_threads);
  };
  EXPECT_EQ(useful(little, 8), 1);
  EXPECT_EQ(useful(much, 0), 1);
  EXPECT_EQ(useful(much, 4), 4);
  EXPECT_LT(useful(much, 1000), 100);
}

double cpu_ms(clockid_t clock) {
  timespec now;
  EXPECT_EQ(clock_gettime(clock, &now), 0);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

TEST(ThreadsOfTheFirstFactorizations, AreManyWhereTheyAreExpectedToPay) {
  if (simt::instrumented || std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core, or one as slow";
  const auto a = random_unsymmetric<double>(800, 0.1, 80.0, 1);
  const auto analysis = analysis_of(a, Plan::identity(a.n_cols));
  const auto factorizer = threads.make<double>();
  ASSERT_TRUE(factorizer->analyze(analysis).ok());
  ASSERT_TRUE(factorizer->upload(a.values).ok());
  double share_of_others = 0;
  for (int run = 0; run < 3; ++run) {
    const double all = cpu_ms(CLOCK_PROCESS_CPUTIME_ID), own = cpu_ms(CLOCK_THREAD_CPUTIME_ID);
    ASSERT_TRUE((run == 0 ? factorizer->factor() : factorizer->refactor()).ok());
    const double all_of_run = cpu_ms(CLOCK_PROCESS_CPUTIME_ID) - all;
    share_of_others = std::max(share_of_others, 1 - (cpu_ms(CLOCK_THREAD_CPUTIME_ID) - own) / all_of_run);
  }
  EXPECT_GT(share_of_others, 0.1);
}

int threads_of_process() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

/// Soon: a thread that was joined may be listed a moment longer.
bool has_threads(int expected) {
  for (int wait = 0; wait < 2000 && threads_of_process() != expected; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return threads_of_process() == expected;
}

/// Before a test starts some. ThreadSanitizer starts one of its own with the first.
int threads_before() {
  std::thread([] {}).join();
  int least = threads_of_process();
  for (int wait = 0; wait < 50; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    least = std::min(least, threads_of_process());
  }
  return least;
}

int cores() { return static_cast<int>(std::min(std::thread::hardware_concurrency(), 64u)); }

int expected_threads(const Analysis& analysis) { return useful_threads(make_column_groups(analysis.filled), cores()); }

// Full blocks: work for a second thread, but little for each entry.
TEST(ThreadsOfTheFirstFactorizations, AreStartedWhenTheyHavePaid) {
  if (simt::instrumented) GTEST_SKIP() << "many factorizations of a large matrix";
  constexpr std::int32_t size = 24;
  CscMatrix<double> a;
  a.n_rows = a.n_cols = 800 * size;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    for (std::int32_t k = 0; k < size; ++k) {
      const std::int32_t i = j / size * size + k;
      a.row_idx.push_back(i);
      a.values.push_back(i == j ? 30 : 1 + 0.001 * ((i + 3 * j) % 7));
    }
    a.col_ptr.push_back(a.nnz());
  }
  const Analysis analysis = analysis_of(a, Plan::identity(a.n_cols));
  const int all = expected_threads(analysis), due = all > 2 ? 3 : 32, before = threads_before();
  ASSERT_GE(all, std::min(cores(), 3));
  const auto f = threads.make<double>();
  for (const int runs : {2, due + 2, 0}) {  // each analysis starts with one
    ASSERT_TRUE(f->analyze(analysis).ok());
    ASSERT_TRUE(f->upload(a.values).ok());
    EXPECT_TRUE(has_threads(before));
    for (int run = 1; run <= runs; ++run) {
      ASSERT_TRUE(f->factor().ok());
      ASSERT_TRUE(has_threads(before - 1 + (run <= due ? 1 : all))) << run;
    }
  }
}

TEST(ThreadsOfTheFirstFactorizations, AreThereAtOnceForMuchArithmeticAndWhereAskedFor) {
  const auto a = random_unsymmetric<double>(400, 0.1, 40.0, 1);
  const Analysis analysis = analysis_of(a, Plan::identity(a.n_cols));
  const int before = threads_before();
  for (const auto& [asked, started] : {std::pair(0, expected_threads(analysis)), {1, 1}, {3, 3}, {100, 64}}) {
    const auto f = threads.make<double>({.threads = asked});
    ASSERT_TRUE(f->analyze(analysis).ok());
    EXPECT_TRUE(has_threads(before - 1 + started)) << asked;
  }
  EXPECT_TRUE(has_threads(before));
}

TEST(FasterOfTwo, TakesTheFasterWayAndSeesWhenTheOtherOneBecomesFaster) {
  FasterOfTwo choice;
  double times[] = {3, 1};
  const auto runs_of_1 = [&](int runs) {
    int count = 0;
    for (int run = 0; run < runs; ++run) {
      const int way = choice.way();
      count += way;
      choice.took(times[way] + (run % 2 == 0 ? 5 : 0));  // a run in two is disturbed
    }
    return count;
  };
  EXPECT_EQ(runs_of_1(6), 3);
  EXPECT_GE(runs_of_1(4000), 3900);
  times[1] = 4;
  EXPECT_LE(runs_of_1(2000), 150);  // until it is tried again
  EXPECT_LE(runs_of_1(5000), 100);
}

/// Runs of a way, where each takes as long whenever it comes.
std::vector<int> runs_of(int way, std::array<double, 2> times, int runs) {
  FasterOfTwo choice;
  std::vector<int> found;
  for (int run = 0; run < runs; ++run) {
    const int now = choice.way();
    if (now == way) found.push_back(run);
    choice.took(times.at(now));
  }
  return found;
}

// 3 runs of the faster way lie between two parts; then 16, 32, 64 and 64 times what the trial took.
TEST(FasterOfTwo, TriesAMuchSlowerWayOnceAndThenSeldom) {
  EXPECT_EQ(runs_of(1, {1, 10}, 2000), (std::vector<int>{3, 167, 491, 1135, 1779}));
  EXPECT_EQ(runs_of(1, {3, 13}, 800), (std::vector<int>{3, 77, 220, 502, 784}));  // 208, 416, 832 and 832 in runs of 3
  EXPECT_EQ(runs_of(1, {1, 4}, 100), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(runs_of(1, {2, 9}, 60), (std::vector<int>{3}));
}

TEST(FasterOfTwo, TriesTheFirstWayAgainWhereTheOtherIsTheFasterOne) {
  EXPECT_EQ(runs_of(0, {10, 1}, 200), (std::vector<int>{0, 1, 2, 57}));  // 48 runs of 1, then 3 more and the trial
}

TEST(FasterOfTwo, OfEqualWaysKeepsTheFirst) { EXPECT_EQ(runs_of(1, {1, 1}, 50), (std::vector<int>{3, 4, 5})); }

TEST(FasterOfTwo, TriesThreeRunsOfAWayThatMayBeTheFasterOne) {
  for (const auto& [last, winner] : {std::pair(9, 1), {11, 0}}) {
    FasterOfTwo choice;
    for (int run = 0; run < 3; ++run) {
      EXPECT_EQ(choice.way(), 0);
      choice.took(10);
    }
    for (const double time : {39, 12, last}) {
      EXPECT_EQ(choice.way(), 1);
      choice.took(time);
    }
    EXPECT_EQ(choice.way(), winner);
  }
}

TEST(ThreadTeam, EveryMemberRunsEveryJobOnce) {
  for (const int members : {1, 2, 7}) {
    ThreadTeam team(members);
    ASSERT_EQ(team.size(), members);
    std::vector<int> runs(team.size(), 0);
    for (int round = 1; round <= 300; ++round) {
      team.run([&](int m) { ++runs[m]; });
      ASSERT_EQ(runs, std::vector<int>(team.size(), round));
    }
  }
}

TEST(ThreadTeam, EndsWithoutEverHavingRun) {
  for (int k = 0; k < 20; ++k) ThreadTeam team(4);
}

}  // namespace
}  // namespace lulab::sparse_leftlooking
