#pragma once
// The kernel of fill_sflu(): one launch, one block per column.                              Zhao et al. 2021, Algorithm
// 1
//
//   for all columns k, in parallel                    a block takes the next column
//     for i = 0 to k-1 with As(i,k) != 0              fill found on the way counts, too: it lies below row i
//       while degree[i] != 0: busy wait               thread 0, then a barrier of the block
//       As(:,k) gets the rows of L(:,i)               a thread per row; degree[k] + 1 for each new one above the
//       diagonal degree[k] = degree[k] - 1
//     store column k, rows ascending
//     degree[k] = degree[k] - 1                       now 0: column k is finished
//
// Details that the paper leaves open, or where it relies on what CUDA does not promise:
// - A column under construction is a bit set in shared memory, one bit per row, so "next i with As(i,k) != 0" is the
// next
//   set bit, as in Algorithm 1. (The text of the paper appends fill to a list of rows and sorts it before the numeric
//   factorization.) Columns are stored sorted.
// - Columns are stored in one array with limited room. Without room a column is given up: its degree becomes -1, and
// the
//   columns that wait for it are given up, too. So no thread waits forever; the host repeats the launch with more room.
// - degree[k] is one larger than in Algorithm 1 until column k is stored, as in Algorithm 2: a column without entries
//   above its diagonal must also be stored before others read it.
// - Blocks take columns by ticket, in order. A column waits only for smaller ones, whose blocks run, and the smallest
//   unfinished column waits for none. So the launch ends in any order of blocks, even with one resident block.
// - Release and acquire order the stores of a column before its degree; the atomicSub of the paper does not.

#include <cstdint>

#include "core/simt/device_tools.h"
#include "symbolic/fill_sflu.h"

