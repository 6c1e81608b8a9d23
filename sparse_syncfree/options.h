#pragma once
// Options of single rungs of this stage (FactorOptions::of_rung).

#include <algorithm>
#include <cstdint>

#include "core/factor_options.h"

namespace lulab::sparse_syncfree {

// 10, 11, 12
inline constexpr RungOption memory_ratio_option = {
    .name = "memory_ratio",
    .default_value = 4,
    .least = 0,
    .most = 1e6,
    .meaning =
        "device memory, in units of what L and U take, above which tables that save time are left out; 8 MiB are "
        "always allowed, 128 MiB to 11_fan_in and 12_multifrontal"};

/// Device memory that a plan of 11 or 12 may take beside `held_bytes` of the factorization.   Unit bytes.
inline std::int64_t plan_bytes_allowed(double memory_ratio, std::int64_t nnz_lu, std::int64_t scalar_bytes,
                                       std::int64_t held_bytes) {
  constexpr double always_bytes = 128 << 20;
  const double of_lu = double(scalar_bytes + std::int64_t(sizeof(std::int32_t))) * double(nnz_lu);
  return static_cast<std::int64_t>(std::max(std::max(memory_ratio * of_lu, always_bytes) - double(held_bytes), 0.0));
}

/// Entries of L and U, of more of which 11_fan_in makes no plan and factors as 10_supernode_panels does. There
/// 12_multifrontal is faster.
inline constexpr std::int64_t max_fan_in_entries = 3'000'000;
/// With more, 12 takes as a rule no longer than 11, and its plan a sixth of the time or less: model/NOTES.md.
inline constexpr double max_fan_in_multiply_adds = 7e7;

}  // namespace lulab::sparse_syncfree
