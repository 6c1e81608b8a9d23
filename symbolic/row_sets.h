#pragma once
// Sets of rows in memory that several threads change, a bit a row. Device code.

#include <cstdint>

#include "core/simt/device_tools.h"

namespace lulab {

using SetWord = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;

__device__ __forceinline__ std::uint32_t bit_of(std::int32_t row) { return std::uint32_t(1) << (row % 32); }

/// Adds the row.   Returns whether it was not there.
template <cuda::memory_order order = cuda::memory_order_relaxed>  // RACE: the caller says what the bit orders
__device__ __forceinline__ bool add_to_set(std::uint32_t* set, std::int32_t row) {
  // RACE: threads add rows of one word
  return (SetWord(set[row / 32]).fetch_or(bit_of(row), order) & bit_of(row)) == 0;
}

/// Takes the row out.
template <cuda::memory_order order = cuda::memory_order_relaxed>  // RACE: the caller says what the bit orders
__device__ __forceinline__ void take_from_set(std::uint32_t* set, std::int32_t row) {
  SetWord(set[row / 32]).fetch_and(~bit_of(row), order);  // RACE: threads change rows of one word
}

__device__ __forceinline__ bool is_in_set(std::uint32_t* set, std::int32_t row) {
  // RACE: others may add the row meanwhile; the caller can do with either answer
  return (SetWord(set[row / 32]).load(cuda::memory_order_relaxed) & bit_of(row)) != 0;
}

/// visit(row) for the rows of one word, ascending.
template <class Visit>
__device__ __forceinline__ void for_rows_of_word(std::uint32_t bits, std::int32_t word, const Visit& visit) {
  for (; bits != 0; bits &= bits - 1) visit(32 * word + __ffs(static_cast<int>(bits)) - 1);
}

}  // namespace lulab
