#pragma once
// Full/empty scalars in device memory: a reserved NaN means "not written yet", readers spin on the value itself.
// No flag and no fence is needed. Device code.
//
//   d_words.fill_bytes(0xff, stream)      before the launch: all bits set means "not yet"
//   publish(&words[i], value)             once, by one thread
//   Word<T> seen = peek(&words[i])        as early as one likes
//   T value = to_scalar(await(&words[i], seen))       await_all() for several
//
// The thread that publishes must be resident or have finished, else await() never returns.

#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/simt/kernel.h"

namespace lulab {

template <class T>
using Word = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned int>;
template <class T>
constexpr Word<T> not_yet = ~Word<T>(0);  // a NaN that publish() never stores

__device__ __forceinline__ double to_scalar(unsigned long long w) {
  return __longlong_as_double(static_cast<long long>(w));
}
__device__ __forceinline__ float to_scalar(unsigned int w) { return __int_as_float(static_cast<int>(w)); }

namespace awaited_scalar {
__device__ __forceinline__ unsigned long long to_word(double x) {
  return static_cast<unsigned long long>(__double_as_longlong(x));
}
__device__ __forceinline__ unsigned int to_word(float x) { return static_cast<unsigned int>(__float_as_int(x)); }
}  // namespace awaited_scalar

template <class W>
__device__ __forceinline__ W peek(W* word) {
  // RACE: one thread of any block stores the word; the word is all that is read of what that thread did, so it need not
  // be ordered with anything
  // lab: full_empty begin
  return cuda::atomic_ref<W, cuda::thread_scope_device>(*word).load(cuda::memory_order_relaxed);
  // lab: full_empty end
}

/// Spins until the word, last read as `seen`, is written.
template <class W>
__device__ __forceinline__ W await(W* word, W seen) {
  // lab: full_empty begin
  while (seen == ~W(0)) seen = peek(word);  // RACE: see peek(); the thread that publishes it is resident
  return seen;
  // lab: full_empty end
}

/// Spins until words[e · stride], last read as seen[e], are written for all e < count.
template <class W, int size>
__device__ __forceinline__ void await_all(W* words, std::int64_t stride, int count, W (&seen)[size]) {
  for (;;) {
    W* missing = nullptr;
#pragma unroll
    for (int e = 0; e < size; ++e)
      if (e < count && seen[e] == ~W(0)) missing = words + e * stride;
    if (!missing) return;
    (void)peek(missing);  // two loads of one word in a row tell the simulator that this thread waits
#pragma unroll
    for (int e = size - 1; e >= 0; --e)  // RACE: see peek(); the threads that publish them are resident
      if (e < count && seen[e] == ~W(0)) seen[e] = peek(words + e * stride);
  }
}

/// What publish() stores. Infinities become NaNs. (By bits: comparisons of doubles are slow where many are stored.)
template <class T>
__device__ __forceinline__ Word<T> word_of(T value) {
  constexpr int fraction_bits = std::numeric_limits<T>::digits - 1;
  constexpr Word<T> without_sign = ~Word<T>(0) / 2, infinity = (without_sign >> fraction_bits) << fraction_bits;
  const Word<T> w = awaited_scalar::to_word(value);
  return (w & infinity) == infinity ? without_sign : w;
}

/// As publish(), of what word_of() gave: for threads that make several before they store any.
template <class T>
__device__ __forceinline__ void publish_word(Word<T>* word, Word<T> w) {
  // RACE: threads that peek at the word read nothing else that this thread wrote
  // lab: full_empty begin
  cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(*word).store(w, cuda::memory_order_relaxed);
  // lab: full_empty end
}
template <class T>
__device__ __forceinline__ void publish(Word<T>* word, T value) {
  publish_word<T>(word, word_of(value));
}

}  // namespace lulab
