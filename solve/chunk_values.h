#pragma once
// Once a factorization: the entries of L and U to where the tasks of chunk_tasks.h want them, and the inverses of the
// chunks' own triangles, their rows divided by their pivots first. Device code.
//
// A warp inverts a triangle of at most 32 columns, and four share a block. A larger one has a block, and three parts:
//
//   [A 0; B C]⁻¹ = [A⁻¹ 0; -C⁻¹ B A⁻¹ C⁻¹]        A has half of the columns
//
// What these kernels wait for is shared memory: a thread multiplies four rows by two columns for that reason, and sizes
// are those of the triangle rather than of the tile.

#include <cstdint>

#include "core/simt/kernel.h"
#include "solve/chunk_tasks.h"
#include "solve/magnitude.h"
#include "solve/solve_kernels.h"

namespace lulab::chunk_solve {

constexpr int values_warps = 4;
constexpr int half = 32;  // most columns of A and of C

template <class T>
struct ValuesView {
  const T* values;  // (nnz) of As
  T* tasks;         // ChunkTasks::tasks
  const ChunkMove* moves;
  std::int64_t n_first_moves, n_moves;
  const ChunkTriangle* triangles;  // those of more than 32 columns first
  std::uint32_t n_large, n_small;
  const ChunkEntry *entries, *inverses;
  const std::int64_t* diag;  // (n) of As
  std::int32_t n;
  unsigned long long* max_inverse;  // bits of the largest entry of an inverse
  device_solver::Findings* found;   // of A: the first triangle is L; null: nothing else is to be found

