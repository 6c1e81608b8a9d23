#pragma once
// A toolbox for kernels: what several of them would otherwise write by hand. Each function inlines to the few lines
// that its comment shows. Device code, after core/simt/kernel.h; the first two functions serve host code, too.
//
//   counting        ceil_div, blocks_for, thread_of_grid, threads_of_grid, warp_of_block
//   sharing work    warp_ticket, block_ticket, warp_is_last
//   waiting         spin_wait, block_spin_wait
//   in a warp       warp_reduce, warp_sum, warp_max, warp_min, warp_sum_before
//   values, rows    is_finite, find_row

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/simt/kernel.h"

namespace lulab::simt {

constexpr unsigned all_lanes = 0xffffffffu;  // the mask of a whole warp

// --- counting --------------------------------------------------------------------------------------------------------

/// a / b, rounded up.   Requires a >= 0, b > 0.
template <class I>
__host__ __device__ constexpr I ceil_div(I a, std::type_identity_t<I> b) {
  return (a + b - 1) / b;
}

/// Blocks for so many items at per_block a block; at least 1 and no more than `most`, where one is given.
constexpr unsigned blocks_for(std::int64_t items, std::int64_t per_block) {
  return static_cast<unsigned>(ceil_div(items, per_block));
}
constexpr unsigned blocks_for(std::int64_t items, std::int64_t per_block, std::int64_t most) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(ceil_div(items, per_block), 1, most));
}

/// The calling thread's number in a one-dimensional grid, and how many threads the grid has. A grid shares out n items
/// by
///   for (std::int64_t i = thread_of_grid(); i < n; i += threads_of_grid())
__device__ __forceinline__ std::int64_t thread_of_grid() { return std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ std::int64_t threads_of_grid() { return std::int64_t(gridDim.x) * blockDim.x; }

/// The calling warp's number in a one-dimensional block. The compiler knows that all lanes have the same, so it takes
/// what depends on it for no divergence, and leaves out what guards a shuffle there.
/// Called by all 32 lanes.
__device__ __forceinline__ int warp_of_block() { return __shfl_sync(all_lanes, static_cast<int>(threadIdx.x) / 32, 0); }

// --- sharing work ----------------------------------------------------------------------------------------------------
//
// A ticket hands out work in order: whoever has a ticket is running, and everyone with a smaller ticket has started. So
// a kernel whose work waits only for work with smaller tickets ends, in whatever order the hardware starts its blocks.

/// Takes the next `count` tickets for the calling warp; returns the first of them in all lanes.
/// Equivalent to   every lane: old = *next;  once: *next = old + count;  every lane: return old
/// Called by all 32 lanes.
template <class I>
__device__ __forceinline__ I warp_ticket(I* next, std::type_identity_t<I> count = 1) {
  I ticket = 0;
  // RACE: warps of any block take tickets; the atomic gives each its own and orders nothing else
  if (threadIdx.x % 32 == 0) ticket = atomicAdd(next, count);
  return __shfl_sync(all_lanes, ticket, 0);
}

/// The same for the calling block: thread 0 takes the ticket, all threads get it.
/// Called by all threads; every thread has done what it did before the call when any returns. Between two calls lies
/// another barrier of the block, past which no thread still reads the first ticket.
template <class I>
__device__ __forceinline__ I block_ticket(I* next, std::type_identity_t<I> count = 1) {
  LULAB_SHARED(I, taken, 1);
  // RACE: blocks take tickets; the atomic gives each its own and orders nothing else
  if (threadIdx.x == 0) taken[0] = atomicAdd(next, count);
  __syncthreads();  // RACE: thread 0 wrote the ticket, all threads read it
  return taken[0];
}

/// Is the calling warp's block the last to get here? Then its lanes may read what every block did before, up to the
/// last barrier that this warp took part in. Leaves *blocks_done 0 for the next launch.
/// Equivalent to   every block: old = *blocks_done;  *blocks_done = (old + 1) % blocks;  return old + 1 == blocks
/// Called by all 32 lanes of one warp of each block.   blocks_done: (1) 0 before the first launch
template <cuda::memory_order order = cuda::memory_order_acq_rel>  // tests weaken it
__device__ __forceinline__ bool warp_is_last(unsigned* blocks_done) {
  const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
  unsigned before = 0;
  if (threadIdx.x % 32 == 0) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> done(*blocks_done);
    before = done.fetch_add(1, order);  // RACE: releases what this block did; the last one acquires what all did
    if (before + 1 == blocks) done.store(0, cuda::memory_order_relaxed);  // RACE: nobody else is left
  }
  before = __shfl_sync(all_lanes, before, 0);
  __syncwarp();  // RACE: orders what lane 0 acquired before the reads of the other lanes
  return before + 1 == blocks;
}

