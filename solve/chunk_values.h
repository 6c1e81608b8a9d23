#pragma once
// Once a factorization: the entries of L and U to where the tasks of chunk_tasks.h want them, and the inverses of the
// chunks' own triangles. Device code.
//
// A triangle of at most 64 columns is inverted by one block in three parts:
//
//   [A 0; B C]⁻¹ = [A⁻¹ 0; -C⁻¹ B A⁻¹ C⁻¹]        A, B, C: 32 x 32, padded with the identity
//
// A warp inverts A, another C, a lane a column; then all multiply.

#include <cstdint>

#include "core/simt/kernel.h"
#include "solve/chunk_tasks.h"
#include "solve/magnitude.h"

namespace lulab::chunk_solve {

constexpr int values_threads = 128;
constexpr int half = 32;  // columns of A and of C

template <class T>
struct ValuesView {
  const T* values;  // (nnz) of As
  T* tasks;         // ChunkTasks::tasks
  const ChunkMove* moves;
  std::int64_t n_moves;
  const ChunkTriangle* triangles;  // one for each of the first blocks
  std::uint32_t n_triangles;
  const ChunkEntry *entries, *inverses;
  unsigned long long* max_inverse;  // bits of the largest entry of an inverse
};

/// tile <- tile⁻¹, unit lower. One lane a column: x(i) -= T(i,k) x(k) for k ascending.
/// Called by all lanes of a warp.   tile: (32, 33) by columns, T(i,k) at [k][i]; the result by rows, X(i,j) at [i][j]
template <class T>
__device__ __forceinline__ void invert_unit_lower(T (*tile)[half + 1]) {
  const int lane = threadIdx.x % 32;
  T x[half];
#pragma unroll
  for (int i = 0; i < half; ++i) x[i] = i == lane ? T(1) : T(0);
#pragma unroll
  for (int k = 0; k < half; ++k)
#pragma unroll
    for (int i = k + 1; i < half; ++i) x[i] -= tile[k][i] * x[k];
  __syncwarp();  // RACE: all lanes have read the tile before any overwrites it
#pragma unroll
  for (int i = 0; i < half; ++i) tile[i][lane] = x[i];
}

/// b <- scale · p · q   or   b <- scale · p · b: thread t computes row t / 4, eight columns.
/// Called by all 128 threads.   p, q, b: (32, 33) by rows; q may be b
template <class T>
__device__ __forceinline__ void multiply_tiles(T scale, T (*p)[half + 1], T (*q)[half + 1], T (*b)[half + 1]) {
  const int i = threadIdx.x / 4, j0 = threadIdx.x % 4 * 8;
  T sum[8] = {};
#pragma unroll 4
  for (int k = 0; k < half; ++k) {
    const T factor = p[i][k];
#pragma unroll
    for (int j = 0; j < 8; ++j) sum[j] += factor * q[k][j0 + j];
  }
  __syncthreads();  // RACE: all threads have read b before any overwrites it
#pragma unroll
  for (int j = 0; j < 8; ++j) b[i][j0 + j] = scale * sum[j];
  __syncthreads();  // RACE: b is written before others read it
}

/// Called by all threads of a block.
template <class T>
__device__ void invert_triangle(const ValuesView<T>& v, const ChunkTriangle& t) {
  LULAB_SHARED(T, pivot, 2 * half);
  LULAB_SHARED_2D(T, a, half, half + 1);
  LULAB_SHARED_2D(T, b, half, half + 1);
  LULAB_SHARED_2D(T, c, half, half + 1);
  const bool has_two = t.size > half;
  for (int k = threadIdx.x; k < half * half; k += blockDim.x) {
    const int i = k / half, j = k % half;
    a[i][j] = c[i][j] = T(0);
    b[i][j] = T(0);
  }
  if (threadIdx.x < 2 * half) pivot[threadIdx.x] = T(1);
  __syncthreads();  // RACE: orders the zeros before the entries
  for (std::uint32_t k = t.entry + threadIdx.x; k < t.entry_end; k += blockDim.x) {
    const ChunkEntry e = v.entries[k];
    if (e.i == e.j) pivot[e.i] = v.values[e.at];
  }
  __syncthreads();  // RACE: orders the pivots before the rows that are divided by them
  for (std::uint32_t k = t.entry + threadIdx.x; k < t.entry_end; k += blockDim.x) {
    const ChunkEntry e = v.entries[k];
    if (e.i == e.j) continue;
    const T value = v.values[e.at] / pivot[e.i];
    if (e.i < half)
      a[e.j][e.i] = value;  // by columns
    else if (e.j < half)
      b[e.i - half][e.j] = value;  // by rows
    else
      c[e.j - half][e.i - half] = value;
  }
  __syncthreads();  // RACE: orders the entries before the warps that invert them
  if (threadIdx.x < 32)
    invert_unit_lower(a);
  else if (threadIdx.x < 64 && has_two)
    invert_unit_lower(c);
  __syncthreads();  // RACE: orders the inverses before their readers
  if (has_two) {
    multiply_tiles(T(1), b, a, b);
    multiply_tiles(T(-1), c, b, b);
  }
  unsigned long long largest = 0;
  for (std::uint32_t k = t.inverse + threadIdx.x; k < t.inverse_end; k += blockDim.x) {
    const ChunkEntry e = v.inverses[k];
    const T value = e.i < half ? a[e.i][e.j] : e.j < half ? b[e.i - half][e.j] : c[e.i - half][e.j - half];
    v.tasks[e.at] = value;
    largest = larger(largest, bits_of(static_cast<double>(value)));
  }
  raise(v.max_inverse, largest);
}

/// grid: n_triangles, and any number for the moves   block: 128   shared: none
template <class T>
__global__ void __launch_bounds__(values_threads) chunk_values_kernel(ValuesView<T> v) {
  if (blockIdx.x < v.n_triangles) {
    invert_triangle(v, v.triangles[blockIdx.x]);
    return;
  }
  const std::int64_t stride = std::int64_t(gridDim.x - v.n_triangles) * blockDim.x;
  for (std::int64_t k = std::int64_t(blockIdx.x - v.n_triangles) * blockDim.x + threadIdx.x; k < v.n_moves;
       k += stride) {
    const ChunkMove move = v.moves[k];
    v.tasks[move.to] = -v.values[move.from];
  }
}

}  // namespace lulab::chunk_solve
