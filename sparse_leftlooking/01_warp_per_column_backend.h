#pragma once
// The host's side of 01: one launch a level.

#include <algorithm>
#include <cstdint>

#include "sparse_leftlooking/01_warp_per_column_kernel.h"
#include "sparse_leftlooking/column_by_warp.h"

namespace lulab::sparse_leftlooking {

template <class T>
class WarpPerColumn final : public ColumnByWarpBackend<T> {
 public:
  using ColumnByWarpBackend<T>::ColumnByWarpBackend;

 protected:
  Status prepare_rung() override {
    this->find_levels();
    LULAB_ASSIGN_OR_RETURN(auto blocks_per_sm,
                           simt::max_resident_blocks_per_sm(eliminate_level_kernel<T>, 32 * warps_per_block));
    const auto& level_ptr = this->schedule().level_ptr;
    std::int64_t widest = 0;
    for (std::size_t l = 0; l + 1 < level_ptr.size(); ++l) widest = std::max(widest, level_ptr[l + 1] - level_ptr[l]);
    return this->make_work(blocks_per_sm, widest);
  }

  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    const auto& level_ptr = this->schedule().level_ptr;
    for (std::size_t l = 0; l + 1 < level_ptr.size(); ++l)
      LULAB_RETURN_IF_ERROR(
          this->eliminate(eliminate_level_kernel<T>, f, level_ptr[l], level_ptr[l + 1] - level_ptr[l], stream));
    return {};
  }
};

}  // namespace lulab::sparse_leftlooking
