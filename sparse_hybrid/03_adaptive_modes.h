#pragma once
// GLU3.0: the kernel mode of each level by its size.                              Peng & Tan 2020, section III-B2, Fig.
// 11

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sparse_hybrid/01_column_by_block.h"
#include "sparse_hybrid/03_kernel_modes.h"
#include "symbolic/dependencies.h"

namespace lulab::sparse_hybrid {

inline constexpr int subcolumn_threads = 256;  // of a block that has a subcolumn

/// For each stream the column whose entries are in its dense column x; -1: none, x is zero.
struct StreamColumns {
  std::array<std::int32_t, stream_count> column;
};

/// Stream mode, first launch of a column: clears x where the stream's last column was, then divides column j.
/// grid: 1   block: at most largest_block   shared: none
/// before: the stream's last column, -1: none   x: (n) the stream's dense column
template <class T>
__global__ void __launch_bounds__(largest_block)
    divide_column_kernel(DeviceFactorsView<T> f, std::int32_t before, std::int32_t j, T* x) {
  if (before >= 0) clear_column(f, before, x);
  __syncthreads();  // RACE: one thread clears x(i), another writes it
  divide_column(f, j, x);
}

/// Stream mode, second launch of a column: a block for each column that column j updates.
/// grid: u.ptr[j + 1] - u.ptr[j]   block: subcolumn_threads   shared: none   x: (n) as divide_column_kernel left it
template <class T>
__global__ void update_subcolumns_kernel(DeviceFactorsView<T> f, RowsOfUView u, std::int32_t j, const T* x) {
  const std::int64_t q = u.ptr[j] + blockIdx.x;
  update_subcolumn(f, u.cols[q], u.pos[q], x, threadIdx.x, blockDim.x);
}

/// Clears the streams' dense columns.   grid: streams   block: any   work: (streams, n)
template <class T>
__global__ void clear_columns_kernel(DeviceFactorsView<T> f, StreamColumns last, T* work) {
  const std::int32_t j = last.column[blockIdx.x];
  if (j >= 0) clear_column(f, j, dense_column(work, blockIdx.x, f.n));
}

template <class T>
class AdaptiveModesBackend : public ColumnByBlockBackend<T> {
 public:
  using ColumnByBlockBackend<T>::ColumnByBlockBackend;

 protected:
  Status prepare_modes() {
    LULAB_ASSIGN_OR_RETURN(auto device, simt::device_properties());
    limits_ = mode_limits(device, this->options());
    LULAB_ASSIGN_OR_RETURN(auto blocks_per_sm,
                           simt::max_resident_blocks_per_sm(eliminate_columns_kernel<T>, 32 * smallest_block_warps));
    LULAB_RETURN_IF_ERROR(this->make_work(levels_right_looking(this->analysis().filled, DependencyRule::relaxed),
                                          std::int64_t(device.sm_count) * blocks_per_sm));
    // A stream works on a dense column of its own: no more streams than there are.
    streams_ = static_cast<int>(std::min<std::int64_t>(stream_count, this->dense_columns_in_memory()));
    side_streams_.clear();
    complete_ = true;
    for (int s = 1; s < streams_ && limits_.stream_columns > 1; ++s) {
      LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
      side_streams_.push_back(std::move(stream));
    }
    return {};
  }

  /// Enqueues all levels:
  ///   for each level   stream mode: two launches for each of its columns; else one launch for the level
  Status enqueue_levels(const DeviceFactorsView<T>& f, simt::Stream& stream) {
    if (!complete_) {  // an error ended the last call: side streams may still be busy, dense columns not zero
      for (simt::Stream& side : side_streams_) LULAB_RETURN_IF_ERROR(stream.wait_for(side));
      LULAB_RETURN_IF_ERROR(this->clear_work(stream));
    }
    complete_ = false;
    last_.column.fill(-1);
    for (std::int32_t l = 0; l < this->schedule().n_levels(); ++l) {
      const std::int64_t first = this->schedule().level_ptr[l], size = this->schedule().level_ptr[l + 1] - first;
      const LevelMode mode = mode_of_level(size, limits_);
      if (mode.mode == KernelMode::stream) {
        LULAB_RETURN_IF_ERROR(enqueue_in_streams(f, first, size, 32 * mode.warps, stream));
      } else {
        LULAB_RETURN_IF_ERROR(clear_streams(f, stream));
        LULAB_RETURN_IF_ERROR(this->eliminate_columns(f, first, size, mode.warps, stream));
      }
    }
    LULAB_RETURN_IF_ERROR(clear_streams(f, stream));
    complete_ = true;
    return {};
  }

  /// Kernels that enqueue_levels() launches.
  std::int64_t n_launches() const {
    std::int64_t count = 0;
    for (std::int32_t l = 0; l < this->schedule().n_levels(); ++l) {
      const std::int64_t columns = this->schedule().level_ptr[l + 1] - this->schedule().level_ptr[l];
      count += mode_of_level(columns, limits_).mode == KernelMode::stream ? 2 * columns : 1;
    }
    return count;
  }

 private:
  /// Stream mode: columns go to the streams in turn. The first of them is `main`, which then waits for the others.
  Status enqueue_in_streams(const DeviceFactorsView<T>& f, std::int64_t first, std::int64_t size, int threads,
                            simt::Stream& main) {
    const int used = static_cast<int>(std::min<std::int64_t>(size, 1 + std::ssize(side_streams_)));
    for (int s = 1; s < used; ++s) LULAB_RETURN_IF_ERROR(side_streams_[s - 1].wait_for(main));
    for (std::int64_t c = 0; c < size; ++c) {
      const auto s = static_cast<int>(c % used);
      simt::Stream& stream = s == 0 ? main : side_streams_[s - 1];
      const std::int32_t j = this->schedule().level_cols[first + c];
      T* const x = dense_column(this->work(), s, f.n);
      LULAB_RETURN_IF_ERROR(simt::launch(divide_column_kernel<T>, {.grid = 1, .block = static_cast<unsigned>(threads)},
                                         stream, f, last_.column[s], j, x));
      last_.column[s] = j;
      if (const std::int64_t blocks = this->n_subcolumns(j); blocks > 0)
        LULAB_RETURN_IF_ERROR(simt::launch(update_subcolumns_kernel<T>,
                                           {.grid = static_cast<unsigned>(blocks), .block = subcolumn_threads}, stream,
                                           f, this->rows_of_u_view(), j, x));
    }
    for (int s = 1; s < used; ++s) LULAB_RETURN_IF_ERROR(main.wait_for(side_streams_[s - 1]));
    return {};
  }

  /// Sets the streams' dense columns to zero, as the other modes need them.
  Status clear_streams(const DeviceFactorsView<T>& f, simt::Stream& stream) {
    if (std::ranges::all_of(last_.column, [](std::int32_t j) { return j < 0; })) return {};
    LULAB_RETURN_IF_ERROR(simt::launch(clear_columns_kernel<T>, {.grid = static_cast<unsigned>(streams_), .block = 256},
                                       stream, f, last_, this->work()));
    last_.column.fill(-1);
    return {};
  }

  ModeLimits limits_;
  int streams_ = 1;  // side_streams_ and the rung's own
  std::vector<simt::Stream> side_streams_;
  bool complete_ = true;  // the last enqueue_levels() reached its end
  StreamColumns last_{};
};

}  // namespace lulab::sparse_hybrid
