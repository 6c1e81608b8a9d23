#pragma once
// Options of single rungs of this stage (FactorOptions::of_rung).

#include "core/factor_options.h"

namespace lulab::sparse_hybrid {

// 03, 04
inline constexpr RungOption total_warps = {
    .name = "total_warps",
    .least = -1,
    .most = 1 << 20,
    .meaning =
        "warps shared out among the columns of a level; 0: as many as the device holds; -1: never less than a "
        "large block a column"};
inline constexpr RungOption stream_columns = {
    .name = "stream_columns",
    .least = -1,
    .most = 1 << 20,
    .meaning = "most columns of a level in stream mode; 0: by the device; -1: no stream mode"};
// 01 to 04
inline constexpr RungOption dense_columns = {
    .name = "dense_columns",
    .most = 1 << 30,
    .meaning = "at most so many dense columns in memory at once; 0: a quarter of the memory"};

inline constexpr RungOption fixed_allocation_options[] = {dense_columns};
inline constexpr RungOption mode_options[] = {total_warps, stream_columns, dense_columns};

}  // namespace lulab::sparse_hybrid
