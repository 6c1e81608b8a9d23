#pragma once
// What all triangular solves on the device share, whichever rung makes them.
//
//   update   entries of L and U by rows, 1 / U(j,j)
//   prepare  b <- scaled and permuted, its largest entry; words <- not yet. One right-hand side that is solved by
//            chunks needs no launch for it
//   solve    first triangle, then the second, in one launch: 01_level_set.h, 02_sync_free.h, 03_narrow_middle.h by
//            tasks in level order (solve_row.h), 04_chunks.h by sets of rows

#include <cstdint>

#include "core/magnitude.h"
#include "core/simt/kernel.h"
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

/// grid: any
template <class T>
__global__ void find_max_l_kernel(ByRowsView<T> v, Findings* found) {
  unsigned long long max_l = 0;
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t k = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; k < v.nnz_l; k += threads)
    max_l = larger(max_l, bits_of(static_cast<double>(v.values[v.from[k]])));
  raise_by_block({&found->max_l}, {max_l});
}

/// Right-hand sides as they are given.
template <class S>
struct RightSides {
  const S* b;                // (n, columns) by columns
  const std::int32_t* from;  // (n) row of b
  const double* scale;       // (n) of that row
  double* scaled;            // (n, ld) side by side, in the order of the first triangle
};

/// Entry i of right-hand side c is scaled and permuted.   bad: raised to n - its row where it is not finite
/// Returns the bits of the scaled entry.
template <class S>
__device__ __forceinline__ unsigned long long take_entry(const RightSides<S>& given, std::int32_t n, std::int32_t ld,
                                                         std::int64_t i, std::int32_t c, unsigned long long& bad) {
  const std::int32_t row = given.from[i];
  const S entry = given.b[std::int64_t(c) * n + row];
  if (!(entry - entry == S(0))) bad = larger(bad, static_cast<unsigned long long>(n - row));
  const double value = given.scale[i] * static_cast<double>(entry);
  given.scaled[i * ld + c] = value;
  return bits_of(value);
}

template <class T>
__device__ __forceinline__ void forget_words(Word<T>* words, std::int64_t n_words, std::int64_t thread,
                                             std::int64_t threads) {
  for (std::int64_t k = thread; k < n_words; k += threads) words[k] = not_yet<T>;
}

/// Scales and permutes right-hand sides; forgets earlier solutions.
/// grid: (any, groups)   block: a multiple of 32   words: (n_words)   largest, progress: 0 on entry
template <class T, class S>
__global__ void prepare_kernel(RightSides<S> given, std::int32_t n, std::int32_t columns, std::int32_t ld,
                               int rhs_lanes, Word<T>* words, std::int64_t n_words, unsigned long long* largest,
                               SolveProgress* progress, const std::int32_t* wanted) {
  if (wanted && *wanted == 0) return;
  forget_words<T>(words, n_words, (std::int64_t(blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x,
                  std::int64_t(gridDim.x) * gridDim.y * blockDim.x);
  const std::int32_t c = blockIdx.y * rhs_lanes + threadIdx.x % rhs_lanes;
  unsigned long long max_bits = 0, bad = 0;
  const std::int64_t stride = std::int64_t(gridDim.x) * blockDim.x / rhs_lanes;
  for (std::int64_t i = (std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / rhs_lanes; i < n && c < columns;
       i += stride)
    max_bits = larger(max_bits, take_entry(given, n, ld, i, c, bad));
  if (bad > 0) atomicMax(&progress->bad_b, bad);  // RACE: entries of several threads; the largest n - row stays
  for (int offset = 16; offset >= rhs_lanes; offset /= 2)
    max_bits = larger(max_bits, __shfl_xor_sync(0xffffffffu, max_bits, offset));
  // RACE: a right-hand side has several warps; the largest stays
  if (threadIdx.x % 32 < static_cast<unsigned>(rhs_lanes) && c < columns) atomicMax(&largest[c], max_bits);
}

}  // namespace lulab::device_solver
