#include "solve/chunk_tasks_on_device.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "solve/triangular.h"
#include "testing/device.h"
#include "testing/made_up_factors.h"
#include "testing/patterns.h"

namespace lulab {
namespace {

/// What make_chunk_tasks() left on the device.
struct DownloadedTasks {
  std::vector<std::int32_t> column_at, worker_ptr, worker_task;
  std::vector<std::byte> tasks;
  std::vector<std::int64_t> begin;
  std::vector<ChunkMove> moves;
  std::vector<ChunkTriangle> triangles;
  std::vector<ChunkEntry> entries, inverses;
  std::int64_t n_words = 0, n_first_moves = 0, max_bytes = 0;
  std::int32_t max_rows = 0, max_inputs = 0, max_partial_sums = 0;

  std::int32_t size() const { return static_cast<std::int32_t>(begin.size()) - 1; }
};

Result<DownloadedTasks> make_tasks_of(const FilledPattern& f, std::int32_t max_columns,
                                      const ChunkTaskOptions& options) {
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(const auto as, PatternOnDevice::create(f.view(), stream));
  simt::DeviceBuffer<std::int64_t> d_diag;
  LULAB_RETURN_IF_ERROR(simt::make(d_diag, f.diag, stream));
  LULAB_ASSIGN_OR_RETURN(const ChunkTasks made,
                         make_chunk_tasks(f, as.view(), d_diag.data(), max_columns, options, stream));
  DownloadedTasks tasks;
  const auto download = [&]<class V>(const simt::DeviceBuffer<V>& from, std::vector<V>& to) {
    to.resize(from.size());
    return from.download(to, stream);
  };
  LULAB_RETURN_IF_ERROR(download(made.d_column_at, tasks.column_at));
  LULAB_RETURN_IF_ERROR(download(made.both.d_ptr, tasks.worker_ptr));
  LULAB_RETURN_IF_ERROR(download(made.both.d_task, tasks.worker_task));
  LULAB_RETURN_IF_ERROR(download(made.d_tasks, tasks.tasks));
  LULAB_RETURN_IF_ERROR(download(made.d_begin, tasks.begin));
  LULAB_RETURN_IF_ERROR(download(made.d_moves, tasks.moves));
  LULAB_RETURN_IF_ERROR(download(made.d_triangles, tasks.triangles));
  LULAB_RETURN_IF_ERROR(download(made.d_entries, tasks.entries));
  LULAB_RETURN_IF_ERROR(download(made.d_inverses, tasks.inverses));
  LULAB_RETURN_IF_ERROR(stream.wait());
  tasks.n_words = made.n_words;
  tasks.n_first_moves = made.n_first_moves;
  tasks.max_bytes = made.max_bytes;
  tasks.max_rows = made.max_rows;
  tasks.max_inputs = made.max_inputs;
  tasks.max_partial_sums = made.max_partial_sums;
  EXPECT_EQ(made.size, tasks.size());
  EXPECT_EQ(made.n_large,
            std::ranges::count_if(tasks.triangles, [](const auto& t) { return t.size > small_chunk_columns; }));
  return tasks;
}

template <class V>
std::span<const V> part(const char* task, std::uint32_t offset, std::size_t count) {
  return {reinterpret_cast<const V*>(task + offset), count};
}

/// What chunk_values_kernel does, entry by entry.
void fill_values(const Factors<double>& f, DownloadedTasks& plan) {
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
std::vector<double> sums(const DownloadedTasks& plan, const char* task, const ChunkRows& rows, std::int32_t n_rows,
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
std::vector<double> solve(const DownloadedTasks& plan, const std::vector<double>& b) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> words(plan.n_words, nan), solution(b.size(), nan);
  for (std::int32_t t = 0; t < plan.size(); ++t) {
    const char* task = reinterpret_cast<const char*>(plan.tasks.data()) + plan.begin[t];
    ChunkTask head;
    std::memcpy(&head, task, sizeof head);
    EXPECT_LE(head.n_inputs, plan.max_inputs);
    EXPECT_LE(head.n_rows, plan.max_rows);
    EXPECT_LE(plan.begin[t + 1] - plan.begin[t], plan.max_bytes);
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

/// Each entry of L + U goes to one place, or into one triangle.
void expect_entries_once(const FilledPattern& f, const DownloadedTasks& plan, bool transposed) {
  std::vector<int> times(f.nnz(), 0), as_pivot(f.n, 0);
  std::vector<std::int32_t> column(f.nnz());
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t k = f.col_ptr[j]; k < f.col_ptr[j + 1]; ++k) column[k] = j;
  for (std::size_t m = 0; m < plan.moves.size(); ++m) {
    const std::int64_t from = plan.moves[m].from;
    ASSERT_TRUE(from < f.nnz()) << "move " << m;
    const std::int32_t i = f.row_idx[from], j = column[from];
    // Pivots are U's.
    const bool is_first = transposed ? i <= j : i > j;
    EXPECT_EQ(static_cast<std::int64_t>(m) < plan.n_first_moves, is_first) << i << ", " << j;
    ++times[from];
  }
  for (const ChunkTriangle& t : plan.triangles)
    for (std::uint32_t e = t.entry; e < t.entry_end; ++e) {
      const ChunkEntry& entry = plan.entries[e];
      if (entry.i == entry.j)
        ++as_pivot[column[entry.at]];
      else
        ++times[entry.at];
    }
  for (std::int64_t k = 0; k < f.nnz(); ++k) ASSERT_EQ(times[k], 1) << f.row_idx[k] << ", " << column[k];
  for (std::int32_t j = 0; j < f.n; ++j) EXPECT_LE(as_pivot[j], 1) << j;
}

void check_solve(const Factors<double>& f, const std::string& name, std::int32_t most_columns,
                 const ChunkTaskOptions& options) {
  SCOPED_TRACE(name + ", chunks of " + std::to_string(most_columns) + ", tasks of " +
               std::to_string(options.max_entries));
  const std::int32_t n = f.filled.n;
  std::vector<double> b(n);
  for (std::int32_t i = 0; i < n; ++i) b[i] = std::sin(i + 1.0);
  std::vector<double> expected = b;
  const std::span<const double> values(f.values);
  if (options.transposed) {
    solve_upper_transposed(f.filled, values, std::span(expected));
    solve_lower_transposed(f.filled, values, std::span(expected));
  } else {
    solve_lower(f.filled, values, std::span(expected));
    solve_upper(f.filled, values, std::span(expected));
  }
  auto plan = make_tasks_of(f.filled, most_columns, options);
  LULAB_ASSERT_OK(plan);
  expect_entries_once(f.filled, *plan, options.transposed);
  fill_values(f, *plan);
  const auto x = solve(*plan, b);
  double largest = 0, difference = 0;
  for (std::int32_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    if (!(std::abs(x[i] - expected[i]) <= difference)) difference = std::abs(x[i] - expected[i]);
  }
  EXPECT_TRUE(difference <= 1e-13 * largest) << difference << " of " << largest;
}

class ChunkTasksOf : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Transposed, ChunkTasksOf, ::testing::Bool());

TEST_P(ChunkTasksOf, SolveInTheirOrderWhateverTheyAreCutInto) {
  LULAB_NEED_DEVICE();
  std::uint64_t seed = 0;
  const auto check_all = [&](std::int32_t size, const std::vector<std::int32_t>& most_columns,
                             const std::vector<std::int32_t>& max_entries) {
    for (const auto& pattern : testing::patterns_for_tests(size)) {
      if (size > 90 && pattern.name == "dense") continue;
      const auto f = testing::make_up_factors<double>(pattern.n, ++seed, pattern.has);
      for (const std::int32_t columns : most_columns)
        for (const std::int32_t entries : max_entries)
          check_solve(f, pattern.name, columns,
                      {.transposed = GetParam(), .threads = 64, .workers = 5, .max_entries = entries});
    }
  };
  if (simt::instrumented) return check_all(40, {5}, {100});
  check_all(90, {1, 64}, {16, 300});
  check_all(500, {64}, {300});
}

TEST_P(ChunkTasksOf, SolveWithPatternsThatHaveTheirFill) {
  LULAB_NEED_DEVICE();
  auto patterns = testing::random_patterns(simt::instrumented ? 20 : 30);
  if (!simt::instrumented)
    for (auto& p : testing::generated_patterns(200)) patterns.push_back(std::move(p));
  std::uint64_t seed = 0;
  for (const auto& [name, filled, before] : patterns) {
    const std::int32_t n = filled.n;
    if (n == 0) continue;
    std::vector<std::vector<bool>> has(n, std::vector<bool>(n, false));
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int64_t k = filled.col_ptr[j]; k < filled.col_ptr[j + 1]; ++k) has[filled.row_idx[k]][j] = true;
    const auto f = testing::make_up_factors<double>(n, ++seed, [&](auto i, auto j) { return has[i][j]; });
    check_solve(f, name, 64, {.transposed = GetParam(), .threads = 64, .workers = 5, .max_entries = 300});
  }
}

// Rows and columns of hubs, in pieces beside short rows, or in slices.
TEST_P(ChunkTasksOf, SolveWithHubs) {
  LULAB_NEED_DEVICE();
  constexpr std::int32_t n = 700;
  const auto f = testing::make_up_factors<double>(n, 3, [](std::int32_t i, std::int32_t j) {
    return std::max(i, j) >= n - 3 || (std::min(i, j) >= 300 && std::max(i, j) < 320 && (i + j) % 3 == 0);
  });
  for (const std::int32_t max_entries : {100, 8192})
    check_solve(f, "hubs", 64, {.transposed = GetParam(), .workers = 4, .max_entries = max_entries});
}

TEST(ChunkTasks, AreTheSameUnderEverySchedule) {
  LULAB_NEED_DEVICE();
  const testing::PatternForTests pattern = testing::patterns_for_tests(90)[8];
  const auto f = testing::make_up_factors<double>(pattern.n, 1, pattern.has);
  std::optional<DownloadedTasks> first;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const simt::SimulatorScope scope({.seed = seed, .resident_blocks = static_cast<int>(seed - 1)});
    const auto made = make_tasks_of(f.filled, 64, {.threads = 64, .workers = 5, .max_entries = 100});
    LULAB_ASSERT_OK(made);
    if (!first) first = *made;
    EXPECT_EQ(made->tasks, first->tasks) << seed;
    EXPECT_EQ(made->begin, first->begin) << seed;
    EXPECT_EQ(made->worker_task, first->worker_task) << seed;
    const auto same = [](const ChunkMove& a, const ChunkMove& b) { return a.to == b.to && a.from == b.from; };
    EXPECT_TRUE(std::ranges::equal(made->moves, first->moves, same)) << seed;
  }
}

// Of more columns than a block marks at once; its last row and column are full, and cut into slices.
TEST_P(ChunkTasksOf, SolveWithMoreColumnsThanABlockMarksAtOnce) {
  LULAB_NEED_DEVICE();
  constexpr std::int32_t n = 1100;
  Factors<double> f;
  f.filled.n = n;
  for (std::int32_t j = 0; j < n; ++j) {
    const auto add = [&](std::int32_t i, double value) {
      f.filled.row_idx.push_back(i);
      f.values.push_back(value);
    };
    if (j == n - 1)
      for (std::int32_t i = 0; i < n - 1; ++i) add(i, std::sin(i + 1.0));
    f.filled.diag.push_back(f.filled.nnz());
    add(j, 2 + std::cos(double(j)));
    if (j < n - 1) add(n - 1, std::sin(2.0 * j + 1) / n);
    f.filled.col_ptr.push_back(f.filled.nnz());
  }
  for (const std::int32_t max_entries : {300, 4096})
    check_solve(f, "arrow", 64, {.transposed = GetParam(), .max_entries = max_entries, .mark_words = 9});
}

TEST(ChunkTasks, EveryWarpHasAtMostOnePassOfATriangle) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t n : {20, 48, 64}) {
    const auto f = testing::make_up_factors<double>(n, 3, [](auto, auto) { return true; });
    const auto plan = make_tasks_of(f.filled, max_chunk_columns, {.threads = 512});
    LULAB_ASSERT_OK(plan);
    for (std::int32_t t = 0; t < plan->size(); ++t) {
      const auto& task = *reinterpret_cast<const ChunkTask*>(plan->tasks.data() + plan->begin[t]);
      EXPECT_TRUE(task.has_inverse);
      EXPECT_GE(task.inverse.n_passes, 1u);
      EXPECT_LE(task.inverse.n_passes, 512u / 32) << "n = " << n;
    }
  }
}

TEST_P(ChunkTasksOf, EachTaskHasOneWorkerAndEachWorkerTakesThemInOrder) {
  LULAB_NEED_DEVICE();
  for (const auto& pattern : testing::patterns_for_tests(simt::instrumented ? 40 : 300)) {
    const auto f = testing::make_up_factors<double>(pattern.n, 1, pattern.has);
    ChunkTaskOptions options;
    options.transposed = GetParam();
    options.workers = 7;
    const auto plan = make_tasks_of(f.filled, 64, options);
    LULAB_ASSERT_OK(plan);
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
