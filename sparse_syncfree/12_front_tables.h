#pragma once
// A plan of 12_multifrontal in device memory, with the memory that its tiles work in. Host code.

#include <cstdint>
#include <utility>

#include "sparse_syncfree/12_front_launch.h"

namespace lulab::sparse_syncfree {

template <class T>
class FrontTables {
 public:
  /// Enqueues the copies; the plan must outlive them.   columns: of the plan's fronts
  /// Errors    out_of_memory, device_error.
  Status upload(const FrontPlan& plan, DeviceFrontColumns columns, simt::Stream& stream) {
    columns_ = std::move(columns);
    LULAB_RETURN_IF_ERROR(simt::make(d_fronts_, plan.fronts, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_tiles_, plan.tiles, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_inputs_, plan.inputs, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_places_, plan.places, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_parts_, plan.n_parts));
    LULAB_RETURN_IF_ERROR(simt::make(d_left_, plan.n_left));
    LULAB_RETURN_IF_ERROR(simt::make(d_flags_, plan.n_flags));
    simt::name_elements(d_parts_.data(), plan.n_parts, "parts");
    simt::name_elements(d_left_.data(), plan.n_left, "left");
    simt::name_elements(d_flags_.data(), plan.n_flags, "flags");
    view_ = {.fronts = d_fronts_.data(),
             .tiles = d_tiles_.data(),
             .inputs = d_inputs_.data(),
             .places = d_places_.data(),
             .columns = columns_->data(),
             .parts = d_parts_.data(),
             .left = d_left_.data(),
             .flags = d_flags_.data(),
             .n_tiles = static_cast<std::int32_t>(plan.tiles.size())};
    return {};
  }
  /// Enqueues what comes before a launch.
  Status clear(simt::Stream& stream) { return d_flags_.fill_bytes(0, stream); }
  /// For tests: what fronts leave is NaN until it is written.
  Status poison(simt::Stream& stream) { return d_left_.fill_bytes(0xff, stream); }
  const FrontView<T>& view() const { return view_; }

 private:
  simt::DeviceBuffer<FrontShape> d_fronts_;
  simt::DeviceBuffer<FrontTile> d_tiles_;
  simt::DeviceBuffer<FrontInput> d_inputs_;
  simt::DeviceBuffer<std::uint8_t> d_places_;
  DeviceFrontColumns columns_;
  simt::DeviceBuffer<T> d_parts_, d_left_;
  simt::DeviceBuffer<std::int32_t> d_flags_;
  FrontView<T> view_ = {};
};

}  // namespace lulab::sparse_syncfree
