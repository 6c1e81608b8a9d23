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
// 15; 13659pegase 30, now 22; af23560 171, now 149 (H100). Then products on tensor cores, lists a round ahead, and
// eight moves at once instead of four: mna5_A 14.6, now 10.6; 13659pegase 13.5, now 12.5; hykkt 27, now 23.5; af23560
// 133, now 123 (H200).

#include <cstdint>

#include "core/magnitude.h"
#include "core/simt/device_tools.h"
#include "core/simt/kernel.h"
#include "core/simt/tensor.h"
#include "solve/chunk_tasks.h"
#include "solve/solve_kernels.h"

namespace lulab::chunk_solve {

constexpr int values_warps = 4;
constexpr int warp_columns = small_chunk_columns;
constexpr int moves_at_once = 8;  // of a thread

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
  std::uint32_t few_move_blocks = 512;   // up to so many come before the triangles

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
  int ld;  // 68 for 64 columns: no two lanes that read four columns of eight rows meet in a bank; 33 for 32

  __device__ __forceinline__ T& operator()(int i, int j) const { return entries[i * ld + j]; }
};

/// Threads that share a triangle.
struct WarpOfTriangle {
  int thread = threadIdx.x % 32, warp = 0;
  static constexpr int warps = 1, threads = 32 * warps;
  __device__ __forceinline__ void sync() const { __syncwarp(); }  // RACE: what one lane wrote is read by others
};
struct BlockOfTriangle {
  int thread = threadIdx.x, warp = simt::warp_of_block();
  static constexpr int warps = values_warps, threads = 32 * warps;
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

/// Equivalent to   for each two neighbours A and C of `half` columns:  P = B · A⁻¹, above the diagonal;  B = -C⁻¹ · P
/// On tensor cores, also for float: a warp computes eight columns of P, then of B.
/// columns: of the tile   size: those from here on are of the identity   half: 8, 16 or 32
/// Called by all threads of the team.
template <class T, class Team>
__device__ __forceinline__ void join_inverses(const Team& team, const Tile<T>& tile, int columns, int size, int half) {
  constexpr int piece = 8, most_pieces = warp_columns / piece;           // of A, B and C
  const int lane = threadIdx.x % 32, row = lane / 4, column = lane % 4;  // of a piece, as tensor.h shares it out
  const int pieces = half / piece;
#pragma unroll 1
  for (int product = 0; product < 2; ++product) {
    const bool is_second = product == 1;
#pragma unroll 1
    for (int item = team.warp; item < columns / (2 * piece); item += Team::warps) {
      const int first = item / pieces * 2 * half, own = item % pieces;
      if (first + half >= size) continue;
      const int j = piece * own + row, first_column = first + (is_second ? half : 0);  // of both factors
      double sum[most_pieces][2] = {};
#pragma unroll 1
      for (int k = is_second ? 0 : own; k < pieces; ++k)
#pragma unroll
        for (int part = 0; part < piece; part += 4) {
          const int at = piece * k + part + column;
          const auto right = static_cast<double>(tile(first + at, first_column + j));  // of A⁻¹, or P
          const double b = is_second || at >= j ? right : 0;
#pragma unroll
          for (int i = 0; i < most_pieces; ++i) {
            if (i >= pieces || (is_second && i < k)) continue;
            const auto left =
                static_cast<double>(tile(first + half + piece * i + row, first_column + at));  // of B, or C⁻¹
            const double a = !is_second || at <= piece * i + row ? left : 0;
            simt::multiply_add_8x8x4(sum[i][0], sum[i][1], a, b);
          }
        }
      const int to_row = first + (is_second ? half : 0) + row, to_column = first + (is_second ? 0 : half) + piece * own;
#pragma unroll
      for (int i = 0; i < most_pieces; ++i)
        for (int q = 0; q < 2 && i < pieces; ++q)
          tile(to_row + piece * i, to_column + 2 * column + q) = static_cast<T>(is_second ? -sum[i][q] : sum[i][q]);
    }
    // RACE: all have read B, which the second product overwrites, and written P, which it reads; or the inverse
    team.sync();
  }
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
  constexpr std::uint32_t round = at_once * Team::threads;
  ChunkEntry next[at_once];  // of the next round
  const auto fetch = [&](std::uint32_t first) {
#pragma unroll
    for (int q = 0; q < at_once; ++q)
      next[q] = v.entries[min(first + q * Team::threads + team.thread, t.entry_end - 1)];
  };
  fetch(t.entry);
#pragma unroll 1
  for (std::uint32_t first = t.entry; first < t.entry_end; first += round) {
    ChunkEntry e[at_once];
    T value[at_once];
    const auto exists = [&](int q) { return first + q * Team::threads + team.thread < t.entry_end; };
#pragma unroll
    for (int q = 0; q < at_once; ++q) e[q] = next[q];
#pragma unroll
    for (int q = 0; q < at_once; ++q) value[q] = v.values[e[q].at];
    if (first + round < t.entry_end) fetch(first + round);
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

/// Writes the inverse to the tasks.
template <class T, class Team>
class InverseWriter {
 public:
  /// Starts loading the first places, a round trip to memory.
  __device__ __forceinline__ InverseWriter(const Team& team, const ValuesView<T>& v, const ChunkTriangle& t)
      : team_(team), v_(v), t_(t) {
    fetch(t.inverse);
  }

  /// Returns the bits of the calling thread's largest entry.   Called by all threads of the team.
  __device__ __forceinline__ unsigned long long write(const Tile<T>& tile) {
    unsigned long long largest = 0;
#pragma unroll 1
    for (std::uint32_t first = t_.inverse; first < t_.inverse_end; first += at_once * Team::threads) {
#pragma unroll
      for (int q = 0; q < at_once; ++q) {
        const T value = tile(e_[q].i, e_[q].j);
        if (first + q * Team::threads + team_.thread < t_.inverse_end) v_.tasks[e_[q].at] = value;
        largest = larger(largest, bits_of(static_cast<double>(value)));
      }
      if (first + at_once * Team::threads < t_.inverse_end) fetch(first + at_once * Team::threads);
    }
    return largest;
  }

 private:
  static constexpr int at_once = 8;

  __device__ __forceinline__ void fetch(std::uint32_t first) {
#pragma unroll
    for (int q = 0; q < at_once; ++q)
      e_[q] = v_.inverses[min(first + q * Team::threads + team_.thread, t_.inverse_end - 1)];
  }

  const Team& team_;
  const ValuesView<T>& v_;
  const ChunkTriangle& t_;
  ChunkEntry e_[at_once];
};

struct LargestOfTriangle {
  unsigned long long of_inverse, of_entries;  // bits
};

/// Called by all threads of the team.   columns: 32, or 64 for a block   pivot: (columns)
template <int columns, class T, class Team>
__device__ __forceinline__ LargestOfTriangle invert(const Team& team, const ValuesView<T>& v, const ChunkTriangle& t,
                                                    const Tile<T>& tile, T* pivot) {
  const unsigned long long of_entries = load_triangle(team, v, t, tile, columns, pivot);
  InverseWriter<T, Team> inverse(team, v, t);
  invert_diagonal_blocks(team, tile, columns);
#pragma unroll 1
  for (int half = 8; half < columns; half *= 2) join_inverses(team, tile, columns, t.size, half);
  return {inverse.write(tile), of_entries};
}

/// The entries outside the chunks, and all pivots: the share of one block, of those that share the moves. Neighbours go
/// to one block, since those in one column of L or U, a row apart, often lie in one sector.
/// Called by all threads of a block.
template <class T>
__device__ __forceinline__ void move_entries(const ValuesView<T>& v, std::uint32_t block, std::uint32_t blocks) {
  unsigned long long max_first = 0, max_second = 0;
  const std::int64_t end = v.n_moves * (block + 1) / blocks, stride = blockDim.x;
#pragma unroll 1
  for (std::int64_t first = v.n_moves * block / blocks + threadIdx.x; first < end; first += moves_at_once * stride) {
    ChunkMove move[moves_at_once];
    T value[moves_at_once];
#pragma unroll
    for (int q = 0; q < moves_at_once; ++q) move[q] = v.moves[min(first + q * stride, end - 1)];
#pragma unroll
    for (int q = 0; q < moves_at_once; ++q) value[q] = v.values[move[q].from];
#pragma unroll
    for (int q = 0; q < moves_at_once; ++q) {
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
/// with fewer, a sixth leaves moves too little cache (H200, af23560: 190 µs instead of 123).
template <class T>
__global__ void __launch_bounds__(32 * values_warps, 5) chunk_values_kernel(ValuesView<T> v) {
  constexpr int small_ld = warp_columns + 1, large_ld = 2 * warp_columns + 4, of_large = 2 * warp_columns * large_ld;
  static_assert(of_large >= values_warps * warp_columns * small_ld);
  if (v.wanted && *v.wanted == 0) return;
  LULAB_SHARED(T, entries, of_large);
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
