// Blocked right-looking LU (LAPACK getrf). After a panel of `width` columns is factored, all its steps are applied to
// the rest of the matrix at once: each value there is read and written n/width times instead of n times.
//
//   A = [ A11 A12 ]   [A11; A21] = P·[L11; L21]·U11     factor_panel_by_reduction(), then swap_rows() left and right
//       [ A21 A22 ]   U12 = L11^-1 · A12                solve_unit_lower_kernel
//                     A22 -= L21 · U12                  subtract_product_kernel: nearly all of the arithmetic

#include <algorithm>

#include "core/simt/device_tools.h"
#include "dense/03_reduction_panel.h"
#include "dense/04_row_swaps.h"
#include "dense/dense_backend.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

constexpr int max_width = 64;

// --- U12 = L11^-1 · A12 ----------------------------------------------------------------------------------------------

constexpr int solve_threads = 256;
constexpr int solve_columns = 4;  // of a warp at once: their chains are independent, and L(:,k) is read once for all
constexpr int columns_per_solve_block = solve_threads / 32 * solve_columns;

/// U12 = L11^-1 · A12. A lane holds rows `lane` and `lane + 32` of the warp's columns.
/// Equivalent to   for each column j right of the panel, for k, for i > k in the panel:  A(i,j) -= L11(i,k) · A(k,j)
/// grid: columns right of the panel / columns_per_solve_block, rounded up   block: solve_threads   shared: L11
template <class T>
__global__ void solve_unit_lower_kernel(DeviceDense<T> a, std::int32_t first, std::int32_t width) {
  LULAB_SHARED_2D(T, l, max_width, max_width);  // l[k][i] = L11(i,k)
  for (int e = threadIdx.x; e < width * max_width; e += blockDim.x) {
    const int k = e / max_width, i = e % max_width;
    l[k][i] = i < width ? a.a[first + i + (first + k) * a.ld] : T(0);
  }
  __syncthreads();  // RACE: a thread wrote l(k,i); every warp reads all of L11

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::int64_t j = first + width + std::int64_t(blockIdx.x) * columns_per_solve_block + warp * solve_columns;
  T x[solve_columns][2];
#pragma unroll
  for (int c = 0; c < solve_columns; ++c)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = lane + 32 * half;
      x[c][half] = i < width && j + c < a.n ? a.a[first + i + (j + c) * a.ld] : T(0);
    }

#pragma unroll
  for (int half = 0; half < 2; ++half)
    for (int k = 32 * half; k < width && k < 32 * half + 32; ++k)
#pragma unroll
      for (int c = 0; c < solve_columns; ++c) {
        const T u = __shfl_sync(0xffffffffu, x[c][half], k % 32);  // U(k,j): every k' < k has been subtracted
        if (lane > k) x[c][0] -= l[k][lane] * u;                   // x(i) -= L(i,k) · U(k,j), i > k
        if (lane + 32 > k) x[c][1] -= l[k][lane + 32] * u;
      }

#pragma unroll
  for (int c = 0; c < solve_columns; ++c)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = lane + 32 * half;
      if (i < width && j + c < a.n) a.a[first + i + (j + c) * a.ld] = x[c][half];
    }
}

// --- A22 -= L21 · U12 ------------------------------------------------------------------------------------------------

constexpr int tile = 64;               // a block subtracts from tile x tile values of A22
constexpr int slice = 16;              // steps k whose parts of L21 and U12 are in shared memory together
constexpr int rows_per_thread = 4;     // a thread keeps its 4 x 8 sums in registers: 12 loads from shared memory for 32
constexpr int columns_per_thread = 8;  // multiply-adds
constexpr int threads_down = tile / rows_per_thread;
constexpr int product_threads = threads_down * (tile / columns_per_thread);

/// A thread loads this from shared memory in one or two instructions.
template <class T>
struct alignas(16) Four {
  T v[4];
};

