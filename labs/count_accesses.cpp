// Counts the memory accesses of code that is compiled with -fsanitize=thread: in the place of that sanitizer's library,
// each load and store calls a function of this file. The checks of a lab compare the counts of two solutions: without a
// GPU nothing else tells how much work a kernel does, and how long its slowest thread works.
//
// The compiler's calls are described in its own source, gcc/sanitizer.def.

#ifndef __SANITIZE_THREAD__

#include "labs/count_accesses.h"

#include <algorithm>
#include <atomic>

#include "core/simt/kernel.h"

namespace lulab::labs {
namespace {

constexpr unsigned blocks = 64, threads = 1024;
std::atomic<std::uint64_t> total;                       // of all OS threads
std::atomic<std::uint32_t> of_thread[blocks][threads];  // of each simulated thread, in all launches
std::atomic_bool asleep = true;                         // between tests

}  // namespace

/// One more, by the simulated thread that runs.
void count_access() {
  if (asleep.load(std::memory_order_relaxed)) return;
  // RACE: OS threads count together; sums of relaxed additions lose nothing
  total.fetch_add(1, std::memory_order_relaxed);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  of_thread[blockIdx.x % blocks][thread % threads].fetch_add(1, std::memory_order_relaxed);  // RACE: as above
}

void start_counting() {
  total = 0;
  for (auto& block : of_thread)
    for (auto& thread : block) thread = 0;
  asleep = false;
}

Accesses stop_counting() {
  asleep = true;
  Accesses found = {total, 0};
  for (const auto& block : of_thread)
    for (const auto& thread : block) found.of_longest_thread = std::max<std::uint64_t>(found.of_longest_thread, thread);
  return found;
}

}  // namespace lulab::labs

using lulab::labs::count_access;

#define LULAB_COUNTED(name) \
  void __tsan_##name(void*) { count_access(); }
#define LULAB_COUNTED_ATOMICS(bits, Word)                         \
  Word __tsan_atomic##bits##_load(const Word* at, int) {          \
    return count_access(), __atomic_load_n(at, __ATOMIC_SEQ_CST); \
  }                                                               \
  void __tsan_atomic##bits##_store(Word* at, Word v, int) {       \
    count_access(), __atomic_store_n(at, v, __ATOMIC_SEQ_CST);    \
  }                                                               \
  LULAB_COUNTED_ATOMIC(bits, Word, exchange, __atomic_exchange_n) \
  LULAB_COUNTED_ATOMIC(bits, Word, fetch_add, __atomic_fetch_add) \
  LULAB_COUNTED_ATOMIC(bits, Word, fetch_sub, __atomic_fetch_sub) \
  LULAB_COUNTED_ATOMIC(bits, Word, fetch_and, __atomic_fetch_and) \
  LULAB_COUNTED_ATOMIC(bits, Word, fetch_or, __atomic_fetch_or)   \
  LULAB_COUNTED_ATOMIC(bits, Word, fetch_xor, __atomic_fetch_xor) \
  LULAB_COUNTED_EXCHANGE(bits, Word, strong)                      \
  LULAB_COUNTED_EXCHANGE(bits, Word, weak)
#define LULAB_COUNTED_ATOMIC(bits, Word, name, builtin) \
  Word __tsan_atomic##bits##_##name(Word* at, Word v, int) { return count_access(), builtin(at, v, __ATOMIC_SEQ_CST); }
#define LULAB_COUNTED_EXCHANGE(bits, Word, strength)                                                         \
  bool __tsan_atomic##bits##_compare_exchange_##strength(Word* at, Word* expected, Word desired, int, int) { \
    count_access();                                                                                          \
    return __atomic_compare_exchange_n(at, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
  }

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void*, unsigned long) { count_access(); }
void __tsan_write_range(void*, unsigned long) { count_access(); }
void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int) {}
LULAB_COUNTED(read1)
LULAB_COUNTED(read2)
LULAB_COUNTED(read4)
LULAB_COUNTED(read8)
LULAB_COUNTED(read16)
LULAB_COUNTED(write1)
LULAB_COUNTED(write2)
LULAB_COUNTED(write4)
LULAB_COUNTED(write8)
LULAB_COUNTED(write16)
LULAB_COUNTED(unaligned_read2)
LULAB_COUNTED(unaligned_read4)
LULAB_COUNTED(unaligned_read8)
LULAB_COUNTED(unaligned_read16)
LULAB_COUNTED(unaligned_write2)
LULAB_COUNTED(unaligned_write4)
LULAB_COUNTED(unaligned_write8)
LULAB_COUNTED(unaligned_write16)
LULAB_COUNTED_ATOMICS(8, unsigned char)
LULAB_COUNTED_ATOMICS(16, unsigned short)
LULAB_COUNTED_ATOMICS(32, unsigned)
LULAB_COUNTED_ATOMICS(64, unsigned long)
}

#endif
