#include "solve/front_tasks.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "solve/triangular.h"
#include "testing/made_up_factors.h"

namespace lulab {
namespace {

using testing::make_up_factors;
using testing::patterns_for_tests;

/// Does the tasks one after another; a word that is read before it is written, or written twice, is an error.
class Interpreter {
 public:
  Interpreter(const Factors<double>& f, const Fronts& fronts, const FrontTasks& tasks)
      : f_(f),
        tasks_(tasks),
        columns_(find_front_columns(f.filled, fronts)),
        words_(tasks.n_words, std::numeric_limits<double>::quiet_NaN()) {}

  std::vector<double> solve(const std::vector<double>& b) {
    for (const FrontTask& task : tasks_.lower.tasks) do_lower(task, b);
    for (const FrontTask& task : tasks_.upper.tasks) do_upper(task);
    const auto begin = words_.begin() + f_.filled.n;
    return {begin, begin + f_.filled.n};
  }

 private:
  double read(std::int64_t word) const {
    EXPECT_FALSE(std::isnan(words_.at(word))) << "word " << word << " is read before it is there";
    return words_.at(word);
  }
  void write(std::int64_t word, double value) {
    EXPECT_TRUE(std::isnan(words_.at(word))) << "word " << word << " is written twice";
    words_.at(word) = value;
  }
  double entry(const FrontTask& task, std::int32_t row, std::int32_t column, std::int32_t r, std::int32_t c) const {
    const FrontColumn& of = columns_.at(task.columns + front_tile * task.cuts.slot(row, column) + c);
    if (!(of.rows >> r & 1)) return 0;
    const std::uint64_t before = of.rows & ((std::uint64_t(1) << r) - 1);
    return f_.values.at(of.position + __builtin_popcountll(before));
  }
  std::int64_t other(const FrontTask& task, std::int32_t row) const { return task.others + row - task.cuts.pivots; }

  void do_lower(const FrontTask& task, const std::vector<double>& b) {
    const FrontCuts& cuts = task.cuts;
    for (std::int32_t r = 0; r < cuts.size(task.part); ++r) {
      const std::int32_t row = cuts.begin(task.part) + r;
      double x = row < cuts.pivots ? b[task.first_column + row] : 0;
      const std::int64_t at = task.first_column + task.others + row;
      for (std::int64_t k = tasks_.from_ptr.at(at); k < tasks_.from_ptr.at(at + 1); ++k)
        x += read(2 * std::int64_t(f_.filled.n) + tasks_.from.at(k));
      for (std::int32_t t = 0; t <= std::min(task.part, cuts.pivot_tiles - 1); ++t)
        for (std::int32_t c = 0; c < cuts.pivots_of(t) && cuts.begin(t) + c < row; ++c)
          x -= entry(task, task.part, t, r, c) * read(task.first_column + cuts.begin(t) + c);
      write(row < cuts.pivots ? task.first_column + row : 2 * std::int64_t(f_.filled.n) + other(task, row), x);
    }
  }
  void do_upper(const FrontTask& task) {
    const FrontCuts& cuts = task.cuts;
    for (std::int32_t r = cuts.pivots_of(task.part) - 1; r >= 0; --r) {
      const std::int32_t row = cuts.begin(task.part) + r;
      double x = read(task.first_column + row), pivot = 0;
      for (std::int32_t t = task.part; t < cuts.tiles; ++t)
        for (std::int32_t c = 0; c < cuts.size(t); ++c) {
          const std::int32_t column = cuts.begin(t) + c;
          const double u = column >= row ? entry(task, task.part, t, r, c) : 0;
          if (column == row)
            pivot = u;
          else if (column > row)
            x -= u * read(f_.filled.n +
                          (column < cuts.pivots ? task.first_column + column : tasks_.others.at(other(task, column))));
        }
      write(std::int64_t(f_.filled.n) + task.first_column + row, x / pivot);
    }
  }

