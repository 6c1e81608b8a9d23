#pragma once
// The kernels of triangular solves on the device.
//
//   update   entries of L and U by rows, 1 / U(j,j)
//   prepare  b <- scaled and permuted, its largest entry; words <- not yet
//   solve    first triangle, then the second, in one launch, by tasks in level order               solve_row.h
//              sync_free       a warp takes the next task, and waits for each x(j) that its rows need
//              narrow_middle   the same, but one block takes the narrow levels, where x(j) is awaited in shared memory
//              level_set       tasks of a level, a barrier, tasks of the next level
//              chunks          sets of up to 48 rows by an inverse of their triangle                 chunk_kernel.h
//
// Sync-free tasks are handed out by a ticket. A warp that has a ticket is running, and its rows need only rows of
// smaller tickets (of earlier levels, or of the first triangle); the smallest ticket not finished waits for nothing. So
// the launch ends in whatever order blocks start, even with a single block resident. Rows of one warp are of one level
// and never wait for each other. The narrow levels lie between two parts of that order. Their block is the first that
// started; like all others it works on the part before them first.

#include <cstdint>

#include "core/simt/kernel.h"
#include "solve/magnitude.h"
#include "solve/solve_row.h"

namespace lulab::device_solver {

constexpr int sync_free_threads = 128;
constexpr int middle_threads = 512;
constexpr int level_set_threads = 512;

/// What update() finds in L and U, zero before. Bits of magnitudes: magnitude.h.
struct Findings {
  unsigned long long bad_pivot;  // n - the first pivot that is zero or not finite; 0: none
  unsigned long long max_l, max_u, max_pivot;
  unsigned long long not_min_pivot;   // the complement of the smallest pivot's
  unsigned long long max_inverse[2];  // of the inverses of chunks, of A and of its transpose
};

/// Of the pivots that one thread has seen.
struct PivotSizes {
  unsigned long long max = 0, not_min = 0;

