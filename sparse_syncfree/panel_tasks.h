#pragma once
// A left-looking factorization by panels of columns, cut into tasks that fit into the shared memory of a block.
//
// A panel J (columns of a relaxed supernode) is a dense matrix: its rows x its columns. Rows before its first column are
// U's, then come those of its diagonal block, then L's. A task is some consecutive rows of a panel, nearly always all.
// The columns of a panel K that a row of U(:,J) belongs to, from that row on, update J at once:
//
//     U(K,J)  <-  L(K,K) \ X(K,J)                  in the task that has rows K of J
//     X(i,J)  -=  L(i,K) · U(K,J)                  in every task that has rows i of L(:,K)

#include <cstdint>
#include <vector>

#include "symbolic/relaxed_supernodes.h"

namespace lulab::sparse_syncfree {

constexpr std::int32_t max_panel_width = 8;
constexpr std::int32_t max_leaf_scalars = 512;  // stride x stored_width

/// Scalars are called by their place in one array of words that L's panels and some of U's share.
///
/// A step of a task: the update by one panel K (width > 0), or by the entries of many small panels that do not update each
/// other (width = 0; what the members are then stands behind the bar).
struct PanelStep {
  std::int64_t triangle;  // of L(k,k), not stored; L(k+i, k+e) lies at triangle + e · ld + i    | first of `solves`
  std::int64_t l;         // of L(i,k), i the first row that the task has of L(:,K)              | -
  std::int64_t u;         // of U(k..,J) by rows, where other tasks of J need it, else -1        | -
  std::int64_t map;       // of the rows' places in the task, in a map of all updates            | first of `gathers`
  std::int64_t rows;      // the rows, in those of all panels                                    | -
  std::int32_t ld;        // from one column of L(:,K) to the next                               | lanes a row
  std::int32_t count;     // rows                                                                | rows
  std::int32_t at;        // place of row k in the task; -1: another task has it, and u is to be had | solves
  std::int32_t width;     // columns k ..                                                        | 0
};

/// U(K,J) of a small panel before its entries are used: computed where its rows are, else fetched.
struct PanelSolve {
  std::uint32_t triangle;  // as in PanelStep; no_word: fetched from u
  std::uint32_t u;         // where to publish U(K,J) or to fetch it from; no_word: nowhere
  std::int32_t ld;
  std::uint16_t at, width;
};
constexpr std::uint32_t no_word = 0xffffffff;

/// X(place,:) -= sum of `items` products from first_item on.
struct GatherRow {
  std::uint32_t first_item;
  std::uint16_t place, items;
};
struct GatherItem {
  std::uint32_t word;  // L(i,k)
  std::uint16_t u;     // place of row k
  std::uint16_t unused;
};

/// Entries begin .. (that of the next column) of the task lie at PanelTask::values + offset .. in As.
struct ColumnEntries {
  std::uint32_t offset, begin;
};

struct PanelTask {
  std::int64_t values;       // of the panel in As: col_ptr[first]
  std::int64_t entry_begin;  // into entry_places
  std::int64_t
      column_begin;  // into column_entries: width + 1; -1: all entries of the panel are the task's, in one piece
  std::int64_t step_begin;
  std::int64_t
      words;  // of L(:,J): L(i,e) lies at words + e · ld + (i counted from the first row of the diagonal block)
  std::int64_t u_words;       // of U(:,J) by rows where the panel has several tasks, else -1
  std::int64_t row_begin;     // of the task's first row in the rows of all panels
  std::int32_t entries;       // of As
  std::int32_t first;         // column
  std::int32_t width;         // columns
  std::int32_t stored_width;  // width rounded up to 2, 4 or 8; of a leaf 4 or 8
  std::int32_t rows;
  std::int32_t stride;  // from one column of X to the next: rows, and room for rows of U(:,J) that are fetched
  std::int32_t steps;
  std::int32_t ld;
  std::int32_t diag_at;  // place of the diagonal block in the task, -1: in another
  std::int32_t l_at;     // first place with a row of L below the diagonal block
  std::int32_t l_row;    // that row, counted as for words
  std::int32_t u_row;    // of the diagonal block in U(:,J)'s words
};

struct PanelTasks {
  RelaxedSupernodes panels;      // rows: with those that updates touch besides
  std::vector<PanelTask> tasks;  // each after those it waits for; first `leaves` that wait for none
  std::int32_t leaves = 0;       // tasks without steps, the whole of their panel, of at most max_leaf_scalars
  std::vector<PanelStep> steps;  // of each task: each after those whose results it needs
  std::vector<PanelSolve> solves;
  std::vector<GatherRow> gathers;
  std::vector<GatherItem> items;
  bool items_left_out = false;                // there would be more items than memory for them: larger steps are panels
  std::vector<std::uint16_t> entry_places;    // in X: column · stride + row, for the entries of As, column by column
  std::vector<ColumnEntries> column_entries;  // the last of a task says where those of the one before end
  std::int64_t words = 0;                     // of L and U
  std::int64_t map_size = 0;                  // rows of all updates
  double chain_us = 0;                        // estimate of the longest chain of steps, were there blocks for all tasks
  double least_us = 0;                        // the same if every panel took one step
};

/// max_scalars: stride x stored_width of a task, at most 65535 and at least 128 · max_panel_width.
/// threads: of the block that runs a task.
/// small: entries of L up to which a panel's update is gathered entry by entry.
///
/// Requires  a valid FilledPattern of less than 2^32 entries in any eight columns; panels of it, no wider than max_panel_width,
///           threads a multiple of 32.
/// Cost      O(max_width · nnz(L+U)), O(log n) an update of a task, and sorting what is gathered.
PanelTasks make_panel_tasks(const FilledPattern& filled, const RelaxedSupernodes& panels, std::int32_t max_scalars,
                            int threads, std::int32_t small);

/// Another order in which each task comes after those it waits for: a random topological order.
void shuffle_tasks(PanelTasks& plan, std::uint64_t seed);

}  // namespace lulab::sparse_syncfree