// --- waiting ---------------------------------------------------------------------------------------------------------

/// Loads *word until ready(value) is true; returns that value. `order`: acquire, where the caller then reads other
/// memory that was written before the word; relaxed, where the word itself is all that is read.
/// Equivalent to   while (!ready(*word)) {}  return *word;
/// The thread that changes the word must be running, or have run, else this never returns: the simulator then reports a
/// deadlock, the GPU hangs.
template <cuda::memory_order order = cuda::memory_order_acquire,  // RACE: pairs with the release of the word's writer
          class W, class Ready>
__device__ __forceinline__ W spin_wait(W* word, const Ready& ready) {
  W value;
  do value = cuda::atomic_ref<W, cuda::thread_scope_device>(*word).load(order);  // RACE: see `order`
  while (!ready(value));
  return value;
}

/// spin_wait() by thread 0; afterwards every thread of the block may read what was written before the word.
/// Called by all threads.
template <cuda::memory_order order = cuda::memory_order_acquire,  // RACE: as above
          class W, class Ready>
__device__ __forceinline__ void block_spin_wait(W* word, const Ready& ready) {
  if (threadIdx.x == 0) spin_wait<order>(word, ready);  // RACE: see `order`
  __syncthreads();  // RACE: thread 0 has seen the word; the barrier orders all threads' reads after that
}

// --- in a warp -------------------------------------------------------------------------------------------------------

/// op over the values of `lanes` neighbouring lanes; every lane gets the same bits. op is commutative.
/// Equivalent to   combining halves: lane l with l ^ 16, then with l ^ 8, ..., l ^ 1 (from lanes / 2 on)
/// Called by all 32 lanes.   lanes: a power of two, at most 32
template <int lanes = 32, class V, class Op>
__device__ __forceinline__ V warp_reduce(V value, const Op& op) {
#pragma unroll
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    value = op(value, __shfl_xor_sync(all_lanes, value, distance));
  return value;
}

/// Integers of 32 bits take one instruction for a whole warp.
template <class V, int lanes>
constexpr bool has_warp_instruction = std::is_integral_v<V> && sizeof(V) == 4 && lanes == 32;

template <int lanes = 32, class V>
__device__ __forceinline__ V warp_sum(V value) {
  if constexpr (has_warp_instruction<V, lanes>)
    return __reduce_add_sync(all_lanes, value);
  else
    return warp_reduce<lanes>(value, [](V a, V b) { return a + b; });
}
/// Not for NaN: what compares with nothing may win or lose.
template <int lanes = 32, class V>
__device__ __forceinline__ V warp_max(V value) {
  if constexpr (has_warp_instruction<V, lanes>)
    return __reduce_max_sync(all_lanes, value);
  else
    return warp_reduce<lanes>(value, [](V a, V b) { return a < b ? b : a; });
}
template <int lanes = 32, class V>
__device__ __forceinline__ V warp_min(V value) {
  if constexpr (has_warp_instruction<V, lanes>)
    return __reduce_min_sync(all_lanes, value);
  else
    return warp_reduce<lanes>(value, [](V a, V b) { return b < a ? b : a; });
}

/// Sum of the values of the lanes before the calling one.   Called by all 32 lanes.
template <class V>
__device__ __forceinline__ V warp_sum_before(V value) {
  const unsigned lane = threadIdx.x % 32;
  V sum = value;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const V before = __shfl_up_sync(all_lanes, sum, distance);
    if (lane >= distance) sum += before;
  }
  return sum - value;
}

// --- values, rows ----------------------------------------------------------------------------------------------------

/// Neither NaN nor infinite.
template <class T>
__device__ __forceinline__ bool is_finite(T value) {
  return value - value == T(0);  // infinity - infinity is a NaN, which equals nothing
}

/// Where `row` is in the ascending rows[low .. high), by bisection: the first position p with rows[p] >= row, or
/// `high`.
/// A caller that knows the row to be there saves a step with the row's last possible position as `high`.
/// Equivalent to   while (low < high && rows[low] < row) ++low;  return low;
/// Requires  0 <= low <= high.
template <class I>
__device__ __forceinline__ I find_row(const std::int32_t* rows, I low, std::type_identity_t<I> high, std::int32_t row) {
  using Unsigned = std::make_unsigned_t<I>;
  while (low < high) {
    const I middle = static_cast<I>((static_cast<Unsigned>(low) + static_cast<Unsigned>(high)) / 2);
    if (rows[middle] < row)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace lulab::simt
