#pragma once
// What a thread is going to write while others poll it. The simulator's reports of deadlocks find by it which thread
// another waits for, where that does not know a column for note_wait() of core/simt/kernel.h. Empty on the GPU.

#include <cstdint>

#ifndef LULAB_CUDA
#include <memory>  // first: libstdc++ has an attribute by the name of a macro in types.h

#include "core/simt/host/types.h"
#endif

namespace lulab::simt {

/// `times` pieces of so many bytes, each `stride` bytes behind the one before.
struct Written {
  const void* first = nullptr;
  std::int64_t bytes = 0, stride = 0, times = 1;
};
/// first[0] .. first[count - 1], and the same `stride` elements on, so many times.
template <class W>
__device__ __forceinline__ Written written(const W* first, std::int64_t count, std::int64_t stride = 0,
                                           std::int64_t times = 1) {
  return {first, count * std::int64_t(sizeof(W)), stride * std::int64_t(sizeof(W)), times};
}

/// The calling thread, or others that wait for it, will write these and no longer what it noted before.
#ifdef LULAB_CUDA
__device__ __forceinline__ void note_writes(const Written&, const Written& = {}, const Written& = {}) {}
#else
void note_writes(const Written& a, const Written& b = {}, const Written& c = {});
#endif

}  // namespace lulab::simt
