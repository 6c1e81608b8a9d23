#pragma once
// Seeded random numbers that are the same with every compiler and library.

#include <cstdint>
#include <random>

namespace lulab {

/// The standard fixes std::mt19937_64 bit for bit, but not its distributions: these are our own.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Uniform in 0..bound-1.   Requires bound > 0. (Biased by less than bound / 2^64.)
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(bound));
  }
  bool chance(double probability) { return uniform() < probability; }
  /// Magnitude uniform in [0.1, 1), either sign: never zero, never tiny.
  double value() {
    const double magnitude = uniform(0.1, 1.0);
    return chance(0.5) ? magnitude : -magnitude;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace lulab
