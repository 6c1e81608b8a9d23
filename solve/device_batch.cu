// Solving and refining a batch: a block has a system.                       Arioli, Demmel & Duff 1989, section 3
//
//   x = C Q U⁻¹ L⁻¹ P R b                        L and U by rows, level by level, y in shared memory where it fits
//   r = b - A x, omega(x)
//   while omega(x) > eps and the last step helped
//     x' = x + C Q U⁻¹ L⁻¹ P R r
//     r = b - A x', omega(x')
//     x <- x' unless it is worse
//
// Every thread of a block knows omega and takes the same turns, so that no step goes through the host. What a warp needs
// of the next level besides y is on its way before the barrier.

#include "solve/device_batch.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "core/simt/kernel.h"
#include "solve/line_teams.h"
#include "solve/row_residual.h"
#include "solve/solve_row.h"
#include "solve/triangle.h"

namespace lulab {
namespace {

constexpr int most_threads = 512;
constexpr double eps = std::numeric_limits<double>::epsilon() / 2;  // unit roundoff

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
  const std::int64_t* row_ptr;  // (n + 1)
  const std::int32_t* column;   // (nnz)
  const std::int32_t* from;     // (nnz) place in A
  int lanes;                    // that share a short row
  const std::int32_t* longs;    // (n_longs) rows that a warp shares
  std::int32_t n_longs;
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

/// The largest bits of all threads, to all of them.   of_warp: (32) shared   Called by all threads of a block.
__device__ __forceinline__ unsigned long long block_max(unsigned long long bits, unsigned long long* of_warp) {
  for (int offset = 16; offset > 0; offset /= 2) bits = larger(bits, __shfl_xor_sync(0xffffffffu, bits, offset));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = bits;
  __syncthreads();  // RACE: each warp wrote its largest, all threads read all of them
  for (unsigned w = 0; w < blockDim.x / 32; ++w) bits = larger(bits, of_warp[w]);
  __syncthreads();  // RACE: all have read before the next call writes
  return bits;
}

/// Some entries of a row: all loads of a kind before the first use of one, so that they wait together.
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

/// A warp's task: what it needs besides y.
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
/// so is `to` on exit.
template <class T>
__device__ __forceinline__ double add_solution(const BatchView<T>& v, const SystemView<T>& s, const double* from,
                                               const double* old, double* to, unsigned long long* of_warp) {
  unsigned long long bits = 0;
  for (std::int32_t i = threadIdx.x; i < v.n; i += blockDim.x) bits = larger(bits, bits_of(v.r[i] * from[v.from[i]]));
  const int exponent = exponent_of(block_max(bits, of_warp));
  for (std::int32_t i = threadIdx.x; i < v.n; i += blockDim.x)
    s.y[i] = static_cast<T>(ldexp(v.r[i] * from[v.from[i]], -exponent));
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

struct SizedRow {
  RestOfRow rest;
  double size;  // max |A(i,:)|; a NaN in A is one in `rest`

  __device__ __forceinline__ void meet_lanes(int lanes) {
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
      rest.meet(rest.from(offset));
      size = fmax(size, __shfl_xor_sync(0xffffffffu, size, offset));
    }
  }
};

struct Omega {
  double sum, componentwise;
};

/// r = b - A x, and the errors of x, whose largest entry is x_max.   Called by all threads, x written for all to read;
/// so is r on exit.
template <class T>
__device__ __forceinline__ Omega residual_of(const BatchView<T>& v, const SystemView<T>& s, const double* x,
                                             double x_max, unsigned long long* of_warp) {
  const BatchRows& a = v.rows;
  LargestErrors largest;
  const auto add_row = [&](std::int32_t i, bool mine, int lanes) {
    const int lane = threadIdx.x % lanes;
    SizedRow sum{{{mine && lane == 0 ? s.b[i] : 0, 0}, 0}, 0};
    if (mine)
      for (std::int64_t k = a.row_ptr[i] + lane; k < a.row_ptr[i + 1]; k += lanes) {
        const double value = s.a[a.from[k]];
        sum.rest.take(value, x[a.column[k]]);
        sum.size = fmax(sum.size, fabs(value));
      }
    sum.meet_lanes(lanes);
    if (!mine || lane != 0) return;
    s.r[i] = sum.rest.rounded();
    largest.take(sum.rest, s.b[i], sum.size * x_max, v.n);
  };
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32, rows_a_warp = 32 / a.lanes;
  for (std::int32_t first = warp * rows_a_warp; first < v.n; first += warps * rows_a_warp) {
    const std::int32_t i = first + threadIdx.x % 32 / a.lanes;
    add_row(i, i < v.n && a.row_ptr[i + 1] - a.row_ptr[i] <= most_turns * a.lanes, a.lanes);
  }
  for (std::int32_t k = warp; k < a.n_longs; k += warps) add_row(a.longs[k], true, 32);
  const double omega1 = magnitude_of(block_max(largest.omega1, of_warp));  // its barriers show r to all
  const double omega2 = magnitude_of(block_max(largest.omega2, of_warp));
  return {omega1 + omega2, magnitude_of(block_max(largest.componentwise, of_warp))};
}

/// grid: any   block: a multiple of 32, up to most_threads   shared: y, n values, if v.y is null
/// which: (count) systems   a: (nnz(A), systems), lu: (nnz(L+U), systems), b, x: (n, systems), outcome: (count)
template <class T>
__global__ void __launch_bounds__(most_threads)
    solve_batch_kernel(BatchView<T> v, const std::int32_t* which, std::int32_t count, const double* a, const T* lu,
                       const double* b, double* x, Refinement* outcome, int max_iterations) {
  LULAB_SHARED(unsigned long long, of_warp, 32);
  LULAB_DYNAMIC_SHARED(T, shared);
  const std::int64_t n = v.n;
  double* const r = v.work + 2 * n * blockIdx.x;
  for (std::int32_t k = blockIdx.x; k < count; k += gridDim.x) {
    const std::int64_t system = which[k];
    const SystemView<T> s{a + v.nnz_a * system, lu + v.nnz_lu * system, b + n * system, r,
                          v.y ? v.y + n * blockIdx.x : shared};
    double* const result = x + n * system;
    double *best = result, *other = r + n;
    double x_max = add_solution<T>(v, s, s.b, nullptr, best, of_warp);
    Omega now = residual_of(v, s, best, x_max, of_warp);
    int iterations = 0;
    while (iterations < max_iterations && now.sum > eps) {  // not for NaN
      x_max = add_solution<T>(v, s, r, best, other, of_warp);
      const Omega next = residual_of(v, s, other, x_max, of_warp);
      if (!(next.sum < now.sum)) break;
      const bool stalled = next.sum > 0.9 * now.sum;
      double* const worse = best;
      best = other;
      other = worse;
      now = next;
      ++iterations;
      if (stalled) break;
    }
    if (best != result)
      for (std::int32_t i = threadIdx.x; i < v.n; i += blockDim.x) result[i] = best[i];
    if (threadIdx.x == 0) {
      outcome[k].iterations = iterations;
      outcome[k].backward_error = now.componentwise;
      outcome[k].omega = now.sum;
      outcome[k].converged = now.sum <= 2 * eps;
    }
    __syncthreads();  // RACE: all have read the block's workspace before the next system overwrites it
  }
}

/// A and L+U in the order in which their values lie.
struct SizesView {
  std::int64_t nnz_a, nnz_lu;
  const std::int32_t *row, *column;  // (nnz(A))
  const double *r, *c;               // (n) by rows and columns of A
  const std::uint32_t* in_u;         // (nnz(L+U)) bits
};

/// Bits of the magnitudes of SystemSizes; zero before.
struct SizeBits {
  unsigned long long a, scaled_a, l, u;
};

/// grid: (any, any), a system to each y   block: a multiple of 32   a: (nnz(A), systems), lu: (nnz(L+U), systems)
/// sizes: (systems)
template <class T>
__global__ void __launch_bounds__(most_threads)
    sizes_kernel(SizesView v, std::int32_t systems, const double* a, const T* lu, SizeBits* sizes) {
  const std::int64_t first = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t s = blockIdx.y; s < systems; s += gridDim.y) {
    SizeBits largest{0, 0, 0, 0};
    for (std::int64_t k = first; k < v.nnz_a; k += stride) {
      const double value = a[v.nnz_a * s + k];
      largest.a = larger(largest.a, bits_of(static_cast<double>(static_cast<T>(value))));
      largest.scaled_a = larger(largest.scaled_a, bits_of(v.r[v.row[k]] * value * v.c[v.column[k]]));
    }
    for (std::int64_t k = first; k < v.nnz_lu; k += stride) {
      const unsigned long long bits = bits_of(static_cast<double>(lu[v.nnz_lu * s + k]));
      const bool in_u = v.in_u[k / 32] >> k % 32 & 1u;
      largest.l = larger(largest.l, in_u ? 0 : bits);
      largest.u = larger(largest.u, in_u ? bits : 0);
    }
    raise(&sizes[s].a, largest.a);
    raise(&sizes[s].scaled_a, largest.scaled_a);
    raise(&sizes[s].l, largest.l);
    raise(&sizes[s].u, largest.u);
  }
}

std::vector<std::int32_t> narrow(const std::vector<std::int64_t>& wide) { return {wide.begin(), wide.end()}; }

}  // namespace

