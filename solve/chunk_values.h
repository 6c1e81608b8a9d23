#pragma once
// Once a factorization: the entries of L and U to where the tasks of chunk_tasks.h want them, and the inverses of the
// chunks' own triangles, their rows divided by their pivots first. Device code.
//
// A warp inverts a triangle of at most 32 columns, and four share a block; a larger one has a block. First the blocks
// of eight columns on the diagonal are inverted, then two and two neighbours become one:
//
//   [A 0; B C]⁻¹ = [A⁻¹ 0; -C⁻¹ B A⁻¹ C⁻¹]        A and C have 8, 16, then 32 columns
//
// Loops rather than straight code, which runs once a block, no faster than its instructions come from memory. With
// columns of 32 unrolled, and moves shared out one by one, the kernel takes 25 µs of rajat19, now 12; memplus 26, now
// 15; 13659pegase 30, now 22; af23560 171, now 149 (H100).

#include <cstdint>

#include "core/magnitude.h"
#include "core/simt/kernel.h"
#include "solve/chunk_tasks.h"
#include "solve/solve_kernels.h"

namespace lulab::chunk_solve {

constexpr int values_warps = 4;
constexpr int warp_columns = small_chunk_columns;

template <class T>
struct ValuesView {
  const T* values;  // (nnz) of As
  T* tasks;         // ChunkTasks::d_tasks
  const ChunkMove* moves;
  std::int64_t n_first_moves, n_moves;
  const ChunkTriangle *large, *small;  // those of more than 32 columns, others
  std::uint32_t n_large, n_small;
  const ChunkEntry *entries, *inverses;
  const std::int64_t* diag;  // (n) of As
  std::int32_t n;
  unsigned long long* max_inverse;       // bits of the largest entry of an inverse
  device_solver::Findings* found;        // of A: the first triangle is L; null: nothing else is to be found
  const std::int32_t* wanted = nullptr;  // 0: nothing is to be done; null: it is
  std::uint32_t few_move_blocks = 1024;  // up to so many come before the triangles

  /// Where the largest entry of this triangle's L or U belongs.
  __device__ unsigned long long* max_entry(const ChunkTriangle& t) const {
    return t.is_first ? &found->max_l : &found->max_u;
  }
  __host__ __device__ std::uint32_t triangle_blocks() const {
    return n_large + (n_small + values_warps - 1) / values_warps;
  }
};

/// A unit lower triangle by rows, and room above its diagonal.
template <class T>
struct Tile {
  T* entries;
  int ld;  // odd, so that columns are read at full speed

