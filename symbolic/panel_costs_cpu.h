#pragma once
// What a factorization by panels will take on the threads of a CPU, told from the pattern alone: by which the CPU is
// compared with a GPU (panel_costs.h).

#include "core/plan.h"

namespace lulab {

struct CpuCosts {
  double multiply_adds = 0;  // of the columns, without zeros of panels
  double work_us = 0;        // of one thread
  double chain_us = 0;       // of the longest chain of columns that wait for each other
  int threads = 1;           // at work at once
  double predicted_us = 0;   // one refactorization, in microseconds
};

/// The prediction is a sum: the work shared out among the threads that it keeps busy, and the chain when there are several.
/// A thread's work is a sum over columns, entries of U and multiply-adds. Its constants are fitted to
/// sparse_leftlooking/07_threads: one thread on 34 matrices in AMD's and METIS's order, a Xeon with AVX-512 (1.3 times too
/// much or too little as a rule, 1.8 times at most), the rest on bench/results/nvidia-h200/leftlooking.json (16 cores, up to
/// 2.4 times).
///
/// Requires  a valid FilledPattern; cores >= 1.
/// Cost      O(nnz(U)).
CpuCosts cpu_costs(const FilledPattern& filled, int cores);

}  // namespace lulab
