#pragma once
// The plan of 10_supernode_panels: a left-looking factorization by panels of columns, cut into tasks that fit into the
// shared memory of a block.
//
// A panel J (columns of a relaxed supernode) is a dense matrix: its rows x its columns. Rows before its first column
// are U's, then come those of its diagonal block, then L's. A task is some consecutive rows of a panel, nearly always
// all. The columns of a panel K that a row of U(:,J) belongs to, from that row on, update J at once:
//
//     U(K,J)  <-  L(K,K) \ X(K,J)                  in the task that has rows K of J
//     X(i,J)  -=  L(i,K) · U(K,J)                  in every task that has rows i of L(:,K)
//
// Scalars that one task reads from another are words of one array: L's panels, and some of U's. A `word` below is an
// index into it. A `place` is a row's position among the rows of its task.

#include <cstdint>
#include <vector>

#include "symbolic/relaxed_supernodes.h"

namespace lulab::sparse_syncfree {

constexpr std::int32_t max_panel_width = 8;
constexpr std::int32_t max_leaf_scalars = 512;  // stride x stored_width
constexpr std::uint32_t no_word = 0xffffffff;

/// Threads of a block. More threads lose at barriers what they win at long panels (H200, 64 / 128 threads: 13659pegase
/// 0.24 / 0.24 ms, 90k grid 2.7 / 1.8, cage10 7.8 / 4.8).
constexpr int panel_threads = 128, panel_warps = panel_threads / 32;

/// What a kernel is compiled for.
struct PanelKernel {
  bool gathering = false;      // tasks may have steps that gather
  bool searching = false;      // there is no map of rows: each row is searched for
  bool batched = false;        // the same tasks for many systems
  bool inject_delays = false;  // blocks pause before and after each task: tests reach orders of events that are rare
};

/// A task's update by the columns k .. k + width of one panel K.
struct PanelStep {
  std::int64_t triangle;  // word of L(k,k), which is not stored; L(k+i, k+e), e < i, is word triangle + e · ld + i
  std::int64_t l;         // word of L(i,k), i the first row that the task has of L(:,K)     (count, width), ld apart
  std::int64_t u;      // word of U(k,J) where other tasks of J read it, else -1          (width, stored_width) by rows
  std::int64_t map;    // first of the rows' places in a map of all such steps            (count)
  std::int64_t rows;   // first of the rows among the rows of all panels                  (count)
  std::int32_t ld;     // words from one column of L(:,K) to the next
  std::int32_t count;  // rows
  std::int32_t at;     // place of row k in the task; -1: another task has it and publishes u
  std::int32_t width;  // columns, 1 to 8

  bool operator==(const PanelStep&) const = default;
};

/// A task's update by the entries of many small panels that do not update each other.
struct GatherStep {
  std::int64_t first_solve;  // in PanelTasks::solves       (solves)
  std::int64_t first_row;    // in PanelTasks::gathers      (rows)
  std::int32_t lanes;        // that share a row: a power of two, at most 32
  std::int32_t rows;
  std::int32_t solves;
};

/// A step of either type. Both lie in the same 56 bytes, so that a block fetches the steps of a task as one array.
class Step {
 public:
  static constexpr Step of(const PanelStep& s) {
    Step step;
    step.record_ = s;
    return step;
  }
  static constexpr Step of(const GatherStep& s) {
    return of(PanelStep{.triangle = s.first_solve,
                        .l = 0,
                        .u = 0,
                        .map = s.first_row,
                        .rows = 0,
                        .ld = s.lanes,
                        .count = s.rows,
                        .at = s.solves,
                        .width = 0});
  }
  constexpr bool is_panel() const { return record_.width > 0; }
  /// Requires  is_panel().
  constexpr const PanelStep& panel() const { return record_; }
  /// Requires  !is_panel().
  constexpr GatherStep gather() const {
    return {.first_solve = record_.triangle,
            .first_row = record_.map,
            .lanes = record_.ld,
            .rows = record_.count,
            .solves = record_.at};
  }

  bool operator==(const Step&) const = default;

 private:
  PanelStep record_;
};

/// What a gather step does first for a small panel K: U(K,J) is computed where the task has rows K, else read.
struct PanelSolve {
  std::uint32_t triangle;  // as in PanelStep; no_word: U(K,J) is read from u
  std::uint32_t u;         // word of U(k,J) to publish to or to read from; no_word: it is not published
  std::int32_t ld;         // as in PanelStep
  std::uint16_t at;        // place of row k, or of the room for it
  std::uint16_t width;     // as in PanelStep

