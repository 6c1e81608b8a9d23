#include "solve/chunk_tasks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "solve/triangular.h"
#include "testing/made_up_factors.h"

namespace lulab {
namespace {

template <class V>
std::span<const V> part(const char* task, std::uint32_t offset, std::size_t count) {
  return {reinterpret_cast<const V*>(task + offset), count};
}

/// What chunk_values_kernel does, entry by entry.
void fill_values(const Factors<double>& f, ChunkTasks& plan) {
  auto* to = reinterpret_cast<double*>(plan.tasks.data());
  for (const ChunkMove& move : plan.moves) to[move.to] = -f.values[move.from];
  for (const ChunkTriangle& t : plan.triangles) {
    std::vector<double> x(std::size_t(t.size) * t.size, 0), pivot(t.size, 1), triangle = x;
    for (std::uint32_t k = t.entry; k < t.entry_end; ++k)
      (plan.entries[k].i == plan.entries[k].j ? pivot[plan.entries[k].i]
                                              : triangle[plan.entries[k].i * t.size + plan.entries[k].j]) =
          f.values[plan.entries[k].at];
    for (std::int32_t j = 0; j < t.size; ++j) {
      x[j * t.size + j] = 1;
      for (std::int32_t i = j + 1; i < t.size; ++i)
        for (std::int32_t k = j; k < i; ++k)
          x[i * t.size + j] -= triangle[i * t.size + k] / pivot[i] * x[k * t.size + j];
    }
    for (std::uint32_t k = t.inverse; k < t.inverse_end; ++k)
      to[plan.inverses[k].at] = x[plan.inverses[k].i * t.size + plan.inverses[k].j];
  }
}

/// Sums of rows as 04_chunks.h takes them.
std::vector<double> sums(const ChunkTasks& plan, const char* task, const ChunkRows& rows, std::int32_t n_rows,
                         const std::vector<double>& x) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sum(n_rows, nan), partial(plan.max_partial_sums, nan);
  const auto passes = part<ChunkPass>(task, rows.passes, rows.n_passes);
  for (const ChunkPass& pass : passes)
    for (std::uint32_t group = 0; group < (32u >> pass.log_lanes); ++group) {
      const std::uint16_t row =
          part<std::uint16_t>(task, rows.rows, pass.first_row + group + 1)[pass.first_row + group];
      if (row == 0xffff) continue;
      double& to = row < 0x8000 ? sum[row] : partial[row - 0x8000];
      EXPECT_TRUE(std::isnan(to)) << "row " << row << " is summed twice";
      to = 0;
      for (std::uint32_t step = 0; step < pass.steps; ++step)
        for (std::uint32_t lane = group << pass.log_lanes; lane < (group + 1) << pass.log_lanes; ++lane) {
          const std::uint32_t at = pass.first + 32 * step + lane;
          const double value = part<double>(task, rows.values, at + 1)[at];
          to += value * x[part<std::uint16_t>(task, rows.sources, at + 1)[at]];
        }
    }
  for (const ChunkLongRow& row : part<ChunkLongRow>(task, rows.long_rows, rows.n_long_rows)) {
    sum[row.row] = 0;
    for (std::uint16_t k = row.from; k < row.end; ++k) sum[row.row] += partial[k];
  }
  return sum;
}

/// The solution by position, task by task; a word that is read before it is written is an error.
std::vector<double> solve(const ChunkTasks& plan, const std::vector<double>& b) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> words(plan.n_words, nan), solution(b.size(), nan);
  for (std::int32_t t = 0; t < plan.size(); ++t) {
    const char* task = reinterpret_cast<const char*>(plan.tasks.data()) + plan.begin[t];
    ChunkTask head;
    std::memcpy(&head, task, sizeof head);
    std::vector<double> x;
    for (const std::int32_t word : part<std::int32_t>(task, head.inputs, head.n_inputs)) {
      EXPECT_FALSE(std::isnan(words[word])) << "task " << t << " needs word " << word;
      x.push_back(words[word]);
    }
    std::vector<double> s = sums(plan, task, head.outer, head.n_rows, x);
    for (std::int32_t i = 0; i < head.n_rows; ++i) {
      if (head.start == ChunkTask::right_side) s[i] += b[plan.column_at[head.first + i]];
      if (head.start == ChunkTask::word) s[i] += words[head.first + i];
      if (head.pivots) s[i] /= -part<double>(task, head.pivots, head.n_rows)[i];
    }
    if (head.has_inverse) s = sums(plan, task, head.inverse, head.n_rows, s);
    for (std::int32_t i = 0; i < head.n_rows; ++i) {
      EXPECT_TRUE(std::isnan(words[head.out + i])) << "task " << t << " writes word " << head.out + i << " again";
      words[head.out + i] = s[i];
      if (head.solution >= 0) solution[plan.column_at[head.solution + i]] = s[i];
    }
  }
  return solution;
}

