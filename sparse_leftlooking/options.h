#pragma once
// Options of single rungs of this stage (FactorOptions::of_rung).

#include "core/factor_options.h"

namespace lulab::sparse_leftlooking {

// 01, 02, 03
inline constexpr RungOption warps_per_sm = {
    .name = "warps_per_sm",
    .most = 64,
    .meaning = "at most so many resident warps a multiprocessor; 0: as many as pay"};
inline constexpr RungOption shuffle_nonzeros = {
    .name = "shuffle_nonzeros",
    .most = 1,
    .meaning = "1: rows of L in random order in each column, as a pivoting factorization leaves them"};
inline constexpr RungOption warp_options[] = {warps_per_sm, shuffle_nonzeros};

// 04
inline constexpr RungOption group_lanes = {
    .name = "group_lanes",
    .default_value = 8,
    .most = 32,
    .meaning = "lanes that share a column where levels are wide: 1, 2, 4, ..., 32"};
inline constexpr RungOption group_warps = {
    .name = "group_warps",
    .default_value = 2,
    .most = 16,
    .meaning = "warps that share a column where levels are narrow: 1, 2, 4, 8 or 16"};
inline constexpr RungOption group_options[] = {group_lanes, group_warps};

}  // namespace lulab::sparse_leftlooking
