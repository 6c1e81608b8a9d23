// Partial pivoting by parallel reduction, then the swap and the rank-1 update of the whole matrix below and right of it.
// The kernels are in reduction_panel.cu: this rung is one panel as wide as the matrix.

#include "dense/dense_factorizer.h"
#include "dense/reduction_panel.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

template <class T>
class ReductionPivot final : public DenseFactorizer<T> {
 public:
  ReductionPivot() : DenseFactorizer<T>(Pivoting::partial) {}
  std::int64_t work_bytes() const override { return work_.bytes(); }

 protected:
  Status prepare(std::int32_t, simt::Stream& stream) override {
    stream_ = &stream;
    auto work = ReductionWork<T>::create(stream);
    if (!work.ok()) return work.status();
    work_ = std::move(*work);
    return {};
  }

  Status enqueue(const DeviceDense<T>& a) override { return factor_panel_by_reduction(a, 0, a.n, work_, *stream_); }

 private:
  ReductionWork<T> work_;
  simt::Stream* stream_ = nullptr;
};

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions&) {
  return std::make_unique<ReductionPivot<T>>();
}

}  // namespace

const Rung reduction_pivot = {
    .facts = {.id = "dense/03_reduction_pivot",
              .stage = "dense",
              .paper =
                  "Implementation of high performance parallel LU factorization program for multi-threads on GPGPUs, "
                  "partial pivoting by parallel reduction",
              .idea = "the pivot is found by a reduction over lanes, warps and blocks; two launches a column",
              .pivoting = Pivoting::partial,
              .device = Device::gpu,
              .refactors = false,
              .exact_pattern = false,
              .max_dense_bytes = max_device_dense_bytes()},
    .make_float = make<float>,
    .make_double = make<double>};

}  // namespace lulab::dense
