// A matrix small enough for the registers of one multiprocessor, as a batch of one. The kernel is in
// 08_batched_kernel.cu.

#include "dense/08_batched_kernel.h"
#include "dense/dense_backend.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

template <class T>
class Batched final : public DenseBackend<T> {
 public:
  Batched() : DenseBackend<T>(Pivoting::partial) {}
  std::int64_t work_bytes() const override { return 0; }
  std::int32_t max_n() const override { return max_batched_n; }

 protected:
  Status prepare_rung(std::int32_t, simt::Stream& stream) override {
    stream_ = &stream;
    return {};
  }

  Status launch(const DeviceDense<T>& a) override {
    return getrf_batched(DenseBatchView<T>{.n = a.n, .ld = a.ld, .batch = 1, .a = a.a, .ipiv = a.ipiv, .info = a.info},
                         *stream_);
  }

 private:
  simt::Stream* stream_ = nullptr;
};

}  // namespace

const Rung batched = rung_of<Batched>(
    {.id = "dense/08_batched",
     .stage = "dense",
     .paper = "Anzt et al. 2017, variable-size batched LU: implicit pivoting in registers",
     .idea = "the whole matrix in registers, rows move only when they are stored; meant for many matrices at once",
     .pivoting = Pivoting::partial,
     .device = Device::gpu,
     .refactors = false,
     .exact_pattern = false,
     .max_dense_bytes = max_device_dense_bytes(),
     .max_n = max_batched_n});

}  // namespace lulab::dense
