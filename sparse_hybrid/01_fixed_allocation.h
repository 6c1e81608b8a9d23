#pragma once
// GLU1.0 and GLU2.0: one launch for each level, the largest block for each of its columns, however many they are.
//                                                                                Peng & Tan 2020, sections II-B, III-B2

#include <algorithm>

#include "sparse_hybrid/01_column_by_block.h"
#include "sparse_hybrid/03_kernel_modes.h"
#include "symbolic/dependencies.h"

namespace lulab::sparse_hybrid {

template <class T, DependencyRule rule>
class FixedAllocationBackend final : public ColumnByBlockBackend<T> {
 public:
  using ColumnByBlockBackend<T>::ColumnByBlockBackend;

 protected:
  Status prepare_rung() override {
    LULAB_ASSIGN_OR_RETURN(auto device, simt::device_properties());
    warps_ = large_block_warps(device);
    LULAB_ASSIGN_OR_RETURN(auto blocks_per_sm,
                           simt::max_resident_blocks_per_sm(eliminate_columns_kernel<T>, 32 * warps_));
    return this->make_work(levels_right_looking(this->analysis().filled, rule),
                           std::int64_t(device.sm_count) * blocks_per_sm);
  }

  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    const auto& level_ptr = this->schedule().level_ptr;
    for (std::size_t l = 0; l + 1 < level_ptr.size(); ++l)
      LULAB_RETURN_IF_ERROR(this->eliminate_columns(f, level_ptr[l], level_ptr[l + 1] - level_ptr[l], warps_, stream));
    return {};
  }

 private:
  int warps_ = 1;
};

}  // namespace lulab::sparse_hybrid
