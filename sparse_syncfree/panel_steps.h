#pragma once
// The steps of a task on the device: X(:,J) lives in shared memory, column by column, all of the block's threads work on it.

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/awaited_scalar.h"
#include "core/device_factors.h"
#include "core/simt/kernel.h"
#include "core/simt/reciprocal.h"
#include "sparse_syncfree/panel_tasks.h"

namespace lulab::sparse_syncfree {

constexpr int max_width = max_panel_width;
constexpr int steps_at_once = 32;  // fetched, twice as many are in shared memory
constexpr std::uint16_t nowhere = 0xffff;

/// What a kernel of panels is compiled for.
struct PanelKernel {
  bool gathering = false;  // tasks may have steps that gather
  bool searching = false;  // there is no map of rows: they are searched for
  bool batched = false;    // the same tasks for many systems
  bool disturbed = false;  // blocks pause before and after each task, to find orders of events that do not come by
                           // themselves
};

/// A plan in device memory.
template <class T>
struct TasksView {
  const PanelTask* tasks;
  const PanelStep* steps;
  const PanelSolve* solves;
  const GatherRow* gathers;
  const GatherItem* items;
  const std::uint16_t* entry_places;
  const ColumnEntries* column_entries;
  const std::uint16_t* map;   // unless searching
  const std::int32_t* rows;   // of all panels, where searching
  Word<T>* words;             // not_yet on entry
  std::int32_t* ticket;       // -1 on entry, counted from the leaves on
  std::int32_t* leaf_ticket;  // -1 on entry
  std::int32_t n_tasks, n_leaves;
  std::int32_t leaf_scalars;  // of the largest leaf
  std::int32_t systems;       // of a batch; those of a task come one after another
  std::int64_t n_words, nnz;  // from a system's words and values to the next one's
};

/// To the arrays of a system of a batch.
template <class T>
__device__ __forceinline__ void shift(DeviceFactorsView<T>& f, TasksView<T>& v, std::int32_t system) {
  f.values += system * v.nnz;
  f.failed_column += system;
  f.perturbed += system;
  f.a_max += system;
  v.words += system * v.n_words;
}

/// Place of `row` among `count` ascending rows; nowhere: it is none of them.
__device__ __forceinline__ std::uint16_t find_row(const std::int32_t* rows, std::int32_t count, std::int32_t row) {
  std::int32_t from = 0, to = count - 1;
  while (from < to) {
    const std::int32_t middle = (from + to) / 2;
    if (rows[middle] < row)
      from = middle + 1;
    else
      to = middle;
  }
  return rows[from] == row ? static_cast<std::uint16_t>(from) : nowhere;
}

/// Where row i of an update lies in the task.
template <bool searching, class T>
__device__ __forceinline__ int place_of(const TasksView<T>& v, const PanelTask& task, const PanelStep& step, int i) {
  if constexpr (searching)
    return find_row(v.rows + task.row_begin, task.rows, v.rows[step.rows + i]);
  else
    return v.map[step.map + i];
}

/// Threads that work on a task together: all of a block, or a warp.
struct BlockOfTask {
  int thread = threadIdx.x, threads = blockDim.x;
  __device__ __forceinline__ void sync() const { __syncthreads(); }  // RACE: said at each call
};
struct WarpOfTask {
  int thread = threadIdx.x % 32;
  static constexpr int threads = 32;
  __device__ __forceinline__ void sync() const { __syncwarp(); }  // RACE: said at each call
};

/// A warp's own shared memory.
template <class T>
struct Scratch {
  T* u;         // (max_width, W) by rows
  T* triangle;  // (32) of L(K,K) below its diagonal, by rows; at last the inverse pivots
};

/// Of which entry of L(K,K) below its diagonal, by rows, a lane takes care: L(k + i, k + e).
struct TrianglePlace {
  int i, e;
  __device__ explicit TrianglePlace(int lane) {
    i = 1;
    while ((i + 1) * i / 2 <= lane) ++i;
    e = lane - i * (i - 1) / 2;
  }
};

/// What a thread fetches of an update before it waits for any of it.
template <class T>
struct Fetched {
  Word<T> l[max_width];  // of its first row
  Word<T> head[2];       // of L(K,K), or of U(K,J) from another task
  int to;                // place of its first row
};

/// What a thread works on first in a step that gathers, where there is any.
struct FirstGather {
  PanelSolve solve;
  GatherRow row;
  GatherItem item;
};

/// L(row, k..) of the rows that a step has, as far as it is there.
template <class T>
__device__ __forceinline__ void fetch_row(Word<T>* words, const PanelStep& step, int row, Word<T> (&l)[max_width]) {
#pragma unroll
  for (int e = 0; e < max_width; ++e) {
    if (e >= step.width) break;
    l[e] = peek(words + step.l + std::int64_t(e) * step.ld + row);
  }
}

template <class T>
__device__ __forceinline__ void fetch_row(const TasksView<T>& v, const PanelStep step, FirstGather& first) {
  const int row = static_cast<int>(threadIdx.x) / step.ld;
  first.row = {};
  if (row < step.count) first.row = v.gathers[step.map + row];
}

/// Requires  first.row.
template <class T>
__device__ __forceinline__ void fetch_item(const TasksView<T>& v, const PanelStep step, int stored_width,
                                           FirstGather& first) {
  const int solve = static_cast<int>(threadIdx.x) / stored_width, sub = static_cast<int>(threadIdx.x) % step.ld;
  if (solve < step.at) first.solve = v.solves[step.triangle + solve];
  if (sub < first.row.items) first.item = v.items[first.row.first_item + sub];
}

/// What apply() needs of a step, as far as it is there.
template <bool searching, class T>
__device__ __forceinline__ void fetch(const TasksView<T>& v, const PanelTask& task, const PanelStep step,
                                      const TrianglePlace& place, int stored_width, Fetched<T>& f) {
  const int lane = threadIdx.x % 32;
  if (static_cast<int>(threadIdx.x) < step.count) {
    f.to = place_of<searching>(v, task, step, threadIdx.x);
    fetch_row<T>(v.words, step, threadIdx.x, f.l);
  }
  if (step.at >= 0) {
    if (place.i < step.width) f.head[0] = peek(v.words + step.triangle + std::int64_t(place.e) * step.ld + place.i);
  } else {
    if (lane < step.width * stored_width) f.head[0] = peek(v.words + step.u + lane);
    if (lane + 32 < step.width * stored_width) f.head[1] = peek(v.words + step.u + lane + 32);
  }
}

/// X(:,J) -= L(:,K) · U(K,J), a thread a row.   f: what fetch() has. Called by all threads; ends with a barrier.
template <class T, int W, bool searching>
__device__ __forceinline__ void apply(const TasksView<T>& v, const PanelTask& task, const PanelStep step,
                                      const TrianglePlace& place, Fetched<T>& f, T* x, int ld,
                                      const Scratch<T>& scratch) {
  const int thread = threadIdx.x, lane = thread % 32, c = lane % W, width = step.width;
  if (step.at >= 0) {  // U(K,J) = L(K,K) \ X(K,J), a lane a column
    if (place.i < width)
      scratch.triangle[lane] =
          to_scalar(await(v.words + step.triangle + std::int64_t(place.e) * step.ld + place.i, f.head[0]));
    __syncwarp();  // RACE: lanes wrote the triangle, all lanes read it
    T u[max_width];
#pragma unroll
    for (int i = 0; i < max_width; ++i) {
      if (i >= width) break;
      u[i] = x[c * ld + step.at + i];
#pragma unroll
      for (int e = 0; e < i; ++e) u[i] -= scratch.triangle[i * (i - 1) / 2 + e] * u[e];
    }
#pragma unroll
    for (int i = 0; i < max_width; ++i) {
      if (i >= width) break;
      if (lane < W) scratch.u[i * W + c] = u[i];
      if (step.u >= 0 && thread < W) publish<T>(v.words + step.u + i * W + c, u[i]);
    }
  } else {
    if (lane < width * W) scratch.u[lane] = to_scalar(await(v.words + step.u + lane, f.head[0]));
    if (lane + 32 < width * W) scratch.u[lane + 32] = to_scalar(await(v.words + step.u + lane + 32, f.head[1]));
  }
  __syncwarp();  // RACE: lanes wrote u, all lanes read it

  for (int row = thread; row < step.count; row += blockDim.x) {
    if (row != thread) {
      f.to = place_of<searching>(v, task, step, row);
      fetch_row<T>(v.words, step, row, f.l);
    }
    await_all(v.words + step.l + row, step.ld, width, f.l);
    if (f.to == nowhere) continue;  // all products are zero
    T sum[W];
#pragma unroll
    for (int q = 0; q < W; ++q) sum[q] = x[q * ld + f.to];
#pragma unroll
    for (int e = 0; e < max_width; ++e) {
      if (e >= width) break;
      const T l = to_scalar(f.l[e]);
#pragma unroll
      for (int q = 0; q < W; ++q) sum[q] -= l * scratch.u[e * W + q];
    }
#pragma unroll
    for (int q = 0; q < W; ++q) x[q * ld + f.to] = sum[q];
  }
  __syncthreads();  // RACE: each thread wrote rows of X, the next update reads others; all have read X(K,J)
  if (step.at >= 0 && thread / 32 == static_cast<int>(blockDim.x) / 32 - 1 && lane < W) {
    // RACE: read after the barrier that ends the elimination
    for (int i = 0; i < width; ++i) x[c * ld + step.at + i] = scratch.u[i * W + c];
  }
  __syncwarp();  // RACE: some lanes read u, all lanes overwrite it
}

/// U(K,J) of a small panel: W neighbouring lanes, a column each.
template <class T, int W>
__device__ __forceinline__ void solve_small(const TasksView<T>& v, const PanelSolve& solve, T* x, int ld) {
  const int c = threadIdx.x % W, width = solve.width;
  if (solve.triangle == no_word) {
    Word<T> words[max_width] = {};
#pragma unroll
    for (int i = 0; i < max_width; ++i) {
      if (i >= width) break;
      words[i] = peek(v.words + solve.u + i * W + c);
    }
    await_all(v.words + solve.u + c, W, width, words);
#pragma unroll
    for (int i = 0; i < max_width; ++i) {
      if (i >= width) break;
      x[c * ld + solve.at + i] = to_scalar(words[i]);
    }
    return;
  }
  T u[max_width] = {};
#pragma unroll
  for (int i = 0; i < max_width; ++i)
    if (i < width) u[i] = x[c * ld + solve.at + i];
  const auto eliminate_rows = [&](auto first, auto end) {
    constexpr int begin = decltype(first)::value, stop = decltype(end)::value;
    Word<T> l[stop - begin][stop - 1] = {};
    const auto word = [&](int i, int e) { return v.words + solve.triangle + std::int64_t(e) * solve.ld + i; };
#pragma unroll
    for (int i = begin; i < stop; ++i) {
#pragma unroll
      for (int e = 0; e < i; ++e)
        if (i < width) l[i - begin][e] = peek(word(i, e));
    }
    for (;;) {  // one loop for all of them has fewer instructions than one each
      Word<T>* missing = nullptr;
#pragma unroll
      for (int i = begin; i < stop; ++i) {
#pragma unroll
        for (int e = 0; e < i; ++e)
          if (l[i - begin][e] == not_yet<T>) missing = word(i, e);
      }
      if (!missing) break;
      (void)await(missing, not_yet<T>);
#pragma unroll
      for (int i = begin; i < stop; ++i) {
#pragma unroll
        for (int e = 0; e < i; ++e)  // RACE: see peek(); whoever publishes them runs
          if (l[i - begin][e] == not_yet<T>) l[i - begin][e] = peek(word(i, e));
      }
    }
#pragma unroll
    for (int i = begin; i < stop; ++i) {
      if (i >= width) break;
#pragma unroll
      for (int e = 0; e < i; ++e) u[i] -= to_scalar(l[i - begin][e]) * u[e];
      x[c * ld + solve.at + i] = u[i];
      if (solve.u != no_word) publish<T>(v.words + solve.u + i * W + c, u[i]);
    }
  };
  eliminate_rows(std::integral_constant<int, 0>{}, std::integral_constant<int, 4>{});
  if (width > 4) eliminate_rows(std::integral_constant<int, 4>{}, std::integral_constant<int, 6>{});
  if (width > 6) eliminate_rows(std::integral_constant<int, 6>{}, std::integral_constant<int, 8>{});
}

/// X(i,J) -= L(i,K) · U(K,J) for many small panels K, some lanes a row i.   Called by all threads; ends with a barrier.
template <class T, int W>
__device__ __forceinline__ void gather(const TasksView<T>& v, const PanelStep step, const FirstGather& first, T* x,
                                       int ld) {
  constexpr int at_once = 4;
  const int thread = threadIdx.x, threads = blockDim.x;
  if (step.at > 0) {
    PanelSolve solve = first.solve;
    for (int s = thread / W; s < step.at;) {
      solve_small<T, W>(v, solve, x, ld);
      s += threads / W;
      if (s < step.at) solve = v.solves[step.triangle + s];
    }
    __syncthreads();  // RACE: each thread wrote some of U(K,J), all read it
  }
  const int lanes = step.ld, sub = thread % lanes, rows_at_once = threads / lanes;
  for (int begin = 0; begin < step.count; begin += rows_at_once) {
    const int r = begin + thread / lanes;
    GatherRow row = first.row;
    if (begin > 0) row = {};
    if (begin > 0 && r < step.count) row = v.gathers[step.map + r];
    T sum[W] = {};
    for (int k = sub; k < row.items; k += lanes * at_once) {
      GatherItem item[at_once] = {};
      Word<T> l[at_once] = {};
#pragma unroll
      for (int q = 0; q < at_once; ++q) {
        if (k + q * lanes >= row.items) break;
        if (q == 0 && begin == 0 && k == sub)
          item[q] = first.item;
        else
          item[q] = v.items[row.first_item + k + q * lanes];
      }
#pragma unroll
      for (int q = 0; q < at_once; ++q) {
        if (k + q * lanes >= row.items) break;
        l[q] = peek(v.words + item[q].word);
      }
#pragma unroll
      for (int q = 0; q < at_once; ++q) {
        if (k + q * lanes >= row.items) break;
        const T value = to_scalar(await(v.words + item[q].word, l[q]));
#pragma unroll
        for (int c = 0; c < W; ++c) sum[c] += value * x[c * ld + item[q].u];
      }
    }
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
#pragma unroll
      for (int c = 0; c < W; ++c) sum[c] += __shfl_xor_sync(0xffffffffu, sum[c], offset);
    }
    if (sub == 0 && row.items > 0) {
#pragma unroll
      for (int c = 0; c < W; ++c) x[c * ld + row.place] -= sum[c];
    }
  }
  __syncthreads();  // RACE: each thread wrote rows of X that nobody reads in this step, the next step reads them
}

