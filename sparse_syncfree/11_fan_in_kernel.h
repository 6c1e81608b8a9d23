#pragma once
// One launch that does all tasks of a plan. Included only where it is compiled.
//
//   11_fan_in_kernel.h     tasks by ticket; the next one is brought on chip meanwhile
//     11_fan_in_words.h    X -= Σ words
//     11_fan_in_sparse.h   a sparse task
//     11_fan_in_dense.h    a dense task

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/power_of_two.h"
#include "core/simt/device_tools.h"
#include "core/simt/note_writes.h"
#include "core/simt/staging.h"
#include "sparse_syncfree/11_fan_in_dense.h"
#include "sparse_syncfree/injected_delays.h"
#include "sparse_syncfree/systems_of_batch.h"

namespace lulab::sparse_syncfree {

/// Column of As that has this position.
__device__ inline std::int32_t column_at(const std::int64_t* col_ptr, std::int32_t n, std::int64_t position) {
  std::int32_t low = 0, high = n - 1;
  while (low < high) {
    const std::int32_t middle = (low + high + 1) / 2;
    if (col_ptr[middle] <= position)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/// A task and its X lie at one end of the arena, and those of the next task at the other.
template <class T>
struct FanInPlace {
  char* task;
  T* x;
};
template <class T>
__device__ __forceinline__ FanInPlace<T> place_of(char* arena, std::uint32_t arena_bytes, const FanInFetch& fetch,
                                                  bool at_end) {
  const std::uint32_t x_bytes = fetch.x_scalars * std::uint32_t(sizeof(T));
  char* const task = at_end ? arena + arena_bytes - fetch.staged : arena;
  return {task, reinterpret_cast<T*>(at_end ? task - x_bytes : task + fetch.staged)};
}

/// Entry i of the right-hand side as it is carried along; the column's diagonal is 1.
template <class T>
__device__ __forceinline__ T right_side_entry(const RightSide& b, std::int64_t i, std::int32_t last) {
  if (i == last) return T(1);
  return b.scaled ? static_cast<T>(scaled_by_power_of_two(b.scaled[i], -exponent_of(*b.largest))) : T(0);
}

/// Equivalent to   for e < count:  X = A, scaled
template <int threads, class T>
__device__ __forceinline__ void load_entries(const FanInView<T>& v, std::int64_t first, const FanInTables& tables,
                                             const FanInTask& task, T* x) {
  const ScaledValues<T>& a = v.a;
  const std::uint32_t* const positions = tables.at<std::uint32_t>(task.load.positions);
  const std::uint16_t* const places = tables.at<std::uint16_t>(task.load.places);
#pragma unroll 4
  for (std::uint32_t e = threadIdx.x; e < task.load.count; e += threads) {
    const std::uint32_t from = positions[e];
    x[places[e]] = from < v.nnz_a
                       ? a.values[first + from] * (a.scale ? a.scale[from] : static_cast<T>(a.scale_short[from]))
                       : right_side_entry<T>(v.b, from - v.nnz_a, v.n - 1);
  }
}

/// Equivalent to   for e < count:  As = L or U;   note its column as failed if that is not finite
template <int threads, class T>
__device__ __forceinline__ void store_entries(const DeviceFactorsView<T>& f, const FanInView<T>& v,
                                              const FanInTables& tables, const FanInTask& task, const T* x,
                                              const Divisors<T>& by) {
  const std::uint32_t* const positions = tables.at<std::uint32_t>(task.store.positions);
  const std::uint16_t* const places = tables.at<std::uint16_t>(task.store.places);
  const bool is_dense = task.is_dense, scaled = by.are_used();
#pragma unroll 2
  for (std::uint32_t e = threadIdx.x; e < task.store.count; e += threads) {
    const std::uint32_t place = places[e];
    const T value = is_dense ? x[place] : place == no_pivot ? x[e] : by.divided(x[e], place, scaled);
    const std::int64_t position = positions[e];
    *(position < v.nnz ? f.values + position : v.y + (position - v.nnz)) = value;
    // RACE: blocks lower failed_column; the atomic orders them, the end of the launch publishes it
    if (!simt::is_finite(value)) atomicMin(f.failed_column, column_at(v.col_ptr, v.n, position));
  }
}

/// Words of the task.
__device__ __forceinline__ std::int64_t n_published(const FanInTables& tables, const FanInTask& task) {
  if (task.is_dense) return std::int64_t(task.rows - task.pivots) * (task.columns - task.pivots);
  if (task.sums.n_groups == 0) return 0;
  const FanInGroup& last = tables.at<FanInGroup>(task.sums.groups)[task.sums.n_groups - 1];
  return std::int64_t(last.first_row) + last.rows;
}

/// Empties the words of the last launch for the next one; the last block tells the outcome, and that it is the next
/// one's turn.
template <int threads, class T>
__device__ __forceinline__ void finish_turn(const DeviceFactorsView<T>& f, const FanInView<T>& v, std::int64_t turn) {
  Word<T>* const others = v.words + (1 - turn) * v.half;
  for (std::int64_t w = std::int64_t(blockIdx.x) * threads + threadIdx.x; w < v.half;
       w += std::int64_t(gridDim.x) * threads)
    others[w] = not_yet<T>;
  __syncthreads();  // RACE: all of the block have read the turn and told failures before thread 0 says that it is done
  if (threadIdx.x >= 32) return;
  std::int32_t done = 0;
  // RACE: release: this block has taken its last ticket, read the turn and told its failures; acquire: so have all
  // others, before the last block takes these and starts the next turn
  if (threadIdx.x == 0)
    done = cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>(v.state->done)
               .fetch_add(1, cuda::memory_order_acq_rel) +
           1;
  done = __shfl_sync(simt::all_lanes, done, 0);
  __syncwarp();  // RACE: the other lanes read the outcome after lane 0 has seen all blocks done
  if (done < static_cast<std::int32_t>(gridDim.x)) return;
  for (std::int32_t system = static_cast<std::int32_t>(threadIdx.x); system < v.systems; system += 32) {
    v.failed_column[system] = std::exchange(f.failed_column[system], f.n);
    v.perturbed[system] = std::exchange(f.perturbed[system], 0);
  }
  if (threadIdx.x == 0) *v.state = {static_cast<std::int32_t>(1 - turn), 0, 0};
}

/// Equivalent to   for each task, for each system:  load;  add words;  eliminate and publish;  store
template <class T, int threads, bool inject_delays>
__global__ void __launch_bounds__(threads, fan_in_threads / threads)
    fan_in_tasks_kernel(DeviceFactorsView<T> f, FanInView<T> v, std::uint64_t seed) {
  constexpr FanInShape shape = {threads};
  LULAB_DYNAMIC_SHARED(T, scratch);  // (shape.scratch())
  LULAB_SHARED(std::int32_t, taken, 2);
  LULAB_SHARED(std::int32_t, has_scales, 1);
  const Divisors<T> divisors = {scratch, scratch + shape.max_sparse_pivots(), has_scales};
  char* const arena = reinterpret_cast<char*>(scratch + shape.scratch());
  simt::Staging staging;
  const auto bring = [&](const FanInFetch& fetch, char* to) {
    const char* const from = v.tasks + 16 * std::int64_t(fetch.begin);
    for (std::uint32_t at = 16 * threadIdx.x; at < fetch.staged; at += 16 * threads)
      staging.copy_16(to + at, from + at);
  };
  // RACE: no two blocks get one task of a system. It awaits tasks with smaller tickets alone, and a block does its
  // tasks in the order of their tickets, so the one with the smallest ticket that is left never waits.
  const auto take = [&] { return threadIdx.x == 0 ? atomicAdd(&v.state->ticket, 1) : 0; };
  const std::int64_t turn = v.state->turn % 2;
  Word<T>* const half = v.words + turn * v.half;
  const std::int32_t systems = v.systems, n_tickets = v.n_tasks * systems;
  if (const std::int32_t first = take(); threadIdx.x == 0) taken[0] = first;
  __syncthreads();  // RACE: thread 0 wrote the ticket, all read it
  std::int32_t ticket = taken[0];
  FanInFetch fetch = ticket < n_tickets ? v.fetches[ticket / systems] : FanInFetch{};
  bool is_brought = false, at_end = false;
  while (ticket < n_tickets) {
    const FanInPlace<T> place = place_of<T>(arena, v.arena, fetch, at_end);
    T* const x = place.x;
    if (!is_brought) {
      bring(fetch, place.task);
      staging.commit();
    }
    if constexpr (inject_delays) pause_before(seed, ticket);
    for (std::uint32_t i = threadIdx.x; i < fetch.x_scalars; i += threads) x[i] = T(0);
    staging.template wait<0>();
    __syncthreads();  // RACE: each thread brought some of the task and cleared some of X; all read and fill them
    const FanInTask& task = *reinterpret_cast<const FanInTask*>(place.task);
    const FanInTables tables = {place.task, v.tasks + 16 * std::int64_t(fetch.begin), fetch.staged};
    const std::int32_t of_thread_0 = take();
    const std::int32_t system = ticket % systems;
    const DeviceFactorsView<T> own = factors_of(f, v.nnz, system);
    Word<T>* const words = half + system * v.n_words;
    simt::note_column(static_cast<std::int32_t>(*tables.at<std::uint32_t>(task.pivot_columns)));
    simt::note_writes(simt::written(words + task.words, n_published(tables, task)));
    load_entries<threads>(v, system * v.nnz_a, tables, task, x);
    if (threadIdx.x == 0) has_scales[0] = 0;
    if (threadIdx.x == 0) taken[1] = of_thread_0;  // not sooner: thread 0 would wait for it
    __syncthreads();  // RACE: each thread filled some of X, all read it; thread 0 wrote the ticket, all read it
    const std::int32_t next = taken[1];
    const FanInFetch next_fetch = next < n_tickets ? v.fetches[next / systems] : FanInFetch{};
    const std::uint32_t stages = task.n_stages;
    for (std::uint32_t stage = 0; stage <= stages; ++stage) {
      if (stage + 1 == max(stages, 1u)) {
        is_brought = next < n_tickets &&
                     fetch.staged + fetch.x_scalars * std::uint32_t(sizeof(T)) + next_fetch.staged <= v.arena;
        if (is_brought) {
          bring(next_fetch, place_of<T>(arena, v.arena, next_fetch, !at_end).task);
          staging.commit();
        }
      }
      if (stage < stages) add_words(tables, task.stages[stage], words, x);
    }
    if (task.is_dense)
      eliminate_dense<threads>(own, tables, task, words, x);
    else
      eliminate_sparse(own, tables, task, words, x, divisors);
    __syncthreads();  // RACE: each thread changed some of X, all read it
    store_entries<threads>(own, v, tables, task, x, divisors);
    if constexpr (inject_delays) pause_before(~seed, ticket);
    __syncthreads();  // RACE: all have read X, the task, the ticket and scratch, which the next task overwrites
    ticket = next;
    fetch = next_fetch;
    at_end = !at_end;
  }
  finish_turn<threads>(f, v, turn);
}

template <class T, int threads, bool inject_delays>
FanInKernel<T> fan_in_kernel() {
  return fan_in_tasks_kernel<T, threads, inject_delays>;
}

}  // namespace lulab::sparse_syncfree
