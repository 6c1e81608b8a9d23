#pragma once
// GLU3.0: the kernel mode of each level by its size.                              Peng & Tan 2020, section III-B2, Fig. 11

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sparse_hybrid/column_by_block.h"
#include "sparse_hybrid/kernel_modes.h"
#include "symbolic/dependencies.h"

namespace lulab::sparse_hybrid {

inline constexpr int subcolumn_threads = 256;  // of a block that has a subcolumn

/// A column for each stream; -1: none.
struct StreamColumns {
  std::array<std::int32_t, stream_count> column;
};

/// One block: x = 0 where the column before it in this stream was, then column j.   before: -1 when there was none
template <class T>
__global__ void __launch_bounds__(largest_block)
    divide_column_kernel(DeviceFactorsView<T> f, std::int32_t before, std::int32_t j, T* x) {
  if (before >= 0) clear_column(f, before, x);
  __syncthreads();  // RACE: one thread clears x(i), another writes it
  divide_column(f, j, x);
}

/// A block a subcolumn of column j, which divide_column_kernel has copied to x.
template <class T>
__global__ void update_subcolumns_kernel(DeviceFactorsView<T> f, RowsOfUView u, std::int32_t j, const T* x) {
  const std::int64_t q = u.ptr[j] + blockIdx.x;
  update_subcolumn(f, u.cols[q], u.pos[q], x, threadIdx.x, blockDim.x);
}

/// A block a stream.
template <class T>
__global__ void clear_columns_kernel(DeviceFactorsView<T> f, StreamColumns last, T* work) {
  const std::int32_t j = last.column[blockIdx.x];
  if (j >= 0) clear_column(f, j, dense_column(work, blockIdx.x, f.n));
}

template <class T>
class AdaptiveModesFactorizer : public ColumnByBlockFactorizer<T> {
 public:
  using ColumnByBlockFactorizer<T>::ColumnByBlockFactorizer;

 protected:
  Status prepare_modes() {
    auto device = simt::device_properties();
    if (!device.ok()) return device.status();
    limits_ = mode_limits(*device, this->options());
    auto blocks_per_sm = simt::max_resident_blocks_per_sm(eliminate_columns_kernel<T>, 32 * smallest_block_warps);
    if (!blocks_per_sm.ok()) return blocks_per_sm.status();
    LULAB_RETURN_IF_ERROR(this->make_work(levels_right_looking(this->analysis().filled, DependencyRule::relaxed),
                                          std::int64_t(device->sm_count) * *blocks_per_sm));
    // A stream works on a dense column of its own: no more streams than there are.
    streams_ = static_cast<int>(std::min<std::int64_t>(stream_count, this->dense_columns()));
    side_streams_.clear();
    complete_ = true;
    for (int s = 1; s < streams_ && limits_.stream_columns > 1; ++s) {
      auto stream = simt::Stream::create();
      if (!stream.ok()) return stream.status();
      side_streams_.push_back(std::move(*stream));
    }
    return {};
  }

  /// Enqueues all levels.
  Status enqueue_levels(const DeviceFactorsView<T>& f, simt::Stream& stream) {
    if (!complete_) {  // side streams may still be at work, dense columns not zero
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
  /// Stream mode: columns deal themselves to the streams, of which `main` is the first; it waits for the others.
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

  /// Leaves the streams' dense columns zero, as the other modes need them.
  Status clear_streams(const DeviceFactorsView<T>& f, simt::Stream& stream) {
    if (std::ranges::all_of(last_.column, [](std::int32_t j) { return j < 0; })) return {};
    LULAB_RETURN_IF_ERROR(simt::launch(clear_columns_kernel<T>, {.grid = static_cast<unsigned>(streams_), .block = 256},
                                       stream, f, last_, this->work()));
    last_.column.fill(-1);
    return {};
  }

  ModeLimits limits_;
  int streams_ = 1;  // with the rung's own
  std::vector<simt::Stream> side_streams_;
  bool complete_ = true;  // the last enqueue_levels() was
  StreamColumns last_{};  // whose entries are in the streams' dense columns
};

}  // namespace lulab::sparse_hybrid
