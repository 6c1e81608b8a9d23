#pragma once
// Sums over the lines (rows or columns) of a sparse matrix, each by a team of threads: a short line by a few lanes of a
// warp, a long one by a block. Which thread adds which entries, and in which order, depends on the pattern alone.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/simt/kernel.h"

namespace lulab {

constexpr int team_threads = 256;            // of a block
constexpr int max_iterations_per_lane = 16;  // of a short line

/// In device memory.
struct LinesView {
  std::int32_t n;
  int lanes;                       // that share a short line: 1, 2, 4, ..., 32
  const std::int64_t* ptr;         // (n + 1)
  const std::int32_t* long_lines;  // (n_long_lines) lines of more than max_iterations_per_lane * lanes entries
  std::int32_t n_long_lines;
};

/// On the host.
struct Lines {
  int lanes = 1;
  std::vector<std::int32_t> long_lines;

  /// ptr: (n + 1). Half as many lanes as a line has entries on the average.
  explicit Lines(std::span<const std::int64_t> ptr) {
    const auto n = static_cast<std::int64_t>(ptr.size()) - 1;
    const std::int64_t average = n > 0 ? (ptr[n] + n - 1) / n : 1;
    lanes = static_cast<int>(std::min<std::uint64_t>(32, std::bit_ceil(static_cast<std::uint64_t>((average + 1) / 2))));
    for (std::int64_t i = 0; i < n; ++i)
      if (ptr[i + 1] - ptr[i] > max_iterations_per_lane * lanes) long_lines.push_back(static_cast<std::int32_t>(i));
  }
};

/// Blocks of a launch of for_each_line().
inline unsigned blocks_for_lines(const LinesView& lines) {
  const std::int64_t threads = std::int64_t(lines.n) * lines.lanes;
  return static_cast<unsigned>(lines.n_long_lines +
                               std::clamp<std::int64_t>((threads + team_threads - 1) / team_threads, 1, 2048));
}

/// add(sum, line, load(k)) for k = begin, begin + stride, ...; four are loaded at a time, so that they wait together.
template <class Sum, class Load, class Add>
__device__ __forceinline__ void add_entries(Sum& sum, std::int32_t line, std::int64_t begin, std::int64_t end,
                                            std::int64_t stride, const Load& load, const Add& add) {
  constexpr int at_once = 4;
#pragma unroll 1
  for (std::int64_t k = begin; k < end; k += at_once * stride) {
    decltype(load(k)) entries[at_once];
#pragma unroll
    for (int q = 0; q < at_once; ++q) entries[q] = load(min(k + q * stride, end - 1));
#pragma unroll
    for (int q = 0; q < at_once; ++q)
      if (k + q * stride < end) add(sum, line, entries[q]);
  }
}

/// For each line: sum = first(line, is_first_thread_of_team), add(sum, line, load(k)) for each entry k by one thread of
/// the team, then finish(sum, line) by one thread with the sum of all.
///
/// Sum     has merge(const Sum& other), which adds the other's part, and of_lane_xor(offset), the part of that lane.
/// grid: blocks_for_lines() along x   block: team_threads   Called by all threads; all return together.
template <class Sum, class First, class Load, class Add, class Finish>
__device__ __forceinline__ void for_each_line(const LinesView& lines, const First& first, const Load& load,
                                              const Add& add, const Finish& finish) {
  constexpr int warps = team_threads / 32;
  const bool is_long = static_cast<std::int32_t>(blockIdx.x) < lines.n_long_lines;
  const int lanes = is_long ? team_threads : lines.lanes, lane = threadIdx.x % lanes;
  const std::int32_t short_block = static_cast<std::int32_t>(blockIdx.x) - lines.n_long_lines;
  const std::int64_t stride = std::int64_t(gridDim.x - lines.n_long_lines) * team_threads / lanes;
  const std::int64_t first_of_warp = (std::int64_t(short_block) * team_threads + threadIdx.x / 32 * 32) / lanes;
#pragma unroll 1
  for (std::int64_t at = is_long ? 0 : first_of_warp; at < lines.n; at += stride) {
    const std::int64_t line = is_long ? lines.long_lines[blockIdx.x] : at + threadIdx.x % 32 / lanes;
    const bool exists = line < lines.n;
    const auto i = static_cast<std::int32_t>(exists ? line : 0);
    const std::int64_t begin = lines.ptr[i], end = lines.ptr[i + 1];
    const bool mine = exists && (is_long || end - begin <= max_iterations_per_lane * lanes);
    Sum sum = first(i, mine && lane == 0);
    if (mine) add_entries(sum, i, begin + lane, end, lanes, load, add);
#pragma unroll 1
    for (int offset = min(lanes, 32) / 2; offset > 0; offset /= 2) sum.merge(sum.of_lane_xor(offset));
    if (is_long) {
      LULAB_SHARED(Sum, of_warp, warps);
      if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
      __syncthreads();  // RACE: each warp wrote its sum, thread 0 reads all of them
#pragma unroll 1
      for (int w = 1; lane == 0 && w < warps; ++w) sum.merge(of_warp[w]);
    }
    if (mine && lane == 0) finish(sum, i);
    if (is_long) return;
  }
}

}  // namespace lulab
