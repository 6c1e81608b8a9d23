#pragma once
// What memory of the simulated device holds before the first write.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace lulab::simt::host {

/// NaN in double and in float, negative as an integer. Not all bits set: with these rungs say "not written yet"
/// (core/awaited_scalar.h), and a kernel that relied on memory that nobody cleared would look right.
constexpr std::uint64_t poison_word = 0xFFFEFFFEFFFEFFFE;

inline void poison(void* p, std::size_t bytes) {
  static constexpr auto words = [] {
    std::array<std::uint64_t, 512> all{};
    all.fill(poison_word);
    return all;
  }();
  // by memcpy(), which ThreadSanitizer sees though the scheduler is not instrumented
  for (std::size_t done = 0; done < bytes; done += sizeof words)
    std::memcpy(static_cast<unsigned char*>(p) + done, words.data(), std::min(sizeof words, bytes - done));
}

}  // namespace lulab::simt::host
