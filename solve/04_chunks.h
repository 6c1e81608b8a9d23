#pragma once
// Both triangles of a solve by chunks in one launch, which takes a single right-hand side itself. What a task is:
// chunk_tasks.h.
//
// Every block has a list of tasks in the order of the plan, and all blocks are resident (a cooperative launch): the
// first task that is not finished is the next one of its block and waits for nothing, so the launch ends. A block
// copies its next two tasks on chip while it works and waits. Words carry their own "written" (core/awaited_scalar.h):
// no flag, no fence, no atomic, and sums in an order of their own.
//
// Several right-hand sides are taken in rounds: a block brings a task on chip once, and does it for each round before
// its next task. What the first round waits for is written before what the next one waits for, so that rounds follow
// each other through the tasks as in a pipeline. Each right-hand side is summed in the order in which one alone is.

#include <cstddef>
#include <cstdint>

#include "core/simt/device_tools.h"
#include "core/simt/kernel.h"
#include "core/simt/staging.h"
#include "solve/02_sync_free.h"
#include "solve/chunk_tasks.h"
#include "solve/solve_kernels.h"

namespace lulab::chunk_solve {

constexpr int solve_threads = 512;
// Right-hand sides that a warp sums at once, where there are several: two blocks share the registers.
constexpr int log_rhs_of_warp = 2, rhs_of_warp = 1 << log_rhs_of_warp;
constexpr int log_rhs_of_round = 3;  // most; fewer start the next task earlier, more wait less often

template <class T>
struct ChunkView {
  const char* tasks;                // ChunkTasks::d_tasks
  const std::int64_t* begin;        // (tasks + 1)
  const std::int32_t* worker_ptr;   // (blocks + 1)
  const std::int32_t* worker_task;  // (tasks)
  const std::int32_t* column_at;    // (n)
  Word<T>* words;                   // (n_words, ld), the first 2n those of SolveView
  std::int64_t n_words;
  std::int32_t stage_bytes;  // of each of two places for a task; a larger one is read where it lies
  std::int32_t max_inputs, max_rows;
  const unsigned long long* max_inverse;  // bits of the largest entry of an inverse
  device_solver::ByRowsView<T> rows;      // for a solve by rows
  const T* y;                             // (n) the first triangle's solution, of one right-hand side; null: none yet
  std::int32_t room, max_partial_sums;    // scalars; for several right-hand sides

  /// The task's right-hand sides in a round are so many as there is room for.
  __device__ __forceinline__ int log_round(const ChunkTask& t, std::int32_t columns) const {
    int log_size = log_rhs_of_warp;
    while (log_size < log_rhs_of_round && 1 << log_size < columns &&
           (t.n_inputs + t.n_rows + max_partial_sums) << (log_size + 1) <= room)
      ++log_size;
    return log_size;
  }
};

/// Right-hand sides first .. first + count - 1 of the solve; places for 2^log_size.
struct Round {
  std::int32_t first, count;
  int log_size;
};

/// In shared memory: entry i of the right-hand side c of a round.
template <class T>
struct RoundOf {
  T* entries;
  int ld;