template <class T>
struct DeviceBatch<T>::Impl {
  struct Side {
    simt::DeviceBuffer<TriangleRow> d_rows;
    simt::DeviceBuffer<TriangleTask> d_tasks;
    simt::DeviceBuffer<std::int32_t> d_level_ptr, d_column, d_from;
    std::int32_t n_levels = 0;

    Status create(const Triangle& t, int warps, simt::Stream& stream) {
      const TriangleTasks made = make_tasks(t, 1, warps);
      const std::vector<std::int32_t> from = narrow(t.from);
      n_levels = t.n_levels();
      LULAB_RETURN_IF_ERROR(simt::make(d_rows, t.rows, stream));
      LULAB_RETURN_IF_ERROR(simt::make(d_tasks, made.tasks, stream));
      LULAB_RETURN_IF_ERROR(simt::make(d_level_ptr, made.level_ptr, stream));
      LULAB_RETURN_IF_ERROR(simt::make(d_column, t.column, stream));
      LULAB_RETURN_IF_ERROR(simt::make(d_from, from, stream));
      return stream.wait();  // vectors are locals
    }
    BatchTriangle view(bool unit_diagonal) const {
      return {d_rows.data(),   d_tasks.data(), d_level_ptr.data(), n_levels,
              d_column.data(), d_from.data(),  unit_diagonal};
    }
    std::int64_t bytes() const {
      return 16 * d_rows.size() + 8 * d_tasks.size() + 4 * (d_level_ptr.size() + d_column.size() + d_from.size());
    }
  };