/// x / pivot as x · scale · inverse, since the inverse alone is no normal number where the pivot is denormal or very large.
/// (A division instead, by a rare branch: memplus 0.21 -> 0.26 ms on an H200.)
/// Zeros of a panel that are no entries stay zeros whatever the pivot, unless that is zero.
template <class T>
struct Inverse {
  T scale, inverse;

  __device__ __forceinline__ explicit Inverse(T pivot) {
    constexpr T least = std::numeric_limits<T>::min(),
                power = sizeof(T) == 8 ? T(18446744073709551616.0) : T(4294967296.0);
    const T size = pivot < T(0) ? -pivot : pivot;
    scale = size < least ? power : size > T(1) / least ? T(1) / power : T(1);
    inverse = simt::reciprocal(pivot * scale);
  }
};

/// Smaller pivots than this are perturbed.
template <class T>
__device__ __forceinline__ T least_pivot(const DeviceFactorsView<T>& f) {
  return f.perturb_pivots > T(0) ? f.perturb_pivots * *f.a_max : T(0);
}

/// X(J,J) = L(J,J) U(J,J), then L(i,J) = X(i,J) / U(J,J).   Called by all threads; ends with a barrier.
template <class T, int W, class Threads>
__device__ __forceinline__ void eliminate(const Threads& team, const DeviceFactorsView<T>& f, const TasksView<T>& v,
                                          const PanelTask& task, T* x, const Scratch<T>& scratch) {
  const int thread = team.thread, lane = thread % 32, ld = task.stride, width = task.width;
  T d[W] = {};
  if (task.diag_at >= 0) {
    const int row = lane < width ? lane : 0;
    const T least = least_pivot(f);
#pragma unroll
    for (int c = 0; c < W; ++c) d[c] = x[c * ld + task.diag_at + row];
#pragma unroll
    for (int e = 0; e < W; ++e) {  // a lane a row
      if (e >= width) break;
      T pivot = __shfl_sync(0xffffffffu, d[e], e);
      if (pivot < least && pivot > -least) {
        pivot = pivot < T(0) ? -least : least;
        if (lane == e) d[e] = pivot;
        if (thread == 0) atomicAdd(f.perturbed, 1);  // RACE: blocks count; the end of the launch publishes the sum
      }
      const Inverse<T> by(pivot);
      const T l = d[e] * by.scale * by.inverse;
      if (lane > e) d[e] = l;
#pragma unroll
      for (int c = e + 1; c < W; ++c) {
        const T u = __shfl_sync(0xffffffffu, d[c], e);
        if (lane > e) d[c] -= l * u;
      }
      if (lane == 0) {
        scratch.triangle[e] = by.scale;
        scratch.triangle[max_width + e] = by.inverse;
      }
      // RACE: blocks lower failed_column; the atomic orders them, the end of the launch publishes it
      if (pivot == T(0) && thread == 0) atomicMin(f.failed_column, task.first + e);
    }
    if (lane < width) {
#pragma unroll
      for (int c = 0; c < W; ++c) {
        scratch.u[lane * W + c] = d[c];
        if (thread < 32 && c < lane) publish<T>(v.words + task.words + std::int64_t(c) * task.ld + lane, d[c]);
        if (thread < 32 && task.u_words >= 0)
          publish<T>(v.words + task.u_words + std::int64_t(task.u_row + lane) * W + c, d[c]);
      }
    }
  } else if (task.l_at < task.rows) {
    Word<T>* const u = v.words + task.u_words + std::int64_t(task.u_row) * W;
    for (int q = lane; q < width * W; q += 32) scratch.u[q] = to_scalar(await(u + q, peek(u + q)));
    __syncwarp();  // RACE: lanes wrote u, all lanes read it
    if (lane < width) {
      const Inverse<T> by(scratch.u[lane * W + lane]);
      scratch.triangle[lane] = by.scale;
      scratch.triangle[max_width + lane] = by.inverse;
    }
  }
  __syncwarp();  // RACE: lanes wrote u and the inverse pivots, all lanes read them
  for (int row = task.l_at + thread; row < task.rows; row += team.threads) {
    T l[W];
#pragma unroll
    for (int c = 0; c < W; ++c) l[c] = x[c * ld + row];
    Word<T>* const to = v.words + task.words + task.l_row + row - task.l_at;
#pragma unroll
    for (int e = 0; e < W; ++e) {
      if (e >= width) break;
      l[e] *= scratch.triangle[e];
      l[e] *= scratch.triangle[max_width + e];
      publish<T>(to + std::int64_t(e) * task.ld, l[e]);
#pragma unroll
      for (int c = e + 1; c < W; ++c) l[c] -= l[e] * scratch.u[e * W + c];
    }
#pragma unroll
    for (int c = 0; c < W; ++c) x[c * ld + row] = l[c];
  }
  team.sync();  // RACE: all warps have read X(J,J); one overwrites it
  if (task.diag_at >= 0 && thread < width) {
#pragma unroll
    for (int c = 0; c < W; ++c) x[c * ld + task.diag_at + thread] = d[c];
  }
  team.sync();  // RACE: some threads wrote X, all read it
}