/// A22 -= L21 · U12, a block for each tile x tile values.
/// Equivalent to   for each i, j behind the panel, for k in it, ascending:  sum += A(i,k) · A(k,j);  A(i,j) -= sum
/// grid: (row tiles, column tiles) of A22   block: product_threads   shared: a slice of L21 and one of U12
template <class T>
__global__ void __launch_bounds__(product_threads)
    subtract_product_kernel(DeviceDense<T> a, std::int32_t first, std::int32_t width) {
  LULAB_SHARED_2D(Four<T>, l, slice, tile / 4);  // L(i0 + r, k + s) at l[s][r / 4].v[r % 4]
  LULAB_SHARED_2D(Four<T>, u, slice,
                  tile / 4 + 1);  // U(k + s, j0 + c) at u[s][c / 4].v[c % 4]; + 1: other banks for each s
  const int down = threadIdx.x % threads_down, right = threadIdx.x / threads_down;
  const std::int32_t end = first + width;
  const std::int64_t i0 = end + std::int64_t(blockIdx.x) * tile, j0 = end + std::int64_t(blockIdx.y) * tile;

  T sum[columns_per_thread][rows_per_thread] = {};
  for (std::int32_t k = first; k < end; k += slice) {
    for (int e = threadIdx.x; e < slice * tile; e += product_threads) {  // neighbours: rows of one column
      const int r = e % tile, s = e / tile;
      l[s][r / 4].v[r % 4] = i0 + r < a.n && k + s < end ? a.a[i0 + r + (k + s) * a.ld] : T(0);
    }
    for (int e = threadIdx.x; e < slice * tile; e += product_threads) {
      const int s = e % slice, c = e / slice;
      u[s][c / 4].v[c % 4] = j0 + c < a.n && k + s < end ? a.a[k + s + (j0 + c) * a.ld] : T(0);
    }
    __syncthreads();  // RACE: a thread wrote one value of the slice; all threads of its row and column read it
#pragma unroll
    for (int s = 0; s < slice; ++s) {
      const Four<T> l4 = l[s][down];
      const Four<T> u4[2] = {u[s][2 * right], u[s][2 * right + 1]};
#pragma unroll
      for (int c = 0; c < columns_per_thread; ++c)
#pragma unroll
        for (int r = 0; r < rows_per_thread; ++r) sum[c][r] += l4.v[r] * u4[c / 4].v[c % 4];  // L(i,k) · U(k,j)
    }
    __syncthreads();  // RACE: threads read the slice; the next one overwrites it
  }

#pragma unroll
  for (int c = 0; c < columns_per_thread; ++c)
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
      const std::int64_t i = i0 + rows_per_thread * down + r, j = j0 + columns_per_thread * right + c;
      if (i < a.n && j < a.n) a.a[i + j * a.ld] -= sum[c][r];
    }
}

// --- the rung --------------------------------------------------------------------------------------------------------

template <class T>
class Blocked final : public DenseBackend<T> {
 public:
  Blocked() : DenseBackend<T>(Pivoting::partial) {}
  std::int64_t work_bytes() const override { return work_.bytes(); }

 protected:
  Status prepare_rung(std::int32_t, simt::Stream& stream) override {
    stream_ = &stream;
    LULAB_ASSIGN_OR_RETURN(work_, ReductionWork<T>::create(stream));
    return {};
  }

  Status launch(const DeviceDense<T>& a) override {
    const std::int32_t width = a.n <= 2 * max_width ? max_width / 2 : max_width;
    for (std::int32_t first = 0; first < a.n; first += width) {
      const std::int32_t end = std::min(first + width, a.n);
      LULAB_RETURN_IF_ERROR(factor_panel_by_reduction(a, first, end, work_, *stream_));
      LULAB_RETURN_IF_ERROR(swap_rows(a, first, end, 0, first, *stream_));
      LULAB_RETURN_IF_ERROR(swap_rows(a, first, end, end, a.n, *stream_));
      if (end == a.n) break;
      LULAB_RETURN_IF_ERROR(
          simt::launch(solve_unit_lower_kernel<T>,
                       {.grid = simt::blocks_for(a.n - end, columns_per_solve_block), .block = solve_threads}, *stream_,
                       a, first, width));
      const unsigned tiles = simt::blocks_for(a.n - end, tile);
      LULAB_RETURN_IF_ERROR(simt::launch(subtract_product_kernel<T>,
                                         {.grid = dim3(tiles, tiles), .block = product_threads}, *stream_, a, first,
                                         width));
    }
    return {};
  }

 private:
  ReductionWork<T> work_;
  simt::Stream* stream_ = nullptr;
};

}  // namespace

const Rung blocked = rung_of<Blocked>({.id = "dense/04_blocked",
                                       .stage = "dense",
                                       .paper = "LAPACK getrf, right-looking",
                                       .idea = "factor a panel of columns, then update the rest by one matrix product",
                                       .pivoting = Pivoting::partial,
                                       .device = Device::gpu,
                                       .refactors = false,
                                       .exact_pattern = false,
                                       .max_dense_bytes = max_device_dense_bytes()});

}  // namespace lulab::dense
