#pragma once
// The kernel that solves and refines a batch, a block for each system.        Arioli, Demmel & Duff 1989, section 3
//
//   x = C Q U⁻¹ L⁻¹ P R b                        L and U by rows, level by level, y in shared memory where it fits
//   r = what the rule corrects of b - A x, omega(x)
//   while the rule wants a step                  refinement_rule.h
//     x' = x + C Q U⁻¹ L⁻¹ P R r
//     r = what the rule corrects of b - A x', omega(x')
//     x <- x' if the rule accepts it
//
// Every thread of a block knows omega and takes the same branches, so no step goes through the host. A warp loads what
// it needs of the next level besides y before the barrier.

#include <cstdint>
#include <limits>

#include "core/simt/kernel.h"
#include "solve/device_batch_solver.h"
#include "solve/line_teams.h"
#include "solve/row_residual.h"
#include "solve/solve_row.h"
#include "solve/triangle.h"

namespace lulab {

constexpr int max_batch_threads = 512;  // of a block

/// L or U by rows: where each entry lies in the values of a system.
struct BatchTriangle {
  const TriangleRow* rows;        // (n) in the order of the solve
  const TriangleTask* tasks;      // into rows
  const std::int32_t* level_ptr;  // (n_levels + 1) into tasks
  std::int32_t n_levels;
  const std::int32_t* column;  // (entries)
  const std::int32_t* from;    // (entries) of As; U's diagonal after the other entries of a row
  bool unit_diagonal;
};

/// A by rows.
struct BatchRows {
  const std::int64_t* row_ptr;    // (n + 1)
  const std::int32_t* column;     // (nnz)
  const std::int32_t* from;       // (nnz) place in A
  int lanes;                      // that share a short row
  const std::int32_t* long_rows;  // (n_long_rows) rows that a warp shares
  std::int32_t n_long_rows;
};

template <class T>
struct BatchView {
  std::int32_t n;
  std::int64_t nnz_a, nnz_lu;
  BatchTriangle lower, upper;
  BatchRows rows;
  const std::int32_t* from;  // (n) p: entry i of P R b is row from[i] of b ...
  const double* r;           // (n) ... times r[i]
  const std::int32_t* to;    // (n) q
  const double* c;           // (n) of y(i), which becomes x(to[i])
  double* work;              // (2n, blocks)
  T* y;                      // (n, blocks); null: in shared memory
};

/// One system.
template <class T>
struct SystemView {
  const double* a;  // (nnz(A))
  const T* lu;      // (nnz(L+U))
  const double* b;  // (n)
  double* r;        // (n)
  T* y;             // (n)
};

/// Some entries of a row. All loads of a kind come before the first use of one, so that their latencies overlap.
template <class T>
struct RowEntries {
  static constexpr int at_once = 4;
  T values[at_once] = {};
  std::int32_t columns[at_once] = {};  // -1: beyond the row

  __device__ __forceinline__ void fetch(const BatchTriangle& t, const TriangleRow& row, int first, int lanes,
                                        const T* lu) {
    std::int32_t from[at_once];
#pragma unroll
    for (int q = 0; q < at_once; ++q) {
      const int e = first + q * lanes;
      columns[q] = e < row.count ? t.column[row.begin + e] : -1;
      from[q] = e < row.count ? t.from[row.begin + e] : 0;
    }
#pragma unroll
    for (int q = 0; q < at_once; ++q) values[q] = lu[from[q]];
  }
  __device__ __forceinline__ T times(const T* y) const {
    T sum = T(0);
#pragma unroll
    for (int q = 0; q < at_once; ++q)
      if (columns[q] >= 0) sum += values[q] * y[columns[q]];
    return sum;
  }
};

/// What a warp needs for a task besides y.
template <class T>
struct LoadedTask {
  TriangleRow row = {};
  int lanes = 1, entry_lane = 0;
  bool has_row = false;
  T diagonal = T(0), inverse = T(0);  // of the first lane of a row
  RowEntries<T> entries;              // the first of them