  __device__ __forceinline__ T& operator()(int i, int j) const { return entries[i * ld + j]; }
};

/// Threads that share a triangle.
struct WarpOfTriangle {
  int thread = threadIdx.x % 32;
  static constexpr int threads = 32;
  __device__ __forceinline__ void sync() const { __syncwarp(); }  // RACE: what one lane wrote is read by others
};
struct BlockOfTriangle {
  int thread = threadIdx.x;
  static constexpr int threads = 32 * values_warps;
  __device__ __forceinline__ void sync() const { __syncthreads(); }  // RACE: what one thread wrote is read by others
};

/// Equivalent to   for each block of eight columns on the diagonal:  T <- T⁻¹
/// columns: of the tile, no more than threads   Called by all threads of the team.
template <class T, class Team>
__device__ __forceinline__ void invert_diagonal_blocks(const Team& team, const Tile<T>& tile, int columns) {
  constexpr int block = 8;
  const int first = team.thread / block * block, own = team.thread % block;
  const bool has_column = team.thread < columns;
  T x[block];  // column `own` of the inverse
  if (has_column) {
#pragma unroll
    for (int i = 0; i < block; ++i) x[i] = i == own ? T(1) : T(0);
#pragma unroll
    for (int k = 0; k < block; ++k)
#pragma unroll
      for (int i = k + 1; i < block; ++i) x[i] -= tile(first + i, first + k) * x[k];
  }
  team.sync();  // RACE: all have read their block before any overwrites it
  if (has_column)
#pragma unroll
    for (int i = 0; i < block; ++i)
      if (i >= own) tile(first + i, first + own) = x[i];
  team.sync();  // RACE: orders the inverses before their readers
}

/// Equivalent to   for each two neighbours A and C of 8 · rows columns:  P = B · A⁻¹, above the diagonal;  B = -C⁻¹ · P
/// A thread computes `rows` rows of two columns. Called by all threads of the team.
template <int rows, class T, class Team>
__device__ __forceinline__ void join_inverses(const Team& team, const Tile<T>& tile, int size) {
  constexpr int half = 8 * rows, column_pairs = half / 2, items = 8 * column_pairs;  // of two neighbours
  const int full = size / (2 * half), rest = size - (2 * full + 1) * half;  // neighbours; rows of a last, shorter C
  const int all_items = full * items + (rest > 0 ? (rest + rows - 1) / rows * column_pairs : 0);
  const auto for_each_item = [&](const auto& visit) {
#pragma unroll 1
    for (int item = team.thread; item < all_items; item += Team::threads)
      visit(item / items * 2 * half, item % items / column_pairs * rows, item % column_pairs * 2);
    team.sync();  // RACE: all have read B, or P, and written their part of P, or of the inverse
  };
  for_each_item([&](int first, int i0, int j0) {
    const auto a = [&](int k, int j) { return tile(first + k, first + j); };
    const auto b = [&](int i, int k) { return tile(first + half + i, first + k); };
    T sum[rows][2];
#pragma unroll
    for (int i = 0; i < rows; ++i) sum[i][0] = b(i0 + i, j0), sum[i][1] = T(0);  // A⁻¹(j0, j0) = 1
#pragma unroll 4
    for (int k = j0 + 1; k < half; ++k) {
      const T left = a(k, j0), right = a(k, j0 + 1);
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        const T of_b = b(i0 + i, k);
        sum[i][0] += of_b * left;
        sum[i][1] += of_b * right;
      }
    }
#pragma unroll
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < 2; ++j) tile(first + i0 + i, first + half + j0 + j) = sum[i][j];
  });
  for_each_item([&](int first, int i0, int j0) {
    const auto c = [&](int i, int k) { return tile(first + half + i, first + half + k); };
    const auto p = [&](int k, int j) { return tile(first + k, first + half + j); };
    T sum[rows][2] = {};
#pragma unroll 4
    for (int k = 0; k < i0; ++k) {
      const T left = p(k, j0), right = p(k, j0 + 1);
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        const T of_c = c(i0 + i, k);
        sum[i][0] += of_c * left;
        sum[i][1] += of_c * right;
      }
    }
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      const T left = p(i0 + k, j0), right = p(i0 + k, j0 + 1);
#pragma unroll
      for (int i = k; i < rows; ++i) {
        const T of_c = c(i0 + i, i0 + k);
        sum[i][0] += of_c * left;
        sum[i][1] += of_c * right;
      }
    }
#pragma unroll
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < 2; ++j) tile(first + half + i0 + i, first + j0 + j) = -sum[i][j];
  });
}

