#include "bench/batch_contender.h"
#include "dense/cuda/92_cublas_batched.h"

namespace lulab::bench {
namespace {

template <class T>
Result<BatchRoutine> prepare_cublas(const dense::DeviceBatch<T>& batch, simt::Stream& stream) {
  auto made = dense::CublasBatched<T>::create(batch.batch, stream);
  if (!made.ok()) return made.status();
  LULAB_RETURN_IF_ERROR(made->bind(batch));
  auto routine = std::make_shared<dense::CublasBatched<T>>(std::move(*made));
  return BatchRoutine([routine] { return routine->getrf(); });
}

}  // namespace

std::vector<BatchRung> library_batch_rungs() {
  return {{"dense/92_cublas_batched", prepare_cublas<float>, prepare_cublas<double>}};
}

}  // namespace lulab::bench
