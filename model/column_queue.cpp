#include "model/column_queue.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace lulab {
namespace {

/// The last event that a column depended on.
struct Cause {
  std::int32_t column = -1;  // -1: the start of the factorization
  bool waited = false;       // true: waited for that column; false: the warp itself was busy with it
  double hop = 0;
};

}  // namespace

Timeline run_column_queue(const Schedule& schedule, std::int64_t warps, const ColumnWalk& walk) {
  const std::size_t n = schedule.level_cols.size();
  Timeline t;
  t.done.assign(n, 0);
  std::vector<Cause> cause(n);
  using Warp = std::pair<double, std::int32_t>;  // (time when it is free, its last column)
  std::priority_queue<Warp, std::vector<Warp>, std::greater<>> queue;
  for (std::int64_t w = 0; w < std::min<std::int64_t>(warps, static_cast<std::int64_t>(n)); ++w) queue.emplace(0.0, -1);

  std::int32_t last = -1;
  for (const std::int32_t j : schedule.level_cols) {
    const auto [start, before] = queue.top();
    queue.pop();
    const ColumnRun run = walk(j, start, t.done);
    t.done[j] = run.finish;
    t.at_work += run.at_work;
    cause[j] =
        run.freed_by >= 0 ? Cause{run.freed_by, true, run.freed_at - t.done[run.freed_by]} : Cause{before, false, 0};
    queue.emplace(run.finish, j);
    if (last < 0 || run.finish > t.finish) {
      t.finish = run.finish;
      last = j;
    }
  }

  for (std::int32_t j = last; j >= 0; j = cause[j].column) {
    t.critical.push_back(j);
    t.hops += cause[j].waited;
    t.hop_time += cause[j].hop;
  }
  std::reverse(t.critical.begin(), t.critical.end());
  return t;
}

}  // namespace lulab