  /// Where the largest entry of this triangle's L or U belongs.
  __device__ unsigned long long* max_entry(const ChunkTriangle& t) const {
    return t.is_first ? &found->max_l : &found->max_u;
  }
  __host__ __device__ std::uint32_t triangle_blocks() const {
    return n_large + (n_small + values_warps - 1) / values_warps;
  }
};

template <class T>
using Tile = T[half][half + 1];  // a bank more than a row, so that columns are read at full speed

/// The tile <- its inverse, unit lower. One lane a column: x(i) -= T(i,k) x(k) for k ascending.
/// Called by all lanes of a warp.   tile: by columns, T(i,k) at [k][i]; the result by rows, X(i,j) at [i][j]
/// size: columns, at most `most`
template <int most, class T>
__device__ __forceinline__ void invert_unit_lower(Tile<T>& tile, int size) {
  const int lane = threadIdx.x % 32;
  T x[most];
#pragma unroll
  for (int i = 0; i < most; ++i) x[i] = i == lane ? T(1) : T(0);
#pragma unroll
  for (int k = 0; k < most; ++k) {
    if (k < size) {
#pragma unroll
      for (int i = k + 1; i < most; ++i) x[i] -= tile[k][i] * x[k];
    }
  }
  __syncwarp();  // RACE: all lanes have read the tile before any overwrites it
#pragma unroll
  for (int i = 0; i < most; ++i) tile[i][lane] = x[i];
}

/// to <- scale · p · q.   p, q, to: by rows; p or q may be `to`   p: rows x inner, q: inner x columns
/// Called by all 128 threads.
template <class T>
__device__ __forceinline__ void multiply_tiles(T scale, Tile<T>& p, Tile<T>& q, Tile<T>& to, int rows, int inner,
                                               int columns) {
  constexpr int own_rows = 4, own_columns = 2, row_step = half / own_rows, column_step = half / own_columns;
  const int i0 = threadIdx.x / column_step, j0 = threadIdx.x % column_step;
  T sum[own_rows][own_columns] = {};
#pragma unroll 4
  for (int k = 0; k < inner; ++k) {
    T of_p[own_rows], of_q[own_columns];
#pragma unroll
    for (int b = 0; b < own_columns; ++b) of_q[b] = b * column_step < columns ? q[k][j0 + b * column_step] : T(0);
#pragma unroll
    for (int a = 0; a < own_rows; ++a) of_p[a] = a * row_step < rows ? p[i0 + a * row_step][k] : T(0);
#pragma unroll
    for (int a = 0; a < own_rows; ++a)
#pragma unroll
      for (int b = 0; b < own_columns; ++b) sum[a][b] += of_p[a] * of_q[b];
  }
  __syncthreads();  // RACE: all threads have read p and q before any overwrites them
#pragma unroll
  for (int a = 0; a < own_rows; ++a)
#pragma unroll
    for (int b = 0; b < own_columns; ++b) to[i0 + a * row_step][j0 + b * column_step] = scale * sum[a][b];
  __syncthreads();  // RACE: the product is written before others read it
}

/// The entries of a triangle, each row divided by its pivot, to put(i, j, value).
/// thread, threads: of those that share it   sync: their barrier   pivot: (size) 1 on entry
/// Returns the bits of the calling thread's largest entry.
template <class T, class Sync, class Put>
__device__ __forceinline__ unsigned long long load_triangle(const ValuesView<T>& v, const ChunkTriangle& t,
                                                            unsigned thread, unsigned threads, T* pivot,
                                                            const Sync& sync, const Put& put) {
  constexpr int at_once = 9;  // loads that wait together; half of a full triangle's, and more than its pivots
  unsigned long long largest = 0;
  for (std::uint32_t first = t.entry; first < t.entry_end; first += at_once * threads) {
    ChunkEntry e[at_once];
    T value[at_once];
    const auto exists = [&](int q) { return first + q * threads + thread < t.entry_end; };
#pragma unroll
    for (int q = 0; q < at_once; ++q) e[q] = v.entries[min(first + q * threads + thread, t.entry_end - 1)];
#pragma unroll
    for (int q = 0; q < at_once; ++q) value[q] = v.values[e[q].at];
    if (first == t.entry) {  // all pivots are among these
#pragma unroll
      for (int q = 0; q < at_once; ++q)
        if (exists(q) && e[q].i == e[q].j) pivot[e[q].i] = value[q];
      sync();
    }
#pragma unroll
    for (int q = 0; q < at_once; ++q) {
      largest = larger(largest, bits_of(static_cast<double>(value[q])));
      if (exists(q) && e[q].i != e[q].j) put(e[q].i, e[q].j, value[q] / pivot[e[q].i]);
    }
  }
  sync();
  return largest;
}

/// The inverse, get(i, j), to the tasks; returns the bits of the calling thread's largest entry.
template <class T, class Get>
__device__ __forceinline__ unsigned long long store_inverse(const ValuesView<T>& v, const ChunkTriangle& t,
                                                            unsigned thread, unsigned threads, const Get& get) {
  constexpr int at_once = 8;
  unsigned long long largest = 0;
  for (std::uint32_t first = t.inverse; first < t.inverse_end; first += at_once * threads) {
    ChunkEntry e[at_once];
#pragma unroll
    for (int q = 0; q < at_once; ++q) e[q] = v.inverses[min(first + q * threads + thread, t.inverse_end - 1)];
#pragma unroll
    for (int q = 0; q < at_once; ++q) {
      const T value = get(e[q].i, e[q].j);
      if (first + q * threads + thread < t.inverse_end) v.tasks[e[q].at] = value;
      largest = larger(largest, bits_of(static_cast<double>(value)));
    }
  }
  return largest;
}

/// Called by all threads of a block.   tiles: (4)   pivot: (4 · 32)
template <class T>
__device__ __forceinline__ void invert_large(const ValuesView<T>& v, const ChunkTriangle& t, Tile<T>* tiles, T* pivot) {
  const auto sync = [] { __syncthreads(); };  // RACE: orders pivots, then entries, before their readers
  Tile<T>&a = tiles[0], &b = tiles[1], &c = tiles[2];
  const int split = (t.size + 1) / 2, rest = t.size - split;  // columns of A and of C
  for (int k = threadIdx.x; k < half * half; k += blockDim.x)
    a[k / half][k % half] = b[k / half][k % half] = c[k / half][k % half] = T(0);
  if (threadIdx.x < 2 * half) pivot[threadIdx.x] = T(1);
  sync();
  const unsigned long long largest =
      load_triangle(v, t, threadIdx.x, blockDim.x, pivot, sync, [&](int i, int j, T value) {
        if (i < split)
          a[j][i] = value;  // by columns
        else if (j < split)
          b[i - split][j] = value;  // by rows
        else
          c[j - split][i - split] = value;
      });
  if (threadIdx.x < 64) {
    Tile<T>& tile = threadIdx.x < 32 ? a : c;
    const int size = threadIdx.x < 32 ? split : rest;
    if (split <= 24)
      invert_unit_lower<24>(tile, size);
    else
      invert_unit_lower<half>(tile, size);
  }
  __syncthreads();  // RACE: orders the inverses before their readers
  multiply_tiles(T(1), b, a, b, rest, split, split);
  multiply_tiles(T(-1), c, b, b, rest, rest, split);
  const unsigned long long of_inverse = store_inverse(v, t, threadIdx.x, blockDim.x, [&](int i, int j) {
    return i < split ? a[i][j] : j < split ? b[i - split][j] : c[i - split][j - split];
  });
  if (v.found)
    raise_by_block({v.max_inverse, v.max_entry(t)}, {of_inverse, largest});
  else
    raise_by_block({v.max_inverse}, {of_inverse});
}

/// Called by all lanes of a warp.   pivot: (32)
template <class T>
__device__ __forceinline__ void invert_small(const ValuesView<T>& v, const ChunkTriangle& t, Tile<T>& tile, T* pivot) {
  const unsigned lane = threadIdx.x % 32;
  const auto sync = [] { __syncwarp(); };  // RACE: orders pivots, then entries, before their readers
  for (int k = 0; k < t.size; ++k) tile[k][lane] = T(0);
  pivot[lane] = T(1);
  sync();
  const unsigned long long largest =
      load_triangle(v, t, lane, 32u, pivot, sync, [&](int i, int j, T value) { tile[j][i] = value; });
  if (t.size <= 8)
    invert_unit_lower<8>(tile, t.size);
  else if (t.size <= 16)
    invert_unit_lower<16>(tile, t.size);
  else
    invert_unit_lower<half>(tile, t.size);
  sync();
  raise(v.max_inverse, store_inverse(v, t, lane, 32u, [&](int i, int j) { return tile[i][j]; }));
  if (v.found) raise(v.max_entry(t), largest);
}

/// The entries outside the chunks, and all pivots.   thread, threads: of all blocks that share the moves
/// Called by all threads of a block.
template <class T>
__device__ __forceinline__ void move_entries(const ValuesView<T>& v, std::int64_t thread, std::int64_t threads) {
  constexpr int at_once = 4;
  unsigned long long max_first = 0, max_second = 0;
  for (std::int64_t first = thread; first < v.n_moves; first += at_once * threads) {
    ChunkMove move[at_once];
    T value[at_once];
#pragma unroll
    for (int q = 0; q < at_once; ++q) move[q] = v.moves[min(first + q * threads, v.n_moves - 1)];
#pragma unroll
    for (int q = 0; q < at_once; ++q) value[q] = v.values[move[q].from];
#pragma unroll
    for (int q = 0; q < at_once; ++q) {
      if (first + q * threads >= v.n_moves) break;
      v.tasks[move[q].to] = -value[q];
      unsigned long long& largest = first + q * threads < v.n_first_moves ? max_first : max_second;
      largest = larger(largest, bits_of(static_cast<double>(value[q])));
    }
  }
  if (!v.found) return;
  device_solver::PivotSizes pivots;
  for (std::int64_t j = thread; j < v.n; j += threads) pivots.add(v.values[v.diag[j]], v.n - j, v.found);
  raise_by_block({&v.found->max_l, &v.found->max_u, &v.found->max_pivot, &v.found->not_min_pivot},
                 {max_first, max_second, pivots.max, pivots.not_min});
}

/// grid: triangle_blocks(), and any number for the moves   block: 128   shared: none
template <class T>
__global__ void __launch_bounds__(32 * values_warps, 5) chunk_values_kernel(ValuesView<T> v) {
  LULAB_SHARED(Tile<T>, tiles, values_warps);
  LULAB_SHARED(T, pivot, values_warps * half);
  const std::uint32_t triangle_blocks = v.triangle_blocks();
  if (blockIdx.x < v.n_large) {
    invert_large<T>(v, v.triangles[blockIdx.x], tiles, pivot);
    return;
  }
  if (blockIdx.x < triangle_blocks) {
    const unsigned warp = threadIdx.x / 32, small = (blockIdx.x - v.n_large) * values_warps + warp;
    if (small < v.n_small) invert_small<T>(v, v.triangles[v.n_large + small], tiles[warp], pivot + warp * half);
    return;
  }
  move_entries(v, std::int64_t(blockIdx.x - triangle_blocks) * blockDim.x + threadIdx.x,
               std::int64_t(gridDim.x - triangle_blocks) * blockDim.x);
}

}  // namespace lulab::chunk_solve
