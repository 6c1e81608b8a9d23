// A matrix small enough for the registers of one multiprocessor: a batch of one. The kernel is in batched.cu.

#include "dense/batched.h"
#include "dense/dense_factorizer.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

template <class T>
class Batched final : public DenseFactorizer<T> {
 public:
  Batched() : DenseFactorizer<T>(Pivoting::partial) {}
  std::int64_t work_bytes() const override { return 0; }
  std::int32_t max_n() const override { return max_batched_n; }

 protected:
  Status prepare(std::int32_t, simt::Stream& stream) override {
    stream_ = &stream;
    return {};
  }

  Status enqueue(const DeviceDense<T>& a) override {
    return getrf_batched(DeviceBatch<T>{.n = a.n, .ld = a.ld, .batch = 1, .a = a.a, .ipiv = a.ipiv, .info = a.info},
                         *stream_);
  }

 private:
  simt::Stream* stream_ = nullptr;
};

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions&) {
  return std::make_unique<Batched<T>>();
}

}  // namespace

const Rung batched = {
    .facts = {.id = "dense/08_batched",
              .stage = "dense",
              .paper = "Anzt et al. 2017, variable-size batched LU: implicit pivoting in registers",
              .idea = "the whole matrix in registers, rows never move before they are stored; made for many at once",
              .pivoting = Pivoting::partial,
              .device = Device::gpu,
              .refactors = false,
              .exact_pattern = false,
              .max_dense_bytes = max_device_dense_bytes(),
              .max_n = max_batched_n},
    .make_float = make<float>,
    .make_double = make<double>};

}  // namespace lulab::dense
