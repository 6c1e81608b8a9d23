#pragma once
// Both triangles of a solve by chunks, for one right-hand side, in one launch. What a task is: chunk_tasks.h.
//
// Every block has a list of tasks in the order of the plan, and all blocks are resident (a cooperative launch): the
// first task that is not finished is the next one of its block and waits for nothing, so the launch ends. A block
// copies its next two tasks on chip while it works and waits. Words carry their own "written" (core/awaited_scalar.h):
// no flag, no fence, no atomic, and sums in an order of their own.

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

template <class T>
struct ChunkView {
  const char* tasks;                // ChunkTasks::tasks
  const std::int64_t* begin;        // (tasks + 1)
  const std::int32_t* worker_ptr;   // (blocks + 1)
  const std::int32_t* worker_task;  // (tasks)
  const std::int32_t* column_at;    // (n)
  Word<T>* words;                   // (n_words), the first 2n those of SolveView
  std::int32_t stage_bytes;         // of each of two places for a task; a larger one is read where it lies
  std::int32_t max_inputs, max_rows;
  const unsigned long long* max_inverse;  // bits of the largest entry of an inverse
  device_solver::ByRowsView<T> rows;      // for a solve by rows
};

/// Where an inverse has a larger entry, rows are solved instead: products with it would lose half the digits, of a
/// float two thirds, which refinement still makes up for.
template <class T>
constexpr double max_inverse_entry = sizeof(T) == 8 ? 0x1p26 : 0x1p16;

/// The barriers of a block that a solve by chunks rests on; tests leave one out.
struct ChunkBarriers {
  __device__ __forceinline__ static void task_is_there() { __syncthreads(); }  // RACE: each thread staged a part of it
  __device__ __forceinline__ static void inputs_are_there() { __syncthreads(); }  // RACE: each thread took some of x, s
  __device__ __forceinline__ static void s_is_there() { __syncthreads(); }    // RACE: orders s before rows that need it
  __device__ __forceinline__ static void task_is_done() { __syncthreads(); }  // RACE: all have read what is overwritten
};

