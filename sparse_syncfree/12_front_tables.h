#pragma once
// A plan of 12_multifrontal in device memory, with the memory that its tiles work in. Host code.

#include <cstdint>
#include <utility>

#include "core/simt/device_tools.h"
#include "sparse_syncfree/12_front_launch.h"

namespace lulab::sparse_syncfree {

constexpr unsigned place_threads = 256, place_bytes = 16;  // that a thread copies
constexpr unsigned threads_an_input = 2 * front_tile / place_bytes;

/// The strips of each input side by side: a tile that had to look for them would wait for its input first, and a
/// refactorization take 3 to 12 % longer.   grid: threads_an_input threads an input   shared: none
inline __global__ void __launch_bounds__(place_threads)
    copy_strips_kernel(std::int64_t count, const FrontInput* inputs, const uint4* strips, uint4* places) {
  const std::int64_t k = simt::thread_of_grid();
  if (k >= count * threads_an_input) return;
  const FrontInput& input = inputs[k / threads_an_input];
  constexpr unsigned threads_a_strip = threads_an_input / 2;
  const auto thread = static_cast<unsigned>(k % threads_an_input);
  const std::int32_t strip = thread < threads_a_strip ? input.rows : input.columns;
  places[k] = strips[std::int64_t(strip) * threads_a_strip + thread % threads_a_strip];
}

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
    LULAB_RETURN_IF_ERROR(simt::make(d_strips_, plan.strips, stream));
    const std::int64_t inputs = std::ssize(plan.inputs);
    LULAB_RETURN_IF_ERROR(simt::make(d_places_, 2 * front_tile * inputs));
    if (inputs > 0)
      LULAB_RETURN_IF_ERROR(
          simt::launch(copy_strips_kernel,
                       {.grid = simt::blocks_for(threads_an_input * inputs, place_threads), .block = place_threads},
                       stream, inputs, d_inputs_.data(), reinterpret_cast<const uint4*>(d_strips_.data()),
                       reinterpret_cast<uint4*>(d_places_.data())));
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
  simt::DeviceBuffer<std::uint8_t> d_strips_, d_places_;
  DeviceFrontColumns columns_;
  simt::DeviceBuffer<T> d_parts_, d_left_;
  simt::DeviceBuffer<std::int32_t> d_flags_;
  FrontView<T> view_ = {};
};

}  // namespace lulab::sparse_syncfree
