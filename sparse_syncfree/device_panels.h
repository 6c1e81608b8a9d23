#pragma once
// A plan of panels on the device: which one, within the memory it may take, and its launch.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/device_factors.h"
#include "core/simt/device.h"
#include "sparse_syncfree/panel_kernel.h"

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
  std::uint64_t seed = 0;            // of a disturbed factorizer: another order of tasks, other pauses
};

template <class T, bool disturbed = false>
class DevicePanels {
 public:
  explicit DevicePanels(const PanelOptions& options = {}) : options_(options) {}

  /// Plans and uploads; nothing of `f` is needed afterwards.
  ///
  /// factors_bytes: device memory that the factorization holds besides. With it the tables take at most memory_ratio times
  /// what L and U do: else there is none of items that are gathered, and then no map of rows either. Not to have room for a
  /// table is no error, either.
  /// systems: of a batch; 0: it is none.
  /// Errors    invalid_argument (options), out_of_memory, device_error.
  Status prepare(const FilledPattern& f, std::int64_t factors_bytes, std::int32_t systems, simt::Stream& stream) {
    if (options_.relaxation.max_width < 1 || options_.relaxation.max_width > max_panel_width ||
        options_.max_scalars < 128 * max_panel_width || options_.max_scalars > 65535)
      return Status::error(StatusCode::invalid_argument, "a panel has 1 to 8 columns, a task 1024 to 65535 scalars");
    if (!(options_.memory_ratio >= 0))
      return Status::error(StatusCode::invalid_argument, "memory_ratio must not be negative");
    auto device = simt::device_properties();
    if (!device.ok()) return device.status();
    systems_ = systems;
    nnz_ = f.nnz();
    const double of_lu = double(sizeof(T) + sizeof(std::int32_t)) * double(nnz_) * std::max(systems, 1);
    const double allowed = std::max(options_.memory_ratio * of_lu, small_bytes) - double(factors_bytes);
    const RelaxedSupernodes supernodes = find_relaxed_supernodes(f, options_.relaxation);
    const auto make = [&](std::int32_t small) {
      return make_panel_tasks(f, supernodes, options_.max_scalars, panel_threads, small);
    };
    const bool batched = systems > 0;
    const auto fits = [&](const PanelTasks& plan, bool searching) {
      return double(bytes_of(plan, searching)) <= allowed;
    };
    PanelTasks panels = make(-1);
    if (may_gather(f, panels)) {
      PanelTasks gathers = make(options_.small);
      if (pays(gathers, panels, device->sm_count) && fits(gathers, false)) {
        if (disturbed) shuffle_tasks(gathers, options_.seed);
        const Status s =
            upload(gathers, {.gathering = true, .batched = batched, .disturbed = disturbed}, *device, stream);
        if (s.code != StatusCode::out_of_memory) return s;
      }
    }
    if (disturbed) shuffle_tasks(panels, options_.seed);
    if (!options_.always_search && fits(panels, false)) {
      const Status s = upload(panels, {.batched = batched, .disturbed = disturbed}, *device, stream);
      if (s.code != StatusCode::out_of_memory) return s;
    }
    return upload(panels, {.searching = true, .batched = batched, .disturbed = disturbed}, *device, stream);
  }

  /// Enqueues the elimination of f, which holds P·R·A·C·Q, of all systems.
  Status launch(DeviceFactorsView<T> f, simt::Stream& stream) {
    for (std::int32_t first = 0; first < std::max(systems_, 1); first += at_once_) {
      LULAB_RETURN_IF_ERROR(d_words_.fill_bytes(0xff, stream));
      if (n_tasks_ == 0) continue;
      const std::int32_t systems = std::min(at_once_, std::max(systems_, 1) - first);
      LULAB_RETURN_IF_ERROR(simt::launch(kernel_,
                                         {.grid = static_cast<unsigned>(blocks_),
                                          .block = static_cast<unsigned>(panel_threads),
                                          .shared_bytes = shared_bytes_},
                                         stream, f, view(systems), options_.seed));
      f.values += systems * nnz_;
      f.failed_column += systems;
      f.perturbed += systems;
      f.a_max += systems;
    }
    return {};
  }