template <class T, class Threads>
__device__ __forceinline__ void eliminate(const Threads& team, const DeviceFactorsView<T>& f, const TasksView<T>& v,
                                          const PanelTask& task, T* x, const Scratch<T>& scratch) {
  switch (task.stored_width) {
    case 2:
      if constexpr (std::is_same_v<Threads, BlockOfTask>) eliminate<T, 2>(team, f, v, task, x, scratch);  // no leaf
      break;
    case 4: eliminate<T, 4>(team, f, v, task, x, scratch); break;
    default: eliminate<T, 8>(team, f, v, task, x, scratch);
  }
}

/// The steps of a task, in shared memory some at a time.
template <class T>
struct Steps {
  const PanelStep* from;  // (count)
  int count;
  PanelStep* shared;  // (2 · steps_at_once) step s at s % that

  __device__ __forceinline__ const PanelStep& operator[](int s) const { return shared[s % (2 * steps_at_once)]; }
  __device__ __forceinline__ bool is_panel(int s) const { return (*this)[s].width > 0; }
  __device__ __forceinline__ void stage(int first) const {
    for (int s = first + static_cast<int>(threadIdx.x); s < min(first + steps_at_once, count); s += blockDim.x)
      shared[s % (2 * steps_at_once)] = from[s];
  }
  /// Called by all threads once step s - 1 is over.
  __device__ __forceinline__ void advance_to(int s) const {
    if (s % steps_at_once == 0 && s > 0) stage(s + steps_at_once);  // RACE: barriers of the steps before and after
  }
};

