#include "bench/schedules.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>

#include "core/in_parallel.h"

namespace lulab::bench {

std::vector<std::int64_t> entries_read_by_columns(CscPatternView b, int threads) {
  constexpr std::int32_t columns_at_once = 16;
  const std::int32_t n = b.n_cols;
  std::vector<std::int64_t> entries(n, 0);
  std::atomic<std::int32_t> next = 0;  // columns handed out; later ones take longer
  in_parallel(threads_for(n, 4 * columns_at_once, threads > 0 ? threads : 1 << 10), [&](int) {
    std::vector<std::int32_t> seen_by(n, -1), stack;
    for (;;) {
      // RACE: each group of columns has one thread; entries are read once all have ended
      const std::int32_t first = next.fetch_add(columns_at_once);
      if (first >= n) return;
      for (std::int32_t src = first; src < std::min(first + columns_at_once, n); ++src) {
        seen_by[src] = src;
        stack.assign(1, src);
        while (!stack.empty()) {
          const std::int32_t v = stack.back();
          stack.pop_back();
          entries[src] += b.col_ptr[v + 1] - b.col_ptr[v];
          for (std::int64_t s = b.col_ptr[v]; s < b.col_ptr[v + 1]; ++s) {
            const std::int32_t neighbor = b.row_idx[s];
            if (neighbor >= src || seen_by[neighbor] == src) continue;
            seen_by[neighbor] = src;
            stack.push_back(neighbor);
          }
        }
      }
    }
  });
  return entries;
}

std::int32_t Schedule::device_of(std::int32_t j, std::int32_t n) const {
  const std::int32_t node = j / chunk % nodes, in_chunk = j % chunk;
  switch (kind) {
    case Kind::ranges: return static_cast<std::int32_t>(std::int64_t{j} * nodes * devices / n);
    case Kind::inter_node: return node * devices + in_chunk * devices / chunk;
    case Kind::two_levels: return node * devices + in_chunk % devices;
    case Kind::in_turn: return j % (nodes * devices);
  }
  return 0;
}

std::span<const Schedule> gsofa_schedules() {
  using Kind = Schedule::Kind;
  static constexpr std::array schedules = {
      Schedule{.name = "ranges", .kind = Kind::ranges},
      Schedule{.name = "inter_node_128", .kind = Kind::inter_node, .chunk = 128},
      Schedule{.name = "two_levels_64", .kind = Kind::two_levels, .chunk = 64},
      Schedule{.name = "two_levels_128", .kind = Kind::two_levels, .chunk = 128},
      Schedule{.name = "two_levels_256", .kind = Kind::two_levels, .chunk = 256},
      Schedule{.name = "in_turn", .kind = Kind::in_turn},
  };
  return schedules;
}

double busiest_over_mean(std::span<const std::int64_t> work_of_columns, const Schedule& schedule) {
  std::vector<double> work(static_cast<std::size_t>(schedule.nodes) * schedule.devices, 0.0);
  const auto n = static_cast<std::int32_t>(work_of_columns.size());
  for (std::int32_t j = 0; j < n; ++j) work[schedule.device_of(j, n)] += static_cast<double>(work_of_columns[j]);
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  return sum > 0 ? std::ranges::max(work) * static_cast<double>(work.size()) / sum : 1;
}

}  // namespace lulab::bench
