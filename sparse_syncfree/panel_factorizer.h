#pragma once
// The kernel of 10_supernode_panels and its Factorizer.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/device_factorizer.h"
#include "sparse_syncfree/panel_steps.h"

namespace lulab::sparse_syncfree {

/// Threads of a block. More cost at barriers what they win at long panels (H200, 64 / 128: 13659pegase 0.24 / 0.24 ms, 90k
/// grid 2.7 / 1.8, cage10 7.8 / 4.8).
constexpr int panel_threads = 128, warps = panel_threads / 32;

struct PanelOptions {
  RelaxationOptions relaxation = {};
  std::int32_t max_scalars = 6144;  // of a task in shared memory: four blocks of them fit into a multiprocessor
  std::int32_t small = 128;         // entries of L up to which a panel's update may be gathered; -1: none is
  bool always_gather = false;       // else only where that is predicted to be faster
  std::int64_t blocks = 0;          // of the grid; 0: as many as are resident at once
  double perturb_pivots = 0;        // see FactorOptions
  double memory_ratio = 4;          // likewise
  std::uint64_t seed = 0;           // of a disturbed factorizer: another order of tasks, other pauses
};

/// Up to 16 µs, another for each block, task and seed.
__device__ inline void pause_for(std::uint64_t seed, std::int32_t task) {
  std::uint64_t mixed = (seed + task) * 0x9e3779b97f4a7c15u + blockIdx.x;
  mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
  __nanosleep(static_cast<unsigned>(mixed >> 50));
}

/// grid: any; more blocks than are resident find no task left   block: panel_threads
/// shared: scalars of the largest task
/// Without steps that gather, fewer registers do: with them the compiler would spill what it fetches ahead, which then
/// is not ahead (H200, 128 and 238 registers: cage10 9.5 and 6.4 ms).
/// disturbed: blocks pause before and after each task, to find orders of events that do not come by themselves.
template <class T, bool gathering, bool disturbed>
__global__ void __launch_bounds__(panel_threads, gathering ? 2 : 4)
    eliminate_panels_kernel(DeviceFactorsView<T> f, TasksView<T> v, std::uint64_t seed) {
  LULAB_DYNAMIC_SHARED(T, x);
  LULAB_SHARED(T, u, panel_threads / 32][max_width * max_width);
  LULAB_SHARED(T, triangle, panel_threads / 32][32);
  LULAB_SHARED(PanelStep, steps, 2 * steps_at_once);
  LULAB_SHARED(PanelTask, task, 1);  // registers are short
  LULAB_SHARED(PanelTask, leaf, panel_threads / 32);
  LULAB_SHARED(std::int32_t, taken, 1);
  const int thread = threadIdx.x;
  const Scratch<T> scratch = {u[thread / 32], triangle[thread / 32]};
  const TrianglePlace place(thread % 32);
  const auto pause = [&](std::uint64_t of, std::int32_t task_number) {
    if constexpr (disturbed) pause_for(of, task_number);
  };
  run_leaves(f, v, x + thread / 32 * v.leaf_scalars, leaf + thread / 32, scratch,
             [&](std::int32_t number) { pause(seed, number); });
  __syncthreads();  // RACE: warps are done with X, which the block overwrites
  for (;;) {
    if (thread == 0) {
      // RACE: no two blocks get one task. A task waits for leaves, all of which are done or in the hands of warps that run,
      // and for tasks with smaller tickets, whose blocks run.
      taken[0] = v.n_leaves + 1 + atomicAdd(v.ticket, 1);
      if (taken[0] < v.n_tasks) task[0] = v.tasks[taken[0]];
    }
    __syncthreads();  // RACE: thread 0 wrote the task, all read it
    if (taken[0] >= v.n_tasks) return;
    pause(seed, taken[0]);
    run_task<T, gathering>(f, v, task[0], x, steps, scratch, place);
    pause(~seed, taken[0]);
    __syncthreads();  // RACE: all have read `taken`, the task and X; thread 0 overwrites them
  }
}

/// A block a task, in turn: map[step.map + i] = place of row i of the update in the task.
template <class T>
__global__ void map_rows_kernel(TasksView<T> v, const std::int32_t* rows, std::uint16_t* map) {
  for (std::int32_t t = blockIdx.x; t < v.n_tasks; t += gridDim.x) {
    const PanelTask task = v.tasks[t];
    const std::int32_t* const own = rows + task.row_begin;
    for (std::int64_t s = task.step_begin; s < task.step_begin + task.steps; ++s) {
      const PanelStep step = v.steps[s];
      if (step.width == 0) continue;
      const std::int32_t* const source = rows + step.rows;
      for (int i = threadIdx.x; i < step.count; i += blockDim.x) {
        int from = 0, to = task.rows - 1;
        while (from < to) {
          const int middle = (from + to) / 2;
          if (own[middle] < source[i])
            from = middle + 1;
          else
            to = middle;
        }
        map[step.map + i] = own[from] == source[i] ? static_cast<std::uint16_t>(from) : nowhere;
      }
    }
  }
}

template <class T, bool disturbed = false>
class PanelFactorizer final : public DeviceFactorizer<T> {
 public:
  explicit PanelFactorizer(const PanelOptions& options = {})
      : DeviceFactorizer<T>(RowOrder::sorted, options.perturb_pivots), options_(options) {}

