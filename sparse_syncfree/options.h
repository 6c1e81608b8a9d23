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
        "always allowed, 128 MiB to 11_fan_in and 12_multifrontal, and with 4 or more a 64th of the device's memory "
        "to 10_supernode_panels and 12_multifrontal"};

/// Device memory that L and U and a plan may take however small they are: `least`, and unless the caller asks for less
/// than the default a share of the device's. Without the tables an unsymmetric circuit may take 9 times as long.
/// Unit bytes.
inline std::int64_t always_allowed_bytes(double memory_ratio, std::int64_t least, std::size_t device_bytes) {
  constexpr std::size_t share = 64;
  return memory_ratio < memory_ratio_option.default_value
             ? least
             : std::max(least, static_cast<std::int64_t>(device_bytes / share));
}
constexpr std::int64_t always_allowed_to_fronts = 128 << 20;

/// Device memory that a plan may take beside `held_bytes` of the factorization.   Unit bytes.
inline std::int64_t plan_bytes_allowed(double memory_ratio, std::int64_t nnz_lu, std::int64_t scalar_bytes,
                                       std::int64_t held_bytes, std::int64_t always_bytes) {
  const double of_lu = double(scalar_bytes + std::int64_t(sizeof(std::int32_t))) * double(nnz_lu);
  const double most = std::max(memory_ratio * of_lu, double(always_bytes));
  return static_cast<std::int64_t>(std::max(most - double(held_bytes), 0.0));
}

/// Entries of L and U, of more of which 11_fan_in makes no plan and factors as 10_supernode_panels does. There
/// 12_multifrontal is faster.
inline constexpr std::int64_t max_fan_in_entries = 3'000'000;
/// With more, 12 takes as a rule no longer than 11, and its plan a sixth of the time or less: model/NOTES.md.
inline constexpr double max_fan_in_multiply_adds = 7e7;

}  // namespace lulab::sparse_syncfree
