#pragma once
// What all triangular solves on the device share, whichever rung makes them.
//
//   update   entries of L and U by rows, 1 / U(j,j)
//   prepare  b <- scaled and permuted, its largest entry; words <- not yet
//   solve    first triangle, then the second, in one launch: 01_level_set.h, 02_sync_free.h, 03_narrow_middle.h by
//            tasks in level order (solve_row.h), 04_chunks.h by sets of rows

#include <cstdint>

#include "core/simt/kernel.h"
#include "solve/magnitude.h"
#include "solve/solve_row.h"

namespace lulab::device_solver {

/// What update() finds in L and U, zero before. Bits of magnitudes: magnitude.h.
struct Findings {
  unsigned long long bad_pivot;  // n - the first pivot that is zero or not finite; 0: none
  unsigned long long max_l, max_u, max_pivot;
  unsigned long long not_min_pivot;   // the complement of the smallest pivot's
  unsigned long long max_inverse[2];  // of the inverses of chunks, of A and of its transpose
};

/// Of the pivots that one thread has seen.
struct PivotSizes {
  unsigned long long max = 0, not_min = 0;

  /// n_minus_j: n - the pivot's column
  template <class T>
  __device__ __forceinline__ void add(T pivot, std::int64_t n_minus_j, Findings* found) {
    const unsigned long long bits = bits_of(static_cast<double>(pivot));
    max = larger(max, bits);
    not_min = larger(not_min, ~bits);
    // RACE: pivots of several threads; the largest n - j stays
    if (pivot == T(0) || !(pivot - pivot == T(0)))
      atomicMax(&found->bad_pivot, static_cast<unsigned long long>(n_minus_j));
  }
};

/// L and U as solves by rows want them.
template <class T>
struct ByRowsView {
  const T* values;           // (nnz) of As
  const std::int64_t* from;  // (nnz) position in As of each entry of L by rows, then of U by rows
  std::int64_t nnz_l, nnz;
  const std::int64_t* diag;  // (n) of As
  std::int32_t n;
  T* by_rows;  // (nnz) <- values[from]
  T* inverse;  // (n) <- 1 / U(j,j)
};

/// thread, threads: of all that share the work
template <class T>
__device__ __forceinline__ void copy_by_rows(const ByRowsView<T>& v, std::int64_t thread, std::int64_t threads) {
  for (std::int64_t k = thread; k < v.nnz; k += threads) v.by_rows[k] = v.values[v.from[k]];
  for (std::int64_t j = thread; j < v.n; j += threads) v.inverse[j] = T(1) / v.values[v.diag[j]];
}

/// grid: any   found: null: nothing is looked for
template <class T>
__global__ void update_kernel(ByRowsView<T> v, Findings* found) {
  const std::int64_t thread = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  copy_by_rows(v, thread, threads);
  if (!found) return;
  unsigned long long max_l = 0, max_u = 0;
  for (std::int64_t k = thread; k < v.nnz; k += threads) {
    unsigned long long& largest = k < v.nnz_l ? max_l : max_u;
    largest = larger(largest, bits_of(static_cast<double>(v.by_rows[k])));  // the thread's own
  }
  PivotSizes pivots;
  for (std::int64_t j = thread; j < v.n; j += threads) pivots.add(v.values[v.diag[j]], v.n - j, found);
  raise_by_block({&found->max_l, &found->max_u, &found->max_pivot, &found->not_min_pivot},
                 {max_l, max_u, pivots.max, pivots.not_min});
}

/// b <- scale · b in the order of the first triangle, right-hand sides side by side; forgets earlier solutions.
/// grid: (any, groups)   block: a multiple of 32   from: (n) row of b   scale: (n) of that row
/// b: (n, columns) by columns   scaled: (n, ld)   words: (n_words)   largest, progress: 0 on entry
template <class T, class S>
__global__ void prepare_kernel(const S* b, const std::int32_t* from, const double* scale, std::int32_t n,
                               std::int32_t columns, std::int32_t ld, int rhs_lanes, double* scaled, Word<T>* words,
                               std::int64_t n_words, unsigned long long* largest, SolveProgress* progress,
                               const std::int32_t* wanted) {
  if (wanted && *wanted == 0) return;
  const std::int64_t threads = std::int64_t(gridDim.x) * gridDim.y * blockDim.x;
  for (std::int64_t k = (std::int64_t(blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x; k < n_words;
       k += threads)
    words[k] = not_yet<T>;
  const std::int32_t c = blockIdx.y * rhs_lanes + threadIdx.x % rhs_lanes;
  unsigned long long max_bits = 0;
  const std::int64_t stride = std::int64_t(gridDim.x) * blockDim.x / rhs_lanes;
  for (std::int64_t i = (std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / rhs_lanes; i < n && c < columns;
       i += stride) {
    const S entry = b[std::int64_t(c) * n + from[i]];
    // RACE: entries of several threads; the largest n - row stays
    if (!(entry - entry == S(0))) atomicMax(&progress->bad_b, static_cast<unsigned long long>(n - from[i]));
    const double value = scale[i] * static_cast<double>(entry);
    scaled[i * ld + c] = value;
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(value)) & ~(1ull << 63);
    max_bits = bits > max_bits ? bits : max_bits;  // magnitudes order like their bits, NaN last
  }
  for (int offset = 16; offset >= rhs_lanes; offset /= 2) {
    const unsigned long long other = __shfl_xor_sync(0xffffffffu, max_bits, offset);
    max_bits = other > max_bits ? other : max_bits;
  }
  // RACE: a right-hand side has several warps; the largest stays
  if (threadIdx.x % 32 < static_cast<unsigned>(rhs_lanes) && c < columns) atomicMax(&largest[c], max_bits);
}

}  // namespace lulab::device_solver
