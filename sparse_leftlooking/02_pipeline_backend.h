#pragma once
// The host's side of 02: one launch for all columns.

#include <cstdint>

#include "sparse_leftlooking/02_pipeline_kernel.h"
#include "sparse_leftlooking/column_by_warp.h"

namespace lulab::sparse_leftlooking {

template <class T>
class Pipeline final : public ColumnByWarpBackend<T> {
 public:
  using ColumnByWarpBackend<T>::ColumnByWarpBackend;

 protected:
  Status prepare_rung() override {
    this->find_levels();
    LULAB_ASSIGN_OR_RETURN(auto blocks_per_sm,
                           simt::max_resident_blocks_per_sm(eliminate_pipeline_kernel<T>, 32 * warps_per_block));
    LULAB_ASSIGN_OR_RETURN(progress_, PipelineProgress::create(this->schedule(), 0, *this->stream()));
    return this->make_work(blocks_per_sm, this->analysis().filled.n);
  }

  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    LULAB_RETURN_IF_ERROR(progress_.reset(stream));
    return this->eliminate(eliminate_pipeline_kernel<T>, f, 0, f.n, stream, progress_.ticket(), progress_.finished());
  }

  std::int64_t work_bytes() const override { return ColumnByWarpBackend<T>::work_bytes() + progress_.bytes(); }

 private:
  PipelineProgress progress_;
};

}  // namespace lulab::sparse_leftlooking
