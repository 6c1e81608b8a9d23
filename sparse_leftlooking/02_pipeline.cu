// Left-looking LU, one warp a column, one launch for all columns.        Chen et al. 2015, appendix A.1 (pipeline mode)
//
//   while a column is left, in parallel           resident warps only, columns handed out in level order
//     eliminate column j, waiting for each L(:,k) with U(k,j) != 0 before it is used
//     publish column j                            pipeline_mode.h
//
// No launch lies between levels, and a column of the next level starts while the longest of this one is still at work.

#include "sparse_leftlooking/pipeline_mode.h"
#include "sparse_leftlooking/rungs.h"

namespace lulab::sparse_leftlooking {
namespace {

template <class T>
class Pipeline final : public ColumnByWarpFactorizer<T> {
 public:
  using ColumnByWarpFactorizer<T>::ColumnByWarpFactorizer;

 protected:
  Status prepare() override {
    auto blocks_per_sm = simt::max_resident_blocks_per_sm(eliminate_pipeline_kernel<T>, 32 * warps_per_block);
    if (!blocks_per_sm.ok()) return blocks_per_sm.status();
    auto progress = PipelineProgress::create(this->analysis().schedule, 0, *this->stream());
    if (!progress.ok()) return progress.status();
    progress_ = std::move(*progress);
    return this->make_work(*blocks_per_sm, this->analysis().filled.n);
  }

  Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    LULAB_RETURN_IF_ERROR(progress_.reset(stream));
    return this->eliminate(eliminate_pipeline_kernel<T>, f, 0, f.n, stream, progress_.ticket(), progress_.finished());
  }

  std::int64_t work_bytes() const override { return ColumnByWarpFactorizer<T>::work_bytes() + progress_.bytes(); }

 private:
  PipelineProgress progress_;
};

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions& options) {
  return std::make_unique<Pipeline<T>>(options);
}

}  // namespace

const Rung pipeline = {
    .facts = {.id = "sparse_leftlooking/02_pipeline",
              .stage = "sparse_leftlooking",
              .paper = "Chen et al. 2015, section 4 and appendix A.1, pipeline mode",
              .idea = "one launch: resident warps take columns in level order and wait for the flag of each column "
                      "they need",
              .pivoting = Pivoting::fixed,
              .device = Device::gpu,
              .dependencies = Dependencies::fine,  // a warp passes over finished columns without a hop
              .deterministic = true,
              .refactors = true},
    .make_float = make<float>,
    .make_double = make<double>};

}  // namespace lulab::sparse_leftlooking