  const Factors<double>& f_;
  const FrontTasks& tasks_;
  const std::vector<FrontColumn> columns_;
  std::vector<double> words_;
};

struct Seen {
  bool several_pivot_parts = false, other_parts = false, full_set = false, deep = false;
};

void expect_solution(const Factors<double>& f, const Fronts& fronts, const FrontTasks& tasks, Seen& seen) {
  std::vector<double> b(f.filled.n);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::sin(1.0 + i);
  std::vector<double> expected = b;
  solve_lower(f.filled, std::span<const double>(f.values), std::span(expected));
  solve_upper(f.filled, std::span<const double>(f.values), std::span(expected));
  const std::vector<double> x = Interpreter(f, fronts, tasks).solve(b);
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double error = std::abs(x[i] - expected[i]);
    ASSERT_TRUE(error <= 1e-12 * (1 + std::abs(expected[i]))) << i;
  }
  for (const FrontTaskList* list : {&tasks.lower, &tasks.upper}) {
    ASSERT_EQ(list->ptr.back(), std::ssize(list->tasks));
    for (std::size_t s = 1; s < list->ptr.size(); ++s) {
      const std::int32_t size = list->ptr[s] - list->ptr[s - 1];
      ASSERT_TRUE(size >= 1 && size <= fronts_of_block);
      const FrontCuts& cuts = list->tasks[list->ptr[s - 1]].cuts;
      ASSERT_TRUE(cuts.is_one_tile() || size == 1) << "a block does one part";
      seen.several_pivot_parts |= cuts.pivot_tiles > 1;
      seen.other_parts |= cuts.tiles > cuts.pivot_tiles;
      seen.full_set |= size == fronts_of_block;
    }
    seen.deep |= list->hops > 3;
  }
}

TEST(FrontTasks, SolveOneAfterAnotherInTheirOrder) {
  Seen seen;
  std::uint64_t seed = 0;
  for (const std::int32_t size : {40, 230})
    for (const auto& pattern : patterns_for_tests(size))
      for (const bool many : {false, true}) {
        SCOPED_TRACE(pattern.name + ", " + std::to_string(size) + (many ? ", many fronts" : ""));
        const auto f = make_up_factors<double>(pattern.n, ++seed, pattern.has);
        FrontCosts costs;
        if (many) costs = {.tile = 1 << 20, .fixed = -1e9};
        const auto panels =
            find_relaxed_supernodes(f.filled, many ? RelaxationOptions{8, 1, 1e9} : RelaxationOptions{});
        const Fronts fronts = find_fronts(f.filled, panels, costs);
        const auto tasks = make_front_tasks(fronts, f.filled.nnz(), 1e9);
        ASSERT_TRUE(tasks.ok()) << tasks.status().message;
        expect_solution(f, fronts, *tasks, seen);
        if (HasFatalFailure()) return;
      }
  EXPECT_TRUE(seen.several_pivot_parts && seen.other_parts && seen.full_set && seen.deep);
}

TEST(FrontTasks, OfPatternsFarFromSymmetricAreRefused) {
  // The last rows of L are full, the last columns of U are not: made symmetric it is twice as much.
  const auto f = make_up_factors<double>(80, 1, [](auto i, auto) { return i >= 70; });
  const Fronts fronts = find_fronts(f.filled, find_relaxed_supernodes(f.filled, {}));
  EXPECT_TRUE(make_front_tasks(fronts, f.filled.nnz(), 9).ok());
  const auto refused = make_front_tasks(fronts, f.filled.nnz(), 1.05);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code, StatusCode::not_implemented);
}

TEST(FrontTasks, OfNothingAreNone) {
  const FilledPattern empty;
  const auto tasks = make_front_tasks(find_fronts(empty, find_relaxed_supernodes(empty, {})), 0);
  ASSERT_TRUE(tasks.ok());
  EXPECT_EQ(tasks->n_words, 0);
  EXPECT_TRUE(tasks->lower.tasks.empty() && tasks->upper.tasks.empty());
}

}  // namespace
}  // namespace lulab
