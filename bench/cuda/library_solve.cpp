// cuSPARSE's SpSV through its generic interface: one descriptor for each triangle, in CSR.

#include "bench/library_solve.h"

#include <cusparse.h>

#include <chrono>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/simt/device.h"

namespace lulab::bench {
namespace {

constexpr double one = 1;

Status status_of(cusparseStatus_t status, std::string_view call) {
  if (status == CUSPARSE_STATUS_SUCCESS) return {};
  const bool memory = status == CUSPARSE_STATUS_ALLOC_FAILED || status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
  return Status::error(memory ? StatusCode::out_of_memory : StatusCode::device_error,
                       fmt::format("{}: {} ({})", call, cusparseGetErrorString(status), cusparseGetErrorName(status)));
}

template <auto destroy>
struct Destroy {
  void operator()(auto* object) const { destroy(object); }
};
template <class Handle, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<destroy>>;
using Library = Owned<cusparseHandle_t, cusparseDestroy>;
using SparseDescription = Owned<cusparseSpMatDescr_t, cusparseDestroySpMat>;
using VectorDescription = Owned<cusparseDnVecDescr_t, cusparseDestroyDnVec>;
using SolveDescription = Owned<cusparseSpSVDescr_t, cusparseSpSV_destroyDescr>;

Result<VectorDescription> describe(const simt::DeviceBuffer<double>& x) {
  cusparseDnVecDescr_t made = nullptr;
  LULAB_RETURN_IF_ERROR(status_of(cusparseCreateDnVec(&made, x.size(), x.data(), CUDA_R_64F), "cusparseCreateDnVec"));
  return VectorDescription(made);
}

template <class T>
Status make(simt::DeviceBuffer<T>& buffer, std::span<const T> from, simt::Stream& stream) {
  auto made = simt::DeviceBuffer<T>::create(from, stream);
  if (made.ok()) buffer = std::move(*made);
  return made.status();
}

/// L or U on the device, and what SpSV knows about it.
struct Triangle {
  simt::DeviceBuffer<std::int32_t> row_ptr, col_idx;
  simt::DeviceBuffer<double> values;
  SparseDescription matrix;
  SolveDescription solve;
  simt::DeviceBuffer<unsigned char> workspace;