  /// Device memory held.
  std::int64_t bytes() const { return bytes_; }
  /// For tests.
  PanelKernel kernel() const { return kind_; }

 private:
  /// The chain, which a batch has no need to wait for, and what all tasks and steps take of `blocks` blocks. Fitted to times
  /// of an H200: 15 matrices, METIS.
  double predicted_us(const PanelTasks& plan, int blocks, double task_us, double step_us) const {
    return (systems_ > 0 ? 0 : 2 * plan.chain_us) +
           (task_us * double(plan.tasks.size()) + step_us * double(plan.steps.size())) / blocks;
  }
  static constexpr std::int64_t large_nnz = 1000000;  // from here on a second plan is made only where it may win much
  static constexpr double small_bytes = 8 << 20;      // less than that may always be taken
  static constexpr std::int64_t cache_bytes = 32 << 20;

  bool may_gather(const FilledPattern& f, const PanelTasks& panels) const {
    if (options_.small < 0 || options_.always_search || panels.words >= no_word) return false;
    return options_.always_gather || systems_ > 0 || f.nnz() <= large_nnz || panels.chain_us >= 1.15 * panels.least_us;
  }
  bool pays(const PanelTasks& gathers, const PanelTasks& panels, int sm_count) const {
    return !gathers.items_left_out && (options_.always_gather || predicted_us(gathers, 3 * sm_count, 4, 1.5) <
                                                                     1.05 * predicted_us(panels, 4 * sm_count, 8, 1));
  }

