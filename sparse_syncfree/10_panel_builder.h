#pragma once
// Makes the tasks of panels, with the offsets that one host thread counts.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "sparse_syncfree/10_panel_order.h"
#include "sparse_syncfree/10_panel_tasks.h"

namespace lulab::sparse_syncfree {

/// What the tasks of all panels are made from, and what threads tell each other.
struct PlanCommon {
  PlanCommon(const FilledPattern& filled, const RelaxedSupernodes& panels, std::int32_t the_max_scalars,
             int the_threads, std::int32_t the_small, int the_host_threads)
      : f(filled),
        layout(lay_out_panels(panels, the_max_scalars, the_host_threads)),
        max_items(std::min<std::int64_t>(4 * filled.nnz() + 65536, no_word - 131072)),
        max_scalars(the_max_scalars),
        threads(the_threads),
        host_threads(the_host_threads),
        small(the_small),
        times(layout.panels.size()),
        entry_places(filled.nnz()) {}

  const FilledPattern& f;
  PanelLayout layout;
  const std::int64_t max_items;  // 8 bytes each: then they take less than three times what L and U do
  const std::int32_t max_scalars;
  const int threads, host_threads;
  const std::int32_t small;
  FinishTimes times;
  std::vector<std::uint16_t> entry_places;  // (nnz(L+U)) of the tasks, panel by panel
  std::atomic<std::int64_t> items = 0;
};

/// Makes the tasks of some panels, one after the other; offsets count from the first of them. Of one host thread.
class TaskBuilder {
 public:
  explicit TaskBuilder(PlanCommon& common)
      : c_(common),
        f_(common.f),
        l_(common.layout),
        s_(common.layout.panels),
        small_(common.small),
        max_scalars_(common.max_scalars),
        threads_(common.threads),
        order_(common.layout, common.times, common.small),
        place_(common.f.n) {
    out.steps.reserve(l_.n_runs / c_.host_threads);
    out.tasks.reserve(s_.size() / c_.host_threads);
  }

  PanelTasks out;  // without what is known of all panels

  /// Waits until the panels that update J are planned. Requires  panels come after those they wait for.
  void add_panel(std::int32_t j);

 private:
  /// Places where the tasks of the panel begin and end: one has rows before and after the diagonal block, so that a
  /// chain of panels goes through one task each.
  void cut(std::int32_t j);

  /// Gives each task the runs that it has rows of, in U or in L, in their order.
  void share_runs(std::int32_t j, std::span<const Run> runs);

  void add_task(std::int32_t j, std::int32_t begin, std::int32_t end, std::span<const Run> runs);

  /// Where the entries of the task lie in X, from entry_places[first] on; returns the first of the next task.
  std::int64_t add_entries(PanelTask& t, std::int64_t first);

  struct Batch {
    std::int32_t number = 1, borrowed = 0;
    double ready_us = 0;              // when the last of its panels is finished
    std::size_t items = 0, rows = 0;  // its first in items_, rows_
    std::vector<PanelSolve> solves;
  };
  struct PlacedItem {
    std::int32_t place;
    GatherItem item;
  };
  /// A gather step of the panel whose items are not yet sorted.
  struct Unsorted {
    std::size_t step, items, items_end, rows, rows_end;
    std::int32_t begin;  // of the task's rows
  };

  /// The panel of `u` joins the batch, or starts one if a panel of the batch updates its rows.
  void add_small(const PanelTask& t, const PanelStep& u, std::span<const std::int32_t> l_rows, std::int32_t begin);

  void close_batch(std::int32_t begin);

  /// Sorts items by row, rows by their number of items: once others need not wait for the panel any more.
  void sort_items();

  /// Lanes a row with which the block goes through the rows, most items first, in the fewest rounds.
  int best_lanes(std::span<const GatherRow> rows) const;

  /// Too many items end all work at once.
  void count_items(std::size_t more);

  PlanCommon& c_;
  const FilledPattern& f_;
  const PanelLayout& l_;
  const RelaxedSupernodes& s_;
  const std::int32_t small_, max_scalars_;
  const int threads_;
  RunOrder order_;
  std::vector<std::int32_t> place_;      // (n) 1 + place of the row in the current panel; 0: it has no such row
  std::vector<std::int32_t> batch_of_;   // (rows of the panel) the last batch that changes the row
  std::vector<std::uint32_t> items_of_;  // (rows of the panel) in that batch
  Batch batch_;
  std::vector<PlacedItem> items_;   // of the panel's batches
  std::vector<std::int32_t> rows_;  // that they change, batch by batch
  std::vector<Unsorted> unsorted_;
  double done_us_ = 0, time_us_ = 0;  // of the panel; of the current task, so far
  std::vector<std::vector<Run>> runs_of_task_;
  std::vector<std::int32_t> cuts_;  // places where its tasks begin, and the end
};

}  // namespace lulab::sparse_syncfree
