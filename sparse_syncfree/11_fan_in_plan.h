#pragma once
// The plan of 11_fan_in: a multifrontal factorization by chunks of columns, laid out for one launch.
//
// A chunk eliminates its columns and the rows of the same numbers; the chunk of min(i,j) owns entry (i,j) of As. A
// task is a chunk, several small chunks that do not touch each other, or a part of a chunk that is too large for a
// block. In the memory X of its block a task
//
//   1. takes its entries of A, scaled; those of fill-in are zero                                          load
//   2. subtracts what other tasks have summed for them:   X(i,j) -= Σ words                                     stages
//   3. eliminates its pivots:   X(i,j) -= Σ L(i,k) · U(k,j)                                          levels, or dense
//   4. sums the same for entries of other chunks and publishes the sums as words                    sums, or dense
//   5. returns L and U to As                                                                               store
//
// A word is a full/empty scalar (core/awaited_scalar.h): written once a factorization, read by the tasks that own the
// entry. The order of all sums is part of the plan, so results repeat bit by bit.
//
// Two kinds of tasks:
//   sparse  X holds the task's entries one after another, and lists say what is multiplied. Columns without a path
//           between them go together: a level of the task.
//   dense   X is a front: rows x columns, pivots first. A chunk with more rows or columns than a front may have becomes
//           several fronts with the same pivots, each with other rows and columns. They eliminate the pivots all alike,
//           so that none waits for another.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/plan.h"
#include "core/uninitialized_vector.h"

namespace lulab::sparse_syncfree {

constexpr int fan_in_threads = 512;        // of a block
constexpr int fan_in_batch_threads = 128;  // for batches, or where few chunks are dense: several share a multiprocessor

/// What a block of so many threads has room for.
struct FanInShape {
  int threads = fan_in_threads;