  bool operator==(const PanelSolve&) const = default;
};

/// X(place,:) -= the sum of `items` products, from first_item on.
struct GatherRow {
  std::uint32_t first_item;
  std::uint16_t place, items;

  bool operator==(const GatherRow&) const = default;
};
/// L(i,k) · U(k,J)
struct GatherItem {
  std::uint32_t word;  // of L(i,k)
  std::uint16_t u;     // place of row k
  std::uint16_t unused;

  bool operator==(const GatherItem&) const = default;
};

/// Entries begin .. (that of the next column) of the task lie at PanelTask::values + offset .. in As.
struct ColumnEntries {
  std::uint32_t offset, begin;

  bool operator==(const ColumnEntries&) const = default;
};

struct PanelTask {
  std::int64_t values;        // of the panel in As: col_ptr[first]
  std::int64_t entry_begin;   // into entry_places                                              (entries)
  std::int64_t column_begin;  // into column_entries; -1: the task has all entries of the panel (width + 1)
  std::int64_t step_begin;    // into steps                                                     (steps)
  std::int64_t words;         // of L(:,J): L(i,e) is word words + e · ld + i, i counted from the diagonal block on
  std::int64_t u_words;    // of U(:,J) by rows where the panel has several tasks, else -1   (rows of U, stored_width)
  std::int64_t row_begin;  // of the task's first row in the rows of all panels              (rows)
  std::int32_t entries;    // of As
  std::int32_t first;      // column
  std::int32_t width;      // columns
  std::int32_t stored_width;  // width rounded up to 2, 4 or 8; of a leaf 4 or 8
  std::int32_t rows;
  std::int32_t stride;  // from one column of X to the next: rows, and room for rows of U(:,J) that are read from words
  std::int32_t steps;
  std::int32_t ld;       // words from one column of L(:,J) to the next
  std::int32_t diag_at;  // place of the diagonal block; -1: another task has it
  std::int32_t l_at;     // first place with a row of L below the diagonal block
  std::int32_t l_row;    // that row, counted from the diagonal block on
  std::int32_t u_row;    // row of the diagonal block in u_words

  bool operator==(const PanelTask&) const = default;
};

struct PanelTasks {
  RelaxedSupernodes panels;      // rows: with those that updates touch besides
  std::vector<PanelTask> tasks;  // each after those it waits for; first `leaves` that wait for none
  std::int32_t leaves = 0;       // tasks without steps, the whole of their panel, of at most max_leaf_scalars
  std::vector<Step> steps;       // of each task: each after those whose results it needs
  std::vector<PanelSolve> solves;
  std::vector<GatherRow> gathers;
  std::vector<GatherItem> items;
  bool items_left_out = false;                // items would take too much memory: there are no tasks
  std::vector<std::uint16_t> entry_places;    // in X: column · stride + row, for the entries of As, column by column
  std::vector<ColumnEntries> column_entries;  // the last of a task says where those of the one before end
  std::int64_t words = 0;                     // of L and U
  std::int64_t map_size = 0;                  // rows of all panel steps
  double chain_us = 0;                        // estimate of the longest chain of steps, were there blocks for all tasks
  double least_us = 0;                        // the same if every panel took one step

  bool operator==(const PanelTasks&) const = default;
};

/// max_scalars: stride x stored_width of a task, at most 65535 and at least 128 · max_panel_width.
/// threads: of the block that runs a task.
/// small: entries of L up to which a panel's update is gathered entry by entry.
/// host_threads: that make the plan, the same for any number; 0: as many as pay.
///
/// Requires  a valid FilledPattern of less than 2^32 entries in any eight columns; panels of it, no wider than
///           max_panel_width; threads a multiple of 32.
/// Cost      O(max_width · nnz(L+U)), O(log n) an update of a task, and sorting what is gathered.
PanelTasks make_panel_tasks(const FilledPattern& filled, const RelaxedSupernodes& panels, std::int32_t max_scalars,
                            int threads, std::int32_t small, int host_threads = 0);

/// Host threads that pay for a plan.
int plan_threads(std::int64_t nnz);

/// Another order in which each task comes after those it waits for: a random topological order.
void shuffle_tasks(PanelTasks& plan, std::uint64_t seed);

}  // namespace lulab::sparse_syncfree
