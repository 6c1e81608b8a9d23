#include "sparse_syncfree/10_panel_choice.h"

#include <algorithm>

#include "core/in_parallel.h"
#include "sparse_syncfree/options.h"

namespace lulab::sparse_syncfree {
namespace {

constexpr std::int64_t large_nnz = 1000000;    // from here on a second plan is made only where it may win much
constexpr std::int64_t small_bytes = 8 << 20;  // less than that may always be taken
constexpr std::int64_t cache_bytes = 32 << 20;

/// The chain, which a batch has no need to wait for, and what all tasks and steps take of `blocks` blocks. Fitted to
/// times of an H200: 15 matrices, METIS.
double predicted_us(const PanelTasks& plan, const PanelUse& use, int blocks, double task_us, double step_us) {
  return (use.systems > 0 ? 0 : 2 * plan.chain_us) +
         (task_us * double(plan.tasks.size()) + step_us * double(plan.steps.size())) / blocks;
}

/// Whether to make a plan that gathers, whatever the plan that does not is like.
bool surely_gathers(const PanelOptions& options, const PanelUse& use) {
  return options.small >= 0 && !options.always_search &&
         (options.always_gather || use.systems > 0 || use.nnz <= large_nnz);
}

/// Whether to make a plan that gathers, to compare it with `panels`, which does not.
bool may_gather(const PanelTasks& panels, const PanelOptions& options, const PanelUse& use) {
  if (options.small < 0 || options.always_search || panels.words >= no_word) return false;
  return surely_gathers(options, use) || panels.chain_us >= 1.15 * panels.least_us;
}

bool is_faster(const PanelTasks& gathers, const PanelTasks& panels, const PanelOptions& options, const PanelUse& use) {
  return !gathers.items_left_out &&
         (options.always_gather || predicted_us(gathers, use, 3 * use.sm_count, 4, 1.5) <
                                       1.05 * predicted_us(panels, use, 4 * use.sm_count, 8, 1));
}

}  // namespace

std::int32_t systems_of_launch(const PanelTasks& plan, const PanelOptions& options, const PanelUse& use) {
  if (use.systems == 0) return 1;
  const std::int64_t each = use.scalar_bytes * (plan.words + use.nnz);
  const std::int64_t fit =
      options.systems_at_once > 0 ? options.systems_at_once : cache_bytes / std::max<std::int64_t>(each, 1);
  const std::int64_t counted =
      0x7fffffff / std::max<std::int64_t>(std::ssize(plan.tasks), 1) - 1;  // tickets are 32 bits
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(std::min(fit, counted), 1, use.systems));
}

std::int64_t bytes_of(const PanelTasks& p, bool searching, const PanelOptions& options, const PanelUse& use) {
  const auto size = [](const auto& v) { return static_cast<std::int64_t>(v.size() * sizeof(v[0])); };
  return size(p.tasks) + size(p.steps) + size(p.solves) + size(p.gathers) + size(p.items) + size(p.entry_places) +
         size(p.column_entries) + (searching ? size(p.panels.rows) : std::int64_t(2) * p.map_size) +
         use.scalar_bytes * (p.words * systems_of_launch(p, options, use) + 2);
}

Status upload_fastest_plan(const FilledPattern& f, const PanelOptions& options, const PanelUse& use,
                           const std::function<Status(const PanelTasks&, PanelKernel)>& upload) {
  if (options.relaxation.max_width < 1 || options.relaxation.max_width > max_panel_width ||
      options.max_scalars < 128 * max_panel_width || options.max_scalars > 65535)
    return Status::error(StatusCode::invalid_argument, "a panel has 1 to 8 columns, a task 1024 to 65535 scalars");
  if (!(options.memory_ratio >= 0))
    return Status::error(StatusCode::invalid_argument, "memory_ratio must not be negative");
  const std::int64_t allowed =
      plan_bytes_allowed(options.memory_ratio, use.nnz * std::max(use.systems, 1), use.scalar_bytes, use.factors_bytes,
                         always_allowed_bytes(options.memory_ratio, small_bytes, use.device_bytes));
  const auto fits = [&](const PanelTasks& plan) { return bytes_of(plan, false, options, use) <= allowed; };
  const PanelKernel kernel = {.batched = use.systems > 0, .inject_delays = use.inject_delays};

  const bool are_known =
      use.supernodes && std::ssize(use.supernodes->of) == f.n && options.relaxation == RelaxationOptions{};
  const RelaxedSupernodes found = are_known ? RelaxedSupernodes{} : find_relaxed_supernodes(f, options.relaxation);
  const RelaxedSupernodes& supernodes = are_known ? *use.supernodes : found;
  const auto make = [&](std::int32_t small, int host_threads) {
    return make_panel_tasks(f, supernodes, options.max_scalars, panel_threads, small, host_threads);
  };
  const int host_threads = plan_threads(f.nnz());
  const bool at_once = host_threads > 1 && surely_gathers(options, use);
  PanelTasks panels, gathers;
  if (at_once)
    in_parallel(
        2, [&](int p) { (p == 0 ? panels : gathers) = make(p == 0 ? -1 : options.small, (host_threads + p) / 2); });
  else
    panels = make(-1, host_threads);
  if (may_gather(panels, options, use)) {
    if (!at_once) gathers = make(options.small, host_threads);
    if (is_faster(gathers, panels, options, use) && fits(gathers)) {
      if (use.inject_delays) shuffle_tasks(gathers, options.seed);
      PanelKernel gathering = kernel;
      gathering.gathering = true;
      const Status s = upload(gathers, gathering);
      if (s.code != StatusCode::out_of_memory) return s;
    }
    gathers = {};
  }
  if (use.inject_delays) shuffle_tasks(panels, options.seed);
  if (!options.always_search && fits(panels)) {
    const Status s = upload(panels, kernel);
    if (s.code != StatusCode::out_of_memory) return s;
  }
  PanelKernel searching = kernel;
  searching.searching = true;
  return upload(panels, searching);
}

}  // namespace lulab::sparse_syncfree