  __device__ __forceinline__ T& operator()(int i, int c) const { return entries[c * ld + i]; }
};

/// One right-hand side that the solve takes itself, without a launch before.
template <class S>
struct OwnRightSide {
  device_solver::RightSides<S> given;    // b null: prepare_kernel has taken what there is to solve
  unsigned long long* largest_of_block;  // (blocks)
  unsigned long long* largest;           // (1)
  unsigned long long* state;             // (n_state) that starts at 0, with SolveProgress and `largest`
  std::int64_t n_state;
};

/// Where an inverse has a larger entry, rows are solved instead: products with it would lose half the digits, of a
/// float two thirds, which refinement still makes up for.
template <class T>
constexpr double max_inverse_entry = sizeof(T) == 8 ? 0x1p26 : 0x1p16;

/// The barriers of a block that a solve by chunks rests on; tests leave one out.
struct ChunkBarriers {
  __device__ __forceinline__ static void task_is_there() { __syncthreads(); }  // RACE: each thread staged a part of it
  __device__ __forceinline__ static void inputs_are_there() { __syncthreads(); }  // RACE: each thread took some of x, s
  __device__ __forceinline__ static void s_is_there() { __syncthreads(); }  // RACE: orders s before rows that need it
  __device__ __forceinline__ static void round_is_done() { __syncthreads(); }  // RACE: all read before one overwrites
  __device__ __forceinline__ static void right_side_is_taken() {
    cooperative_groups::this_grid().sync();  // RACE: any block wrote entries, words and its largest, all read them
  }
};

/// Called by all threads of the grid, which return together with the bits of the largest entry.
template <class Barriers, class T, class S>
__device__ __forceinline__ unsigned long long take_right_side(const SolveView<T, S>& v, const ChunkView<T>& c,
                                                              const OwnRightSide<S>& own) {
  LULAB_SHARED(unsigned long long, of_warp, 32);
  const std::int64_t thread = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  device_solver::forget_words<T>(c.words, c.n_words, thread, threads);
  unsigned long long bits = 0, bad = 0;
  for (std::int64_t i = thread; i < v.n; i += threads)
    bits = larger(bits, device_solver::take_entry(own.given, v.n, 1, i, 0, bad));
  if (blockIdx.x == 0)
    for (std::int64_t k = threadIdx.x; k < own.n_state; k += blockDim.x) own.state[k] = 0;
  bits = block_max(bits, of_warp);
  if (threadIdx.x == 0) own.largest_of_block[blockIdx.x] = bits;
  Barriers::right_side_is_taken();
  if (bad > 0) atomicMax(&v.progress->bad_b, bad);  // RACE: entries of several threads; the largest n - row stays
  bits = 0;
  for (unsigned k = threadIdx.x; k < gridDim.x; k += blockDim.x) bits = larger(bits, own.largest_of_block[k]);
  bits = block_max(bits, of_warp);
  if (thread == 0) *own.largest = bits;  // rows read it, after a barrier of the grid
  return bits;
}

/// out(row, c, Σ value · factors(source, c)) for each row of a task and right-hand side c of a round, by one thread.
/// rhs: right-hand sides that a warp sums at once, 1 or rhs_of_warp
/// Called by all threads of a block.
template <int rhs, class T, class Out>
__device__ __forceinline__ void sum_rows(const char* task, const ChunkRows& rows, const Round& round,
                                         const RoundOf<T>& factors, const RoundOf<T>& partial_sums, const Out& out) {
  const auto* values = reinterpret_cast<const T*>(task + rows.values);
  const auto* sources = reinterpret_cast<const std::uint16_t*>(task + rows.sources);
  const auto* passes = reinterpret_cast<const ChunkPass*>(task + rows.passes);
  const auto* row_of = reinterpret_cast<const std::uint16_t*>(task + rows.rows);
  const unsigned lane = threadIdx.x % 32;
  const int log_groups = rhs == 1 ? 0 : round.log_size - log_rhs_of_warp;  // of right-hand sides; a warp takes one
  for (unsigned k = threadIdx.x / 32; k < rows.n_passes << log_groups; k += blockDim.x / 32) {
    const ChunkPass pass = passes[k >> log_groups];
    const int first_rhs = rhs * static_cast<int>(k - (k >> log_groups << log_groups));
    const T* value = values + pass.first + lane;
    const std::uint16_t* source = sources + pass.first + lane;
    const std::uint16_t row = row_of[pass.first_row + (lane >> pass.log_lanes)];
    T sum[rhs] = {}, other[rhs] = {};
    int step = 0;
    for (; step + 4 <= pass.steps; step += 4) {
      T v[4];
      std::uint16_t from[4];
#pragma unroll
      for (int q = 0; q < 4; ++q) v[q] = value[32 * (step + q)];
#pragma unroll
      for (int q = 0; q < 4; ++q) from[q] = source[32 * (step + q)];
#pragma unroll
      for (int c = 0; c < rhs; ++c) {
        T x[4];
#pragma unroll
        for (int q = 0; q < 4; ++q) x[q] = factors(from[q], first_rhs + c);
        sum[c] += v[0] * x[0];
        other[c] += v[1] * x[1];
        sum[c] += v[2] * x[2];
        other[c] += v[3] * x[3];
      }
    }
    for (; step < pass.steps; ++step) {
      const T v = value[32 * step];
      const std::uint16_t from = source[32 * step];
#pragma unroll
      for (int c = 0; c < rhs; ++c) sum[c] += v * factors(from, first_rhs + c);
    }
    const unsigned lanes = 1u << pass.log_lanes;
#pragma unroll
    for (int c = 0; c < rhs; ++c) {
      sum[c] += other[c];
      for (unsigned distance = lanes / 2; distance > 0; distance /= 2)
        sum[c] += __shfl_xor_sync(simt::all_lanes, sum[c], distance);
    }
    if (row == 0xffff) continue;
    for (unsigned c = lane % lanes; c < rhs && first_rhs + static_cast<int>(c) < round.count; c += lanes) {
      T of_rhs = sum[0];
#pragma unroll
      for (unsigned q = 1; q < rhs; ++q)
        if (q == c) of_rhs = sum[q];
      if (row < 0x8000)
        out(row, first_rhs + static_cast<int>(c), of_rhs);
      else
        partial_sums(row - 0x8000, first_rhs + static_cast<int>(c)) = of_rhs;
    }
  }
  if (rows.n_long_rows == 0) return;
  __syncthreads();  // RACE: orders the partial sums before the threads that add them up
  const auto* long_rows = reinterpret_cast<const ChunkLongRow*>(task + rows.long_rows);
  for (unsigned e = threadIdx.x; e < rows.n_long_rows << round.log_size; e += blockDim.x) {
    const ChunkLongRow& row = long_rows[e >> round.log_size];
    const int c = static_cast<int>(e - (e >> round.log_size << round.log_size));
    if (c >= round.count) continue;
    T sum = T(0);
    for (unsigned q = row.from; q < row.end; ++q) sum += partial_sums(static_cast<int>(q), c);
    out(row.row, c, sum);
  }
}

/// The inputs of a task to x(k, c), awaited four at a time so that they share a round trip.
/// words: of the round's first right-hand side   ld: from word to word
template <class T>
__device__ __forceinline__ void take_inputs(Word<T>* words, std::int64_t ld, const std::int32_t* inputs, int n_inputs,
                                            const Round& round, const RoundOf<T>& x) {
  constexpr int at_once = 4;
  const int stride = static_cast<int>(blockDim.x), n = n_inputs << round.log_size;
  for (int e = static_cast<int>(threadIdx.x); e < n; e += at_once * stride) {
    Word<T>* from[at_once];
    Word<T> seen[at_once];
    const int c = e - (e >> round.log_size << round.log_size);  // the same for all four
    if (c >= round.count) continue;
#pragma unroll
    for (int q = 0; q < at_once; ++q) from[q] = words + inputs[min(e + q * stride, n - 1) >> round.log_size] * ld + c;
#pragma unroll
    for (int q = 0; q < at_once; ++q) seen[q] = e + q * stride < n ? peek(from[q]) : 0;
    Awaited<T>::take(from, seen);
#pragma unroll
    for (int q = 0; q < at_once; ++q)
      if (e + q * stride < n) x((e + q * stride) >> round.log_size, c) = to_scalar(seen[q]);
  }
}

/// A task for the right-hand sides of a round. Called by all threads of a block.
/// largest_of_one: bits, where there is one right-hand side
/// x: (n_inputs)   s: (n_rows)   partial_sums: as the plan says
/// x_max: bits, of the solution that this thread writes, where there is one right-hand side
template <class Barriers, int rhs, class T, class S>
__device__ __forceinline__ void do_task(const SolveView<T, S>& v, const ChunkView<T>& c, const char* task,
                                        const Round& round, const RoundOf<T>& x, const RoundOf<T>& s,
                                        const RoundOf<T>& partial_sums, unsigned long long largest_of_one,
                                        unsigned long long& x_max) {
  const ChunkTask& t = *reinterpret_cast<const ChunkTask*>(task);
  const std::int64_t ld = rhs == 1 ? 1 : v.ld;
  Word<T>* const words = c.words + round.first;
  simt::note_writes(simt::written(words + t.out * ld, round.count, ld, t.n_rows));
  const auto largest = [&](int r) { return rhs == 1 ? largest_of_one : v.largest[round.first + r]; };
  for (int e = threadIdx.x; e < t.n_rows << round.log_size; e += blockDim.x) {
    const int i = e >> round.log_size, r = e - (i << round.log_size);
    if (r >= round.count) continue;
    T start = T(0);
    if (t.start == ChunkTask::right_side) {
      start = static_cast<T>(
          scaled_by_power_of_two(v.b[c.column_at[t.first + i] * ld + round.first + r], -exponent_of(largest(r))));
    } else if (t.start == ChunkTask::word && rhs == 1 && c.y) {
      start = c.y[c.column_at[t.first + i]];
    } else if (t.start == ChunkTask::word) {
      Word<T>* const word = words + (t.first + i) * ld + r;
      start = to_scalar(await(word, peek(word)));
    }
    s(i, r) = start;
  }
  take_inputs(words, ld, reinterpret_cast<const std::int32_t*>(task + t.inputs), t.n_inputs, round, x);
  Barriers::inputs_are_there();
  const auto publish_row = [&](int i, int r, T value) {
    publish<T>(words + (t.out + i) * ld + r, value);
    if (t.solution < 0) return;
    const std::int32_t row = c.column_at[t.solution + i];
    const S solution = write_solution(v, v.to[row], v.scale[row], round.first + r, value, largest(r));
    if (rhs == 1) x_max = larger(x_max, bits_of(static_cast<double>(solution)));
  };
  const T* pivots = t.pivots ? reinterpret_cast<const T*>(task + t.pivots) : nullptr;
  sum_rows<rhs>(task, t.outer, round, x, partial_sums, [&](int i, int r, T sum) {
    T value = s(i, r) + sum;
    if (pivots) value /= -pivots[i];
    if (t.has_inverse)
      s(i, r) = value;
    else
      publish_row(i, r, value);
  });
  if (!t.has_inverse) return;
  Barriers::s_is_there();
  sum_rows<rhs>(task, t.inverse, round, s, partial_sums, publish_row);
}

/// grid: workers, resident at once   block: 512
/// shared: two places for tasks, then x, s, partial sums
/// rhs: 1 or, for several right-hand sides, rhs_of_warp
template <class T, class S, int rhs = 1, class Barriers = ChunkBarriers>
__global__ void __launch_bounds__(solve_threads, 2)
    chunk_solve_kernel(SolveView<T, S> v, ChunkView<T> c, OwnRightSide<S> own_right_side) {
  LULAB_DYNAMIC_SHARED(double, shared);
  if (!v.is_wanted()) return;
  const bool by_inverses = magnitude_of(*c.max_inverse) <= max_inverse_entry<T>;
  char* stage = reinterpret_cast<char*>(shared);
  T* const own = reinterpret_cast<T*>(stage + 2 * std::int64_t(c.stage_bytes));
  const int first = c.worker_ptr[blockIdx.x], end = c.worker_ptr[blockIdx.x + 1];
  simt::Staging staging;
  const auto fetch = [&](int k) {
    if (k < end) {
      const std::int64_t begin = c.begin[c.worker_task[k]], bytes = c.begin[c.worker_task[k] + 1] - begin;
      if (bytes <= c.stage_bytes)
        for (std::int64_t at = 16 * std::int64_t(threadIdx.x); at < bytes; at += 16 * std::int64_t(blockDim.x))
          staging.copy_16(stage + (k - first) % 2 * c.stage_bytes + at, c.tasks + begin + at);
    }
    staging.commit();
  };
  if (by_inverses) {  // on their way while the right-hand side is taken
    fetch(first);
    fetch(first + 1);
  }
  unsigned long long largest_of_one = 0, x_max = 0;
  if constexpr (rhs == 1)
    largest_of_one = own_right_side.given.b ? take_right_side<Barriers>(v, c, own_right_side) : v.largest[0];
  if (!by_inverses) {
    device_solver::copy_by_rows(c.rows, std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x,
                                std::int64_t(gridDim.x) * blockDim.x);
    cooperative_groups::this_grid().sync();  // RACE: orders the copies before all that read them
    device_solver::solve_rows(v);
    return;
  }
  for (int k = first; k < end; ++k) {
    staging.wait<1>();
    Barriers::task_is_there();
    const std::int32_t t = c.worker_task[k];
    const bool staged = c.begin[t + 1] - c.begin[t] <= c.stage_bytes;
    const char* const task = staged ? stage + (k - first) % 2 * c.stage_bytes : c.tasks + c.begin[t];
    const auto do_round = [&](const Round& round, int inputs, int rows) {
      T* const s = own + (inputs << round.log_size);
      T* const partial_sums = s + (rows << round.log_size);
      do_task<Barriers, rhs>(v, c, task, round, {own, inputs}, {s, rows}, {partial_sums, c.max_partial_sums},
                             largest_of_one, x_max);
      Barriers::round_is_done();
    };
    if constexpr (rhs == 1) {
      do_round({0, 1, 0}, c.max_inputs, c.max_rows);
    } else {
      const ChunkTask& header = *reinterpret_cast<const ChunkTask*>(task);
      const int log_size = c.log_round(header, v.columns), inputs = header.n_inputs, rows = header.n_rows;
      for (std::int32_t at = 0; at < v.columns; at += 1 << log_size)
        do_round({at, min(1 << log_size, v.columns - at), log_size}, inputs, rows);
    }
    fetch(k + 2);
  }
  if (rhs == 1 && v.x_max) raise_by_block({v.x_max}, {x_max});
}

}  // namespace lulab::chunk_solve
namespace lulab::solve_rungs {

inline constexpr SolveRung chunks = {.id = "solve/04_chunks",
                                     .paper = "ours; chunks: symbolic/chunks.h",
                                     .idea =
                                         "sets of up to 64 rows, each by the inverse of its own triangle; where "
                                         "inverses are too large, by 02",
                                     .method = SolveMethod::chunks};

}  // namespace lulab::solve_rungs
