#pragma once
// The machine that the simulator plays.

#include <algorithm>
#include <cstddef>

#include "core/simt/host/race_model.h"

namespace lulab::simt::host {

inline constexpr int warp_size = 32;
inline constexpr int max_threads_per_block = 1024;
inline constexpr int max_threads_per_sm = 1024;
inline constexpr int max_blocks_per_sm = 32;
inline constexpr unsigned max_blocks_per_cluster = 16;
inline constexpr std::size_t static_shared_limit = std::size_t{48} << 10;
inline constexpr std::size_t shared_static_room = std::size_t{64}
                                                  << 10;  // what static arrays take with the gaps between them
inline constexpr std::size_t shared_limit_per_block = std::size_t{227} << 10;  // static and dynamic
inline constexpr std::size_t shared_bytes_per_sm = std::size_t{228} << 10;
inline constexpr std::size_t shared_reserved_per_block = std::size_t{1} << 10;

/// Under ThreadSanitizer every resident thread costs 0.8 MB: the machine is smaller there.
inline int sm_count() { return race_detection() ? 1 : 4; }

/// Blocks of this shape that one multiprocessor holds; 0: not even one.
inline int blocks_per_sm(int threads, std::size_t shared_bytes) {
  if (threads < 1 || threads > max_threads_per_block || shared_bytes > shared_limit_per_block) return 0;
  const int rounded = (threads + warp_size - 1) / warp_size * warp_size;
  const auto by_shared = static_cast<int>(shared_bytes_per_sm / (shared_bytes + shared_reserved_per_block));
  return std::min({max_threads_per_sm / rounded, max_blocks_per_sm, by_shared});
}

}  // namespace lulab::simt::host
