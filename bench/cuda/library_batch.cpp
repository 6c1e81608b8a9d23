#include <memory>

#include "bench/dense_contender.h"
#include "dense/cuda/92_cublas_batched.h"

namespace lulab::bench {
namespace {

template <class T>
Result<DenseRoutine> prepare_cublas(const dense::DenseBatchView<T>& batch, simt::Stream& stream) {
  LULAB_ASSIGN_OR_RETURN(auto made, dense::CublasBatched<T>::create(batch.batch, stream));
  LULAB_RETURN_IF_ERROR(made.bind(batch));
  auto routine = std::make_shared<dense::CublasBatched<T>>(std::move(made));
  return DenseRoutine{.getrf = [routine] { return routine->getrf(); }};
}

}  // namespace

std::vector<BatchRung> library_batch_rungs() {
  return {{"dense/92_cublas_batched", prepare_cublas<float>, prepare_cublas<double>}};
}

}  // namespace lulab::bench
