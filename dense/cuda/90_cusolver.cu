// cuSOLVER's dense LU through its 64-bit interface, with partial pivoting and without (no array of swaps given).

#include <cusolverDn.h>

#include <memory>
#include <vector>

#include "core/simt/kernel.h"
#include "dense/dense_backend.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

constexpr int threads = 256;

Status status_of(cusolverStatus_t status, std::string_view call) {
  if (status == CUSOLVER_STATUS_SUCCESS) return {};
  return Status::error(status == CUSOLVER_STATUS_ALLOC_FAILED ? StatusCode::out_of_memory : StatusCode::device_error,
                       fmt::format("{}: cuSOLVER answers {}; its codes are listed in cusolver_common.h", call,
                                   static_cast<int>(status)));
}

/// From 1-based 64-bit swaps, or none, to 0-based 32-bit ones.   grid: n / threads   block: threads   shared: none
__global__ void convert_ipiv_kernel(std::int32_t n, const std::int64_t* from, std::int32_t* ipiv) {
  const std::int64_t k = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k < n) ipiv[k] = static_cast<std::int32_t>(from ? from[k] - 1 : k);
}

struct DestroyHandle {
  void operator()(cusolverDnHandle_t handle) const { cusolverDnDestroy(handle); }
};
struct DestroyParams {
  void operator()(cusolverDnParams_t params) const { cusolverDnDestroyParams(params); }
};

template <class T, Pivoting pivoting>
class Cusolver final : public DenseBackend<T> {
 public:
  Cusolver() : DenseBackend<T>(pivoting) {}
  std::int64_t work_bytes() const override {
    return device_work_.size() + d_ipiv_.size() * std::int64_t(sizeof(std::int64_t));
  }

 protected:
  Status prepare_rung(std::int32_t n, simt::Stream& stream) override {
    stream_ = &stream;
    if (!params_) {
      cusolverDnHandle_t handle = nullptr;
      LULAB_RETURN_IF_ERROR(status_of(cusolverDnCreate(&handle), "cusolverDnCreate"));
      handle_.reset(handle);
      cusolverDnParams_t params = nullptr;
      LULAB_RETURN_IF_ERROR(status_of(cusolverDnCreateParams(&params), "cusolverDnCreateParams"));
      params_.reset(params);
    }
    LULAB_RETURN_IF_ERROR(status_of(cusolverDnSetStream(handle_.get(), static_cast<cudaStream_t>(stream.native())),
                                    "cusolverDnSetStream"));
    if constexpr (pivoting == Pivoting::partial) {
      LULAB_ASSIGN_OR_RETURN(d_ipiv_, simt::DeviceBuffer<std::int64_t>::create(n));
    }
    reserved_n_ = -1;
    return reserve({n, n});
  }

  Status launch(const DeviceDense<T>& a) override {
    LULAB_RETURN_IF_ERROR(reserve(a));
    LULAB_RETURN_IF_ERROR(status_of(
        cusolverDnXgetrf(handle_.get(), params_.get(), a.n, a.n, type, a.a, a.ld, d_ipiv_.data(), type,
                         device_work_.data(), device_work_.size(), host_work_.data(), host_work_.size(), a.info),
        "cusolverDnXgetrf"));
    const auto blocks = static_cast<unsigned>((a.n + threads - 1) / threads);
    return simt::launch(convert_ipiv_kernel, {.grid = blocks, .block = threads}, *stream_, a.n, d_ipiv_.data(), a.ipiv);
  }

 private:
  static constexpr cudaDataType type = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;

  /// Workspace for this n and ld. cuSOLVER does not say whether it grows with ld; prepare() asks for ld = n.
  Status reserve(const DeviceDense<T>& a) {
    if (a.n == reserved_n_ && a.ld == reserved_ld_) return {};
    std::size_t device_bytes = 0, host_bytes = 0;
    LULAB_RETURN_IF_ERROR(status_of(cusolverDnXgetrf_bufferSize(handle_.get(), params_.get(), a.n, a.n, type, a.a, a.ld,
                                                                type, &device_bytes, &host_bytes),
                                    "cusolverDnXgetrf_bufferSize"));
    reserved_n_ = a.n;
    reserved_ld_ = a.ld;
    if (host_bytes > host_work_.size()) host_work_.resize(host_bytes);
    if (device_bytes <= static_cast<std::size_t>(device_work_.size())) return {};
    LULAB_RETURN_IF_ERROR(stream_->wait());  // the old workspace may be in use
    device_work_ = {};
    LULAB_ASSIGN_OR_RETURN(device_work_,
                           simt::DeviceBuffer<unsigned char>::create(static_cast<std::int64_t>(device_bytes)));
    return {};
  }

  std::int64_t reserved_n_ = -1, reserved_ld_ = -1;  // that the workspace serves
  simt::Stream* stream_ = nullptr;
  std::unique_ptr<std::remove_pointer_t<cusolverDnHandle_t>, DestroyHandle> handle_;
  std::unique_ptr<std::remove_pointer_t<cusolverDnParams_t>, DestroyParams> params_;
  simt::DeviceBuffer<std::int64_t> d_ipiv_;  // empty: no pivoting
  simt::DeviceBuffer<unsigned char> device_work_;
  std::vector<unsigned char> host_work_;
};

template <class T>
using PivotedCusolver = Cusolver<T, Pivoting::partial>;
template <class T>
using UnpivotedCusolver = Cusolver<T, Pivoting::fixed>;

}  // namespace

const Rung cusolver = rung_of<PivotedCusolver>({.id = "dense/90_cusolver",
                                                .stage = "dense",
                                                .paper = "NVIDIA cuSOLVER, cusolverDnXgetrf",
                                                .idea = "the library's LU with partial pivoting",
                                                .pivoting = Pivoting::partial,
                                                .device = Device::gpu,
                                                .refactors = false,
                                                .exact_pattern = false,
                                                .max_dense_bytes = max_device_dense_bytes()});

const Rung cusolver_no_pivot = rung_of<UnpivotedCusolver>(
    {.id = "dense/90_cusolver_no_pivot",
     .stage = "dense",
     .paper = "NVIDIA cuSOLVER, cusolverDnXgetrf without devIpiv",
     .idea = "the library's LU without pivoting: what the search and the swaps of 90_cusolver cost",
     .pivoting = Pivoting::fixed,
     .device = Device::gpu,
     .refactors = false,
     .exact_pattern = false,
     .max_dense_bytes = max_device_dense_bytes()});

}  // namespace lulab::dense
