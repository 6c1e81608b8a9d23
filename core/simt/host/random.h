#pragma once

#include <cstdint>

namespace lulab::simt::host {

/// SplitMix64 (Steele, Lea & Flood 2014): equal seeds, equal schedules, on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [0, bound), bound < 2^32.
  std::uint64_t below(std::uint64_t bound) { return ((next() >> 32) * bound) >> 32; }

 private:
  std::uint64_t state_;
};

}  // namespace lulab::simt::host