  std::int32_t n = 0, systems = 0;
  std::int64_t nnz_a = 0, nnz_lu = 0;
  int lanes = 1;
  unsigned threads = 64, blocks = 1;
  std::size_t shared_bytes = 0;  // 0: y is in device memory
  Side lower, upper;
  simt::DeviceBuffer<std::int64_t> d_row_ptr;
  simt::DeviceBuffer<std::int32_t> d_column, d_from_a, d_longs;
  simt::DeviceBuffer<std::int32_t> d_p, d_q, d_which;
  simt::DeviceBuffer<double> d_r, d_c, d_work;
  simt::DeviceBuffer<std::int32_t> d_row_of_a, d_column_of_a;  // (nnz(A)) in A's order
  simt::DeviceBuffer<double> d_r_of_a, d_c_of_a;               // (n) in A's order
  simt::DeviceBuffer<std::uint32_t> d_in_u;                    // (nnz(L+U)) bits
  simt::DeviceBuffer<SizeBits> d_sizes;                        // (systems)
  simt::DeviceBuffer<T> d_y;
  simt::DeviceBuffer<Refinement> d_outcome;

  /// Lanes for the entries of an average level, four each, but never so few that the blocks that fit, each with its y,
  /// leave a multiprocessor half empty.
  Status choose_shape(std::int64_t levels) {
    const auto properties = simt::device_properties();
    if (!properties.ok()) return properties.status();
    const std::size_t room = properties->shared_bytes_per_block - 1024;  // of_warp, and what CUDA keeps to itself
    const std::size_t wanted = static_cast<std::size_t>(n) * sizeof(T);
    shared_bytes = wanted <= room ? wanted : 0;
    const auto fitting = static_cast<std::int64_t>(shared_bytes > 0 ? room / shared_bytes : 16);
    const std::int64_t for_level = (nnz_lu + n) / std::max<std::int64_t>(levels, 1) / 4;
    const std::int64_t least = 1024 / std::clamp<std::int64_t>(fitting, 1, 16);
    threads = static_cast<unsigned>(std::bit_ceil(
        static_cast<std::uint64_t>(std::clamp<std::int64_t>(std::max(for_level, least), 64, most_threads))));
    const auto resident =
        simt::max_resident_blocks_per_sm(solve_batch_kernel<T>, static_cast<int>(threads), shared_bytes);
    if (!resident.ok()) return resident.status();
    blocks = static_cast<unsigned>(std::min<std::int64_t>(systems, std::int64_t(*resident) * properties->sm_count));
    return {};
  }

