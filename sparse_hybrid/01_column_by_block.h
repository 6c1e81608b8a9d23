#pragma once
// 01 to 04: a block divides a column by its pivot and updates the columns to its right through a dense copy of it.
//                                                                       Peng & Tan 2020, Algorithms 2 and 5, eq. 5
//   As(i,j) /= As(j,j);  x(i) = As(i,j)      i > j: one block; x is a dense column of length n, zero elsewhere
//   for k > j with As(j,k) != 0, in parallel
//     for i > j with As(i,k) != 0            lanes of a warp or threads of a block
//       As(i,k) -= x(i) · As(j,k)            atomic: other columns of the level update column k, too
//
// The entries of column k below row j, which (j,k) heads, are the subcolumn of the paper. With x, As(i,j) for an entry
// (i,k) is one load; the price is to pass over all of the subcolumn.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/device_backend.h"
#include "core/simt/device_tools.h"
#include "sparse_hybrid/options.h"
#include "symbolic/dependencies.h"
#include "symbolic/rows_of_u.h"

namespace lulab::sparse_hybrid {

inline constexpr int largest_block = 1024;  // threads

/// U by rows, in device memory: for ptr[j] <= q < ptr[j + 1] entry (j, cols[q]), above the diagonal, lies at pos[q] in
/// As.
struct RowsOfUView {
  const std::int64_t* ptr;   // (n + 1)
  const std::int32_t* cols;  // (nnz_u - n)
  const std::int64_t* pos;   // (nnz_u - n)
};

/// Dense column number `index` of work: (index + 1 or more, n). index · n can exceed 32 bits.
template <class T>
__host__ __device__ __forceinline__ T* dense_column(T* work, std::int64_t index, std::int64_t n) {
  return work + index * n;
}

/// The calling block divides L(:,j) by its pivot and copies it to x. All of column j is final now: a zero pivot or an
/// entry
/// that is not finite goes to failed_column.   No barrier at its end.
///
/// Shapes    f: As in CSC: col_ptr (n + 1), row_idx and values (nnz), diag (n) the position of entry (j,j).   x: (n)
/// Equivalent to   for (p = diag[j] + 1; p < col_ptr[j + 1]; ++p) x[row_idx[p]] = values[p] /= values[diag[j]];
template <class T>
__device__ __forceinline__ void divide_column(const DeviceFactorsView<T>& f, std::int32_t j, T* x) {
  const std::int64_t diag = f.diag[j];
  const T pivot = f.values[diag];
  bool sound = pivot != T(0);
  for (std::int64_t p = f.col_ptr[j] + threadIdx.x; p < f.col_ptr[j + 1]; p += blockDim.x) {
    T value = f.values[p];
    if (p > diag) {
      value = value / pivot;
      f.values[p] = value;
      x[f.row_idx[p]] = value;
    }
    sound = sound && simt::is_finite(value);
  }
  // RACE: blocks of this launch lower failed_column; the atomic orders them, the end of the launch publishes it
  if (!sound) atomicMin(f.failed_column, j);
}

/// x = 0 where divide_column(f, j, x) wrote.   Called by a block.
template <class T>
__device__ __forceinline__ void clear_column(const DeviceFactorsView<T>& f, std::int32_t j, T* x) {
  for (std::int64_t p = f.diag[j] + 1 + threadIdx.x; p < f.col_ptr[j + 1]; p += blockDim.x) x[f.row_idx[p]] = T(0);
}

/// Entries thread, thread + threads, ... of the subcolumn: As(i,k) -= x(i) · As(j,k), where entry (j,k) lies at `jk`.
/// Equivalent to   for (p = jk + 1; p < col_ptr[k + 1]; ++p) values[p] -= x[row_idx[p]] * values[jk];
/// but rows that are not in L(:,j) are left alone, so that a NaN or infinity in column j or at (j,k) does not spread to
/// them.
template <class T>
__device__ __forceinline__ void update_subcolumn(const DeviceFactorsView<T>& f, std::int32_t k, std::int64_t jk,
                                                 const T* x, int thread, int threads) {
  const T u = f.values[jk];
  for (std::int64_t p = jk + 1 + thread; p < f.col_ptr[k + 1]; p += threads) {
    const T l = x[f.row_idx[p]];
    // RACE: columns of this level add to the same entry; the atomic orders them, the end of the launch publishes it
    if (l != T(0)) atomicAdd(&f.values[p], -l * u);
  }
}

/// Each block takes columns of a level in turn, each of its warps subcolumns: small-block and large-block mode.
/// grid: any   block: a multiple of 32, at most largest_block   shared: none
/// cols: (size) columns of one level   work: (grid, n) a dense column for each block, zero on entry and on exit
template <class T>
__global__ void __launch_bounds__(largest_block)
    eliminate_columns_kernel(DeviceFactorsView<T> f, RowsOfUView u, const std::int32_t* cols, std::int64_t size,
                             T* work) {
  T* const x = dense_column(work, blockIdx.x, f.n);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  for (std::int64_t c = blockIdx.x; c < size; c += gridDim.x) {
    const std::int32_t j = cols[c];
    simt::note_column(j);
    divide_column(f, j, x);
    __syncthreads();  // RACE: all wrote x(i), all read it
    // where L(:,j) is empty nothing is subtracted, and As(j,k) is not read: other columns of the level may write it
    const bool updates = f.diag[j] + 1 < f.col_ptr[j + 1];
    for (std::int64_t q = u.ptr[j] + warp; updates && q < u.ptr[j + 1]; q += warps)
      update_subcolumn(f, u.cols[q], u.pos[q], x, lane, 32);
    __syncthreads();  // RACE: all read x(i), which is cleared now
    clear_column(f, j, x);
    __syncthreads();  // RACE: one thread clears x(i), another writes it for the next column
  }
}

/// The host's side of 01 to 04: levels, U by rows and dense columns in device memory.
template <class T>
class ColumnByBlockBackend : public DeviceBackend<T> {
 public:
  explicit ColumnByBlockBackend(const FactorOptions& options) : options_(options) {}

