#pragma once
// The hash behind dense problems, for kernels and for the host.

#include <cstdint>

#include "core/simt/kernel.h"
#include "verify/dense_probe.h"

namespace lulab {

inline constexpr double lu_residual_limit = 30;  // LAPACK's for its own factorizations

/// Finalizer of splitmix64 (Steele, Lea & Flood 2014): every bit of z moves every bit of the result.
__host__ __device__ inline std::uint64_t mix_bits(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// dense_entry() of verify/dense_probe.h.
template <class T>
__host__ __device__ inline T hashed_entry(const DenseProblem& problem, std::int32_t i, std::int32_t j) {
  const std::uint64_t counter = (static_cast<std::uint64_t>(j) << 32) | static_cast<std::uint32_t>(i);
  const std::uint64_t hash = mix_bits(mix_bits(problem.seed + 0x9e3779b97f4a7c15ull) ^ counter);
  const std::int32_t odd = 2 * static_cast<std::int32_t>(hash >> 40) + 1 - (1 << 24);  // never zero, 24 bits
  const T value = static_cast<T>(odd) * static_cast<T>(0x1p-24);
  return problem.kind == DenseKind::dominant && i == j ? static_cast<T>(problem.n) + value : value;
}

}  // namespace lulab
