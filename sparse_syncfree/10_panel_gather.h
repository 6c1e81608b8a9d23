#pragma once
// The update of a task by many small panels that do not update each other: X(i,J) -= sum over all of them of
// L(i,k) · U(k,J). First U(K,J) of each panel, W lanes a panel; then the sums, some lanes a row. Device code.

#include <cstdint>
#include <type_traits>

#include "core/awaited_scalar.h"
#include "sparse_syncfree/10_panel_team.h"

namespace lulab::sparse_syncfree {

/// What a thread fetches of a gather step before the step begins: what it works on first, where there is any.
struct FetchedGather {
  PanelSolve solve;
  GatherRow row;
  GatherItem item;
};

/// Equivalent to   f.row = gathers[first row of this thread];   without items where there is none
template <class T>
__device__ __forceinline__ void fetch_row(const TasksView<T>& v, const GatherStep step, FetchedGather& f) {
  const int row = static_cast<int>(threadIdx.x) / step.lanes;
  f.row = {};
  if (row < step.rows) f.row = v.gathers[step.first_row + row];
}

/// Equivalent to   f.solve = solves[first solve of this thread];   f.item = items[first item of this thread]
/// Requires  f.row.
template <class T>
__device__ __forceinline__ void fetch_item(const TasksView<T>& v, const GatherStep step, int stored_width,
                                           FetchedGather& f) {
  const int solve = static_cast<int>(threadIdx.x) / stored_width, sub = static_cast<int>(threadIdx.x) % step.lanes;
  if (solve < step.solves) f.solve = v.solves[step.first_solve + solve];
  if (sub < f.row.items) f.item = v.items[f.row.first_item + sub];
}

/// X(at .. at + width, c) = the words of U(K,J) that another task publishes; c is this lane's column.
/// Equivalent to   for i < width:  X(at+i,c) = word u + i · W + c
template <class T, int W>
__device__ __forceinline__ void read_u(const TasksView<T>& v, const PanelSolve& solve, T* x, int stride) {
  const int c = threadIdx.x % W, width = solve.width;
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
    x[c * stride + solve.at + i] = to_scalar(words[i]);
  }
}

/// U(K,J) of a small panel: W neighbouring lanes, a column c each.
/// Equivalent to   for i < width:  X(at+i,c) -= sum over e < i of L(k+i,k+e) · X(at+e,c);   publish it where u says so
template <class T, int W>
__device__ __forceinline__ void solve_small(const TasksView<T>& v, const PanelSolve& solve, T* x, int stride) {
  const int c = threadIdx.x % W, width = solve.width;
  if (solve.triangle == no_word) {
    read_u<T, W>(v, solve, x, stride);
    return;
  }
  T u[max_width] = {};
#pragma unroll
  for (int i = 0; i < max_width; ++i)
    if (i < width) u[i] = x[c * stride + solve.at + i];
  // Rows first <= i < end. All eight at once would take more registers than there are.
  const auto eliminate_rows = [&](auto first, auto end) {
    constexpr int begin = decltype(first)::value, stop = decltype(end)::value;
    Word<T> l[stop - begin][stop - 1] = {};  // L(k + begin + i, k + e), full or still empty
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
        for (int e = 0; e < i; ++e)  // RACE: see peek(); the thread that publishes them runs
          if (l[i - begin][e] == not_yet<T>) l[i - begin][e] = peek(word(i, e));
      }
    }
#pragma unroll
    for (int i = begin; i < stop; ++i) {
      if (i >= width) break;
#pragma unroll
      for (int e = 0; e < i; ++e) u[i] -= to_scalar(l[i - begin][e]) * u[e];
      x[c * stride + solve.at + i] = u[i];
      if (solve.u != no_word) publish<T>(v.words + solve.u + i * W + c, u[i]);
    }
  };
  eliminate_rows(std::integral_constant<int, 0>{}, std::integral_constant<int, 4>{});
  if (width > 4) eliminate_rows(std::integral_constant<int, 4>{}, std::integral_constant<int, 6>{});
  if (width > 6) eliminate_rows(std::integral_constant<int, 6>{}, std::integral_constant<int, 8>{});
}

/// sum[c] = this lane's part of a row's products: every lanes-th item from sub on.
/// Equivalent to   for (k = sub; k < row.items; k += lanes) for c < W:  sum[c] += L(item k) · X(item k's u, c)
/// first: its first item has been fetched, as first_item.
template <class T, int W>
__device__ __forceinline__ void add_products(const TasksView<T>& v, const GatherRow& row, int sub, int lanes,
                                             bool first, const GatherItem& first_item, const T* x, int stride,
                                             T (&sum)[W]) {
  constexpr int at_once = 4;
  for (int k = sub; k < row.items; k += lanes * at_once) {
    GatherItem item[at_once] = {};
    Word<T> l[at_once] = {};
#pragma unroll
    for (int q = 0; q < at_once; ++q) {
      if (k + q * lanes >= row.items) break;
      if (q == 0 && first && k == sub)
        item[q] = first_item;
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
      for (int c = 0; c < W; ++c) sum[c] += value * x[c * stride + item[q].u];
    }
  }
}

/// X(i,J) -= sum of L(i,k) · U(k,J) over many small panels.
/// Equivalent to  for each solve s:  solve_small(s);   for each row r, item k of r, c < W:  X(r,c) -= L(k) · X(k's u,
/// c)
/// f: what fetch_row() and fetch_item() have.   Called by all threads of the block; ends with a barrier.
template <class T, int W>
__device__ __forceinline__ void update_by_gather(const TasksView<T>& v, const GatherStep step, const FetchedGather& f,
                                                 T* x, int stride) {
  const int thread = threadIdx.x, threads = blockDim.x;
  if (step.solves > 0) {
    PanelSolve solve = f.solve;
    for (int s = thread / W; s < step.solves;) {
      solve_small<T, W>(v, solve, x, stride);
      s += threads / W;
      if (s < step.solves) solve = v.solves[step.first_solve + s];
    }
    __syncthreads();  // RACE: each thread wrote some of U(K,J), all read it
  }
  const int lanes = step.lanes, sub = thread % lanes, rows_at_once = threads / lanes;
  for (int begin = 0; begin < step.rows; begin += rows_at_once) {
    const int r = begin + thread / lanes;
    GatherRow row = f.row;
    if (begin > 0) row = {};
    if (begin > 0 && r < step.rows) row = v.gathers[step.first_row + r];
    T sum[W] = {};
    add_products<T, W>(v, row, sub, lanes, begin == 0, f.item, x, stride, sum);
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
#pragma unroll
      for (int c = 0; c < W; ++c) sum[c] += __shfl_xor_sync(0xffffffffu, sum[c], offset);
    }
    if (sub == 0 && row.items > 0) {
#pragma unroll
      for (int c = 0; c < W; ++c) x[c * stride + row.place] -= sum[c];
    }
  }
  __syncthreads();  // RACE: each thread wrote rows of X that no thread reads in this step, the next step reads them
}

}  // namespace lulab::sparse_syncfree
