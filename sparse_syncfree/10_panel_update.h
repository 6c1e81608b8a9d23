#pragma once
// The update of a task by one panel: U(K,J) = L(K,K) \ X(K,J), then X(:,J) -= L(:,K) · U(K,J). Device code.
//
// L(:,K) and L(K,K) are full/empty scalars (core/awaited_scalar.h): a reserved NaN means "not written yet". A thread
// first fetches all that it needs of a step, so that the loads overlap, and only then waits for what was empty.

#include <cstdint>

#include "core/awaited_scalar.h"
#include "core/simt/device_tools.h"
#include "sparse_syncfree/10_panel_team.h"

namespace lulab::sparse_syncfree {

constexpr std::uint16_t not_found = 0xffff;

/// Place of `row` among `count` ascending rows; not_found: it is none of them.
/// Equivalent to   for (i = 0; i < count; ++i) if (rows[i] == row) return i;   return not_found;
__device__ __forceinline__ std::uint16_t find_place(const std::int32_t* rows, std::int32_t count, std::int32_t row) {
  const std::int32_t at = simt::find_row(rows, 0, count - 1, row);
  return rows[at] == row ? static_cast<std::uint16_t>(at) : not_found;
}

/// Place in the task of row i of the step.
template <bool searching, class T>
__device__ __forceinline__ int place_of(const TasksView<T>& v, const PanelTask& task, const PanelStep& step, int i) {
  if constexpr (searching)
    return find_place(v.rows + task.row_begin, task.rows, v.rows[step.rows + i]);
  else
    return v.map[step.map + i];
}

/// The entry L(k + i, k + e) of L(K,K) below its diagonal, counted by rows, that a lane loads.
struct TrianglePlace {
  int i, e;
  __device__ explicit TrianglePlace(int lane) {
    i = 1;
    while ((i + 1) * i / 2 <= lane) ++i;
    e = lane - i * (i - 1) / 2;
  }
};

/// What a thread has of a step before it waits for any of it; words may still be empty.
template <class T>
struct FetchedPanel {
  Word<T> l[max_width];  // (width) L(row, K) of its first row
  Word<T> head[2];       // its entry of L(K,K), or its two entries of U(K,J) from another task
  int to;                // place of its first row
};

/// l[e] = L(row, k + e) for all e < width, each full or still empty.   row: of the step's
template <class T>
__device__ __forceinline__ void fetch_row(Word<T>* words, const PanelStep& step, int row, Word<T> (&l)[max_width]) {
#pragma unroll
  for (int e = 0; e < max_width; ++e) {
    if (e >= step.width) break;
    l[e] = peek(words + step.l + std::int64_t(e) * step.ld + row);
  }
}

/// Fetches what update_by_panel() needs of a step.
/// Equivalent to   to = place of row thread;   l[:] = L(row thread, K);   head = this lane's part of L(K,K) or U(K,J)
template <bool searching, class T>
__device__ __forceinline__ void fetch(const TasksView<T>& v, const PanelTask& task, const PanelStep step,
                                      const TrianglePlace& place, int stored_width, FetchedPanel<T>& f) {
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

/// scratch.u = U(K,J), each warp for itself: solved where the task has rows K, else read.
/// Equivalent to   if the task has rows K:  for c < W, i < width:  u(i,c) = X(at+i,c)
///                                                            - sum over e < i of L(k+i,k+e) · u(e,c)
///                 else:                    u = words step.u ..
template <class T, int W>
__device__ __forceinline__ void find_u(const TasksView<T>& v, const PanelStep& step, const TrianglePlace& place,
                                       const FetchedPanel<T>& f, const T* x, int stride, const Scratch<T>& scratch) {
  const int thread = threadIdx.x, lane = thread % 32, c = lane % W, width = step.width;
  if (step.at >= 0) {  // a lane a column
    if (place.i < width)
      scratch.triangle[lane] =
          to_scalar(await(v.words + step.triangle + std::int64_t(place.e) * step.ld + place.i, f.head[0]));
    __syncwarp();  // RACE: lanes wrote the triangle, all lanes read it
    T u[max_width];
#pragma unroll
    for (int i = 0; i < max_width; ++i) {
      if (i >= width) break;
      u[i] = x[c * stride + step.at + i];
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
}

/// X(:,J) -= L(:,K) · U(K,J), a thread a row.
/// Equivalent to   for row < count, c < W, e < width:  X(place of row, c) -= L(row, k+e) · scratch.u(e,c)
template <class T, int W, bool searching>
__device__ __forceinline__ void subtract_product(const TasksView<T>& v, const PanelTask& task, const PanelStep& step,
                                                 FetchedPanel<T>& f, T* x, int stride, const Scratch<T>& scratch) {
  const int thread = threadIdx.x, width = step.width;
  for (int row = thread; row < step.count; row += blockDim.x) {
    if (row != thread) {
      f.to = place_of<searching>(v, task, step, row);
      fetch_row<T>(v.words, step, row, f.l);
    }
    await_all(v.words + step.l + row, step.ld, width, f.l);
    if (f.to == not_found) continue;  // all products are zero
    T sum[W];
#pragma unroll
    for (int q = 0; q < W; ++q) sum[q] = x[q * stride + f.to];
#pragma unroll
    for (int e = 0; e < max_width; ++e) {
      if (e >= width) break;
      const T l = to_scalar(f.l[e]);
#pragma unroll
      for (int q = 0; q < W; ++q) sum[q] -= l * scratch.u[e * W + q];
    }
#pragma unroll
    for (int q = 0; q < W; ++q) x[q * stride + f.to] = sum[q];
  }
}

/// Equivalent to   U(K,J) = L(K,K) \ X(K,J);   X(i,J) -= L(i,K) · U(K,J) for all rows i of the step;   X(K,J) = U(K,J)
/// f: what fetch() has.   Called by all threads of the block; ends with barriers.
template <class T, int W, bool searching>
__device__ __forceinline__ void update_by_panel(const TasksView<T>& v, const PanelTask& task, const PanelStep step,
                                                const TrianglePlace& place, FetchedPanel<T>& f, T* x, int stride,
                                                const Scratch<T>& scratch) {
  const int thread = threadIdx.x, lane = thread % 32, c = lane % W;
  find_u<T, W>(v, step, place, f, x, stride, scratch);
  subtract_product<T, W, searching>(v, task, step, f, x, stride, scratch);
  __syncthreads();  // RACE: each thread wrote rows of X, the next update reads others; all have read X(K,J)
  if (step.at >= 0 && thread / 32 == static_cast<int>(blockDim.x) / 32 - 1 && lane < W) {
    // RACE: read after the barrier that ends the elimination
    for (int i = 0; i < step.width; ++i) x[c * stride + step.at + i] = scratch.u[i * W + c];
  }
  __syncwarp();  // RACE: some lanes read u, all lanes overwrite it
}

}  // namespace lulab::sparse_syncfree