class ChunkTasksOf : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Transposed, ChunkTasksOf, ::testing::Bool());

TEST_P(ChunkTasksOf, SolveInTheirOrderWhateverTheyAreCutInto) {
  const bool transposed = GetParam();
  std::uint64_t seed = 0;
  for (const std::int32_t size : {90, 500})
    for (const auto& pattern : testing::patterns_for_tests(size)) {
      if (size > 90 && pattern.name == "dense") continue;
      const auto f = testing::make_up_factors<double>(pattern.n, ++seed, pattern.has);
      std::vector<double> b(pattern.n), expected;
      for (std::int32_t i = 0; i < pattern.n; ++i) b[i] = std::sin(i + 1.0);
      expected = b;
      const std::span<const double> values(f.values);
      if (transposed) {
        solve_upper_transposed(f.filled, values, std::span(expected));
        solve_lower_transposed(f.filled, values, std::span(expected));
      } else {
        solve_lower(f.filled, values, std::span(expected));
        solve_upper(f.filled, values, std::span(expected));
      }
      for (const std::int32_t most_columns : {1, 5, 64})
        for (const std::int32_t max_entries : {16, 300, 4096}) {
          SCOPED_TRACE(pattern.name + ", chunks of " + std::to_string(most_columns) + ", tasks of " +
                       std::to_string(max_entries));
          ChunkTaskOptions options;
          options.transposed = transposed;
          options.threads = 64;
          options.workers = 5;
          options.max_entries = max_entries;
          auto plan = make_chunk_tasks(f.filled, find_chunks(f.filled, most_columns), options);
          ASSERT_TRUE(plan.ok());
          fill_values(f, *plan);
          const auto x = solve(*plan, b);
          double largest = 0, difference = 0;
          for (std::int32_t i = 0; i < pattern.n; ++i) {
            largest = std::max(largest, std::abs(expected[i]));
            if (!(std::abs(x[i] - expected[i]) <= difference)) difference = std::abs(x[i] - expected[i]);
          }
          EXPECT_TRUE(difference <= 1e-13 * largest) << difference << " of " << largest;
        }
    }
}

void expect_same(const ChunkTasks& s, const ChunkTasks& t) {
  const auto same_entry = [](const ChunkEntry& a, const ChunkEntry& b) {
    return a.at == b.at && a.i == b.i && a.j == b.j;
  };
  EXPECT_EQ(s.column_at, t.column_at);
  EXPECT_EQ(s.n_words, t.n_words);
  EXPECT_EQ(s.tasks, t.tasks);
  EXPECT_EQ(s.begin, t.begin);
  EXPECT_EQ(s.worker_ptr, t.worker_ptr);
  EXPECT_EQ(s.worker_task, t.worker_task);
  EXPECT_TRUE(std::ranges::equal(
      s.moves, t.moves, [](const ChunkMove& a, const ChunkMove& b) { return a.to == b.to && a.from == b.from; }));
  EXPECT_TRUE(std::ranges::equal(s.triangles, t.triangles, [](const ChunkTriangle& a, const ChunkTriangle& b) {
    return a.entry == b.entry && a.entry_end == b.entry_end && a.inverse == b.inverse &&
           a.inverse_end == b.inverse_end && a.size == b.size;
  }));
  EXPECT_TRUE(std::ranges::equal(s.entries, t.entries, same_entry));
  EXPECT_TRUE(std::ranges::equal(s.inverses, t.inverses, same_entry));
  EXPECT_EQ(s.max_rows, t.max_rows);
  EXPECT_EQ(s.max_inputs, t.max_inputs);
  EXPECT_EQ(s.max_partial_sums, t.max_partial_sums);
  EXPECT_EQ(s.max_bytes, t.max_bytes);
  EXPECT_EQ(s.hops, t.hops);
}