/// From step s on as long as they are panels.   Returns the step after them. Called by all threads; ends with a barrier.
template <bool searching, class T>
__device__ __forceinline__ int run_panels(const TasksView<T>& v, const PanelTask& task, const Steps<T>& steps, int s,
                                          const TrianglePlace& place, T* x, const Scratch<T>& scratch) {
  const int stored = task.stored_width, ld = task.stride;
  Fetched<T> now = {}, next = {};
  fetch<searching>(v, task, steps[s], place, stored, now);
  for (bool more = true; more; ++s) {
    steps.advance_to(s);
    more = s + 1 < steps.count && steps.is_panel(s + 1);
    if (more) fetch<searching>(v, task, steps[s + 1], place, stored, next);
    switch (stored) {
      case 2: apply<T, 2, searching>(v, task, steps[s], place, now, x, ld, scratch); break;
      case 4: apply<T, 4, searching>(v, task, steps[s], place, now, x, ld, scratch); break;
      default: apply<T, 8, searching>(v, task, steps[s], place, now, x, ld, scratch);
    }
    now = next;
  }
  return s;
}

/// The same as long as they gather.
template <class T>
__device__ __forceinline__ int run_gathers(const TasksView<T>& v, const Steps<T>& steps, int s, int stored, T* x,
                                           int ld) {
  const auto gathers = [&](int t) { return t < steps.count && !steps.is_panel(t); };
  FirstGather now = {}, next = {};
  fetch_row(v, steps[s], now);
  if (gathers(s + 1)) fetch_row(v, steps[s + 1], next);
  fetch_item(v, steps[s], stored, now);
  for (bool more = true; more; ++s) {
    steps.advance_to(s);
    more = gathers(s + 1);
    FirstGather after = {};
    if (more) fetch_item(v, steps[s + 1], stored, next);
    if (more && gathers(s + 2)) fetch_row(v, steps[s + 2], after);
    switch (stored) {
      case 2: gather<T, 2>(v, steps[s], now, x, ld); break;
      case 4: gather<T, 4>(v, steps[s], now, x, ld); break;
      default: gather<T, 8>(v, steps[s], now, x, ld);
    }
    now = next;
    next.row = after.row;
  }
  return s;
}