  Status create_rows(const CscPattern& a, simt::Stream& stream) {
    std::vector<std::int64_t> row_ptr(n + 1, 0);
    std::vector<std::int32_t> column(nnz_a), from(nnz_a);
    for (const std::int32_t i : a.row_idx) ++row_ptr[i + 1];
    for (std::int32_t i = 0; i < n; ++i) row_ptr[i + 1] += row_ptr[i];
    std::vector<std::int64_t> next(row_ptr.begin(), row_ptr.end() - 1);
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
        const std::int64_t to = next[a.row_idx[k]]++;
        column[to] = j;
        from[to] = static_cast<std::int32_t>(k);
      }
    const Lines lines(row_ptr);
    lanes = lines.lanes;
    LULAB_RETURN_IF_ERROR(simt::make(d_row_ptr, row_ptr, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_column, column, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_from_a, from, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_longs, lines.longs, stream));
    return stream.wait();  // the vectors are locals
  }

  Status create_sizes(const Analysis& analysis, simt::Stream& stream) {
    const FilledPattern& f = analysis.filled;
    std::vector<std::int32_t> column(nnz_a);
    std::vector<std::uint32_t> in_u((nnz_lu + 31) / 32, 0);
    for (std::int32_t j = 0; j < n; ++j) {
      std::fill(column.begin() + analysis.a.col_ptr[j], column.begin() + analysis.a.col_ptr[j + 1], j);
      for (std::int64_t k = f.col_ptr[j]; k <= f.diag[j]; ++k) in_u[k / 32] |= 1u << k % 32;
    }
    LULAB_RETURN_IF_ERROR(simt::make(d_row_of_a, analysis.a.row_idx, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_column_of_a, column, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_r_of_a, analysis.plan.r, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_c_of_a, analysis.plan.c, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_in_u, in_u, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_sizes, systems));
    return stream.wait();  // the vectors are locals
  }

  Status create(const Analysis& analysis, simt::Stream& stream) {
    const Plan& plan = analysis.plan;
    const Triangle l = make_triangle(analysis.filled, TriangleSide::lower);
    const Triangle u = make_triangle(analysis.filled, TriangleSide::upper);
    LULAB_RETURN_IF_ERROR(choose_shape(l.n_levels() + u.n_levels()));
    LULAB_RETURN_IF_ERROR(lower.create(l, static_cast<int>(threads / 32), stream));
    LULAB_RETURN_IF_ERROR(upper.create(u, static_cast<int>(threads / 32), stream));
    LULAB_RETURN_IF_ERROR(create_rows(analysis.a, stream));
    LULAB_RETURN_IF_ERROR(create_sizes(analysis, stream));
    std::vector<double> r(n), c(n);
    for (std::int32_t i = 0; i < n; ++i) {
      r[i] = plan.r[plan.p[i]];
      c[i] = plan.c[plan.q[i]];
    }
    LULAB_RETURN_IF_ERROR(simt::make(d_p, plan.p, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_q, plan.q, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_r, r, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_c, c, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_work, 2 * std::int64_t(n) * blocks));
    if (shared_bytes == 0) LULAB_RETURN_IF_ERROR(simt::make(d_y, std::int64_t(n) * blocks));
    LULAB_RETURN_IF_ERROR(simt::make(d_which, systems));
    LULAB_RETURN_IF_ERROR(simt::make(d_outcome, systems));
    return stream.wait();
  }

  BatchView<T> view() const {
    return {n,
            nnz_a,
            nnz_lu,
            lower.view(true),
            upper.view(false),
            {d_row_ptr.data(), d_column.data(), d_from_a.data(), lanes, d_longs.data(),
             static_cast<std::int32_t>(d_longs.size())},
            d_p.data(),
            d_r.data(),
            d_q.data(),
            d_c.data(),
            d_work.data(),
            d_y.data()};
  }
};

template <class T>
DeviceBatch<T>::DeviceBatch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
template <class T>
DeviceBatch<T>::~DeviceBatch() = default;

