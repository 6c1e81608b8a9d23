#pragma once
// The kernel of 06_gsofa_sources: many sources, one frontier.                         Gaihre et al. 2021, sections 4, 6

#include <cstdint>
#include <limits>

#include "symbolic/gsofa_visit.h"

namespace lulab {

constexpr int gsofa_sources_warps = 4;
constexpr int gsofa_sources_threads = 32 * gsofa_sources_warps;

/// Three turns of the loop are in memory: that which is read, that which is filled, that which is cleared.
struct GsofaProgress {
  unsigned long long size[3];  // of the queue; more than it holds, if it overflowed
  std::int32_t overflowed[3];  // a vertex waits that is in no queue
};

struct GsofaSourcesWork {
  std::uint32_t base;     // of this group's values of maxId
  std::uint32_t* max_id;  // source after source, values_of_first + k values_step each: `src` of them are used
  std::int32_t values_of_first, values_step;
  std::uint32_t* waiting;  // (count, waiting_words)
  std::int32_t waiting_words;
  std::int64_t capacity;    // of a queue, at least 1
  std::int32_t* frontier;   // (2, capacity) vertices
  std::int32_t* tracker;    // (2, capacity) k of the source of each
  GsofaProgress* progress;  // 0 on entry
};

/// Equivalent to   for src = b.source(0) .. b.source(b.count - 1):  Fig. 6
/// A warp a vertex of the one frontier of all sources, a lane a neighbour. A vertex for which the queue has no room
/// waits as a bit, and the bits are read when the queue is empty. (The paper copies such vertices to the host.)
/// grid: all resident, cooperative   block: gsofa_sources_threads   shared: none
template <class Keeps = GsofaRules>
__global__ void gsofa_sources_kernel(SourceBatch b, GsofaSourcesWork w, bool passes_found) {
  const auto grid = cooperative_groups::this_grid();
  const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
  const std::int64_t warp = simt::thread_of_grid() / 32, warps = simt::threads_of_grid() / 32;
  const auto source = [&](std::int64_t k) -> GsofaSource {
    return {.src = b.source(k),
            .base = w.base,
            .max_id = w.max_id + max_id_begin(w.values_of_first, w.values_step, k),
            .waiting = w.waiting + k * w.waiting_words,
            .found = b.found + k * b.words};
  };
  const auto push = [&](std::int64_t turn, std::int64_t k, std::int32_t v) {
    // RACE: lanes of the grid join the queue; each gets a place of its own, or none
    const auto place = static_cast<std::int64_t>(atomicAdd(&w.progress->size[turn % 3], 1ull));
    if (place < w.capacity) {
      w.frontier[turn % 2 * w.capacity + place] = v;
      w.tracker[turn % 2 * w.capacity + place] = static_cast<std::int32_t>(k);
    } else {
      atomicOr(&w.progress->overflowed[turn % 3], 1);  // RACE: all set the same; read after the next barrier
    }
  };

  for (std::int64_t k = warp; k < b.count; k += warps) {
    const GsofaSource s = source(k);
    for (std::int32_t v = lane; v < w.waiting_words; v += 32) s.waiting[v] = 0;
    __syncwarp();  // RACE: lanes cleared what others set now
    if (lane == 0) add_to_set(s.found, s.src);
    for (std::int64_t p = b.b_col_ptr[s.src] + lane; p < b.b_col_ptr[s.src + 1]; p += 32) {
      const std::int32_t v = b.b_row_idx[p];
      add_to_set(s.found, v);
      if (v >= s.src) continue;
      s.max_id[v] = w.base;
      add_to_set(s.waiting, v);
      push(0, k, v);
    }
  }

  unsigned long long edges = 0;
  for (std::int64_t turn = 0;; ++turn) {
    grid.sync();  // RACE: lanes of the grid filled this queue and counted, all read it now
    const auto frontiers = static_cast<std::int64_t>(
        std::min<unsigned long long>(w.progress->size[turn % 3], static_cast<unsigned long long>(w.capacity)));
    const bool overflowed = Keeps::keeps_overflow && w.progress->overflowed[turn % 3] != 0;
    if (frontiers == 0 && !overflowed) break;
    if (simt::thread_of_grid() == 0) {
      w.progress->size[(turn + 2) % 3] = 0;  // was read before the barrier, is counted up after the next
      w.progress->overflowed[(turn + 2) % 3] = 0;
      // RACE: others set it too; what is in no queue stays so until the queue is empty
      if (overflowed && frontiers > 0) atomicOr(&w.progress->overflowed[(turn + 1) % 3], 1);
    }
    for (std::int64_t at = warp; at < frontiers; at += warps) {
      const std::int32_t frontier = w.frontier[turn % 2 * w.capacity + at];
      const std::int32_t k = w.tracker[turn % 2 * w.capacity + at];
      const GsofaSource s = source(k);
      const std::uint32_t new_max_id = leave_queue<Keeps>(s, frontier);
      const std::int64_t end = b.b_col_ptr[frontier + 1];
      for (std::int64_t p = b.b_col_ptr[frontier] + lane; p < end; p += 32, ++edges)
        if (visit_neighbor<Keeps>(s, b.b_row_idx[p], new_max_id, passes_found)) push(turn + 1, k, b.b_row_idx[p]);
    }
    if (frontiers > 0) continue;
    // The queue is empty: whatever waits is in none.
    for (std::int64_t k = warp; k < b.count; k += warps)
      for (std::int32_t v = lane; v < w.waiting_words; v += 32)
        for_rows_of_word(source(k).waiting[v], v, [&](std::int32_t row) { push(turn + 1, k, row); });
  }
  if (edges > 0) atomicAdd(b.edges, edges);  // RACE: all threads add to the sum
}

/// Divides one workspace anew for each group: maxId grows with the sources and comes first, then come the queues.
class GsofaSourcesSearch final : public SourceSearch {
 public:
  using Kernel = void (*)(SourceBatch, GsofaSourcesWork, bool);

