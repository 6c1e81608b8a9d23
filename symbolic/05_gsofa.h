#pragma once
// The kernel of 05_gsofa.

#include <cstdint>

#include "symbolic/gsofa_visit.h"

namespace lulab {

constexpr int gsofa_warps = 4;
constexpr int gsofa_threads = 32 * gsofa_warps;

struct GsofaWork {
  std::uint32_t* max_id;   // (count, n)
  std::uint32_t* waiting;  // (count, words)
  std::int32_t* queue;     // (count, 2, n) the frontier and the next one
};

/// Equivalent to   for src = b.source(0) .. b.source(b.count - 1):  Fig. 6
/// A block a source, a warp a vertex of its frontier, a lane a neighbour.
/// grid: count   block: gsofa_threads   shared: none
template <class Keeps = GsofaRules>
__global__ void gsofa_kernel(SourceBatch b, GsofaWork w, bool passes_found) {
  LULAB_SHARED(std::int32_t, size, 3);  // of the queue that is read, of the one that is filled, of the next but one
  const std::int64_t k = blockIdx.x;
  const auto thread = static_cast<std::int32_t>(threadIdx.x), lane = thread % 32;
  const GsofaSource s = {.src = b.source(k),
                         .base = 0,
                         .max_id = w.max_id + k * b.n,
                         .waiting = w.waiting + k * b.words,
                         .found = b.found + k * b.words};
  std::int32_t* queue = w.queue + 2 * k * b.n;
  const auto push = [&](std::int32_t turn, std::int32_t v) {
    // RACE: lanes of the block join the queue; each gets a place of its own
    queue[(turn % 2) * std::int64_t(b.n) + atomicAdd(&size[turn % 3], 1)] = v;
  };

  for (std::int32_t v = thread; v < s.src; v += gsofa_threads) s.max_id[v] = ~std::uint32_t{0};
  for (std::int32_t v = thread; v < b.words; v += gsofa_threads) s.waiting[v] = 0;
  if (thread < 3) size[thread] = 0;
  __syncthreads();  // RACE: threads cleared what others set now
  if (thread == 0) add_to_set(s.found, s.src);
  for (std::int64_t p = b.b_col_ptr[s.src] + thread; p < b.b_col_ptr[s.src + 1]; p += gsofa_threads) {
    const std::int32_t v = b.b_row_idx[p];
    add_to_set(s.found, v);
    if (v >= s.src) continue;
    s.max_id[v] = 0;
    add_to_set(s.waiting, v);
    push(0, v);
  }

  unsigned long long edges = 0;
  for (std::int32_t turn = 0;; ++turn) {
    __syncthreads();  // RACE: threads filled this queue and counted, all read it now
    const std::int32_t frontiers = size[turn % 3];
    if (frontiers == 0) break;
    if (thread == 0) size[(turn + 2) % 3] = 0;  // was read before the barrier, is counted up after the next
    for (std::int32_t at = thread / 32; at < frontiers; at += gsofa_warps) {
      const std::int32_t frontier = queue[(turn % 2) * std::int64_t(b.n) + at];
      const std::uint32_t new_max_id = leave_queue<Keeps>(s, frontier);
      const std::int64_t end = b.b_col_ptr[frontier + 1];
      for (std::int64_t p = b.b_col_ptr[frontier] + lane; p < end; p += 32, ++edges)
        if (visit_neighbor<Keeps>(s, b.b_row_idx[p], new_max_id, passes_found)) push(turn + 1, b.b_row_idx[p]);
    }
  }
  if (edges > 0) atomicAdd(b.edges, edges);  // RACE: all threads add to the sum
}

class GsofaSearch final : public SourceSearch {
 public:
  using Kernel = void (*)(SourceBatch, GsofaWork, bool);

  /// kernel: for tests that change it.   Errors device_error.
  static Result<GsofaSearch> create(std::int32_t n, const FillLimits& limits, Kernel kernel = gsofa_kernel<>);
  std::int32_t most_sources() const override { return most_; }
  std::int64_t least_bytes(std::int32_t first, std::int32_t count) const override;
  Status enqueue(const SourceBatch& batch, std::byte* workspace, std::int64_t bytes, simt::Stream& stream) override;

 private:
  GsofaSearch(std::int32_t n, std::int32_t most, bool passes_found, Kernel kernel)
      : n_(n), most_(most), passes_found_(passes_found), kernel_(kernel) {}
  std::int32_t n_, most_;
  bool passes_found_;
  Kernel kernel_;
};

}  // namespace lulab
