#pragma once
// Where a sequence of row swaps takes each row. Device code.

#include <cstdint>

#include "core/simt/kernel.h"

namespace lulab::dense {

constexpr std::int32_t no_move = -1;

/// Turns swaps that follow one another into moves that do not depend on each other: for t = 0 .. 2 * n_swaps - 1 row
/// from[t] goes to row to[t]; from[t] = no_move where nothing moves. The first n_swaps moves start in the rows
/// first_swap + t, the others in the rows below them that the swaps name.
/// Shapes    in shared memory: swap (n_swaps) of ipiv, from and to (2 * n_swaps).   Called by the whole block.
/// Equivalent to   row = the permutation that swap(row[first_swap + s], row[swap[s]]) for s = 0, 1, ... makes
__device__ inline void net_moves(std::int32_t first_swap, std::int32_t n_swaps, const std::int32_t* swap,
                                 std::int32_t* from, std::int32_t* to) {
  for (std::int32_t t = threadIdx.x; t < 2 * n_swaps; t += blockDim.x) {
    const std::int32_t start = t < n_swaps ? first_swap + t : swap[t - n_swaps];
    // lab: swap_rows begin
    // One move for each row, also where two swaps name it, or where it is among the first n_swaps.
    bool mine = t < n_swaps || start >= first_swap + n_swaps;
    std::int32_t row = start;
    for (std::int32_t s = 0; s < n_swaps; ++s) {
      if (s < t - n_swaps && swap[s] == start) mine = false;
      if (row == first_swap + s)
        row = swap[s];
      else if (row == swap[s])
        row = first_swap + s;
    }
    from[t] = mine && row != start ? start : no_move;
    to[t] = row;
    // lab: swap_rows end
  }
}

}  // namespace lulab::dense
