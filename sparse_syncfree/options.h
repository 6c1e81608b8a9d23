#pragma once
// Options of single rungs of this stage (FactorOptions::of_rung).

#include "core/factor_options.h"

namespace lulab::sparse_syncfree {

// 10, 11
inline constexpr RungOption memory_ratio_option = {
    .name = "memory_ratio",
    .default_value = 4,
    .least = 0,
    .most = 1e6,
    .meaning =
        "device memory, in units of what L and U take, above which tables that save time are left out; 8 MiB are "
        "always allowed"};

}  // namespace lulab::sparse_syncfree
