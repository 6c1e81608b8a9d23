#pragma once
// Which plan of panels a factorization follows, within the device memory that it may take. Host code.

#include <cstdint>
#include <functional>

#include "core/status.h"
#include "sparse_syncfree/10_panel_tasks.h"

namespace lulab::sparse_syncfree {

struct PanelOptions {
  RelaxationOptions relaxation = {};
  std::int32_t max_scalars = 6144;   // of a task in shared memory: four blocks of them fit into a multiprocessor
  std::int32_t small = 128;          // entries of L up to which a panel's update may be gathered; -1: none is
  bool always_gather = false;        // else only where that is predicted to be faster
  bool always_search = false;        // for rows, as if there were no memory for a map
  std::int64_t blocks = 0;           // of the grid; 0: as many as are resident at once
  std::int32_t systems_at_once = 0;  // of a batch, in one launch; 0: as many as keep their values in the L2 cache
  double perturb_pivots = 0;         // see FactorOptions
  double memory_ratio = 4;           // likewise
  std::uint64_t seed = 0;            // where delays are injected: another order of tasks, other delays
};

/// What a plan is chosen for.
struct PanelUse {
  std::int64_t scalar_bytes;
  std::int64_t nnz;            // of L and U
  std::int32_t systems;        // of a batch; 0: it is none
  std::int64_t factors_bytes;  // device memory that the factorization holds besides the plan
  int sm_count;
  std::size_t device_bytes;  // memory
  bool inject_delays;
  const RelaxedSupernodes* supernodes = nullptr;  // of the pattern, by RelaxationOptions{}; null: they are to be found
};

/// Systems of a batch that one launch works on.
std::int32_t systems_of_launch(const PanelTasks& plan, const PanelOptions& options, const PanelUse& use);

/// Device memory of the plan's tables and words; searching: without the map of rows.
std::int64_t bytes_of(const PanelTasks& plan, bool searching, const PanelOptions& options, const PanelUse& use);

/// Calls upload(plan, kernel) for the plan that is predicted to be fastest, and where that has no room for plans that
/// take less memory: without lists of gathered entries, then without the map of rows. With factors_bytes a plan takes
/// at most memory_ratio times what L and U do; always_allowed_bytes() are always allowed, and so is the last plan.
/// Errors    invalid_argument (options); those of upload(), of out_of_memory only that of the last plan.
Status upload_fastest_plan(const FilledPattern& f, const PanelOptions& options, const PanelUse& use,
                           const std::function<Status(const PanelTasks&, PanelKernel)>& upload);

}  // namespace lulab::sparse_syncfree
