// Left-looking LU, one warp a column: cluster mode, then pipeline mode.         Chen et al. 2015, section 3.2, section
// 4.1
//
//   for each level before the first narrow one    cluster mode: one launch a level        01_warp_per_column_kernel.h
//   all columns of the levels that remain         pipeline mode: one launch               02_pipeline_kernel.h
//
// Where a level has work for the whole device, the end of its launch costs little and no warp spins; in the many narrow
// levels that follow, launches would cost more than flags.

#include "sparse_leftlooking/01_warp_per_column_kernel.h"
#include "sparse_leftlooking/02_pipeline_kernel.h"
#include "sparse_leftlooking/03_first_narrow_level.h"
#include "sparse_leftlooking/column_by_warp.h"
#include "sparse_leftlooking/rungs.h"

namespace lulab::sparse_leftlooking {
namespace {

template <class T>
class ClusterPipeline final : public ColumnByWarpBackend<T> {
 public:
  using ColumnByWarpBackend<T>::ColumnByWarpBackend;

 protected:
  Status prepare_rung() override {
    LULAB_ASSIGN_OR_RETURN(auto device, simt::device_properties());
    LULAB_ASSIGN_OR_RETURN(auto cluster,
                           simt::max_resident_blocks_per_sm(eliminate_level_kernel<T>, 32 * warps_per_block));
    LULAB_ASSIGN_OR_RETURN(auto pipeline,
                           simt::max_resident_blocks_per_sm(eliminate_pipeline_kernel<T>, 32 * warps_per_block));

    this->find_levels();
    first_narrow_ = first_narrow_level(this->schedule(), device.sm_count);

    LULAB_ASSIGN_OR_RETURN(progress_, PipelineProgress::create(this->schedule(), first_narrow_, *this->stream()));
    return this->make_work(std::min(cluster, pipeline), this->analysis().filled.n);
  }

  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    const auto& level_ptr = this->schedule().level_ptr;
    LULAB_RETURN_IF_ERROR(progress_.reset(stream));
    for (std::int32_t l = 0; l < first_narrow_; ++l)
      LULAB_RETURN_IF_ERROR(
          this->eliminate(eliminate_level_kernel<T>, f, level_ptr[l], level_ptr[l + 1] - level_ptr[l], stream));
    const std::int64_t first = level_ptr[first_narrow_];
    return this->eliminate(eliminate_pipeline_kernel<T>, f, first, f.n - first, stream, progress_.ticket(),
                           progress_.finished());
  }

  std::int64_t work_bytes() const override { return ColumnByWarpBackend<T>::work_bytes() + progress_.bytes(); }

 private:
  std::int32_t first_narrow_ = 0;  // level
  PipelineProgress progress_;
};

}  // namespace

const Rung cluster_pipeline = rung_of<ClusterPipeline>(
    {.id = "sparse_leftlooking/03_cluster_pipeline",
     .stage = "sparse_leftlooking",
     .paper = "Chen et al. 2015, section 3.2 and section 4.1, both modes",
     .idea = "one launch per level while levels are wide, then one launch with a flag per column for the rest",
     .pivoting = Pivoting::fixed,
     .device = Device::gpu,
     .dependencies = Dependencies::levels,  // between wide levels a launch, no hop for an entry of U
     .deterministic = true,
     .refactors = true,
     .options = warp_options});

}  // namespace lulab::sparse_leftlooking