namespace lulab {

constexpr int fill_warps = 4;
constexpr int fill_threads = 32 * fill_warps;

using FillDegree = cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>;
constexpr std::int32_t given_up = -1;

/// The rules that make the kernel correct. 07_sflu_test.cu disables one at a time and expects a failure.
struct FillProtocol {
  static constexpr auto observe = cuda::memory_order_acquire;  // RACE: pairs with publish; see fill_columns_kernel
  static constexpr auto publish = cuda::memory_order_release;  // RACE: pairs with observe
  static constexpr bool waits = true;
  static constexpr bool counts_down = true;
};

/// Adds row i to the column.   Returns whether it was not there.
__device__ __forceinline__ bool add_row(std::uint32_t* column, std::int32_t i) {
  const std::uint32_t bit = std::uint32_t(1) << (i % 32);
  return (atomicOr(&column[i / 32], bit) & bit) == 0;  // RACE: threads of the block add rows to one word
}

/// The first row of the column from `from` on.   Requires there is one.   Result valid in all threads.
__device__ __forceinline__ std::int32_t next_row(const std::uint32_t* column, std::int32_t words, std::int32_t from) {
  const std::int32_t lane = threadIdx.x % 32, first = from / 32;
  for (std::int32_t base = first;; base += 32) {
    const std::int32_t word = base + lane;
    std::uint32_t bits = word < words ? column[word] : 0;
    if (word == first) bits &= ~std::uint32_t(0) << (from % 32);
    if (const unsigned found = __ballot_sync(0xffffffffu, bits != 0)) {
      const int source = __ffs(static_cast<int>(found)) - 1;
      bits = __shfl_sync(0xffffffffu, bits, source);
      return 32 * (base + source) + __ffs(static_cast<int>(bits)) - 1;
    }
  }
}

/// Sum of the threads' values before the calling one.   Result valid in all threads.   warp_sum: (fill_warps), shared.
__device__ __forceinline__ std::int32_t sum_before(std::int32_t value, std::int32_t* warp_sum) {
  const int lane = threadIdx.x % 32, warp = static_cast<int>(threadIdx.x) / 32;
  std::int32_t before = simt::warp_sum_before(value);
  if (lane == 31) warp_sum[warp] = before + value;
  __syncthreads();  // RACE: the last lanes wrote the sums of their warps, all threads read those of the warps before
  for (int w = 0; w < warp; ++w) before += warp_sum[w];
  return before;
}

/// Equivalent to   for k = 0 .. n - 1:  column = rows of B(:,k) and k;
///                   for i = 0 .. k - 1, in the column so far:  column = union of column and the rows of L(:,i);
///                   store the column, ascending
/// grid: any   block: fill_threads   shared: ceil(n / 32) words, a bit for each row
template <class Keeps = FillProtocol>
__global__ void fill_columns_kernel(SfluFillWork w) {
  LULAB_DYNAMIC_SHARED(std::uint32_t, column);  // bit i: As(i,k) != 0
  LULAB_SHARED(std::int32_t, warp_sum, fill_warps);
  LULAB_SHARED(std::int32_t, seen, 1);   // degree[i] at the end of the wait
  LULAB_SHARED(std::int64_t, place, 2);  // of column k: where it starts, where it ends
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const std::int32_t words = (w.n + 31) / 32, words_a_thread = (words + fill_threads - 1) / fill_threads;
  const std::int32_t my_words = thread * words_a_thread, my_end = min(my_words + words_a_thread, words);
  for (std::int32_t v = my_words; v < my_end; ++v) column[v] = 0;

  for (;;) {
    // its barrier also orders the words that all threads have cleared before the bits that others set in them
    const std::int32_t k = simt::block_ticket(&w.progress->ticket);
    if (k >= w.n) return;
    simt::note_column(k);
    for (std::int64_t p = w.b_col_ptr[k] + thread; p < w.b_col_ptr[k + 1]; p += fill_threads)
      add_row(column, w.b_row_idx[p]);
    if (thread == 0) add_row(column, k);
    __syncthreads();  // RACE: threads added rows, all look for the next

    bool complete = true;
    for (std::int32_t i = next_row(column, words, 0); i < k; i = next_row(column, words, i + 1)) {
      simt::note_wait(i);
      // RACE: the block of column i set its degree to 0 after storing the column; acquire orders this block's reads of
      // the column, and of its place, after that. The degree becomes 0, or -1: that block is running, see the head of
      // this file
      if (thread == 0)
        seen[0] = simt::spin_wait<Keeps::observe>(&w.degree[i],
                                                  [](std::int32_t degree) { return degree <= 0 || !Keeps::waits; });
      // RACE: thread 0 has seen column i finished, all threads read it; all threads looked for i before rows are added
      __syncthreads();
      complete = seen[0] != given_up;
      if (!complete) break;
      for (std::int64_t s = w.diag[i] + 1 + thread; s < w.last[i]; s += fill_threads) {
        const std::int32_t j = w.rows[s];
        // RACE: threads of the block count up, its thread 0 down; others wait for 0, which is not reached before the
        // store
        if (add_row(column, j) && j < k) FillDegree(w.degree[k]).fetch_add(1, cuda::memory_order_relaxed);
      }
      __syncthreads();  // RACE: threads added rows, all look for the next; seen[0] was read by all before it changes
      if (thread == 0 && Keeps::counts_down)
        FillDegree(w.degree[k]).fetch_sub(1, cuda::memory_order_relaxed);  // RACE: as above
    }

    std::int32_t rows = 0;
    for (std::int32_t v = my_words; v < my_end; ++v) rows += __popc(column[v]);
    const std::int32_t before = sum_before(rows, warp_sum);
    if (thread == fill_threads - 1 && complete) {
      const std::int64_t size = before + rows;
      // RACE: each column reserves its own range; readers learn of it through the degree
      place[0] = static_cast<std::int64_t>(atomicAdd(&w.progress->used, static_cast<unsigned long long>(size)));
      place[1] = place[0] + size;
    }
    __syncthreads();  // RACE: the last thread wrote the place, all threads read it
    complete = complete && place[1] <= w.room;
    std::int64_t to = place[0] + before;
    for (std::int32_t v = my_words; v < my_end; ++v) {
      for (std::uint32_t bits = column[v]; complete && bits != 0; bits &= bits - 1) {
        const std::int32_t i = 32 * v + __ffs(static_cast<int>(bits)) - 1;
        if (i == k) w.diag[k] = to;
        w.rows[to++] = i;
      }
      column[v] = 0;
    }
    if (thread == 0 && complete) {
      w.first[k] = place[0];
      w.last[k] = place[1];
    }
    __syncthreads();  // RACE: all threads stored rows of column k, thread 0 publishes it; the barrier orders them
    if (thread == 0) {
      if (complete)
        FillDegree(w.degree[k]).fetch_sub(1, Keeps::publish);  // RACE: release orders column k before the 0
      else
        FillDegree(w.degree[k]).store(given_up, cuda::memory_order_relaxed);  // RACE: there is nothing to read
    }
  }
}

}  // namespace lulab