  /// task: one at or beyond `end` has no rows.
  __device__ __forceinline__ void fetch(const BatchTriangle& t, std::int32_t task, std::int32_t end, const T* lu) {
    *this = {};
    if (task >= end) return;
    const TriangleTask of_warp = t.tasks[task];
    const int lane = threadIdx.x % 32;
    lanes = of_warp.lanes;
    entry_lane = lane % lanes;
    has_row = lane / lanes < of_warp.count;
    if (!has_row) return;
    row = t.rows[of_warp.first + lane / lanes];
    entries.fetch(t, row, entry_lane, lanes, lu);
    if (t.unit_diagonal || entry_lane != 0) return;
    diagonal = lu[t.from[row.begin + row.count]];
    inverse = T(1) / diagonal;
  }
  /// y(i) = (y(i) - Σ T(i,j) y(j)) / T(i,i).   Called by all lanes.
  __device__ __forceinline__ void solve(const BatchTriangle& t, const T* lu, T* y) const {
    T sum = T(0);
    if (has_row) {
      sum = entries.times(y);
      constexpr int at_once = RowEntries<T>::at_once;
      for (int e = entry_lane + at_once * lanes; e < row.count; e += at_once * lanes) {
        RowEntries<T> more;
        more.fetch(t, row, e, lanes, lu);
        sum += more.times(y);
      }
    }
    for (int offset = lanes / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (!has_row || entry_lane != 0) return;
    const T left = y[row.row] - sum;
    y[row.row] = t.unit_diagonal ? left : quotient(left, diagonal, inverse);
  }
};

/// y <- T⁻¹ y.   Called by all threads of a block; y is written on entry, and for all to read on exit.
template <class T>
__device__ __forceinline__ void solve_triangle(const BatchTriangle& t, const T* lu, T* y) {
  const auto warp = static_cast<std::int32_t>(threadIdx.x / 32), warps = static_cast<std::int32_t>(blockDim.x / 32);
  LoadedTask<T> next;
  std::int32_t begin = t.level_ptr[0], end = t.level_ptr[1];
  next.fetch(t, begin + warp, end, lu);
  for (std::int32_t level = 0; level < t.n_levels; ++level) {
    next.solve(t, lu, y);
    for (std::int32_t task = begin + warp + warps; task < end; task += warps) {
      LoadedTask<T> other;
      other.fetch(t, task, end, lu);
      other.solve(t, lu, y);
    }
    begin = end;
    if (level + 1 < t.n_levels) {
      end = t.level_ptr[level + 2];
      next.fetch(t, begin + warp, end, lu);
    }
    __syncthreads();  // RACE: y of this level is written by its warps, read by those of later levels
  }
}

/// to = old + C Q U⁻¹ L⁻¹ P R from (old null: 0); max |to|.   Called by all threads, `from` written for all to read;
/// `to` is so on exit.
template <class T>
__device__ __forceinline__ double add_solution(const BatchView<T>& v, const SystemView<T>& s, const double* from,
                                               const double* old, double* to, unsigned long long* of_warp) {
  unsigned long long bits = 0;
  for (std::int32_t i = threadIdx.x; i < v.n; i += blockDim.x) bits = larger(bits, bits_of(v.r[i] * from[v.from[i]]));
  const int exponent = exponent_of(block_max(bits, of_warp));
  for (std::int32_t i = threadIdx.x; i < v.n; i += blockDim.x)
    s.y[i] = static_cast<T>(scaled_by_power_of_two(v.r[i] * from[v.from[i]], -exponent));
  __syncthreads();  // RACE: any thread wrote y(i), any reads it
  solve_triangle(v.lower, s.lu, s.y);
  solve_triangle(v.upper, s.lu, s.y);
  bits = 0;
  for (std::int32_t i = threadIdx.x; i < v.n; i += blockDim.x) {
    int of_scale = 0;  // kept apart: c · y may be out of range where the result is not
    const double fraction = frexp(v.c[i], &of_scale);
    const double step = ldexp(fraction * static_cast<double>(s.y[i]), of_scale + exponent);
    const std::int32_t row = v.to[i];
    const double sum = old ? old[row] + step : step;
    to[row] = sum;
    bits = larger(bits, bits_of(sum));
  }
  return magnitude_of(block_max(bits, of_warp));  // its barriers show `to` to all
}

struct RowOfBatch {
  RowResidual residual;
  double size;  // max |A(i,:)|; a NaN in A makes `residual` NaN