/// The entries of a triangle, each row divided by its pivot, into a tile.
/// columns: of the tile; those from t.size on are of the identity   pivot: (columns)
/// Returns the bits of the calling thread's largest entry.   Called by all threads of the team.
template <class T, class Team>
__device__ __forceinline__ unsigned long long load_triangle(const Team& team, const ValuesView<T>& v,
                                                            const ChunkTriangle& t, const Tile<T>& tile, int columns,
                                                            T* pivot) {
  constexpr int at_once = 9;  // loads that wait together; half of a full triangle's, and more than its pivots
  unsigned long long largest = 0;
#pragma unroll 1
  for (std::uint32_t first = t.entry; first < t.entry_end; first += at_once * Team::threads) {
    ChunkEntry e[at_once];
    T value[at_once];
    const auto exists = [&](int q) { return first + q * Team::threads + team.thread < t.entry_end; };
#pragma unroll
    for (int q = 0; q < at_once; ++q) e[q] = v.entries[min(first + q * Team::threads + team.thread, t.entry_end - 1)];
#pragma unroll
    for (int q = 0; q < at_once; ++q) value[q] = v.values[e[q].at];
    if (first == t.entry) {  // all pivots are among these; values may still be on their way
#pragma unroll 4
      for (int k = team.thread; k < columns * tile.ld; k += Team::threads) tile.entries[k] = T(0);
#pragma unroll 1
      for (int i = team.thread; i < columns; i += Team::threads) pivot[i] = T(1);
      team.sync();  // RACE: threads cleared the tile and pivots of others
#pragma unroll 1
      for (int i = team.thread; i < columns; i += Team::threads) tile(i, i) = T(1);
#pragma unroll
      for (int q = 0; q < at_once; ++q)
        if (exists(q) && e[q].i == e[q].j) pivot[e[q].i] = value[q];
      team.sync();  // RACE: orders pivots before the threads that divide by them
#pragma unroll 1
      for (int i = team.thread; i < columns; i += Team::threads) pivot[i] = T(1) / pivot[i];
      team.sync();  // RACE: orders reciprocals before all threads, which multiply by them
    }
#pragma unroll
    for (int q = 0; q < at_once; ++q) {
      largest = larger(largest, bits_of(static_cast<double>(value[q])));
      if (exists(q) && e[q].i != e[q].j) tile(e[q].i, e[q].j) = value[q] * pivot[e[q].i];
    }
  }
  team.sync();  // RACE: entries come from any thread
  return largest;
}

/// The inverse to the tasks; returns the bits of the calling thread's largest entry.
template <class T, class Team>
__device__ __forceinline__ unsigned long long store_inverse(const Team& team, const ValuesView<T>& v,
                                                            const ChunkTriangle& t, const Tile<T>& tile) {
  constexpr int at_once = 8;
  unsigned long long largest = 0;
#pragma unroll 1
  for (std::uint32_t first = t.inverse; first < t.inverse_end; first += at_once * Team::threads) {
    ChunkEntry e[at_once];
#pragma unroll
    for (int q = 0; q < at_once; ++q)
      e[q] = v.inverses[min(first + q * Team::threads + team.thread, t.inverse_end - 1)];
#pragma unroll
    for (int q = 0; q < at_once; ++q) {
      const T value = tile(e[q].i, e[q].j);
      if (first + q * Team::threads + team.thread < t.inverse_end) v.tasks[e[q].at] = value;
      largest = larger(largest, bits_of(static_cast<double>(value)));
    }
  }
  return largest;
}

struct LargestOfTriangle {
  unsigned long long of_inverse, of_entries;  // bits
};

/// Called by all threads of the team.   columns: 32, or 64 for a block   pivot: (columns)
template <int columns, class T, class Team>
__device__ __forceinline__ LargestOfTriangle invert(const Team& team, const ValuesView<T>& v, const ChunkTriangle& t,
                                                    const Tile<T>& tile, T* pivot) {
  const unsigned long long of_entries = load_triangle(team, v, t, tile, columns, pivot);
  invert_diagonal_blocks(team, tile, columns);
  join_inverses<1>(team, tile, t.size);
  join_inverses<2>(team, tile, t.size);
  if constexpr (columns > warp_columns) join_inverses<4>(team, tile, t.size);
  return {store_inverse(team, v, t, tile), of_entries};
}