  Status create(const CscMatrix<double>& from, cusparseFillMode_t fill, cusparseDiagType_t diagonal,
                simt::Stream& stream) {
    if (from.nnz() > std::numeric_limits<std::int32_t>::max())
      return Status::error(StatusCode::out_of_memory, "a triangle outgrows 32-bit indices");
    const CsrMatrix<double> csr = to_csr(from.view());
    const std::vector<std::int32_t> narrow(csr.row_ptr.begin(), csr.row_ptr.end());
    LULAB_RETURN_IF_ERROR(make<std::int32_t>(row_ptr, narrow, stream));
    LULAB_RETURN_IF_ERROR(make<std::int32_t>(col_idx, csr.col_idx, stream));
    LULAB_RETURN_IF_ERROR(make<double>(values, csr.values, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());  // csr and narrow are locals
    cusparseSpMatDescr_t made = nullptr;
    LULAB_RETURN_IF_ERROR(status_of(
        cusparseCreateCsr(&made, csr.n_rows, csr.n_cols, csr.nnz(), row_ptr.data(), col_idx.data(), values.data(),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
        "cusparseCreateCsr"));
    matrix.reset(made);
    LULAB_RETURN_IF_ERROR(status_of(cusparseSpMatSetAttribute(made, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill),
                                    "cusparseSpMatSetAttribute"));
    return status_of(cusparseSpMatSetAttribute(made, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal),
                     "cusparseSpMatSetAttribute");
  }

  /// For solves of this triangle with right side b into x.
  Status analyze(cusparseHandle_t library, cusparseDnVecDescr_t b, cusparseDnVecDescr_t x) {
    cusparseSpSVDescr_t fresh = nullptr;
    LULAB_RETURN_IF_ERROR(status_of(cusparseSpSV_createDescr(&fresh), "cusparseSpSV_createDescr"));
    solve.reset(fresh);
    std::size_t bytes = 0;
    LULAB_RETURN_IF_ERROR(
        status_of(cusparseSpSV_bufferSize(library, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix.get(), b, x,
                                          CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, fresh, &bytes),
                  "cusparseSpSV_bufferSize"));
    if (static_cast<std::size_t>(workspace.size()) < bytes) {
      auto made = simt::DeviceBuffer<unsigned char>::create(static_cast<std::int64_t>(bytes));
      if (!made.ok()) return made.status();
      workspace = std::move(*made);
    }
    return status_of(cusparseSpSV_analysis(library, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix.get(), b, x,
                                           CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, fresh, workspace.data()),
                     "cusparseSpSV_analysis");
  }

  Status enqueue_solve(cusparseHandle_t library, cusparseDnVecDescr_t b, cusparseDnVecDescr_t x) {
    return status_of(cusparseSpSV_solve(library, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix.get(), b, x, CUDA_R_64F,
                                        CUSPARSE_SPSV_ALG_DEFAULT, solve.get()),
                     "cusparseSpSV_solve");
  }

  std::int64_t bytes() const { return 4 * (row_ptr.size() + col_idx.size()) + 8 * values.size() + workspace.size(); }
};

class SpSV final : public LibrarySolve {
 public:
  Status create(const Factors<double>& f) {
    auto stream = simt::Stream::create();
    if (!stream.ok()) return stream.status();
    stream_.emplace(std::move(*stream));
    auto timer = simt::Timer::create();
    if (!timer.ok()) return timer.status();
    timer_.emplace(std::move(*timer));
    cusparseHandle_t library = nullptr;
    LULAB_RETURN_IF_ERROR(status_of(cusparseCreate(&library), "cusparseCreate"));
    library_.reset(library);
    LULAB_RETURN_IF_ERROR(
        status_of(cusparseSetStream(library, static_cast<cudaStream_t>(stream_->native())), "cusparseSetStream"));
    for (simt::DeviceBuffer<double>* buffer : {&d_b_, &d_y_, &d_x_}) {
      auto made = simt::DeviceBuffer<double>::create(f.filled.n);
      if (!made.ok()) return made.status();
      *buffer = std::move(*made);
    }
    for (auto [vector, buffer] : {std::pair{&b_, &d_b_}, {&y_, &d_y_}, {&x_, &d_x_}}) {
      auto made = describe(*buffer);
      if (!made.ok()) return made.status();
      *vector = std::move(*made);
    }
    LULAB_RETURN_IF_ERROR(l_.create(extract_l(f), CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_UNIT, *stream_));
    return u_.create(extract_u(f), CUSPARSE_FILL_MODE_UPPER, CUSPARSE_DIAG_TYPE_NON_UNIT, *stream_);
  }

  Result<double> analyze() override {
    const auto start = std::chrono::steady_clock::now();
    LULAB_RETURN_IF_ERROR(l_.analyze(library_.get(), b_.get(), y_.get()));
    LULAB_RETURN_IF_ERROR(u_.analyze(library_.get(), y_.get(), x_.get()));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

  Result<double> solve(std::span<const double> from, std::span<double> to) override {
    LULAB_RETURN_IF_ERROR(d_b_.upload(from, *stream_));
    LULAB_RETURN_IF_ERROR(d_y_.fill_bytes(0xFF, *stream_));  // NaN: what is not written shows
    LULAB_RETURN_IF_ERROR(d_x_.fill_bytes(0xFF, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    LULAB_RETURN_IF_ERROR(timer_->start(*stream_));
    LULAB_RETURN_IF_ERROR(l_.enqueue_solve(library_.get(), b_.get(), y_.get()));
    LULAB_RETURN_IF_ERROR(u_.enqueue_solve(library_.get(), y_.get(), x_.get()));
    LULAB_RETURN_IF_ERROR(timer_->stop(*stream_));
    LULAB_RETURN_IF_ERROR(d_x_.download(to, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    return timer_->elapsed_ms();
  }

  std::int64_t bytes() const override {
    return l_.bytes() + u_.bytes() + 8 * (d_b_.size() + d_y_.size() + d_x_.size());
  }

 private:
  std::optional<simt::Stream> stream_;
  std::optional<simt::Timer> timer_;
  simt::DeviceBuffer<double> d_b_, d_y_, d_x_;
  Library library_;
  VectorDescription b_, y_, x_;
  Triangle l_, u_;
};

}  // namespace

Result<std::unique_ptr<LibrarySolve>> library_solve(const Factors<double>& factors) {
  auto made = std::make_unique<SpSV>();
  LULAB_RETURN_IF_ERROR(made->create(factors));
  return std::unique_ptr<LibrarySolve>(std::move(made));
}

}  // namespace lulab::bench