/// out(row, Σ value · factor(source)) for each row of a task; out is called by one thread.
/// Called by all threads of a block; partial_sums, and what factor() reads, lie in shared memory.
template <class T, class Out>
__device__ __forceinline__ void sum_rows(const char* task, const ChunkRows& rows, const T* factors, T* partial_sums,
                                         const Out& out) {
  const auto* values = reinterpret_cast<const T*>(task + rows.values);
  const auto* sources = reinterpret_cast<const std::uint16_t*>(task + rows.sources);
  const auto* passes = reinterpret_cast<const ChunkPass*>(task + rows.passes);
  const auto* row_of = reinterpret_cast<const std::uint16_t*>(task + rows.rows);
  const unsigned lane = threadIdx.x % 32;
  for (unsigned p = threadIdx.x / 32; p < rows.n_passes; p += blockDim.x / 32) {
    const ChunkPass pass = passes[p];
    const T* value = values + pass.first + lane;
    const std::uint16_t* source = sources + pass.first + lane;
    const std::uint16_t row = row_of[pass.first_row + (lane >> pass.log_lanes)];
    T sum = T(0), other = T(0);
    int step = 0;
    for (; step + 4 <= pass.steps; step += 4) {
      T v[4], x[4];
#pragma unroll
      for (int q = 0; q < 4; ++q) v[q] = value[32 * (step + q)];
#pragma unroll
      for (int q = 0; q < 4; ++q) x[q] = factors[source[32 * (step + q)]];
      sum += v[0] * x[0];
      other += v[1] * x[1];
      sum += v[2] * x[2];
      other += v[3] * x[3];
    }
    for (; step < pass.steps; ++step) sum += value[32 * step] * factors[source[32 * step]];
    sum += other;
    for (unsigned distance = (1u << pass.log_lanes) / 2; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(simt::all_lanes, sum, distance);
    if (lane % (1u << pass.log_lanes) != 0 || row == 0xffff) continue;
    if (row < 0x8000)
      out(row, sum);
    else
      partial_sums[row - 0x8000] = sum;
  }
  if (rows.n_long_rows == 0) return;
  __syncthreads();  // RACE: orders the partial sums before the threads that add them up
  const auto* long_rows = reinterpret_cast<const ChunkLongRow*>(task + rows.long_rows);
  for (unsigned k = threadIdx.x; k < rows.n_long_rows; k += blockDim.x) {
    T sum = T(0);
    for (unsigned q = long_rows[k].from; q < long_rows[k].end; ++q) sum += partial_sums[q];
    out(long_rows[k].row, sum);
  }
}

/// x(k) of inputs first, first + stride, ..., awaited four at a time so that they share a round trip.
template <class T>
__device__ __forceinline__ void take_inputs(Word<T>* words, const std::int32_t* inputs, int n_inputs, T* x) {
  constexpr int at_once = 4;
  const int stride = static_cast<int>(blockDim.x);
  for (int k = static_cast<int>(threadIdx.x); k < n_inputs; k += at_once * stride) {
    Word<T>* from[at_once];
    Word<T> seen[at_once];
#pragma unroll
    for (int q = 0; q < at_once; ++q) from[q] = words + inputs[min(k + q * stride, n_inputs - 1)];
#pragma unroll
    for (int q = 0; q < at_once; ++q) seen[q] = k + q * stride < n_inputs ? peek(from[q]) : 0;
    Awaited<T>::take(from, seen);
#pragma unroll
    for (int q = 0; q < at_once; ++q)
      if (k + q * stride < n_inputs) x[k + q * stride] = to_scalar(seen[q]);
  }
}

/// Called by all threads of a block.   x: (max_inputs)   s: (max_rows)   partial_sums: as the plan says
/// x_max: bits, of the solution that this thread writes
template <class Barriers, class T, class S>
__device__ __forceinline__ void do_task(const SolveView<T, S>& v, const ChunkView<T>& c, const char* task, T* x, T* s,
                                        T* partial_sums, unsigned long long& x_max) {
  const ChunkTask& t = *reinterpret_cast<const ChunkTask*>(task);
  const unsigned long long largest = v.largest[0];
  for (int i = threadIdx.x; i < t.n_rows; i += blockDim.x) {
    T start = T(0);
    if (t.start == ChunkTask::right_side)
      start = static_cast<T>(ldexp(v.b[c.column_at[t.first + i]], -exponent_of(largest)));
    else if (t.start == ChunkTask::word)
      start = to_scalar(await(c.words + t.first + i, peek(c.words + t.first + i)));
    s[i] = start;
  }
  take_inputs(c.words, reinterpret_cast<const std::int32_t*>(task + t.inputs), t.n_inputs, x);
  Barriers::inputs_are_there();
  const auto publish_row = [&](int i, T value) {
    publish<T>(c.words + t.out + i, value);
    if (t.solution < 0) return;
    const std::int32_t row = c.column_at[t.solution + i];
    const S solution = write_solution(v, v.to[row], v.scale[row], 0, value, largest);
    x_max = larger(x_max, bits_of(static_cast<double>(solution)));
  };
  const T* pivots = t.pivots ? reinterpret_cast<const T*>(task + t.pivots) : nullptr;
  sum_rows(task, t.outer, x, partial_sums, [&](int i, T sum) {
    T value = s[i] + sum;
    if (pivots) value /= -pivots[i];
    if (t.has_inverse)
      s[i] = value;
    else
      publish_row(i, value);
  });
  if (!t.has_inverse) return;
  Barriers::s_is_there();
  sum_rows(task, t.inverse, s, partial_sums, publish_row);
}

/// grid: workers, resident at once   block: 512
/// shared: two places for tasks, then x, s, partial sums
template <class T, class S, class Barriers = ChunkBarriers>
__global__ void __launch_bounds__(solve_threads, 2) chunk_solve_kernel(SolveView<T, S> v, ChunkView<T> c) {
  LULAB_DYNAMIC_SHARED(double, shared);
  if (!v.is_wanted()) return;
  if (!(magnitude_of(*c.max_inverse) <= max_inverse_entry<T>)) {
    device_solver::copy_by_rows(c.rows, std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x,
                                std::int64_t(gridDim.x) * blockDim.x);
    cooperative_groups::this_grid().sync();  // RACE: orders the copies before all that read them
    device_solver::solve_rows(v);
    return;
  }
  char* stage = reinterpret_cast<char*>(shared);
  T* x = reinterpret_cast<T*>(stage + 2 * std::int64_t(c.stage_bytes));
  T* s = x + c.max_inputs;
  T* partial_sums = s + c.max_rows;
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
  fetch(first);
  fetch(first + 1);
  unsigned long long x_max = 0;
  for (int k = first; k < end; ++k) {
    staging.wait<1>();
    Barriers::task_is_there();
    const std::int32_t t = c.worker_task[k];
    const bool staged = c.begin[t + 1] - c.begin[t] <= c.stage_bytes;
    do_task<Barriers>(v, c, staged ? stage + (k - first) % 2 * c.stage_bytes : c.tasks + c.begin[t], x, s, partial_sums,
                      x_max);
    Barriers::task_is_done();
    fetch(k + 2);
  }
  if (v.x_max) raise_by_block({v.x_max}, {x_max});
}

}  // namespace lulab::chunk_solve
namespace lulab::solve_rungs {

inline constexpr SolveRung chunks = {.id = "solve/04_chunks",
                                     .paper = "ours; chunks: symbolic/chunks.h",
                                     .idea =
                                         "sets of up to 48 rows, each by the inverse of its own triangle, for one "
                                         "right-hand side; several, and inverses that are too large, by 02",
                                     .method = SolveMethod::chunks};

}  // namespace lulab::solve_rungs
