#pragma once
// CPU or GPU, by the predicted time of one refactorization.

#include <string>

#include "core/rung.h"

namespace lulab::sparse_auto {

struct Candidates {
  const Rung* cpu = nullptr;
  const Rung* gpu = nullptr;
};

/// What the choice rests on.
struct Prospects {
  double cpu_us = 0;        // one refactorization
  double gpu_us = 0;        // likewise, with the values going to the device and a wait
  std::string no_gpu = {};  // why there is none; empty: there is one
};

/// Predictions from the pattern (symbolic/panel_costs.h, panel_costs_cpu.h), and whether a GPU answers. The simulator is no GPU.
///
/// threads: FactorOptions::threads; 0: the cores of this machine.
/// Cost      that of panel_costs().
Prospects prospects(const FilledPattern& filled, int threads);

/// The GPU where there is one and it is predicted to be faster. The reason names both times.
Choice choose(const Candidates& candidates, const Prospects& prospects);

/// The CPU, because the GPU was chosen and could not be prepared.
Choice fall_back(const Candidates& candidates, const Prospects& prospects, const Status& gpu_failed);

}  // namespace lulab::sparse_auto
