#pragma once
// Options of single rungs of this stage (FactorOptions::of_rung).

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
inline constexpr double always_allowed_bytes = 128 << 20;  // to 11 and 12

/// Entries of L and U, of more of which 11_fan_in makes no plan and factors as 10_supernode_panels does. There
/// 12_multifrontal is faster.
inline constexpr std::int64_t max_fan_in_entries = 3'000'000;

}  // namespace lulab::sparse_syncfree
