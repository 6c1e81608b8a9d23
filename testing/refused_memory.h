#pragma once
// For tests of what happens without host memory: from one allocation on, this thread gets none, or one is refused.
// Replaces operator new of the program and of the libraries that it loads, which ThreadSanitizer takes for a race in
// programs that simulate a GPU: not for these.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>

namespace lulab::testing {

inline thread_local std::int64_t allowed_allocations = std::numeric_limits<std::int64_t>::max();
inline thread_local bool memory_was_refused = false, is_refused_once = false;

/// Runs call() with so many allocations. Was one more asked for?   once: it alone is refused; then there is memory, for
/// the message, too.
template <class Call>
bool without_memory_after(std::int64_t allocations, const Call& call, bool once = false) {
  memory_was_refused = false;
  is_refused_once = once;
  allowed_allocations = allocations;
  call();
  allowed_allocations = std::numeric_limits<std::int64_t>::max();
  return memory_was_refused;
}

}  // namespace lulab::testing

// Weak: several files of a program may include this.
[[gnu::weak]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  namespace testing = lulab::testing;
  if (testing::allowed_allocations <= 0) testing::memory_was_refused = true;
  if (--testing::allowed_allocations >= 0) return std::malloc(std::max<std::size_t>(size, 1));
  if (testing::is_refused_once) testing::allowed_allocations = std::numeric_limits<std::int64_t>::max();
  return nullptr;
}
[[gnu::weak]] void* operator new(std::size_t size) {
  void* const p = operator new(size, std::nothrow);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
[[gnu::weak]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::weak]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
