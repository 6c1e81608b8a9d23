#pragma once
// Where a sequence of row swaps brings each row in the end. Device code.

#include <cstdint>

#include "core/simt/kernel.h"

namespace lulab::dense {

constexpr std::int32_t no_move = -1;

/// Move t = 0..2 * n_swaps - 1: row from[t] goes to row to[t]. The first n_swaps moves start in the rows
/// first_swap + t, the others in the rows below them that the swaps name; from[t] = no_move where nothing moves.
/// Shared    swap: (n_swaps) of ipiv.   Called by the whole block.
__device__ inline void net_moves(std::int32_t first_swap, std::int32_t n_swaps, const std::int32_t* swap,
                                 std::int32_t* from, std::int32_t* to) {
  for (std::int32_t t = threadIdx.x; t < 2 * n_swaps; t += blockDim.x) {
    const std::int32_t start = t < n_swaps ? first_swap + t : swap[t - n_swaps];
    // A row that two swaps name, or that is among the first n_swaps, has one move all the same.
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
  }
}

}  // namespace lulab::dense