TEST_P(ChunkTasksOf, AreTheSameForAnyNumberOfHostThreads) {
  for (const auto& pattern : testing::patterns_for_tests(300)) {
    const auto f = testing::make_up_factors<double>(pattern.n, 1, pattern.has);
    for (const std::int32_t max_entries : {16, 4096}) {
      ChunkTaskOptions options;
      options.transposed = GetParam();
      options.threads = 64;
      options.workers = 5;
      options.max_entries = max_entries;
      const Chunks chunks = find_chunks(f.filled, 64);
      const auto one = make_chunk_tasks(f.filled, chunks, options, 1);
      ASSERT_TRUE(one.ok());
      for (const int host_threads : {2, 3, 16}) {
        SCOPED_TRACE(pattern.name + ", tasks of " + std::to_string(max_entries) + ", threads " +
                     std::to_string(host_threads));
        const auto many = make_chunk_tasks(f.filled, chunks, options, host_threads);
        ASSERT_TRUE(many.ok());
        expect_same(*many, *one);
      }
    }
  }
}

TEST(ChunkTasks, EveryWarpHasAtMostOnePassOfATriangle) {
  for (const std::int32_t n : {20, 48, 64}) {
    const auto f = testing::make_up_factors<double>(n, 3, [](auto, auto) { return true; });
    const auto plan = make_chunk_tasks(f.filled, find_chunks(f.filled, max_chunk_columns), {.threads = 512});
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    for (std::int32_t t = 0; t < plan->size(); ++t) {
      const auto& task = *reinterpret_cast<const ChunkTask*>(plan->tasks.data() + plan->begin[t]);
      EXPECT_TRUE(task.has_inverse);
      EXPECT_GE(task.inverse.n_passes, 1u);
      EXPECT_LE(task.inverse.n_passes, 512u / 32) << "n = " << n;
    }
  }
}

TEST_P(ChunkTasksOf, EachTaskHasOneWorkerAndEachWorkerTakesThemInOrder) {
  for (const auto& pattern : testing::patterns_for_tests(300)) {
    const auto f = testing::make_up_factors<double>(pattern.n, 1, pattern.has);
    ChunkTaskOptions options;
    options.transposed = GetParam();
    options.workers = 7;
    const auto plan = make_chunk_tasks(f.filled, find_chunks(f.filled, 64), options);
    ASSERT_TRUE(plan.ok());
    ASSERT_EQ(plan->worker_ptr.size(), 8u);
    std::vector<int> taken(plan->size(), 0);
    for (std::int32_t w = 0; w < 7; ++w)
      for (std::int32_t k = plan->worker_ptr[w]; k < plan->worker_ptr[w + 1]; ++k) {
        ++taken[plan->worker_task[k]];
        EXPECT_TRUE(k == plan->worker_ptr[w] || plan->worker_task[k] > plan->worker_task[k - 1]);
      }
    for (const int times : taken) EXPECT_EQ(times, 1);
    for (const std::int64_t begin : plan->begin) EXPECT_EQ(begin % 16, 0);
  }
}

}  // namespace
}  // namespace lulab