 protected:
  /// Uploads what every launch reads, and makes as many dense columns as the option dense_columns says: no more than
  /// `resident`, than the widest level has columns, and than fit into a quarter of the device's memory (eq. 5: N =
  /// memory allowed / (n · size of a scalar)).
  ///
  /// Errors    out_of_memory, device_error.
  Status make_work(Schedule schedule, std::int64_t resident) {
    LULAB_ASSIGN_OR_RETURN(auto device, simt::device_properties());
    schedule_ = std::move(schedule);
    const std::int64_t n = this->analysis().filled.n;
    const auto affordable =
        static_cast<std::int64_t>(device.memory_bytes / 4 / (std::max<std::int64_t>(n, 1) * sizeof(T)));
    const auto given = static_cast<std::int64_t>(options_.get(dense_columns));
    const std::int64_t asked = given > 0 ? given : affordable;
    std::int64_t widest = 0;
    for (std::int32_t l = 0; l < schedule_.n_levels(); ++l)
      widest = std::max(widest, schedule_.level_ptr[l + 1] - schedule_.level_ptr[l]);
    dense_columns_ = std::max<std::int64_t>(1, std::min({resident, widest, asked, affordable}));

    RowsOfU u = rows_of_u(this->analysis().filled);
    simt::Stream& stream = *this->stream();
    LULAB_RETURN_IF_ERROR(simt::make(d_level_cols_, schedule_.level_cols, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_u_ptr_, u.ptr, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_u_cols_, u.cols, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_u_pos_, u.pos, stream));
    LULAB_RETURN_IF_ERROR(make_dense_columns());
    simt::name_elements(d_work_.data(), d_work_.size(), "x");
    LULAB_RETURN_IF_ERROR(clear_work(stream));
    LULAB_RETURN_IF_ERROR(stream.wait());  // u is a local
    u_ptr_ = std::move(u.ptr);
    return {};
  }

  /// Columns that column j updates.
  std::int64_t n_subcolumns(std::int32_t j) const {
    return has_l(this->analysis().filled, j) ? u_ptr_[j + 1] - u_ptr_[j] : 0;
  }

  /// Enqueues columns first .. first + size - 1 of the schedule, all of one level, with a block of `warps` warps a
  /// column.
  Status eliminate_columns(const DeviceFactorsView<T>& f, std::int64_t first, std::int64_t size, int warps,
                           simt::Stream& stream) {
    return simt::launch(
        eliminate_columns_kernel<T>,
        {.grid = static_cast<unsigned>(std::min(size, dense_columns_)), .block = 32 * static_cast<unsigned>(warps)},
        stream, f, rows_of_u_view(), d_level_cols_.data() + first, size, d_work_.data());
  }

  /// Sets all dense columns to zero, after launches that may not have ended well.
  Status clear_work(simt::Stream& stream) { return d_work_.fill_bytes(0, stream); }

  std::int64_t work_bytes() const override {
    return std::int64_t(sizeof(T)) * d_work_.size() + 4 * (d_level_cols_.size() + d_u_cols_.size()) +
           8 * (d_u_ptr_.size() + d_u_pos_.size());
  }

  const FactorOptions& options() const { return options_; }
  const Schedule& schedule() const { return schedule_; }
  std::int64_t dense_columns_in_memory() const { return dense_columns_; }
  T* work() const { return d_work_.data(); }
  RowsOfUView rows_of_u_view() const { return {d_u_ptr_.data(), d_u_cols_.data(), d_u_pos_.data()}; }

 private:
  /// Fewer columns than asked for where the device has no room.
  Status make_dense_columns() {
    d_work_ = {};  // frees what an earlier pattern needed
    for (;; dense_columns_ /= 2) {
      const Status made = simt::make(d_work_, dense_columns_ * this->analysis().filled.n);
      if (made.code != StatusCode::out_of_memory || dense_columns_ == 1) return made;
    }
  }

  const FactorOptions options_;
  Schedule schedule_;
  std::vector<std::int64_t> u_ptr_;  // (n + 1) RowsOfU::ptr
  std::int64_t dense_columns_ = 1;
  simt::DeviceBuffer<std::int32_t> d_level_cols_, d_u_cols_;  // (n), (nnz_u - n)
  simt::DeviceBuffer<std::int64_t> d_u_ptr_, d_u_pos_;        // (n + 1), (nnz_u - n)
  simt::DeviceBuffer<T> d_work_;                              // (dense_columns, n)
};

}  // namespace lulab::sparse_hybrid