/// visit(entry of As, its place in X).
template <class T, class Visit>
__device__ __forceinline__ void for_each_entry(const WarpOfTask& team, const DeviceFactorsView<T>& f,
                                               const TasksView<T>& v, const PanelTask& task, Visit&& visit) {
#pragma unroll 4
  for (int i = team.thread; i < task.entries; i += team.threads)
    visit(f.values[task.values + i], int(v.entry_places[task.entry_begin + i]));
}

/// The same; of a panel with several tasks, a warp takes a column.
template <class T, class Visit>
__device__ __forceinline__ void for_each_entry(const BlockOfTask& team, const DeviceFactorsView<T>& f,
                                               const TasksView<T>& v, const PanelTask& task, Visit&& visit) {
  const std::uint16_t* const places = v.entry_places + task.entry_begin;
  if (task.column_begin < 0) {
    for (int i = team.thread; i < task.entries; i += team.threads) visit(f.values[task.values + i], int(places[i]));
    return;
  }
  for (int e = team.thread / 32; e < task.width; e += team.threads / 32) {
    const ColumnEntries column = v.column_entries[task.column_begin + e];
    const std::uint32_t end = v.column_entries[task.column_begin + e + 1].begin;
    for (std::uint32_t i = column.begin + team.thread % 32; i < end; i += 32)
      visit(f.values[task.values + column.offset + (i - column.begin)], int(places[i]));
  }
}