  /// Rows and columns of a front, at most; in memory they are a multiple of this.
  constexpr std::int32_t max_front() const { return threads == fan_in_threads ? 128 : 64; }
  static constexpr std::int32_t size_step = 16;
  /// From one row of so many entries to the next: four rows lie in all banks.
  static constexpr std::int32_t stride_of(std::int32_t size) { return size + 4; }
  /// Scalars in shared memory before X: what divides by the pivots of a sparse task.
  constexpr std::int32_t scratch() const { return 4 * max_front(); }
  constexpr std::int32_t max_sparse_pivots() const { return scratch() / 2 - 1; }
};
constexpr std::int32_t max_sparse_entries = 4095;

struct FanInOptions {
  FanInShape shape = {};
  std::int32_t scalar_bytes = 8;
  std::int64_t shared_bytes = 227 << 10;  // of a block
  std::int32_t max_front = FanInShape{}.max_front();
  std::int32_t bottom_columns = 64;                // of a chunk whose columns need no others
  std::int32_t columns = 24;                       // of other chunks
  std::int32_t split_columns = 64;                 // of those too large for a front
  std::int32_t max_entries = 3000;                 // of a sparse task, unless it is one column
  std::int32_t max_products = 6000;                // likewise
  std::int32_t packs = 128;                        // tasks that the chunks of a layer are packed into
  std::int32_t workers = 132;                      // blocks that the order of the tasks is made for
  std::int64_t max_bytes = std::int64_t(1) << 40;  // device memory of the plan
  double max_fronts = 1e9;                         // tasks that a chunk becomes on the average
  double max_words = 4;                            // of fronts, for each entry of L+U: more take longer than panels do
  std::int64_t stage_words = 500;                  // fewer wait for the words of the next stage
  bool may_shrink_blocks = false;                  // where few chunks are dense, and each of these one small front
  int host_threads = 0;                            // that make it; 0: as many as pay. The plan is the same
};

/// Of a batch: a chain is waited for once, so blocks are small, and their latencies overlap. Where that would split
/// chunks into more fronts than here, which all eliminate the same pivots, larger blocks are faster.
inline FanInOptions fan_in_batch_options() {
  constexpr FanInShape shape = {fan_in_batch_threads};
  return {.shape = shape,
          .shared_bytes = 56 << 10,
          .max_front = shape.max_front(),
          .columns = 16,
          .split_columns = 24,
          .max_fronts = 2.5,
          .max_words = 1e9};  // words of many systems are awaited side by side
}

/// The same with blocks as for a batch, where no chunk becomes several fronts.
inline FanInOptions with_small_blocks(const FanInOptions& options) {
  FanInOptions small = fan_in_batch_options();
  small.scalar_bytes = options.scalar_bytes;
  small.shared_bytes = std::min(small.shared_bytes, options.shared_bytes);
  small.workers = options.workers * (fan_in_threads / fan_in_batch_threads);
  small.max_bytes = options.max_bytes;
  small.max_fronts = 1;
  small.max_words = options.max_words;
  small.host_threads = options.host_threads;
  return small;
}

/// 2^log_lanes lanes sum one row.
struct FanInGroup {
  std::uint32_t first_row;
  std::uint16_t rows;
  std::uint8_t log_lanes;
  std::uint8_t ends_level;  // a barrier follows
};

/// The sum of `count` items, from first_item on. Of words: X(place) -= sum. Of products: the same, or, where sums are
/// published, word FanInTask::words + place.
struct FanInRow {
  std::uint32_t first_item;  // of products: in the low 24 bits; the high ones have the pivot where place is one
  std::uint16_t place;
  std::uint16_t count;
};
constexpr std::uint32_t no_pivot = 255;

/// X(l) · X(u) / X(pivot), as l | u << 12 | pivot << 24.
using FanInProduct = std::uint32_t;

/// Offsets are in bytes from the task's header, which is the first thing of the task.
struct FanInTable {
  std::uint32_t n_groups, groups;  // FanInGroup
  std::uint32_t rows;              // FanInRow
  std::uint32_t items;             // std::uint32_t: words or products
};

/// Words that are expected at about the same time; those of the last stage are the last ones.
struct FanInStage {
  std::uint32_t n_last, last;  // (n_last) std::uint32_t: of each task that is awaited the last of its words here
  FanInTable words;
  std::uint32_t end;  // of these tables, which begin at `last`
};
constexpr int max_fan_in_stages = 6;

struct FanInEntries {
  std::uint32_t count;
  std::uint32_t positions;  // (count) std::uint32_t, in A where it loads, in As where it stores
  std::uint32_t places;  // (count) std::uint16_t, in X. Where a sparse task stores: the pivot by which the entry of L
                         // is divided, no_pivot for an entry of U; entry e lies at X(e)
};

struct FanInTask {
  std::uint32_t bytes;      // of the task
  std::uint32_t staged;     // of them brought on chip, a multiple of 16
  std::uint32_t x_scalars;  // of X
  std::uint32_t is_dense;
  std::uint32_t pivots;
  std::uint32_t rows, columns;  // of the front with its pivots
  std::uint32_t stride;         // from one row of X to the next: FanInShape::stride_of() a multiple of size_step
  std::uint32_t words;          // first of those published; of a front (rows - pivots, columns - pivots) by rows
  std::uint32_t pivot_columns;  // (pivots) std::uint32_t, columns of As
  std::uint32_t counts_pivots;  // it says which pivots were perturbed or lost
  std::uint32_t n_stages;
  FanInStage stages[max_fan_in_stages];
  FanInTable levels;  // of a sparse task
  FanInTable sums;    // of a sparse task
  FanInEntries load, store;
};
static_assert(sizeof(FanInTask) % 16 == 0);

struct FanInPlan {
  FanInShape shape;
  UninitializedVector<std::byte> tasks;
  std::vector<std::uint32_t> begin = {0};  // (size + 1) into tasks, in units of 16 bytes; each after those it awaits
  std::int64_t n_words = 0;
  std::int64_t shared_bytes = 0;  // of a block: scratch, then X and two tasks, as far as the options allow
  std::int32_t n_layers = 0;
  std::int32_t n_sparse = 0, n_dense = 0, n_split = 0;  // chunks
  double chain_us = 0;                                  // estimate of the longest chain of tasks

  std::int32_t size() const { return static_cast<std::int32_t>(begin.size()) - 1; }
  const FanInTask& task(std::int32_t t) const {
    return *reinterpret_cast<const FanInTask*>(tasks.data() + 16 * std::size_t(begin[t]));
  }
  /// The table at this offset of task t.
  template <class U>
  const U* table(std::int32_t t, std::uint32_t offset) const {
    return reinterpret_cast<const U*>(tasks.data() + 16 * std::size_t(begin[t]) + offset);
  }
};

/// Device memory of a plan: tables, and the words of two factorizations.   Unit bytes.
std::int64_t bytes_of(const FanInPlan& plan, std::int32_t scalar_bytes);

/// a_to_filled: position in `filled` of each entry of A
/// Requires  a valid FilledPattern.
/// Errors    not_implemented: the plan would take more than max_bytes, an index more than 32 bits, chunks more than
///           max_fronts, or fronts more than max_words.
/// Cost      O(nnz(L+U) + products of sparse tasks + words), and the same memory.
Result<FanInPlan> make_fan_in_plan(const FilledPattern& filled, std::span<const std::int64_t> a_to_filled,
                                   const FanInOptions& options);

}  // namespace lulab::sparse_syncfree
