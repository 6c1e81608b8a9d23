#pragma once
// The end of a task: L(J,J) U(J,J) = X(J,J), then L(i,J) = X(i,J) / U(J,J), each scalar full/empty. Device code.

#include <cstdint>
#include <type_traits>

#include "core/awaited_scalar.h"
#include "sparse_syncfree/10_panel_team.h"
#include "sparse_syncfree/pivot_inverse.h"

namespace lulab::sparse_syncfree {

/// d = L(J,J) below its diagonal and U(J,J), each warp for itself, a lane a row; scratch.u the same for all lanes, and
/// scratch.triangle what divides by the pivots. The first warp publishes L(J,J), and U(J,J) where other tasks need it.
/// Equivalent to   for e < width:  perturb d(e,e) if it is small;
///                                 for i > e:  d(i,e) /= d(e,e);   for i > e, c > e:  d(i,c) -= d(i,e) · d(e,c)
/// Requires  the task has the diagonal block.
template <class T, int W>
__device__ __forceinline__ void factor_diagonal(int thread, const DeviceFactorsView<T>& f, const TasksView<T>& v,
                                                const PanelTask& task, int stride, int width, const T* x,
                                                const Scratch<T>& scratch, T (&d)[W]) {
  const int lane = thread % 32;
  const int row = lane < width ? lane : 0;
  const T least = least_pivot(f);
#pragma unroll
  for (int c = 0; c < W; ++c) d[c] = x[c * stride + task.diag_at + row];
#pragma unroll
  for (int e = 0; e < W; ++e) {
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
}

/// The same for a task without the diagonal block: scratch.u = U(J,J), which another task of the panel publishes.
/// Equivalent to   scratch.u = words u_words + u_row · W ..;   scratch.triangle = what divides by its diagonal
template <class T, int W>
__device__ __forceinline__ void read_diagonal(int lane, const TasksView<T>& v, const PanelTask& task, int width,
                                              const Scratch<T>& scratch) {
  Word<T>* const u = v.words + task.u_words + std::int64_t(task.u_row) * W;
  for (int q = lane; q < width * W; q += 32) scratch.u[q] = to_scalar(await(u + q, peek(u + q)));
  __syncwarp();  // RACE: lanes wrote u, all lanes read it
  if (lane < width) {
    const Inverse<T> by(scratch.u[lane * W + lane]);
    scratch.triangle[lane] = by.scale;
    scratch.triangle[max_width + lane] = by.inverse;
  }
}

/// L(i,J) = X(i,J) / U(J,J), published, a thread a row.
/// Equivalent to  for i >= l_at, e < width:  X(i,e) /= U(e,e);   publish X(i,e);   for c > e:  X(i,c) -= X(i,e) ·
/// U(e,c)
template <class T, int W, class Threads>
__device__ __forceinline__ void divide_rows(const Threads& team, const TasksView<T>& v, const PanelTask& task,
                                            int stride, int width, T* x, const Scratch<T>& scratch) {
  for (int row = task.l_at + team.thread; row < task.rows; row += team.threads) {
    T l[W];
#pragma unroll
    for (int c = 0; c < W; ++c) l[c] = x[c * stride + row];
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
    for (int c = 0; c < W; ++c) x[c * stride + row] = l[c];
  }
}

/// Equivalent to   X(J,J) = L(J,J) U(J,J) in place;   X(i,J) = X(i,J) / U(J,J) below it;   publish all of L
/// Called by all threads of the team; ends with a barrier.
template <class T, int W, class Threads>
__device__ __forceinline__ void eliminate(const Threads& team, const DeviceFactorsView<T>& f, const TasksView<T>& v,
                                          const PanelTask& task, T* x, const Scratch<T>& scratch) {
  const int thread = team.thread, stride = task.stride, width = task.width;
  T d[W] = {};  // (W) a lane's row of X(J,J)
  if (task.diag_at >= 0)
    factor_diagonal<T, W>(thread, f, v, task, stride, width, x, scratch, d);
  else if (task.l_at < task.rows)
    read_diagonal<T, W>(thread % 32, v, task, width, scratch);
  __syncwarp();  // RACE: lanes wrote u and the inverse pivots, all lanes read them
  divide_rows<T, W>(team, v, task, stride, width, x, scratch);
  team.sync();  // RACE: all warps have read X(J,J); one overwrites it
  if (task.diag_at >= 0 && thread < width) {
#pragma unroll
    for (int c = 0; c < W; ++c) x[c * stride + task.diag_at + thread] = d[c];
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

}  // namespace lulab::sparse_syncfree
