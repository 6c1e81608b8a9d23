// Left-looking LU, one warp a column, one launch for all columns.        Chen et al. 2015, appendix A.1 (pipeline mode)
//
//   while a column is left, in parallel           resident warps only, columns handed out in level order
//     eliminate column j, waiting for each L(:,k) with U(k,j) != 0 before it is used
//     publish column j                            02_pipeline_kernel.h
//
// No launch lies between levels: a column of the next level starts while the longest of this one is still being
// eliminated.

#include "sparse_leftlooking/02_pipeline_kernel.h"
#include "sparse_leftlooking/column_by_warp.h"
#include "sparse_leftlooking/rungs.h"

namespace lulab::sparse_leftlooking {
namespace {

template <class T>
class Pipeline final : public ColumnByWarpBackend<T> {
 public:
  using ColumnByWarpBackend<T>::ColumnByWarpBackend;

 protected:
  Status prepare_rung() override {
    LULAB_ASSIGN_OR_RETURN(auto blocks_per_sm,
                           simt::max_resident_blocks_per_sm(eliminate_pipeline_kernel<T>, 32 * warps_per_block));
    LULAB_ASSIGN_OR_RETURN(progress_, PipelineProgress::create(this->analysis().schedule, 0, *this->stream()));
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

}  // namespace

const Rung pipeline = rung_of<Pipeline>(
    {.id = "sparse_leftlooking/02_pipeline",
     .stage = "sparse_leftlooking",
     .paper = "Chen et al. 2015, section 4 and appendix A.1, pipeline mode",
     .idea = "one launch: resident warps take columns in level order and wait for the flag of each column "
             "they need",
     .pivoting = Pivoting::fixed,
     .device = Device::gpu,
     .dependencies = Dependencies::fine,  // a warp passes over finished columns without a hop
     .deterministic = true,
     .refactors = true,
     .options = warp_options});

}  // namespace lulab::sparse_leftlooking
