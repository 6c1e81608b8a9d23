#pragma once
// Delays that tests inject between tasks. Device code.

#include <cstdint>

#include "core/simt/kernel.h"

namespace lulab::sparse_syncfree {

/// Up to 16 µs, another for each block, task and seed.
__device__ inline void pause_before(std::uint64_t seed, std::int32_t task) {
  std::uint64_t mixed = (seed + task) * 0x9e3779b97f4a7c15u + blockIdx.x;
  mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
  __nanosleep(static_cast<unsigned>(mixed >> 50));
}

}  // namespace lulab::sparse_syncfree
