#pragma once
// The step that 05_gsofa and 06_gsofa_sources share: a vertex of a frontier, its neighbours. Gaihre et al. 2021, Fig. 6
//
// Row `src` of the factors is found from rows of A there; what rows and columns are here: 02_fill1.cpp.
//
//   maxId(v)   the smallest that the largest inner vertex of a path src -> v can be, over the paths seen so far
//   fill(v)    v is in L(src,:) or U(src,:)
//
// Details that the paper leaves open, or where this differs:
// - fill(v) is a bit instead of the number src: 1/32 of the memory, and the sets come out sorted.
// - A vertex can be lowered again while it waits in a queue. A bit says that it waits, and it does not join twice: no
//   queue holds more than n vertices of a source, and none is worked on twice for nothing.
// - A vertex above src is filled wherever it is reached, because every inner vertex is below src; maxId ends at src
//   ("bubble removal", section 6).

#include <algorithm>
#include <cstdint>

#include "symbolic/fill_sources.h"
#include "symbolic/row_sets.h"

namespace lulab {

/// The rules that make the search correct. gsofa_test.cu disables one at a time and expects a failure.
struct GsofaRules {
  static constexpr bool revisits = true;          // a vertex whose maxId gets smaller is worked on again
  static constexpr bool leaves_first = true;      // it no longer waits before its maxId is read
  static constexpr bool compares_maximum = true;  // fill only above the largest inner vertex
  static constexpr bool keeps_overflow = true;    // what finds no room in a queue is found again
};

using MaxId = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;

/// One source's arrays. Of several sources in turn in the same memory each has a range of values for maxId below those
/// before, base .. base + n - 1: whatever is larger means "not reached". So it need not be cleared for each
/// (section 4).
struct GsofaSource {
  std::int32_t src;
  std::uint32_t base;
  std::uint32_t* max_id;   // (src) base + maxId
  std::uint32_t* waiting;  // set: in a queue
  std::uint32_t* found;    // set: L(src,:) and U(src,:)
};

/// Where source first + k step has its values of maxId, if those of `first`, `first` + step, ... come before.
__host__ __device__ __forceinline__ std::int64_t max_id_begin(std::int64_t first, std::int64_t step, std::int64_t k) {
  return k * first + k * (k - 1) / 2 * step;
}

/// Fig. 6, line 8: what `frontier` tells its neighbours, as it leaves the queue.
/// Called by all lanes of a warp; result valid in all.
template <class Keeps>
__device__ __forceinline__ std::uint32_t leave_queue(const GsofaSource& s, std::int32_t frontier) {
  const bool leads = threadIdx.x % 32 == 0;
  const auto read_max_id = [&] {
    return MaxId(s.max_id[frontier]).load(cuda::memory_order_relaxed);  // RACE: others lower it meanwhile, see below
  };
  std::uint32_t max_id = 0;
  if constexpr (!Keeps::leaves_first) {
    if (leads) max_id = read_max_id();
    __syncwarp();  // RACE: the mutant's: lets others work between the two
  }
  // RACE: others lower maxId(frontier), then look whether it waits (visit_neighbor). One that finds it waiting changed
  // this bit's word before; acquire orders the read of the lower maxId after that. One that finds it gone puts it into
  // the queue again
  if (leads) take_from_set<cuda::memory_order_acquire>(s.waiting, frontier);
  if (leads && Keeps::leaves_first) max_id = read_max_id();
  return __shfl_sync(simt::all_lanes, std::max(s.base + static_cast<std::uint32_t>(frontier), max_id), 0);
}

/// Lines 10 to 15 for one neighbour.   Returns whether the caller puts it into the queue.
template <class Keeps>
__device__ __forceinline__ bool visit_neighbor(const GsofaSource& s, std::int32_t neighbor, std::uint32_t new_max_id,
                                               bool passes_found) {
  if (neighbor >= s.src) {
    add_to_set(s.found, neighbor);
    return false;
  }
  if (passes_found && is_in_set(s.found, neighbor)) return false;  // line 9.5
  // lab: revisit begin
  // RACE: frontiers lower it in any order; the smallest stays                                                 line 10
  const std::uint32_t before = MaxId(s.max_id[neighbor]).fetch_min(new_max_id, cuda::memory_order_relaxed);
  if (before <= new_max_id) return false;
  const bool fills = s.base + static_cast<std::uint32_t>(neighbor) > new_max_id || !Keeps::compares_maximum;  // line 11
  if (fills && !add_to_set(s.found, neighbor)) return false;  // lines 12, 14: what it tells is neighbor itself already
  if (!Keeps::revisits && before < s.base + static_cast<std::uint32_t>(s.src)) return false;
  // RACE: release orders the lower maxId before the bit; see leave_queue
  return add_to_set<cuda::memory_order_release>(s.waiting, neighbor);
  // lab: revisit end
}

}  // namespace lulab
