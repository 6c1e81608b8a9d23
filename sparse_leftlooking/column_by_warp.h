#pragma once
// The host's side of 01, 02 and 03: dense columns for the warps, and launches over parts of the schedule.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/device_backend.h"
#include "sparse_leftlooking/01_warp_per_column_kernel.h"
#include "sparse_leftlooking/options.h"
#include "symbolic/levels.h"

namespace lulab::sparse_leftlooking {

constexpr int max_blocks_per_sm = 16;

/// A DeviceBackend with a dense column for each warp.
template <class T>
class ColumnByWarpBackend : public DeviceBackend<T> {
 public:
  explicit ColumnByWarpBackend(const FactorOptions& options)
      : DeviceBackend<T>({.order = options.get(shuffle_nonzeros) != 0 ? RowOrder::shuffled : RowOrder::sorted}),
        blocks_per_sm_(options.get(warps_per_sm) > 0
                           ? std::max(1, static_cast<int>(options.get(warps_per_sm)) / warps_per_block)
                           : max_blocks_per_sm) {}

 protected:
  void find_levels() { schedule_ = levels_left_looking(this->analysis().filled); }
  const Schedule& schedule() const { return schedule_; }

  /// Allocates dense columns for as many blocks as can be resident, have work when `columns` are eliminated at once,
  /// and fit into a quarter of the device's memory. Uploads the schedule's columns.
  ///
  /// Requires  find_levels().
  /// Errors    out_of_memory, device_error.
  Status make_work(int resident_blocks_per_sm, std::int64_t columns) {
    LULAB_ASSIGN_OR_RETURN(auto device, simt::device_properties());
    const std::int64_t n = this->analysis().filled.n;
    const std::int64_t block_bytes = warps_per_block * std::max<std::int64_t>(n, 1) * std::int64_t(sizeof(T));
    const std::int64_t resident = std::int64_t(device.sm_count) * std::min(resident_blocks_per_sm, blocks_per_sm_);
    const std::int64_t affordable = std::int64_t(device.memory_bytes / 4) / block_bytes;
    max_blocks_ = std::max<std::int64_t>(1, std::min({resident, simt::ceil_div(columns, warps_per_block), affordable}));

    LULAB_ASSIGN_OR_RETURN(d_work_, simt::DeviceBuffer<T>::create(max_blocks_ * warps_per_block * n));
    simt::name_elements(d_work_.data(), d_work_.size(), "x");
    LULAB_ASSIGN_OR_RETURN(d_level_cols_,
                           simt::DeviceBuffer<std::int32_t>::create(schedule_.level_cols, *this->stream()));
    return {};
  }

  /// Enqueues a kernel that eliminates level_cols[first .. first + size).
  template <class... P, class... A>
  Status eliminate(void (*kernel)(P...), const DeviceFactorsView<T>& f, std::int64_t first, std::int64_t size,
                   simt::Stream& stream, A&&... args) {
    if (size == 0) return {};
    const auto grid = static_cast<unsigned>(std::min(max_blocks_, simt::ceil_div(size, warps_per_block)));
    return simt::launch(kernel, {.grid = grid, .block = 32 * warps_per_block}, stream, f, d_level_cols_.data() + first,
                        size, d_work_.data(), std::forward<A>(args)...);
  }

  std::int64_t work_bytes() const override {
    return std::int64_t(sizeof(T)) * d_work_.size() + std::int64_t(sizeof(std::int32_t)) * d_level_cols_.size();
  }

 private:
  const int blocks_per_sm_;  // at most
  Schedule schedule_;
  simt::DeviceBuffer<std::int32_t> d_level_cols_;  // (n) the schedule's
  simt::DeviceBuffer<T> d_work_;                   // (max_blocks_ * warps_per_block, n)
  std::int64_t max_blocks_ = 1;
};

}  // namespace lulab::sparse_leftlooking
