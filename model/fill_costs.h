#pragma once
// Predicted times of searches for the pattern of L + U. Used to choose where fill is found.

#include <cstdint>

#include "symbolic/rungs.h"

namespace lulab {

/// From B and to the pattern of L + U, both in host memory.
struct FillCosts {
  double gilbert_peierls_us = 0;  // symbolic/01_gilbert_peierls
  double depth_bitmaps_us = 0;    // symbolic/08_depth_bitmaps, on a GPU that has been started
};

/// A search on the GPU of a process that has not started it takes so much longer.
constexpr double start_gpu_us = 190'000;

/// Sums over entries, fitted to bench/results/nvidia-h200/symbolic.json and gsofa.json, wrong by at most a factor of 2,
/// of 2.5 for 01 where hosts differ. There, no other rung is faster than both by more than a fifth. Since rows are
/// sorted by bits the host takes less for large patterns: af23560 half, a grid of 90,000 points seven tenths.
///
/// nnz: of B   nnz_lu: of L + U; where it is not known, nnz, and the bitmaps are chosen only where they surely pay
/// renumbers: rows and columns get other numbers on the GPU: the elimination tree is not postordered, or B is permuted
FillCosts fill_costs(std::int64_t nnz, std::int64_t nnz_lu, bool renumbers);

/// How long several ranks of one host, a GPU each, take for a search that takes one_rank_us on one of them.
/// imbalance: what the busiest reads over the mean
///
/// From bench/results/nvidia-h200/ranks.json: the pattern of one comes to its host in 1.2 ns an entry of L + U, that of
/// several in 2.5. They may take half of it, for together they may read less than one does.
double ranks_us(double one_rank_us, std::int64_t nnz_lu, int ranks, double imbalance);

/// The one that is predicted to be faster where L + U is not known; Gilbert and Peierls' without a GPU.
const FillRung& choose_fill_rung(std::int64_t nnz, bool renumbers, bool gpu);

}  // namespace lulab
