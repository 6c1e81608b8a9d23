#pragma once
// GLU1.0 and GLU2.0: one launch a level, the largest block for every column, whatever the level.
//                                                                                  Peng & Tan 2020, sections II-B, III-B2

#include <algorithm>

#include "sparse_hybrid/column_by_block.h"
#include "sparse_hybrid/kernel_modes.h"
#include "symbolic/dependencies.h"

namespace lulab::sparse_hybrid {

template <class T, DependencyRule rule>
class FixedAllocationFactorizer final : public ColumnByBlockFactorizer<T> {
 public:
  using ColumnByBlockFactorizer<T>::ColumnByBlockFactorizer;

 protected:
  Status prepare() override {
    auto device = simt::device_properties();
    if (!device.ok()) return device.status();
    warps_ = large_block_warps(*device);
    auto blocks_per_sm = simt::max_resident_blocks_per_sm(eliminate_columns_kernel<T>, 32 * warps_);
    if (!blocks_per_sm.ok()) return blocks_per_sm.status();
    return this->make_work(levels_right_looking(this->analysis().filled, rule),
                           std::int64_t(device->sm_count) * *blocks_per_sm);
  }

  Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    const auto& level_ptr = this->schedule().level_ptr;
    for (std::size_t l = 0; l + 1 < level_ptr.size(); ++l)
      LULAB_RETURN_IF_ERROR(this->eliminate_columns(f, level_ptr[l], level_ptr[l + 1] - level_ptr[l], warps_, stream));
    return {};
  }

 private:
  int warps_ = 1;
};

}  // namespace lulab::sparse_hybrid
