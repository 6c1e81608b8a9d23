#pragma once
// What memory of the simulated device holds before the first write.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lulab::simt::host {

/// NaN in double and in float, negative as an integer. Not all bits set: that is the word for "not written yet"
/// (core/awaited_scalar.h), and a kernel that waits on memory that nobody cleared would seem right.
constexpr std::uint64_t poison_word = 0xFFFEFFFEFFFEFFFE;

inline void poison(void* p, std::size_t bytes) {
  static constexpr auto words = [] {
    std::array<std::uint64_t, 512> all{};
    all.fill(poison_word);
    return all;
  }();
  // Through a pointer, so that the compiler makes a call, which ThreadSanitizer intercepts.
  void* (*volatile copy)(void*, const void*, std::size_t) = std::memcpy;
  for (std::size_t done = 0; done < bytes; done += sizeof words)
    copy(static_cast<unsigned char*>(p) + done, words.data(), std::min(sizeof words, bytes - done));
}

}  // namespace lulab::simt::host