  __device__ __forceinline__ void merge_lanes(int lanes) {
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
      residual.merge(residual.of_lane_xor(offset));
      size = fmax(size, __shfl_xor_sync(0xffffffffu, size, offset));
    }
  }
};

struct Omega {
  double sum, componentwise;
};

/// r: what refinement corrects of b - A x; and the errors of x, whose largest entry is x_max.   Called by all threads,
/// x written for all to read; so is r on exit.
template <class T>
__device__ __forceinline__ Omega residual_of(const BatchView<T>& v, const SystemView<T>& s, const double* x,
                                             double x_max, unsigned long long* of_warp) {
  const BatchRows& a = v.rows;
  LargestErrors largest;
  const auto add_row = [&](std::int32_t i, bool mine, int lanes) {
    const int lane = threadIdx.x % lanes;
    RowOfBatch sum{{{mine && lane == 0 ? s.b[i] : 0, 0}, 0}, 0};
    if (mine)
      for (std::int64_t k = a.row_ptr[i] + lane; k < a.row_ptr[i + 1]; k += lanes) {
        const double value = s.a[a.from[k]];
        sum.residual.subtract_product(value, x[a.column[k]]);
        sum.size = fmax(sum.size, fabs(value));
      }
    sum.merge_lanes(lanes);
    if (!mine || lane != 0) return;
    s.r[i] = largest.add(sum.residual, s.b[i], sum.size * x_max, v.n);
  };
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32, rows_a_warp = 32 / a.lanes;
  for (std::int32_t first = warp * rows_a_warp; first < v.n; first += warps * rows_a_warp) {
    const std::int32_t i = first + threadIdx.x % 32 / a.lanes;
    add_row(i, i < v.n && a.row_ptr[i + 1] - a.row_ptr[i] <= max_iterations_per_lane * a.lanes, a.lanes);
  }
  for (std::int32_t k = warp; k < a.n_long_rows; k += warps) add_row(a.long_rows[k], true, 32);
  const double omega1 = magnitude_of(block_max(largest.omega1, of_warp));  // its barriers show r to all
  const double omega2 = magnitude_of(block_max(largest.omega2, of_warp));
  return {omega1 + omega2, magnitude_of(block_max(largest.componentwise, of_warp))};
}

/// The row of the first entry of b that is not finite; -1: all are.   Called by all threads of a block.
__device__ __forceinline__ std::int32_t first_not_finite(std::int32_t n, const double* b, unsigned long long* of_warp) {
  unsigned long long rows = 0;  // from that one to the last
  for (std::int32_t i = threadIdx.x; i < n; i += blockDim.x)
    if (!(b[i] - b[i] == 0)) rows = larger(rows, static_cast<unsigned long long>(n - i));
  rows = block_max(rows, of_warp);
  return rows == 0 ? -1 : n - static_cast<std::int32_t>(rows);
}

/// grid: any   block: a multiple of 32, up to max_batch_threads   shared: y, n values, if v.y is null
/// which: (count) systems, null: the first   a: (nnz(A), systems), lu: (nnz(L+U), systems), b, x: (n, systems)
/// solutions: (count)
/// usable: (systems) 0: the factors are not, and x <- NaN; an x that does not converge is NaN, too. Null: x is what
///         refinement leaves.
template <class T>
__global__ void __launch_bounds__(max_batch_threads)
    solve_batch_kernel(BatchView<T> v, const std::int32_t* which, std::int32_t count, const double* a, const T* lu,
                       const double* b, double* x, SystemSolution* solutions, int max_iterations,
                       const std::int32_t* usable) {
  LULAB_SHARED(unsigned long long, of_warp, 32);
  LULAB_DYNAMIC_SHARED(T, shared);
  const std::int64_t n = v.n;
  double* const r = v.work + 2 * n * blockIdx.x;
  for (std::int32_t k = blockIdx.x; k < count; k += gridDim.x) {
    const std::int64_t system = which ? which[k] : k;
    const SystemView<T> s{a + v.nnz_a * system, lu + v.nnz_lu * system, b + n * system, r,
                          v.y ? v.y + n * blockIdx.x : shared};
    double* const result = x + n * system;
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    if (usable && !usable[system]) {
      for (std::int32_t i = threadIdx.x; i < v.n; i += blockDim.x) result[i] = nan;
      if (threadIdx.x == 0) solutions[k] = {{0, nan, nan, false}, -1, 0};
      continue;
    }
    double *best = result, *other = r + n;
    double x_max = add_solution<T>(v, s, s.b, nullptr, best, of_warp);
    Omega now = residual_of(v, s, best, x_max, of_warp);
    RefinementRule rule(now.sum, max_iterations);
    while (rule.wants_step()) {
      x_max = add_solution<T>(v, s, r, best, other, of_warp);
      const Omega next = residual_of(v, s, other, x_max, of_warp);
      if (!rule.accepts(next.sum)) break;
      double* const worse = best;
      best = other;
      other = worse;
      now = next;
    }
    const Refinement refined = rule.result(now.componentwise);
    const bool refuse = usable && !refined.converged;
    const std::int32_t wrong = refuse ? first_not_finite(v.n, s.b, of_warp) : -1;
    if (refuse || best != result)
      for (std::int32_t i = threadIdx.x; i < v.n; i += blockDim.x) result[i] = refuse ? nan : best[i];
    if (threadIdx.x == 0) solutions[k] = {refined, wrong, wrong >= 0 ? s.b[wrong] : 0};
    __syncthreads();  // RACE: all have read the block's workspace before the next system overwrites it
  }
}

}  // namespace lulab