 protected:
  Status prepare() override {
    const FilledPattern& f = this->analysis().filled;
    if (options_.relaxation.max_width < 1 || options_.relaxation.max_width > max_panel_width ||
        options_.max_scalars < 128 * max_panel_width || options_.max_scalars > 65535)
      return Status::error(StatusCode::invalid_argument, "a panel has 1 to 8 columns, a task 1024 to 65535 scalars");
    d_words_ = {};  // of an earlier analysis
    d_map_ = {};
    auto device = simt::device_properties();
    if (!device.ok()) return device.status();
    PanelTasks plan = choose_plan(f, device->sm_count);
    if (disturbed) shuffle_tasks(plan, options_.seed);
    std::int32_t most = 0;
    n_tasks_ = static_cast<std::int32_t>(plan.tasks.size());
    n_leaves_ = plan.leaves;
    leaf_scalars_ = 0;
    for (std::int32_t t = 0; t < n_tasks_; ++t) {
      const std::int32_t scalars = plan.tasks[t].stride * plan.tasks[t].stored_width;
      (t < n_leaves_ ? leaf_scalars_ : most) = std::max(t < n_leaves_ ? leaf_scalars_ : most, scalars);
    }
    shared_bytes_ = sizeof(T) * std::max(most, warps * leaf_scalars_);
    kernel_ = gathering_ ? eliminate_panels_kernel<T, true, disturbed> : eliminate_panels_kernel<T, false, disturbed>;
    auto blocks_per_sm = simt::max_resident_blocks_per_sm(kernel_, panel_threads, shared_bytes_);
    if (!blocks_per_sm.ok()) return blocks_per_sm.status();
    const std::int64_t resident = std::int64_t(device->sm_count) * *blocks_per_sm;
    const std::int64_t useful = std::max(n_tasks_ - n_leaves_, (n_leaves_ + warps - 1) / warps);
    blocks_ = std::max<std::int64_t>(1, options_.blocks > 0 ? options_.blocks : std::min(resident, useful));

    simt::Stream& stream = *this->stream();
    simt::DeviceBuffer<std::int32_t> d_rows;
    LULAB_RETURN_IF_ERROR(simt::make(d_rows, plan.panels.rows, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_tasks_, plan.tasks, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_steps_, plan.steps, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_solves_, plan.solves, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_gathers_, plan.gathers, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_items_, plan.items, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_entry_places_, plan.entry_places, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_column_entries_, plan.column_entries, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_words_, plan.words + 2));  // and two tickets
    LULAB_RETURN_IF_ERROR(simt::make(d_map_, plan.map_size));
    if (n_tasks_ > 0)
      LULAB_RETURN_IF_ERROR(simt::launch(map_rows_kernel<T>,
                                         {.grid = static_cast<unsigned>(std::min(n_tasks_, 4096)), .block = 128},
                                         stream, view_of_tasks(), d_rows.data(), d_map_.data()));
    return stream.wait();  // plan is a local
  }

  Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    LULAB_RETURN_IF_ERROR(d_words_.fill_bytes(0xff, stream));
    if (n_tasks_ == 0) return {};
    return simt::launch(kernel_,
                        {.grid = static_cast<unsigned>(blocks_),
                         .block = static_cast<unsigned>(panel_threads),
                         .shared_bytes = shared_bytes_},
                        stream, f, view_of_tasks(), options_.seed);
  }

