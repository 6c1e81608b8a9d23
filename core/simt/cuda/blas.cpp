// Blas by cuBLAS.

#include "core/simt/blas.h"

#include <cublas_v2.h>
#include <fmt/format.h>

#include <string_view>

#include "core/simt/blas_operand.h"
#include "core/simt/cuda/cublas_status.h"
#include "core/simt/cuda/stream_impl.h"

namespace lulab::simt {

using cuda_rt::status_of;

namespace {

// What cuBLAS recommends for sm_90. Its own workspace would be allocated while a graph is captured.
constexpr std::int64_t workspace_bytes = std::int64_t{32} << 20;

cublasStatus_t gemm(cublasHandle_t handle, std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                    std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc) {
  const double minus_one = -1, one = 1;
  return cublasDgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &minus_one, a, lda, b, ldb, &one, c, ldc);
}
cublasStatus_t gemm(cublasHandle_t handle, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                    std::int64_t lda, const float* b, std::int64_t ldb, float* c, std::int64_t ldc) {
  const float minus_one = -1, one = 1;
  return cublasSgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &minus_one, a, lda, b, ldb, &one, c, ldc);
}
cublasStatus_t trsm(cublasHandle_t handle, std::int64_t m, std::int64_t n, const double* l, std::int64_t ldl, double* b,
                    std::int64_t ldb) {
  const double one = 1;
  return cublasDtrsm_64(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, m, n, &one, l,
                        ldl, b, ldb);
}
cublasStatus_t trsm(cublasHandle_t handle, std::int64_t m, std::int64_t n, const float* l, std::int64_t ldl, float* b,
                    std::int64_t ldb) {
  const float one = 1;
  return cublasStrsm_64(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, m, n, &one, l,
                        ldl, b, ldb);
}

}  // namespace

struct Blas::Impl {
  DeviceBuffer<unsigned char> workspace;
  cublasHandle_t handle = nullptr;
  ~Impl() {
    if (handle) cublasDestroy(handle);
  }
};

Blas::Blas(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Blas::~Blas() = default;
Blas::Blas(Blas&&) noexcept = default;
Blas& Blas::operator=(Blas&&) noexcept = default;

std::int64_t Blas::bytes() const { return impl_->workspace.size(); }

Result<Blas> Blas::create(Stream& stream) {
  auto impl = std::make_unique<Impl>();
  LULAB_ASSIGN_OR_RETURN(impl->workspace, DeviceBuffer<unsigned char>::create(workspace_bytes));
  LULAB_RETURN_IF_ERROR(status_of(cublasCreate(&impl->handle), "cublasCreate"));
  LULAB_RETURN_IF_ERROR(status_of(cublasSetStream(impl->handle, stream.impl().stream), "cublasSetStream"));
  if (stream.impl().sm_count > 0)
    LULAB_RETURN_IF_ERROR(
        status_of(cublasSetSmCountTarget(impl->handle, stream.impl().sm_count), "cublasSetSmCountTarget"));
  // After the stream, which would reset it.
  LULAB_RETURN_IF_ERROR(
      status_of(cublasSetWorkspace(impl->handle, impl->workspace.data(), workspace_bytes), "cublasSetWorkspace"));
  LULAB_RETURN_IF_ERROR(status_of(cublasSetMathMode(impl->handle, CUBLAS_DEFAULT_MATH), "cublasSetMathMode"));
  return Blas(std::move(impl));
}

template <class T>
Status Blas::subtract_product(std::int64_t m, std::int64_t n, std::int64_t k, const T* d_a, std::int64_t lda,
                              const T* d_b, std::int64_t ldb, T* d_c, std::int64_t ldc) {
  LULAB_RETURN_IF_ERROR(check_operand("subtract_product", {"A", m, k, d_a, lda}));
  LULAB_RETURN_IF_ERROR(check_operand("subtract_product", {"B", k, n, d_b, ldb}));
  LULAB_RETURN_IF_ERROR(check_operand("subtract_product", {"C", m, n, d_c, ldc}));
  if (m == 0 || n == 0 || k == 0) return {};
  return status_of(gemm(impl_->handle, m, n, k, d_a, lda, d_b, ldb, d_c, ldc), "cublas gemm");
}

template <class T>
Status Blas::solve_unit_lower(std::int64_t m, std::int64_t n, const T* d_l, std::int64_t ldl, T* d_b,
                              std::int64_t ldb) {
  LULAB_RETURN_IF_ERROR(check_operand("solve_unit_lower", {"L", m, m, d_l, ldl}));
  LULAB_RETURN_IF_ERROR(check_operand("solve_unit_lower", {"B", m, n, d_b, ldb}));
  if (m == 0 || n == 0) return {};
  return status_of(trsm(impl_->handle, m, n, d_l, ldl, d_b, ldb), "cublas trsm");
}

#define LULAB_BLAS(T)                                                                                                \
  template Status Blas::subtract_product(std::int64_t, std::int64_t, std::int64_t, const T*, std::int64_t, const T*, \
                                         std::int64_t, T*, std::int64_t);                                            \
  template Status Blas::solve_unit_lower(std::int64_t, std::int64_t, const T*, std::int64_t, T*, std::int64_t);
LULAB_BLAS(float)
LULAB_BLAS(double)
#undef LULAB_BLAS

}  // namespace lulab::simt