/// The entries outside the chunks, and all pivots: the share of one block, of those that share the moves. Neighbours go
/// to one block, since those in one column of L or U, a row apart, often lie in one sector.
/// Called by all threads of a block.
template <class T>
__device__ __forceinline__ void move_entries(const ValuesView<T>& v, std::uint32_t block, std::uint32_t blocks) {
  constexpr int at_once = 4;
  unsigned long long max_first = 0, max_second = 0;
  const std::int64_t end = v.n_moves * (block + 1) / blocks, stride = blockDim.x;
#pragma unroll 1
  for (std::int64_t first = v.n_moves * block / blocks + threadIdx.x; first < end; first += at_once * stride) {
    ChunkMove move[at_once];
    T value[at_once];
#pragma unroll
    for (int q = 0; q < at_once; ++q) move[q] = v.moves[min(first + q * stride, end - 1)];
#pragma unroll
    for (int q = 0; q < at_once; ++q) value[q] = v.values[move[q].from];
#pragma unroll
    for (int q = 0; q < at_once; ++q) {
      if (first + q * stride >= end) break;
      v.tasks[move[q].to] = -value[q];
      unsigned long long& largest = first + q * stride < v.n_first_moves ? max_first : max_second;
      largest = larger(largest, bits_of(static_cast<double>(value[q])));
    }
  }
  if (!v.found) return;
  device_solver::PivotSizes pivots;
#pragma unroll 1
  for (std::int64_t j = std::int64_t(block) * blockDim.x + threadIdx.x; j < v.n; j += std::int64_t(blocks) * blockDim.x)
    pivots.add(v.values[v.diag[j]], v.n - j, v.found);
  raise_by_block({&v.found->max_l, &v.found->max_u, &v.found->max_pivot, &v.found->not_min_pivot},
                 {max_first, max_second, pivots.max, pivots.not_min});
}

/// grid: triangle_blocks(), and any number for the moves   block: 128   shared: none
/// Few moves come first: they wait for memory while triangles are inverted (H100, 13659pegase: 4 µs). Many come last,
/// for the multiprocessors that have no triangle left. The registers of double let five blocks share a multiprocessor;
/// with fewer, a sixth leaves moves too little cache (af23560: 205 µs instead of 149).
template <class T>
__global__ void __launch_bounds__(32 * values_warps, 5) chunk_values_kernel(ValuesView<T> v) {
  constexpr int small_ld = warp_columns + 1, large_ld = 2 * warp_columns + 1;
  static_assert(values_warps * warp_columns * small_ld >= 2 * warp_columns * large_ld);
  if (v.wanted && *v.wanted == 0) return;
  LULAB_SHARED(T, entries, values_warps * warp_columns * small_ld);
  LULAB_SHARED(T, pivot, values_warps * warp_columns);
  const std::uint32_t triangle_blocks = v.triangle_blocks(), move_blocks = gridDim.x - triangle_blocks;
  const bool moves_first = move_blocks <= v.few_move_blocks;
  const std::uint32_t move_block = moves_first ? blockIdx.x : blockIdx.x - triangle_blocks;  // wraps for a triangle
  if (move_block < move_blocks) {
    move_entries(v, move_block, move_blocks);
    return;
  }
  const std::uint32_t block = moves_first ? blockIdx.x - move_blocks : blockIdx.x;
  if (block < v.n_large) {
    const ChunkTriangle& t = v.large[block];
    const LargestOfTriangle largest =
        invert<2 * warp_columns>(BlockOfTriangle{}, v, t, Tile<T>{entries, large_ld}, pivot);
    if (v.found)
      raise_by_block({v.max_inverse, v.max_entry(t)}, {largest.of_inverse, largest.of_entries});
    else
      raise_by_block({v.max_inverse}, {largest.of_inverse});
    return;
  }
  const unsigned warp = threadIdx.x / 32, small = (block - v.n_large) * values_warps + warp;
  if (small >= v.n_small) return;
  const ChunkTriangle& t = v.small[small];
  const LargestOfTriangle largest = invert<warp_columns>(
      WarpOfTriangle{}, v, t, Tile<T>{entries + warp * warp_columns * small_ld, small_ld}, pivot + warp * warp_columns);
  raise(v.max_inverse, largest.of_inverse);
  if (v.found) raise(v.max_entry(t), largest.of_entries);
}

}  // namespace lulab::chunk_solve