  std::int64_t work_bytes() const override {
    return std::int64_t(sizeof(T)) * d_words_.size() + 8 * d_column_entries_.size() +
           2 * (d_map_.size() + d_entry_places_.size()) + std::int64_t(sizeof(PanelTask)) * d_tasks_.size() +
           std::int64_t(sizeof(PanelStep)) * d_steps_.size() + std::int64_t(sizeof(PanelSolve)) * d_solves_.size() +
           8 * (d_gathers_.size() + d_items_.size());
  }

 private:
  /// Sets gathering_.
  PanelTasks choose_plan(const FilledPattern& f, int sm_count) {
    const RelaxedSupernodes supernodes = find_relaxed_supernodes(f, options_.relaxation);
    const auto make = [&](std::int32_t small) {
      return make_panel_tasks(f, supernodes, options_.max_scalars, panel_threads, small);
    };
    PanelTasks panels = make(-1);
    gathering_ = false;
    if (options_.small < 0 || panels.words >= no_word) return panels;
    if (!options_.always_gather && f.nnz() > large_nnz && panels.chain_us < 1.15 * panels.least_us) return panels;
    PanelTasks gathers = make(options_.small);
    gathering_ = !gathers.items_left_out &&
                 (options_.always_gather ||
                  predicted_us(gathers, 2 * sm_count, 4, 1.5) < 1.05 * predicted_us(panels, 4 * sm_count, 8, 1));
    return gathering_ ? std::move(gathers) : std::move(panels);
  }

  /// The chain, and what all tasks and steps take of `blocks` blocks. Fitted to times of an H200: 15 matrices, METIS.
  static double predicted_us(const PanelTasks& plan, int blocks, double task_us, double step_us) {
    return 2 * plan.chain_us + (task_us * double(plan.tasks.size()) + step_us * double(plan.steps.size())) / blocks;
  }
  static constexpr std::int64_t large_nnz = 1000000;  // from here on a second plan is made only where it may win much

  TasksView<T> view_of_tasks() const {
    Word<T>* const tickets = d_words_.data() + d_words_.size() - 2;
    return {.tasks = d_tasks_.data(),
            .steps = d_steps_.data(),
            .solves = d_solves_.data(),
            .gathers = d_gathers_.data(),
            .items = d_items_.data(),
            .entry_places = d_entry_places_.data(),
            .column_entries = d_column_entries_.data(),
            .map = d_map_.data(),
            .words = d_words_.data(),
            .ticket = reinterpret_cast<std::int32_t*>(tickets),
            .leaf_ticket = reinterpret_cast<std::int32_t*>(tickets + 1),
            .n_tasks = n_tasks_,
            .n_leaves = n_leaves_,
            .leaf_scalars = leaf_scalars_};
  }

  const PanelOptions options_;
  simt::DeviceBuffer<PanelTask> d_tasks_;
  simt::DeviceBuffer<PanelStep> d_steps_;
  simt::DeviceBuffer<PanelSolve> d_solves_;
  simt::DeviceBuffer<GatherRow> d_gathers_;
  simt::DeviceBuffer<GatherItem> d_items_;
  simt::DeviceBuffer<std::uint16_t> d_entry_places_, d_map_;
  simt::DeviceBuffer<ColumnEntries> d_column_entries_;
  simt::DeviceBuffer<Word<T>> d_words_;  // L's panels and some of U's, then the tickets
  std::int64_t blocks_ = 1;
  std::int32_t n_tasks_ = 0, n_leaves_ = 0, leaf_scalars_ = 0;
  std::size_t shared_bytes_ = 0;
  bool gathering_ = false;
  void (*kernel_)(DeviceFactorsView<T>, TasksView<T>, std::uint64_t) = nullptr;
};

}  // namespace lulab::sparse_syncfree