  /// kernel: for tests that change it; largest_max_id: for tests in which the ranges of values run out.
  /// Requires  largest_max_id >= n.   Errors device_error.
  static Result<GsofaSourcesSearch> create(std::int32_t n, const FillLimits& limits,
                                           Kernel kernel = gsofa_sources_kernel<>,
                                           std::uint32_t largest_max_id = std::numeric_limits<std::uint32_t>::max());
  std::int32_t most_sources() const override { return most_; }
  std::int64_t least_bytes(std::int32_t first, std::int32_t count) const override;
  std::int64_t useful_bytes(std::int32_t first, std::int32_t count) const override;
  Status enqueue(const SourceBatch& batch, std::byte* workspace, std::int64_t bytes, simt::Stream& stream) override;

 private:
  GsofaSourcesSearch() = default;
  std::int64_t useful_entries(std::int32_t count) const;
  std::int64_t max_id_values(std::int32_t first, std::int32_t step, std::int64_t count) const {
    return keeps_bubbles_ ? count * n_ : max_id_begin(first, step, count);
  }
  std::int64_t status_bytes(std::int32_t first, std::int32_t step, std::int64_t count) const;

  std::int32_t n_ = 0, most_ = 0;
  unsigned blocks_ = 0;
  std::int64_t queue_entries_ = 0;  // that the caller allows; 0: any
  bool passes_found_ = false, keeps_bubbles_ = false;
  std::int64_t largest_max_id_ = 0;
  Kernel kernel_ = nullptr;
  simt::DeviceBuffer<GsofaProgress> d_progress_;  // (1)
  std::int64_t ranges_used_ = 0;                  // of the values of maxId
  std::int64_t not_reached_ = 0;                  // so many values of maxId are those of an earlier range, or cleared
};

}  // namespace lulab
