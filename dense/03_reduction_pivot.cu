// Partial pivoting by parallel reduction, then the swap and the rank-1 update of the whole matrix below and right of
// it.
// The kernels are in 03_reduction_panel.cu, which 04 and 05 use, too: here the panel is as wide as the matrix.

#include "dense/03_reduction_panel.h"
#include "dense/dense_backend.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

template <class T>
class ReductionPivot final : public DenseBackend<T> {
 public:
  ReductionPivot() : DenseBackend<T>(Pivoting::partial) {}
  std::int64_t work_bytes() const override { return work_.bytes(); }

 protected:
  Status prepare_rung(std::int32_t, simt::Stream& stream) override {
    stream_ = &stream;
    LULAB_ASSIGN_OR_RETURN(work_, ReductionWork<T>::create(stream));
    return {};
  }

  Status launch(const DeviceDense<T>& a) override { return factor_panel_by_reduction(a, 0, a.n, work_, *stream_); }

 private:
  ReductionWork<T> work_;
  simt::Stream* stream_ = nullptr;
};

}  // namespace

const Rung reduction_pivot = rung_of<ReductionPivot>(
    {.id = "dense/03_reduction_pivot",
     .stage = "dense",
     .paper = "Implementation of high performance parallel LU factorization program for multi-threads on GPGPUs, "
              "partial pivoting by parallel reduction",
     .idea = "pivot search by reduction over lanes, warps and blocks; two launches per column",
     .pivoting = Pivoting::partial,
     .device = Device::gpu,
     .refactors = false,
     .exact_pattern = false,
     .max_dense_bytes = max_device_dense_bytes()});

}  // namespace lulab::dense
