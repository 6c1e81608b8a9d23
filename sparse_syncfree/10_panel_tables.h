#pragma once
// A plan of panels in device memory.

#include <algorithm>
#include <cstdint>

#include "core/simt/device.h"
#include "sparse_syncfree/10_panel_launch.h"

namespace lulab::sparse_syncfree {

template <class T>
class PanelTables {
 public:
  /// systems: of one launch. The plan is not needed after this.   Errors    out_of_memory, device_error.
  Status upload(const PanelTasks& plan, bool searching, std::int32_t systems, std::int64_t nnz, simt::Stream& stream) {
    *this = {};
    nnz_ = nnz;
    n_words_ = plan.words;
    n_tasks_ = static_cast<std::int32_t>(plan.tasks.size());
    n_leaves_ = plan.leaves;
    for (std::int32_t t = 0; t < n_tasks_; ++t) {
      std::int32_t& largest = t < n_leaves_ ? leaf_scalars_ : task_scalars_;
      largest = std::max(largest, plan.tasks[t].stride * plan.tasks[t].stored_width);
    }
    LULAB_RETURN_IF_ERROR(simt::make(d_rows_, plan.panels.rows, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_tasks_, plan.tasks, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_steps_, plan.steps, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_solves_, plan.solves, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_gathers_, plan.gathers, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_items_, plan.items, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_entry_places_, plan.entry_places, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_column_entries_, plan.column_entries, stream));
    if (!searching) {
      LULAB_RETURN_IF_ERROR(simt::make(d_map_, plan.map_size));
      LULAB_RETURN_IF_ERROR(launch_map_rows<T>(view(1), d_map_.data(), stream));
      LULAB_RETURN_IF_ERROR(stream.wait());
      d_rows_ = {};  // before the largest array comes
    }
    LULAB_RETURN_IF_ERROR(simt::make(d_words_, plan.words * systems + 2));  // and two tickets
    const TasksView<T> v = view(systems);
    simt::name_elements(v.words, plan.words * systems, "words");
    simt::name_elements(v.ticket, 1, "ticket");
    simt::name_elements(v.leaf_ticket, 1, "leaf_ticket");
    return stream.wait();  // the plan need not outlive this
  }

  /// Enqueues that all words are empty and no ticket is taken, as every launch needs.
  Status clear_words(simt::Stream& stream) { return d_words_.fill_bytes(0xff, stream); }

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

  std::int32_t tasks() const { return n_tasks_; }
  std::int32_t leaves() const { return n_leaves_; }
  /// Of the largest task that is no leaf, and of the largest leaf.
  std::int32_t task_scalars() const { return task_scalars_; }
  std::int32_t leaf_scalars() const { return leaf_scalars_; }

 private:
  simt::DeviceBuffer<PanelTask> d_tasks_;  // (n_tasks); the other tables as in TasksView
  simt::DeviceBuffer<Step> d_steps_;
  simt::DeviceBuffer<PanelSolve> d_solves_;
  simt::DeviceBuffer<GatherRow> d_gathers_;
  simt::DeviceBuffer<GatherItem> d_items_;
  simt::DeviceBuffer<std::uint16_t> d_entry_places_, d_map_;
  simt::DeviceBuffer<ColumnEntries> d_column_entries_;
  simt::DeviceBuffer<std::int32_t> d_rows_;  // of all panels, while they are needed
  simt::DeviceBuffer<Word<T>> d_words_;      // (n_words, systems) L's panels and some of U's, then the two tickets
  std::int64_t n_words_ = 0, nnz_ = 0;
  std::int32_t n_tasks_ = 0, n_leaves_ = 0, task_scalars_ = 0, leaf_scalars_ = 0;
};

}  // namespace lulab::sparse_syncfree
