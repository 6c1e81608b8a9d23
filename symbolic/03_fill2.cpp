// Rose & Tarjan 1978; Gaihre et al. 2021, Fig. 3(b): a search in the graph of B itself, so every source is on its own.
// What rows and columns are here: 02_fill1.cpp.

#include <atomic>
#include <new>
#include <utility>

#include "core/in_parallel.h"
#include "symbolic/fill.h"
#include "symbolic/rungs.h"
#include "symbolic/sorted_columns.h"

namespace lulab {

const FillRung fill_rungs::fill2 = {
    .id = "symbolic/03_fill2",
    .paper = "Rose & Tarjan 1978; Gaihre et al. 2021, Fig. 3(b)",
    .idea = "sources apart, on the CPU's threads; a search for each threshold, the smallest first",
    .device = Device::cpu,
    .fill = [](CscPatternView b, const FillLimits& limits, FillWork*) { return lulab::fill2(b, limits.threads); }};

namespace {

/// Columns that one thread found, in any order.
struct Found {
  std::vector<std::int32_t> sources;
  std::vector<std::int64_t> ends = {0};  // of their rows
  std::vector<std::int32_t> rows;        // in any order
};

class Fill2 {
 public:
  explicit Fill2(CscPatternView b) : b_(b), fill_(b.n_cols, -1) {}

  /// Rows of column src of L + U, in any order.
  void search(std::int32_t src, std::vector<std::int32_t>& rows) {
    fill_[src] = src;
    rows.push_back(src);
    for_neighbors(src, [&](std::int32_t v) {
      if (std::exchange(fill_[v], src) != src) rows.push_back(v);
    });
    for (std::int32_t threshold = 0; threshold < src; ++threshold) {
      if (fill_[threshold] != src) continue;
      queue_.assign(1, threshold);
      for (std::size_t head = 0; head < queue_.size(); ++head)
        for_neighbors(queue_[head], [&](std::int32_t neighbor) {
          if (std::exchange(fill_[neighbor], src) == src) return;
          (neighbor > threshold ? rows : queue_).push_back(neighbor);  // the path's largest inner vertex: threshold
        });
    }
  }

 private:
  template <class Visit>
  void for_neighbors(std::int32_t v, const Visit& visit) const {
    for (std::int64_t s = b_.col_ptr[v]; s < b_.col_ptr[v + 1]; ++s) visit(b_.row_idx[s]);
  }

  CscPatternView b_;
  std::vector<std::int32_t> fill_, queue_;  // fill(v) == src: visited
};

CscPattern gather(std::int32_t n, const std::vector<Found>& parts) {
  CscPattern f = {n, n, std::vector<std::int64_t>(n + std::size_t(1), 0), {}};
  for (const Found& part : parts)
    for (std::size_t k = 0; k < part.sources.size(); ++k)
      f.col_ptr[part.sources[k] + 1] = part.ends[k + 1] - part.ends[k];
  for (std::int32_t j = 0; j < n; ++j) f.col_ptr[j + 1] += f.col_ptr[j];
  f.row_idx.resize(f.col_ptr[n]);
  for (const Found& part : parts)
    for (std::size_t k = 0; k < part.sources.size(); ++k)
      std::copy(part.rows.begin() + part.ends[k], part.rows.begin() + part.ends[k + 1],
                f.row_idx.begin() + f.col_ptr[part.sources[k]]);
  return f;
}

}  // namespace

Result<FilledPattern> fill2(CscPatternView b, int threads) try {
  LULAB_RETURN_IF_ERROR(check_fillable(b));
  constexpr std::int32_t sources_at_once = 16;
  const int most = threads > 0 ? threads : 1 << 10;
  std::vector<Found> parts(threads_for(b.n_cols, 4 * sources_at_once, most));
  std::atomic<std::int32_t> next =
      0;  // sources handed out; later ones take longer, so no thread has a range of its own
  in_parallel(static_cast<int>(parts.size()), [&](int part) {
    Fill2 fill2(b);
    Found& found = parts[part];
    for (;;) {
      const std::int32_t first = next.fetch_add(sources_at_once);
      if (first >= b.n_cols) return;
      for (std::int32_t src = first; src < std::min(first + sources_at_once, b.n_cols); ++src) {
        fill2.search(src, found.rows);
        found.sources.push_back(src);
        found.ends.push_back(static_cast<std::int64_t>(found.rows.size()));
      }
    }
  });
  return sorted_columns(gather(b.n_cols, parts), threads);
} catch (const std::bad_alloc&) {
  return no_memory_for_fill();
}

}  // namespace lulab
