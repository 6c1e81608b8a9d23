#pragma once
// The words that a task of 11_fan_in awaits. Device code.

#include <cstdint>

#include "core/simt/prefetch.h"
#include "sparse_syncfree/11_fan_in_launch.h"

namespace lulab::sparse_syncfree {

/// The tables of a task: the first ones in shared memory, the others where the plan lies.
struct FanInTables {
  const char* staged;
  const char* whole;
  std::uint32_t staged_bytes;

  template <class U>
  __device__ __forceinline__ const U* at(std::uint32_t offset) const {
    return reinterpret_cast<const U*>((offset < staged_bytes ? staged : whole) + offset);
  }
};

/// Equivalent to   for each row of the stage:  X(row.place) -= the sum of its words, once they are written
/// One word of each task that writes some is awaited first; the others are looked at when these are there.
/// Called by all threads of the block; ends with a barrier.
template <class T>
__device__ __forceinline__ void add_words(const FanInTables& tables, const FanInStage& stage, Word<T>* words, T* x) {
  constexpr int at_once = 4, words_at_once = 2;
  const FanInTable& table = stage.words;
  for (std::uint32_t at = max(stage.last, tables.staged_bytes) / 128 * 128 + 128 * threadIdx.x; at < stage.end;
       at += 128 * blockDim.x)
    simt::prefetch_into_l2(tables.whole + at);  // a plan may be larger than L2; meanwhile the words are awaited
  const std::uint32_t* const last_words = tables.at<std::uint32_t>(stage.last);
  for (std::uint32_t q = threadIdx.x; q < stage.n_last; q += blockDim.x) {
    Word<T>* const word = words + last_words[q];
    (void)await(word, peek(word));  // RACE: see peek(); their tasks have smaller tickets
  }
  __syncthreads();  // RACE: orders nothing that is read; spares the other warps' loads while the words are not there
  const FanInGroup* const groups = tables.at<FanInGroup>(table.groups);
  const FanInRow* const rows = tables.at<FanInRow>(table.rows);
  const std::uint32_t* const items = tables.at<std::uint32_t>(table.items);
  for (std::uint32_t g = 0; g < table.n_groups; ++g) {
    const FanInGroup group = groups[g];
    const int lanes = 1 << group.log_lanes, lane = int(threadIdx.x) & (lanes - 1);
    const int step = int(blockDim.x) >> group.log_lanes;
    int r = int(threadIdx.x) >> group.log_lanes;
    for (int of_warp = int(threadIdx.x & ~31u) >> group.log_lanes; of_warp < group.rows;
         of_warp += at_once * step, r += at_once * step) {
      FanInRow row[at_once];
      T sum[at_once] = {};
      int longest = 0;
#pragma unroll
      for (int y = 0; y < at_once; ++y) {
        row[y] = r + y * step < group.rows ? rows[group.first_row + r + y * step] : FanInRow{0, 0, 0};
        longest = max(longest, int(row[y].count));
      }
      for (int q = lane; q < longest; q += words_at_once * lanes) {
        std::uint32_t at[at_once][words_at_once];
        Word<T> seen[at_once][words_at_once];
#pragma unroll
        for (int y = 0; y < at_once; ++y)
#pragma unroll
          for (int z = 0; z < words_at_once; ++z)
            if (q + z * lanes < row[y].count) {
              at[y][z] = items[row[y].first_item + q + z * lanes];
              seen[y][z] = peek(words + at[y][z]);
            }
#pragma unroll
        for (int y = 0; y < at_once; ++y)
#pragma unroll
          for (int z = 0; z < words_at_once; ++z)  // RACE: see peek(); their tasks have smaller tickets
            if (q + z * lanes < row[y].count) sum[y] += to_scalar(await(words + at[y][z], seen[y][z]));
      }
      for (int offset = lanes / 2; offset > 0; offset /= 2) {
#pragma unroll
        for (int y = 0; y < at_once; ++y) sum[y] += __shfl_xor_sync(0xffffffffu, sum[y], offset);
      }
#pragma unroll
      for (int y = 0; y < at_once; ++y)
        if (lane == 0 && row[y].count > 0) x[row[y].place] -= sum[y];
    }
  }
  __syncthreads();  // RACE: each thread changed some of X, all read it
}

}  // namespace lulab::sparse_syncfree