/// X(:,J) = A(rows, J).   Called by all threads; ends with a barrier.
template <class T, class Threads>
__device__ __forceinline__ void load(const Threads& team, const DeviceFactorsView<T>& f, const TasksView<T>& v,
                                     const PanelTask& task, T* x) {
  for (int i = team.thread; i < task.stored_width * task.stride; i += team.threads) x[i] = T(0);
  team.sync();  // RACE: each thread cleared some of X; others fill it
  for_each_entry(team, f, v, task, [&](T& value, int at) { x[at] = value; });
  team.sync();  // RACE: each thread wrote some of X, all read it
}

/// As(:,J) = X(:,J).
template <class T, class Threads>
__device__ __forceinline__ void store(const Threads& team, const DeviceFactorsView<T>& f, const TasksView<T>& v,
                                      const PanelTask& task, const T* x) {
  for_each_entry(team, f, v, task, [&](T& value, int at) {
    value = x[at];
    // RACE: as in eliminate(); false for NaN and infinity
    if (!(value - value == T(0))) atomicMin(f.failed_column, task.first + at / task.stride);
  });
}

/// Called by all threads.
template <class T, PanelKernel kernel>
__device__ __forceinline__ void run_task(const DeviceFactorsView<T>& f, const TasksView<T>& v, const PanelTask& task,
                                         T* x, PanelStep* shared_steps, const Scratch<T>& scratch,
                                         const TrianglePlace& place) {
  const BlockOfTask team;
  const int ld = task.stride, stored = task.stored_width;
  const Steps<T> steps = {v.steps + task.step_begin, task.steps, shared_steps};
  steps.stage(0);  // RACE: the barriers of load() stand between this and the readers
  steps.stage(steps_at_once);
  load(team, f, v, task, x);
  for (int s = 0; s < task.steps;)
    if (kernel.gathering && !steps.is_panel(s))
      s = run_gathers(v, steps, s, stored, x, ld);
    else
      s = run_panels<kernel.searching>(v, task, steps, s, place, x, scratch);
  eliminate(team, f, v, task, x, scratch);
  store(team, f, v, task, x);
}

