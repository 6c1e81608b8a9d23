// cuBLAS's LU of a batch of small matrices; as a rung, a batch of one.

#include "dense/cuda/92_cublas_batched.h"

#include <cublas_v2.h>

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "core/simt/cuda/cublas_status.h"
#include "core/simt/kernel.h"
#include "dense/dense_backend.h"
#include "dense/rungs.h"

namespace lulab::dense {

using simt::cuda_rt::status_of;

namespace {

constexpr int threads = 256;

unsigned blocks_for(std::int64_t items) { return static_cast<unsigned>((items + threads - 1) / threads); }

/// address[s] = a + s * stride.   grid: batch / threads   block: threads   shared: none
template <class T>
__global__ void address_systems_kernel(DenseBatchView<T> b, T** address) {
  const std::int64_t s = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (s < b.batch) address[s] = b.a + s * b.stride;
}

/// grid: size / threads   block: threads   shared: none
__global__ void make_zero_based_kernel(std::int64_t size, std::int32_t* ipiv) {
  const std::int64_t k = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k < size) --ipiv[k];
}

struct DestroyHandle {
  void operator()(cublasHandle_t handle) const { cublasDestroy(handle); }
};

cublasStatus_t getrf_of_library(cublasHandle_t handle, const DenseBatchView<float>& b, float* const* address) {
  return cublasSgetrfBatched(handle, b.n, address, static_cast<int>(b.ld), b.ipiv, b.info, b.batch);
}
cublasStatus_t getrf_of_library(cublasHandle_t handle, const DenseBatchView<double>& b, double* const* address) {
  return cublasDgetrfBatched(handle, b.n, address, static_cast<int>(b.ld), b.ipiv, b.info, b.batch);
}

}  // namespace

template <class T>
struct CublasBatched<T>::Impl {
  DenseBatchView<T> batch;
  simt::Stream* stream = nullptr;
  std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, DestroyHandle> handle;
  simt::DeviceBuffer<T*> d_address;  // (batch)
};

template <class T>
CublasBatched<T>::CublasBatched(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
template <class T>
CublasBatched<T>::CublasBatched(CublasBatched&&) noexcept = default;
template <class T>
CublasBatched<T>& CublasBatched<T>::operator=(CublasBatched&&) noexcept = default;
template <class T>
CublasBatched<T>::~CublasBatched() = default;

template <class T>
Result<CublasBatched<T>> CublasBatched<T>::create(std::int32_t max_batch, simt::Stream& stream) {
  auto impl = std::make_unique<Impl>();
  impl->stream = &stream;
  cublasHandle_t handle = nullptr;
  LULAB_RETURN_IF_ERROR(status_of(cublasCreate(&handle), "cublasCreate"));
  impl->handle.reset(handle);
  LULAB_RETURN_IF_ERROR(
      status_of(cublasSetStream(handle, static_cast<cudaStream_t>(stream.native())), "cublasSetStream"));
  LULAB_ASSIGN_OR_RETURN(impl->d_address, simt::DeviceBuffer<T*>::create(max_batch));
  return CublasBatched(std::move(impl));
}

template <class T>
Status CublasBatched<T>::bind(const DenseBatchView<T>& b) {
  if (b.mask)
    return Status::error(StatusCode::not_implemented,
                         "cuBLAS factors every system of a batch: give no mask, or use getrf_batched()");
  if (b.n < 0 || b.batch < 0 || b.batch > impl_->d_address.size())
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} systems of n = {}; 0 to {} systems of n >= 0 are possible", b.batch, b.n,
                                     impl_->d_address.size()));
  if (b.ld < std::max(1, b.n) || b.ld > std::numeric_limits<int>::max())
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("ld = {} for n = {}; give max(1, n) <= ld < 2^31", b.ld, b.n));
  impl_->batch = b;
  if (b.batch == 0) return {};
  return simt::launch(address_systems_kernel<T>, {.grid = blocks_for(b.batch), .block = threads}, *impl_->stream, b,
                      impl_->d_address.data());
}

template <class T>
Status CublasBatched<T>::getrf() {
  const DenseBatchView<T>& b = impl_->batch;
  if (b.batch == 0) return {};
  if (b.n == 0) return simt::fill_bytes(b.info, 0, b.batch * sizeof(std::int32_t), *impl_->stream);
  LULAB_RETURN_IF_ERROR(
      status_of(getrf_of_library(impl_->handle.get(), b, impl_->d_address.data()), "cublas<T>getrfBatched"));
  const std::int64_t size = std::int64_t(b.n) * b.batch;
  return simt::launch(make_zero_based_kernel, {.grid = blocks_for(size), .block = threads}, *impl_->stream, size,
                      b.ipiv);
}

template <class T>
std::int64_t CublasBatched<T>::work_bytes() const {
  return impl_->d_address.size() * static_cast<std::int64_t>(sizeof(T*));
}

template class CublasBatched<float>;
template class CublasBatched<double>;

namespace {

template <class T>
class BatchOfOne final : public DenseBackend<T> {
 public:
  BatchOfOne() : DenseBackend<T>(Pivoting::partial) {}
  std::int64_t work_bytes() const override { return routine_ ? routine_->work_bytes() : 0; }

 protected:
  Status prepare_rung(std::int32_t, simt::Stream& stream) override {
    LULAB_ASSIGN_OR_RETURN(routine_, CublasBatched<T>::create(1, stream));
    return {};
  }

  Status launch(const DeviceDense<T>& a) override {
    LULAB_RETURN_IF_ERROR(routine_->bind({.n = a.n, .ld = a.ld, .batch = 1, .a = a.a, .ipiv = a.ipiv, .info = a.info}));
    return routine_->getrf();
  }

 private:
  std::optional<CublasBatched<T>> routine_;
};

}  // namespace

const Rung cublas_batched =
    rung_of<BatchOfOne>({.id = "dense/92_cublas_batched",
                         .stage = "dense",
                         .paper = "NVIDIA cuBLAS, getrfBatched",
                         .idea = "the library's LU for many small matrices, here a batch of one",
                         .pivoting = Pivoting::partial,
                         .device = Device::gpu,
                         .refactors = false,
                         .exact_pattern = false,
                         .max_dense_bytes = max_device_dense_bytes()});

}  // namespace lulab::dense
