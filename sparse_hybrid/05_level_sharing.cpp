#include "sparse_hybrid/05_level_sharing.h"

#include <algorithm>
#include <array>
#include <limits>

namespace lulab::sparse_hybrid {

namespace {

constexpr double rounds_of_a_task = 2;     // cost of a task besides its rows
constexpr double rounds_of_a_barrier = 2;  // cost of a barrier of the grid

constexpr int group_sizes = 11;  // 1, 2, 4, ..., 1024 threads

/// The work of a level.
struct LevelWork {
  std::array<std::int64_t, group_sizes> threads{};  // [s]: threads for all tasks in groups of 2^s, a row for each
  std::int64_t tasks = 0, max_rows = 0;

  std::int64_t rows() const { return threads.front(); }
};

LevelWork work_of(const UpdateTasks& all, std::size_t level) {
  LevelWork work;
  work.tasks = all.level_ptr[level + 1] - all.level_ptr[level];
  for (std::int64_t t = all.level_ptr[level]; t < all.level_ptr[level + 1]; ++t) {
    const std::int64_t rows = all.tasks[t].rows;
    work.max_rows = std::max(work.max_rows, rows);
    for (int s = 0; s < group_sizes; ++s) work.threads[s] += (rows + (1 << s) - 1) >> s << s;
  }
  return work;
}

struct Grouping {
  int group_log2 = 0;
  double rounds = std::numeric_limits<double>::infinity();
};

Grouping best_grouping(const LevelWork& work, std::int64_t threads) {
  Grouping best;
  for (int s = 0; s < group_sizes && threads % (std::int64_t{1} << s) == 0; ++s) {  // only whole groups
    const double rounds = double(work.threads[s]) / double(threads) + double(work.max_rows >> s) +
                          rounds_of_a_task * double(work.tasks << s) / double(threads);
    if (rounds < best.rounds) best = {s, rounds};
  }
  return best;
}

}  // namespace

LevelSharing share_out(const UpdateTasks& tasks, int max_threads, std::int64_t max_blocks) {
  const std::size_t n_levels = tasks.level_ptr.size() - 1;
  std::vector<LevelWork> work(n_levels);
  std::int64_t widest = 1, rows = 0;
  for (std::size_t l = 0; l < n_levels; ++l) {
    work[l] = work_of(tasks, l);
    widest = std::max(widest, work[l].rows());
    rows += work[l].rows();
  }
  // More threads make a block's barriers dearer; they pay where levels have rows for all of them (H200, 512 / 768:
  // 13659pegase 0.52 / 0.53 ms, 90k grid 7.0 / 6.6).
  if (max_threads == 0) max_threads = rows > 40000 * static_cast<std::int64_t>(n_levels) ? 768 : 512;
  LevelSharing sharing;
  sharing.threads = static_cast<int>(std::min<std::int64_t>(max_threads, (widest + 31) / 32 * 32));
  sharing.blocks = std::clamp<std::int64_t>(widest / sharing.threads, 1, max_blocks);

  for (std::size_t l = 0; l < n_levels; ++l) {
    const Grouping one = best_grouping(work[l], sharing.threads);
    const Grouping all = best_grouping(work[l], sharing.threads * sharing.blocks);
    const bool alone = one.rounds <= all.rounds + rounds_of_a_barrier;
    if (alone && l > 0 && sharing.of_block_0.back().alone) sharing.of_block_0.back().meet = false;
    sharing.of_block_0.push_back({.begin = tasks.level_ptr[l],
                                  .size = static_cast<std::int32_t>(work[l].tasks),
                                  .group_log2 = static_cast<std::uint8_t>((alone ? one : all).group_log2),
                                  .alone = alone,
                                  .meet = true});
  }
  for (const LevelShape& level : sharing.of_block_0)
    if (!level.alone)
      sharing.of_others.push_back(level);
    else if (level.meet)
      sharing.of_others.push_back({.alone = true, .meet = true});
  return sharing;
}

}  // namespace lulab::sparse_hybrid