/// A task's description from global memory through a register of each lane to shared memory.
struct TaskWord {
  static_assert(sizeof(PanelTask) <= 32 * sizeof(std::int32_t) && sizeof(PanelTask) % sizeof(std::int32_t) == 0);
  std::int32_t word;

  __device__ __forceinline__ static bool of_lane(int lane) {
    return lane < static_cast<int>(sizeof(PanelTask) / sizeof(std::int32_t));
  }
  __device__ __forceinline__ void fetch(const PanelTask* from, int lane) {
    const char* const bytes = reinterpret_cast<const char*>(from);
    if (of_lane(lane)) std::memcpy(&word, __builtin_assume_aligned(bytes + 4 * lane, 4), 4);
  }
  __device__ __forceinline__ void put(PanelTask* to, int lane) const {
    char* const bytes = reinterpret_cast<char*>(to);
    if (of_lane(lane)) std::memcpy(__builtin_assume_aligned(bytes + 4 * lane, 4), &word, 4);
  }
};

/// Leaves, a warp each, until none is left: panels that wait for nobody and are too small for a block. The next one's
/// ticket and description are under way meanwhile, which only tasks that wait for nobody may do: others wait for them.
/// x: (leaf_scalars)   task: one   pause(leaf): before each   Called by all lanes of a warp.
template <class T, PanelKernel kernel, class Pause>
__device__ __forceinline__ void run_leaves(const DeviceFactorsView<T>& f, const TasksView<T>& v, T* x, PanelTask* task,
                                           const Scratch<T>& scratch, Pause&& pause) {
  const WarpOfTask team;
  const int lane = team.thread;
  // RACE: no two warps get one leaf.
  const auto take = [&] { return lane == 0 ? 1 + atomicAdd(v.leaf_ticket, 1) : 0; };
  const std::int32_t systems = kernel.batched ? v.systems : 1, n_leaves = v.n_leaves * systems;
  std::int32_t leaf = __shfl_sync(0xffffffffu, take(), 0);
  TaskWord word = {};
  if (leaf < n_leaves) word.fetch(v.tasks + leaf / systems, lane);
  while (leaf < n_leaves) {
    DeviceFactorsView<T> own_f = f;
    TasksView<T> own_v = v;
    if constexpr (kernel.batched) shift(own_f, own_v, leaf % systems);
    word.put(task, lane);
    __syncwarp();  // RACE: each lane wrote some of the task, all read it
    const std::int32_t next = take();
    pause(leaf);
    load(team, own_f, own_v, *task, x);
    leaf = __shfl_sync(0xffffffffu, next, 0);
    if (leaf < n_leaves) word.fetch(v.tasks + leaf / systems, lane);
    eliminate(team, own_f, own_v, *task, x, scratch);
    store(team, own_f, own_v, *task, x);
    __syncwarp();  // RACE: all lanes have read the task and X, which are overwritten
  }
}

}  // namespace lulab::sparse_syncfree
