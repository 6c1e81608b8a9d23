#pragma once
// The lines of a sparse matrix, its rows or its columns, each summed by a team of threads: a short one by a few lanes of a
// warp, a long one by a block. Who adds what, and in which order, depends on the pattern alone.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/simt/kernel.h"

namespace lulab {

constexpr int team_threads = 256;  // of a block
constexpr int most_turns = 16;     // of a lane in a short line

/// In device memory.
struct LinesView {
  std::int32_t n;
  int lanes;                  // that share a short line; 1, 2, 4, ..., 32
  const std::int64_t* ptr;    // (n + 1)
  const std::int32_t* longs;  // (n_longs) lines of more than most_turns * lanes entries
  std::int32_t n_longs;
};

/// On the host.
struct Lines {
  int lanes = 1;
  std::vector<std::int32_t> longs;

  /// ptr: (n + 1). Half as many lanes as a line has entries on the average.
  explicit Lines(std::span<const std::int64_t> ptr) {
    const auto n = static_cast<std::int64_t>(ptr.size()) - 1;
    const std::int64_t average = n > 0 ? (ptr[n] + n - 1) / n : 1;
    lanes = static_cast<int>(std::min<std::uint64_t>(32, std::bit_ceil(static_cast<std::uint64_t>((average + 1) / 2))));
    for (std::int64_t i = 0; i < n; ++i)
      if (ptr[i + 1] - ptr[i] > most_turns * lanes) longs.push_back(static_cast<std::int32_t>(i));
  }
};

/// Blocks of a launch of for_each_line().
inline unsigned blocks_for_lines(const LinesView& lines) {
  const std::int64_t threads = std::int64_t(lines.n) * lines.lanes;
  return static_cast<unsigned>(lines.n_longs +
                               std::clamp<std::int64_t>((threads + team_threads - 1) / team_threads, 1, 2048));
}

/// For each line: add(sum, line, k) for its entries k, each by one thread of the team, and one(sum, line) by one of them
/// with what all have; `sum` starts as first(line, is_first thread of the team).
///
/// Sum     has meet(const Sum& other): it takes in the other's; and from(offset): that of the lane with this xor.
/// grid: blocks_for_lines() along x   block: team_threads   Called by all threads; all return together.
template <class Sum, class First, class Add, class One>
__device__ __forceinline__ void for_each_line(const LinesView& lines, const First& first, const Add& add,
                                              const One& one) {
  constexpr int warps = team_threads / 32;
  if (static_cast<std::int32_t>(blockIdx.x) < lines.n_longs) {
    LULAB_SHARED(Sum, of_warp, warps);
    const std::int32_t i = lines.longs[blockIdx.x];
    Sum sum = first(i, threadIdx.x == 0);
    for (std::int64_t k = lines.ptr[i] + threadIdx.x; k < lines.ptr[i + 1]; k += team_threads) add(sum, i, k);
    for (int offset = 16; offset > 0; offset /= 2) sum.meet(sum.from(offset));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();  // RACE: each warp wrote its sum, thread 0 reads all of them
    if (threadIdx.x == 0) {
      for (int w = 1; w < warps; ++w) sum.meet(of_warp[w]);
      one(sum, i);
    }
    return;
  }
  const int lanes = lines.lanes, lane = threadIdx.x % lanes, groups_per_warp = 32 / lanes;
  const std::int64_t stride = std::int64_t(gridDim.x - lines.n_longs) * team_threads / lanes;
  const std::int64_t group = (std::int64_t(blockIdx.x - lines.n_longs) * team_threads + threadIdx.x) / lanes;
  for (std::int64_t at = group / groups_per_warp * groups_per_warp; at < lines.n; at += stride) {
    const std::int64_t line = at + group % groups_per_warp;
    const bool exists = line < lines.n;
    const auto i = static_cast<std::int32_t>(exists ? line : 0);
    const std::int64_t begin = lines.ptr[i], end = lines.ptr[i + 1];
    const bool mine = exists && end - begin <= most_turns * lanes;
    Sum sum = first(i, mine && lane == 0);
    if (mine)
      for (std::int64_t k = begin + lane; k < end; k += lanes) add(sum, i, k);
    for (int offset = lanes / 2; offset > 0; offset /= 2) sum.meet(sum.from(offset));
    if (mine && lane == 0) one(sum, i);
  }
}

}  // namespace lulab
