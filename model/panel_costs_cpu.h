#pragma once
// Predicted time of a factorization by panels on CPU threads, from the pattern alone. Used to choose between CPU and
// GPU (panel_costs.h).

#include <cstdint>

#include "core/plan.h"

namespace lulab {

struct CpuCosts {
  double multiply_adds = 0;  // without those of padding zeros
  double work_us = 0;        // time of one thread
  double chain_us = 0;       // time of the longest chain of dependent columns
  int threads = 1;           // running at the same time
  double predicted_us = 0;   // time of one refactorization, in microseconds
};

/// The prediction is the work divided by the number of useful threads, plus the chain if there are several threads.
/// Work is a sum over columns, entries of U and multiply-adds. The constants are fitted to
/// sparse_leftlooking/07_threads: those of one thread on 34 matrices with AMD and METIS orderings, on a Xeon with
/// AVX-512 (typical error a factor of 1.3, at most 1.8); the others on bench/results/nvidia-h200/leftlooking.json (16
/// cores, at most 2.4).
///
/// Requires  a valid FilledPattern; cores >= 1.
/// Cost      O(nnz(U)).
CpuCosts cpu_costs(const FilledPattern& filled, int cores);

/// cpu_costs() of the same pattern on another number of cores.   Cost O(1).
CpuCosts on_cores(CpuCosts costs, int cores);

/// What one thread takes at least for an n x n matrix with so many entries, half of them above the diagonal: without
/// fill, without multiply-adds.   In microseconds.
double least_cpu_us(std::int32_t n, std::int64_t entries);

/// What so many multiply-adds alone take on so many cores.   In microseconds.
double multiply_adds_us(double multiply_adds, int cores);

}  // namespace lulab