  std::int32_t systems_of_launch(const PanelTasks& plan) const {
    if (systems_ == 0) return 1;
    const std::int64_t each = std::int64_t(sizeof(T)) * (plan.words + nnz_);
    const std::int64_t fit =
        options_.systems_at_once > 0 ? options_.systems_at_once : cache_bytes / std::max<std::int64_t>(each, 1);
    const std::int64_t counted =
        0x7fffffff / std::max<std::int64_t>(std::ssize(plan.tasks), 1) - 1;  // tickets are 32 bits
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(std::min(fit, counted), 1, systems_));
  }

  std::int64_t bytes_of(const PanelTasks& p, bool searching) const {
    const auto size = [](const auto& v) { return static_cast<std::int64_t>(v.size() * sizeof(v[0])); };
    return size(p.tasks) + size(p.steps) + size(p.solves) + size(p.gathers) + size(p.items) + size(p.entry_places) +
           size(p.column_entries) + (searching ? size(p.panels.rows) : std::int64_t(2) * p.map_size) +
           std::int64_t(sizeof(T)) * (p.words * systems_of_launch(p) + 2);
  }

  Status upload(const PanelTasks& plan, PanelKernel kind, const simt::DeviceProperties& device, simt::Stream& stream) {
    forget();
    kind_ = kind;
    at_once_ = systems_of_launch(plan);
    n_tasks_ = static_cast<std::int32_t>(plan.tasks.size());
    n_leaves_ = plan.leaves;
    std::int32_t most = 0;
    for (std::int32_t t = 0; t < n_tasks_; ++t) {
      std::int32_t& largest = t < n_leaves_ ? leaf_scalars_ : most;
      largest = std::max(largest, plan.tasks[t].stride * plan.tasks[t].stored_width);
    }
    shared_bytes_ = sizeof(T) * std::max(most, panel_warps * leaf_scalars_);
    kernel_ = kernel_of(kind);
    auto blocks_per_sm = simt::max_resident_blocks_per_sm(kernel_, panel_threads, shared_bytes_);
    if (!blocks_per_sm.ok()) return blocks_per_sm.status();
    const std::int64_t resident = std::int64_t(device.sm_count) * *blocks_per_sm;
    const std::int64_t useful =
        std::max<std::int64_t>(n_tasks_ - n_leaves_, (n_leaves_ + panel_warps - 1) / panel_warps) * at_once_;
    blocks_ = std::max<std::int64_t>(1, options_.blocks > 0 ? options_.blocks : std::min(resident, useful));

    LULAB_RETURN_IF_ERROR(simt::make(d_rows_, plan.panels.rows, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_tasks_, plan.tasks, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_steps_, plan.steps, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_solves_, plan.solves, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_gathers_, plan.gathers, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_items_, plan.items, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_entry_places_, plan.entry_places, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_column_entries_, plan.column_entries, stream));
    if (!kind.searching) {
      LULAB_RETURN_IF_ERROR(simt::make(d_map_, plan.map_size));
      if (n_tasks_ > 0)
        LULAB_RETURN_IF_ERROR(simt::launch(map_rows_kernel<T>,
                                           {.grid = static_cast<unsigned>(std::min(n_tasks_, 4096)), .block = 128},
                                           stream, view(1), d_map_.data()));
      LULAB_RETURN_IF_ERROR(stream.wait());
      d_rows_ = {};  // before the largest array comes
    }
    n_words_ = plan.words;
    LULAB_RETURN_IF_ERROR(simt::make(d_words_, plan.words * at_once_ + 2));  // and two tickets
    bytes_ = bytes_of(plan, kind.searching);
    return stream.wait();  // the plan need not outlive this
  }

  void forget() {
    d_tasks_ = {};
    d_steps_ = {};
    d_solves_ = {};
    d_gathers_ = {};
    d_items_ = {};
    d_entry_places_ = {};
    d_column_entries_ = {};
    d_rows_ = {};
    d_map_ = {};
    d_words_ = {};
    leaf_scalars_ = 0;
  }

  using Kernel = void (*)(DeviceFactorsView<T>, TasksView<T>, std::uint64_t);
  static Kernel kernel_of(PanelKernel kind) {
    if (kind.gathering)
      return kind.batched ? eliminate_panels_kernel<T, true, false, true, disturbed>
                          : eliminate_panels_kernel<T, true, false, false, disturbed>;
    if (kind.batched)
      return kind.searching ? eliminate_panels_kernel<T, false, true, true, disturbed>
                            : eliminate_panels_kernel<T, false, false, true, disturbed>;
    return kind.searching ? eliminate_panels_kernel<T, false, true, false, disturbed>
                          : eliminate_panels_kernel<T, false, false, false, disturbed>;
  }

  TasksView<T> view(std::int32_t systems) const {
    Word<T>* const tickets = d_words_.size() > 0 ? d_words_.data() + d_words_.size() - 2 : nullptr;
    return {.tasks = d_tasks_.data(),
            .steps = d_steps_.data(),
            .solves = d_solves_.data(),
            .gathers = d_gathers_.data(),
            .items = d_items_.data(),
            .entry_places = d_entry_places_.data(),
            .column_entries = d_column_entries_.data(),
            .map = d_map_.data(),
            .rows = d_rows_.data(),
            .words = d_words_.data(),
            .ticket = reinterpret_cast<std::int32_t*>(tickets),
            .leaf_ticket = reinterpret_cast<std::int32_t*>(tickets + 1),
            .n_tasks = n_tasks_,
            .n_leaves = n_leaves_,
            .leaf_scalars = leaf_scalars_,
            .systems = systems,
            .n_words = n_words_,
            .nnz = nnz_};
  }

  const PanelOptions options_;
  simt::DeviceBuffer<PanelTask> d_tasks_;
  simt::DeviceBuffer<PanelStep> d_steps_;
  simt::DeviceBuffer<PanelSolve> d_solves_;
  simt::DeviceBuffer<GatherRow> d_gathers_;
  simt::DeviceBuffer<GatherItem> d_items_;
  simt::DeviceBuffer<std::uint16_t> d_entry_places_, d_map_;
  simt::DeviceBuffer<ColumnEntries> d_column_entries_;
  simt::DeviceBuffer<std::int32_t> d_rows_;  // of all panels, while they are needed
  simt::DeviceBuffer<Word<T>> d_words_;      // L's panels and some of U's for each system, then the tickets
  std::int64_t blocks_ = 1, n_words_ = 0, nnz_ = 0, bytes_ = 0;
  std::int32_t n_tasks_ = 0, n_leaves_ = 0, leaf_scalars_ = 0;
  std::int32_t systems_ = 0, at_once_ = 1;  // of a batch, and of one launch
  std::size_t shared_bytes_ = 0;
  PanelKernel kind_;
  Kernel kernel_ = nullptr;
};

}  // namespace lulab::sparse_syncfree
