// Left-looking LU, one warp a column: cluster mode, then pipeline mode.         Chen et al. 2015, section 3.2, section 4.1
//
//   for each level before the first narrow one    cluster mode: one launch a level        cluster_mode.h
//   all columns of the levels that remain         pipeline mode: one launch               pipeline_mode.h
//
// Where a level has work for the whole device, its end costs little and no warp spins; in the long tail of narrow levels
// launches would cost more than flags.

#include "sparse_leftlooking/cluster_mode.h"
#include "sparse_leftlooking/pipeline_mode.h"
#include "sparse_leftlooking/rungs.h"

namespace lulab::sparse_leftlooking {
namespace {

template <class T>
class ClusterPipeline final : public ColumnByWarpFactorizer<T> {
 public:
  using ColumnByWarpFactorizer<T>::ColumnByWarpFactorizer;

 protected:
  Status prepare() override {
    auto device = simt::device_properties();
    if (!device.ok()) return device.status();
    auto cluster = simt::max_resident_blocks_per_sm(eliminate_level_kernel<T>, 32 * warps_per_block);
    if (!cluster.ok()) return cluster.status();
    auto pipeline = simt::max_resident_blocks_per_sm(eliminate_pipeline_kernel<T>, 32 * warps_per_block);
    if (!pipeline.ok()) return pipeline.status();

    const Schedule& schedule = this->analysis().schedule;
    first_narrow_ = first_narrow_level(schedule, device->sm_count);

    auto progress = PipelineProgress::create(schedule, first_narrow_, *this->stream());
    if (!progress.ok()) return progress.status();
    progress_ = std::move(*progress);
    return this->make_work(std::min(*cluster, *pipeline), this->analysis().filled.n);
  }

  Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    const auto& level_ptr = this->analysis().schedule.level_ptr;
    LULAB_RETURN_IF_ERROR(progress_.reset(stream));
    for (std::int32_t l = 0; l < first_narrow_; ++l)
      LULAB_RETURN_IF_ERROR(
          this->eliminate(eliminate_level_kernel<T>, f, level_ptr[l], level_ptr[l + 1] - level_ptr[l], stream));
    const std::int64_t first = level_ptr[first_narrow_];
    return this->eliminate(eliminate_pipeline_kernel<T>, f, first, f.n - first, stream, progress_.ticket(),
                           progress_.finished());
  }

  std::int64_t work_bytes() const override { return ColumnByWarpFactorizer<T>::work_bytes() + progress_.bytes(); }

 private:
  std::int32_t first_narrow_ = 0;  // level
  PipelineProgress progress_;
};

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions& options) {
  return std::make_unique<ClusterPipeline<T>>(options);
}

}  // namespace

const Rung cluster_pipeline = {
    .facts = {.id = "sparse_leftlooking/03_cluster_pipeline",
              .stage = "sparse_leftlooking",
              .paper = "Chen et al. 2015, section 3.2 and section 4.1, both modes",
              .idea = "one launch a level while levels are wide, then one launch with a flag a column for the rest",
              .pivoting = Pivoting::fixed,
              .device = Device::gpu,
              .dependencies = Dependencies::levels,  // between wide levels a launch, no hop for an entry of U
              .deterministic = true,
              .refactors = true},
    .make_float = make<float>,
    .make_double = make<double>};

}  // namespace lulab::sparse_leftlooking