template <class T>
Result<std::unique_ptr<DeviceBatch<T>>> DeviceBatch<T>::create(const Analysis& analysis, std::int32_t systems,
                                                               simt::Stream& stream) try {
  auto impl = std::make_unique<Impl>();
  impl->n = analysis.filled.n;
  impl->systems = systems;
  impl->nnz_a = analysis.a.nnz();
  impl->nnz_lu = analysis.filled.nnz();
  if (std::max(impl->nnz_a, impl->nnz_lu) > std::numeric_limits<std::int32_t>::max())
    return Status::error(
        StatusCode::not_implemented,
        fmt::format("systems of a batch have at most 2^31 - 1 entries in L and U; these have {}", impl->nnz_lu));
  LULAB_RETURN_IF_ERROR(impl->create(analysis, stream));
  return std::unique_ptr<DeviceBatch>(new DeviceBatch(std::move(impl)));
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory to prepare the solves of a batch");
}

template <class T>
Result<std::vector<SystemSizes>> DeviceBatch<T>::sizes(const double* d_a, const T* d_lu, simt::Stream& stream) {
  Impl& s = *impl_;
  const SizesView v{s.nnz_a,           s.nnz_lu,          s.d_row_of_a.data(), s.d_column_of_a.data(),
                    s.d_r_of_a.data(), s.d_c_of_a.data(), s.d_in_u.data()};
  constexpr std::int64_t of_thread = 16;  // entries, so that a few large systems occupy the device, too
  const std::int64_t parts = std::clamp<std::int64_t>((s.nnz_a + s.nnz_lu) / (of_thread * s.threads), 1, 1024);
  const dim3 grid(static_cast<unsigned>(parts), static_cast<unsigned>(std::min(s.systems, 65535)));
  LULAB_RETURN_IF_ERROR(s.d_sizes.fill_bytes(0, stream));
  LULAB_RETURN_IF_ERROR(simt::launch(sizes_kernel<T>, {.grid = grid, .block = s.threads}, stream, v, s.systems, d_a,
                                     d_lu, s.d_sizes.data()));
  std::vector<SizeBits> bits(s.systems);
  LULAB_RETURN_IF_ERROR(s.d_sizes.download(bits, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  std::vector<SystemSizes> all;
  for (const SizeBits& b : bits)
    all.push_back({std::bit_cast<double>(b.a), std::bit_cast<double>(b.scaled_a), std::bit_cast<double>(b.l),
                   std::bit_cast<double>(b.u)});
  return all;
}

template <class T>
Result<std::vector<Refinement>> DeviceBatch<T>::solve(const double* d_a, const T* d_lu,
                                                      std::span<const std::int32_t> which, const double* d_b,
                                                      double* d_x, simt::Stream& stream, int max_iterations) {
  Impl& s = *impl_;
  std::vector<Refinement> outcome(which.size());
  if (which.empty()) return outcome;
  LULAB_RETURN_IF_ERROR(s.d_which.upload(which, stream));
  const auto count = static_cast<std::int32_t>(which.size());
  const unsigned grid = std::min(s.blocks, static_cast<unsigned>(count));
  LULAB_RETURN_IF_ERROR(
      simt::launch(solve_batch_kernel<T>, {.grid = grid, .block = s.threads, .shared_bytes = s.shared_bytes}, stream,
                   s.view(), s.d_which.data(), count, d_a, d_lu, d_b, d_x, s.d_outcome.data(), max_iterations));
  LULAB_RETURN_IF_ERROR(s.d_outcome.download(outcome, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return outcome;
}

template <class T>
std::int64_t DeviceBatch<T>::bytes() const {
  const Impl& s = *impl_;
  return s.lower.bytes() + s.upper.bytes() +
         8 * (s.d_row_ptr.size() + s.d_r.size() + s.d_c.size() + s.d_work.size() + s.d_r_of_a.size() +
              s.d_c_of_a.size()) +
         4 * (s.d_column.size() + s.d_from_a.size() + s.d_longs.size() + s.d_p.size() + s.d_q.size() +
              s.d_which.size() + s.d_row_of_a.size() + s.d_column_of_a.size() + s.d_in_u.size()) +
         std::int64_t(sizeof(T)) * s.d_y.size() + std::int64_t(sizeof(Refinement)) * s.d_outcome.size() +
         std::int64_t(sizeof(SizeBits)) * s.d_sizes.size();
}

template class DeviceBatch<float>;
template class DeviceBatch<double>;

}  // namespace lulab