  /// n_minus_j: n - the pivot's column
  template <class T>
  __device__ __forceinline__ void add(T pivot, std::int64_t n_minus_j, Findings* found) {
    const unsigned long long bits = bits_of(static_cast<double>(pivot));
    max = larger(max, bits);
    not_min = larger(not_min, ~bits);
    // RACE: pivots of several threads; the largest n - j stays
    if (pivot == T(0) || !(pivot - pivot == T(0)))
      atomicMax(&found->bad_pivot, static_cast<unsigned long long>(n_minus_j));
  }
};

/// L and U as solves by rows want them.
template <class T>
struct ByRowsView {
  const T* values;           // (nnz) of As
  const std::int64_t* from;  // (nnz) position in As of each entry of L by rows, then of U by rows
  std::int64_t nnz_l, nnz;
  const std::int64_t* diag;  // (n) of As
  std::int32_t n;
  T* by_rows;  // (nnz) <- values[from]
  T* inverse;  // (n) <- 1 / U(j,j)
};

/// thread, threads: of all that share the work
template <class T>
__device__ __forceinline__ void copy_by_rows(const ByRowsView<T>& v, std::int64_t thread, std::int64_t threads) {
  for (std::int64_t k = thread; k < v.nnz; k += threads) v.by_rows[k] = v.values[v.from[k]];
  for (std::int64_t j = thread; j < v.n; j += threads) v.inverse[j] = T(1) / v.values[v.diag[j]];
}

/// grid: any   found: null: nothing is looked for
template <class T>
__global__ void update_kernel(ByRowsView<T> v, Findings* found) {
  const std::int64_t thread = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  copy_by_rows(v, thread, threads);
  if (!found) return;
  unsigned long long max_l = 0, max_u = 0;
  for (std::int64_t k = thread; k < v.nnz; k += threads) {
    unsigned long long& largest = k < v.nnz_l ? max_l : max_u;
    largest = larger(largest, bits_of(static_cast<double>(v.by_rows[k])));  // the thread's own
  }
  PivotSizes pivots;
  for (std::int64_t j = thread; j < v.n; j += threads) pivots.add(v.values[v.diag[j]], v.n - j, found);
  raise_by_block({&found->max_l, &found->max_u, &found->max_pivot, &found->not_min_pivot},
                 {max_l, max_u, pivots.max, pivots.not_min});
}

/// b <- scale · b in the order of the first triangle, right-hand sides side by side; forgets earlier solutions.
/// grid: (any, groups)   block: a multiple of 32   from: (n) row of b   scale: (n) of that row
/// b: (n, columns) by columns   scaled: (n, ld)   words: (n_words)   largest, progress: 0 on entry
template <class T, class S>
__global__ void prepare_kernel(const S* b, const std::int32_t* from, const double* scale, std::int32_t n,
                               std::int32_t columns, std::int32_t ld, int rhs_lanes, double* scaled, Word<T>* words,
                               std::int64_t n_words, unsigned long long* largest, SolveProgress* progress,
                               const std::int32_t* wanted) {
  if (wanted && *wanted == 0) return;
  const std::int64_t threads = std::int64_t(gridDim.x) * gridDim.y * blockDim.x;
  for (std::int64_t k = (std::int64_t(blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x; k < n_words;
       k += threads)
    words[k] = not_yet<T>;
  const std::int32_t c = blockIdx.y * rhs_lanes + threadIdx.x % rhs_lanes;
  unsigned long long max_bits = 0;
  const std::int64_t stride = std::int64_t(gridDim.x) * blockDim.x / rhs_lanes;
  for (std::int64_t i = (std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / rhs_lanes; i < n && c < columns;
       i += stride) {
    const S entry = b[std::int64_t(c) * n + from[i]];
    // RACE: entries of several threads; the largest n - row stays
    if (!(entry - entry == S(0))) atomicMax(&progress->bad_b, static_cast<unsigned long long>(n - from[i]));
    const double value = scale[i] * static_cast<double>(entry);
    scaled[i * ld + c] = value;
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(value)) & ~(1ull << 63);
    max_bits = bits > max_bits ? bits : max_bits;  // magnitudes order like their bits, NaN last
  }
  for (int offset = 16; offset >= rhs_lanes; offset /= 2) {
    const unsigned long long other = __shfl_xor_sync(0xffffffffu, max_bits, offset);
    max_bits = other > max_bits ? other : max_bits;
  }
  // RACE: a right-hand side has several warps; the largest stays
  if (threadIdx.x % 32 < static_cast<unsigned>(rhs_lanes) && c < columns) atomicMax(&largest[c], max_bits);
}

/// The next of a triangle's tasks, drawn by lane 0.
/// Result valid in lane 0.
__device__ __forceinline__ unsigned draw(unsigned* tickets) {
  return threadIdx.x % 32 == 0 ? atomicAdd(tickets, 1u) : 0u;  // RACE: no two warps get one task
}

/// solve(task) for tasks in ascending order as they are drawn, by the calling warp, until `end`. The next is drawn
/// before this warp waits, so that the draw takes no time of its own; it is started when this one is done.
template <class Solve>
__device__ __forceinline__ void take_tasks(unsigned* tickets, unsigned end, const Solve& solve) {
  unsigned next = draw(tickets);
  for (;;) {
    const unsigned task = __shfl_sync(0xffffffffu, next, 0);
    if (task >= end) return;
    next = draw(tickets);
    solve(task);
  }
}

/// Both triangles row by row; called by all warps of the grid.
template <class T, class S>
__device__ __forceinline__ void solve_rows(const SolveView<T, S>& v) {
  const unsigned groups = v.rhs_groups();
  const Awaited<T> y = {v.solved[0], v.ld}, x = {v.solved[1], v.ld};
  take_tasks(&v.progress->tickets[0], v.triangle[0].n_tasks * groups, [&](unsigned k) { solve_task<0>(v, k, y, y); });
  take_tasks(&v.progress->tickets[1], v.triangle[1].n_tasks * groups, [&](unsigned k) { solve_task<1>(v, k, y, x); });
}

/// grid: any   block: 32 * any   shared: none
template <class T, class S>
__global__ void __launch_bounds__(sync_free_threads) solve_sync_free_kernel(SolveView<T, S> v) {
  if (!v.is_wanted()) return;
  solve_rows(v);
}

/// The narrow levels: tasks from `begin` of the first triangle on, tasks before `end` of the second.
struct MiddleView {
  std::int32_t begin, end;
  std::int32_t first_row, rows[2];  // the positions of their rows: first_row .. first_row + rows[0], 0 .. rows[1]
  const std::int32_t* position[2];  // (n) of each row in the order of its triangle
};

/// grid: any   block: 32 * any   shared: (rows[0] + rows[1], ld) words
template <class T, class S>
__global__ void __launch_bounds__(middle_threads) solve_narrow_middle_kernel(SolveView<T, S> v, MiddleView m) {
  LULAB_DYNAMIC_SHARED(Word<T>, words);
  LULAB_SHARED(unsigned, started, 1);
  LULAB_SHARED(unsigned, tickets, 2);
  if (!v.is_wanted()) return;
  if (threadIdx.x == 0) {
    started[0] = atomicAdd(&v.progress->blocks[0], 1u);  // RACE: one block is the first
    tickets[0] = tickets[1] = 0;
  }
  __syncthreads();  // RACE: thread 0 wrote the block's number and its tickets, all use them
  const bool has_middle = started[0] == 0;
  if (has_middle) {
    for (int i = threadIdx.x; i < (m.rows[0] + m.rows[1]) * v.ld; i += blockDim.x) words[i] = not_yet<T>;
    __syncthreads();  // RACE: orders "not yet" before the first word that a warp publishes
  }
  const unsigned groups = v.rhs_groups();
  const Awaited<T> y = {v.solved[0], v.ld}, x = {v.solved[1], v.ld};
  take_tasks(&v.progress->tickets[0], m.begin * groups, [&](unsigned k) { solve_task<0>(v, k, y, y); });
  if (has_middle) {
    const AwaitedInMiddle<T> y_here = {y, m.position[0], m.first_row, m.rows[0], words};
    const AwaitedInMiddle<T> x_here = {x, m.position[1], 0, m.rows[1], words + m.rows[0] * v.ld};
    take_tasks(&tickets[0], (v.triangle[0].n_tasks - m.begin) * groups,
               [&](unsigned k) { solve_task<0>(v, m.begin * groups + k, y_here, y_here); });
    take_tasks(&tickets[1], m.end * groups, [&](unsigned k) { solve_task<1>(v, k, y_here, x_here); });
  }
  take_tasks(&v.progress->tickets[1], (v.triangle[1].n_tasks - m.end) * groups,
             [&](unsigned k) { solve_task<1>(v, m.end * groups + k, y, x); });
}

/// All levels of a triangle, and a barrier after each but the very last.
/// following: tasks of the level after the last one; -1: there is none
template <int which, class T, class S>
__device__ __forceinline__ void solve_levels(const SolveView<T, S>& v, std::int64_t following) {
  const TriangleView<T>& t = v.triangle[which];
  const Finished<T> y = {v.solved[0], v.ld}, x = {v.solved[which], v.ld};
  const unsigned groups = v.rhs_groups(), warps_per_block = blockDim.x / 32;
  const unsigned warp = blockIdx.x * warps_per_block + threadIdx.x / 32;
  for (std::int32_t level = 0; level < t.n_levels; ++level) {
    const unsigned begin = t.level_ptr[level] * groups, tasks = t.tasks_of(level) * groups;
    for (unsigned k = warp; k < tasks; k += gridDim.x * warps_per_block) solve_task<which>(v, begin + k, y, x);
    const std::int64_t next_tasks = level + 1 < t.n_levels ? t.tasks_of(level + 1) * groups : following;
    if (next_tasks < 0) return;
    if (tasks <= warps_per_block && next_tasks <= warps_per_block)
      __syncthreads();  // RACE: both levels are block 0's: orders the x(j) that it wrote before its reads
    else
      cooperative_groups::this_grid().sync();  // RACE: orders the x(j) of this level before all reads of the next
  }
}

/// grid: resident at once   block: 32 * any   shared: none
template <class T, class S>
__global__ void __launch_bounds__(level_set_threads) solve_level_set_kernel(SolveView<T, S> v) {
  if (!v.is_wanted()) return;
  solve_levels<0>(v, v.triangle[1].tasks_of(0) * v.rhs_groups());
  solve_levels<1>(v, -1);
}

}  // namespace lulab::device_solver
