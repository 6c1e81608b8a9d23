// cuSPARSE's SpSV and SpSM through its generic interface: one descriptor for each triangle, in CSR.

#include "bench/library_solve.h"

#include <cusparse.h>

#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/simt/device.h"
#include "core/timing.h"

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
using ColumnsDescription = Owned<cusparseDnMatDescr_t, cusparseDestroyDnMat>;

/// A block of right-hand sides on the device, as a vector and as a matrix.
struct Columns {
  simt::DeviceBuffer<double> d_values;  // (n, columns)
  VectorDescription vector;             // the first column
  ColumnsDescription matrix;

  Status create(std::int32_t n, std::int32_t columns) {
    LULAB_RETURN_IF_ERROR(simt::make(d_values, std::int64_t(n) * columns));
    cusparseDnVecDescr_t as_vector = nullptr;
    LULAB_RETURN_IF_ERROR(
        status_of(cusparseCreateDnVec(&as_vector, n, d_values.data(), CUDA_R_64F), "cusparseCreateDnVec"));
    vector.reset(as_vector);
    cusparseDnMatDescr_t as_matrix = nullptr;
    LULAB_RETURN_IF_ERROR(
        status_of(cusparseCreateDnMat(&as_matrix, n, columns, n, d_values.data(), CUDA_R_64F, CUSPARSE_ORDER_COL),
                  "cusparseCreateDnMat"));
    matrix.reset(as_matrix);
    return {};
  }
};

/// One right-hand side.
struct SpSV {
  using Description = Owned<cusparseSpSVDescr_t, cusparseSpSV_destroyDescr>;
  static constexpr auto operation = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr auto algorithm = CUSPARSE_SPSV_ALG_DEFAULT;
  Description description;

  Status create() {
    cusparseSpSVDescr_t fresh = nullptr;
    LULAB_RETURN_IF_ERROR(status_of(cusparseSpSV_createDescr(&fresh), "cusparseSpSV_createDescr"));
    description.reset(fresh);
    return {};
  }
  Status buffer_size(cusparseHandle_t library, cusparseSpMatDescr_t a, const Columns& b, const Columns& x,
                     std::size_t* bytes) {
    return status_of(cusparseSpSV_bufferSize(library, operation, &one, a, b.vector.get(), x.vector.get(), CUDA_R_64F,
                                             algorithm, description.get(), bytes),
                     "cusparseSpSV_bufferSize");
  }
  Status analyze(cusparseHandle_t library, cusparseSpMatDescr_t a, const Columns& b, const Columns& x, void* buffer) {
    return status_of(cusparseSpSV_analysis(library, operation, &one, a, b.vector.get(), x.vector.get(), CUDA_R_64F,
                                           algorithm, description.get(), buffer),
                     "cusparseSpSV_analysis");
  }
  Status solve(cusparseHandle_t library, cusparseSpMatDescr_t a, const Columns& b, const Columns& x) {
    return status_of(cusparseSpSV_solve(library, operation, &one, a, b.vector.get(), x.vector.get(), CUDA_R_64F,
                                        algorithm, description.get()),
                     "cusparseSpSV_solve");
  }
};

/// Several right-hand sides.
struct SpSM {
  using Description = Owned<cusparseSpSMDescr_t, cusparseSpSM_destroyDescr>;
  static constexpr auto operation = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr auto algorithm = CUSPARSE_SPSM_ALG_DEFAULT;
  Description description;

  Status create() {
    cusparseSpSMDescr_t fresh = nullptr;
    LULAB_RETURN_IF_ERROR(status_of(cusparseSpSM_createDescr(&fresh), "cusparseSpSM_createDescr"));
    description.reset(fresh);
    return {};
  }
  Status buffer_size(cusparseHandle_t library, cusparseSpMatDescr_t a, const Columns& b, const Columns& x,
                     std::size_t* bytes) {
    return status_of(cusparseSpSM_bufferSize(library, operation, operation, &one, a, b.matrix.get(), x.matrix.get(),
                                             CUDA_R_64F, algorithm, description.get(), bytes),
                     "cusparseSpSM_bufferSize");
  }
  Status analyze(cusparseHandle_t library, cusparseSpMatDescr_t a, const Columns& b, const Columns& x, void* buffer) {
    return status_of(cusparseSpSM_analysis(library, operation, operation, &one, a, b.matrix.get(), x.matrix.get(),
                                           CUDA_R_64F, algorithm, description.get(), buffer),
                     "cusparseSpSM_analysis");
  }
  Status solve(cusparseHandle_t library, cusparseSpMatDescr_t a, const Columns& b, const Columns& x) {
    return status_of(cusparseSpSM_solve(library, operation, operation, &one, a, b.matrix.get(), x.matrix.get(),
                                        CUDA_R_64F, algorithm, description.get()),
                     "cusparseSpSM_solve");
  }
};

/// L, U or a transpose of them on the device, and what the library knows about it.
template <class Routine>
struct Triangle {
  simt::DeviceBuffer<std::int32_t> row_ptr, col_idx;
  simt::DeviceBuffer<double> values;
  SparseDescription matrix;
  Routine routine;
  simt::DeviceBuffer<unsigned char> workspace;

  /// transposed: of `from`, whose columns are its rows.
  Status create(const CscMatrix<double>& from, bool transposed, cusparseFillMode_t fill, cusparseDiagType_t diagonal,
                simt::Stream& stream) {
    if (from.nnz() > std::numeric_limits<std::int32_t>::max())
      return Status::error(StatusCode::out_of_memory, "a triangle outgrows 32-bit indices");
    CsrMatrix<double> csr;
    if (!transposed) csr = to_csr(from.view());
    const std::vector<std::int64_t>& ptr = transposed ? from.col_ptr : csr.row_ptr;
    const std::vector<std::int32_t> narrow(ptr.begin(), ptr.end());
    LULAB_RETURN_IF_ERROR(simt::make(row_ptr, narrow, stream));
    LULAB_RETURN_IF_ERROR(simt::make(col_idx, transposed ? from.row_idx : csr.col_idx, stream));
    LULAB_RETURN_IF_ERROR(simt::make(values, transposed ? from.values : csr.values, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());  // csr and narrow are locals
    cusparseSpMatDescr_t made = nullptr;
    LULAB_RETURN_IF_ERROR(status_of(
        cusparseCreateCsr(&made, from.n_rows, from.n_cols, from.nnz(), row_ptr.data(), col_idx.data(), values.data(),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
        "cusparseCreateCsr"));
    matrix.reset(made);
    LULAB_RETURN_IF_ERROR(status_of(cusparseSpMatSetAttribute(made, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill),
                                    "cusparseSpMatSetAttribute"));
    return status_of(cusparseSpMatSetAttribute(made, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal),
                     "cusparseSpMatSetAttribute");
  }

  /// For solves of this triangle with right sides b into x.
  Status analyze(cusparseHandle_t library, const Columns& b, const Columns& x) {
    LULAB_RETURN_IF_ERROR(routine.create());
    std::size_t bytes = 0;
    LULAB_RETURN_IF_ERROR(routine.buffer_size(library, matrix.get(), b, x, &bytes));
    if (static_cast<std::size_t>(workspace.size()) < bytes)
      LULAB_RETURN_IF_ERROR(simt::make(workspace, static_cast<std::int64_t>(bytes)));
    return routine.analyze(library, matrix.get(), b, x, workspace.data());
  }

  Status enqueue_solve(cusparseHandle_t library, const Columns& b, const Columns& x) {
    return routine.solve(library, matrix.get(), b, x);
  }

  std::int64_t bytes() const { return 4 * (row_ptr.size() + col_idx.size()) + 8 * values.size() + workspace.size(); }
};

template <class Routine>
class LibrarySolve final : public ParallelSolve {
 public:
  Status create(const Factors<double>& f, SolveTask task) {
    LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::create());
    LULAB_ASSIGN_OR_RETURN(timer_, simt::Timer::create());
    cusparseHandle_t library = nullptr;
    LULAB_RETURN_IF_ERROR(status_of(cusparseCreate(&library), "cusparseCreate"));
    library_.reset(library);
    LULAB_RETURN_IF_ERROR(
        status_of(cusparseSetStream(library, static_cast<cudaStream_t>(stream_->native())), "cusparseSetStream"));
    for (Columns* columns : {&b_, &y_, &x_}) LULAB_RETURN_IF_ERROR(columns->create(f.filled.n, task.columns));
    const auto unit = CUSPARSE_DIAG_TYPE_UNIT, non_unit = CUSPARSE_DIAG_TYPE_NON_UNIT;
    const auto lower = CUSPARSE_FILL_MODE_LOWER, upper = CUSPARSE_FILL_MODE_UPPER;
    if (task.transposed) {
      LULAB_RETURN_IF_ERROR(first_.create(extract_u(f), true, lower, non_unit, *stream_));
      return second_.create(extract_l(f), true, upper, unit, *stream_);
    }
    LULAB_RETURN_IF_ERROR(first_.create(extract_l(f), false, lower, unit, *stream_));
    return second_.create(extract_u(f), false, upper, non_unit, *stream_);
  }

  Result<double> analyze() override {
    const auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(first_.analyze(library_.get(), b_, y_));
    LULAB_RETURN_IF_ERROR(second_.analyze(library_.get(), y_, x_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    return ms_since(start);
  }

  Result<double> solve(std::span<const double> from, std::span<double> to) override {
    LULAB_RETURN_IF_ERROR(b_.d_values.upload(from, *stream_));
    LULAB_RETURN_IF_ERROR(y_.d_values.fill_bytes(0xFF, *stream_));  // NaN: what is not written shows
    LULAB_RETURN_IF_ERROR(x_.d_values.fill_bytes(0xFF, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    LULAB_RETURN_IF_ERROR(timer_->start(*stream_));
    LULAB_RETURN_IF_ERROR(first_.enqueue_solve(library_.get(), b_, y_));
    LULAB_RETURN_IF_ERROR(second_.enqueue_solve(library_.get(), y_, x_));
    LULAB_RETURN_IF_ERROR(timer_->stop(*stream_));
    LULAB_RETURN_IF_ERROR(x_.d_values.download(to, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    return timer_->elapsed_ms();
  }

  std::int64_t bytes() const override {
    return first_.bytes() + second_.bytes() + 8 * (b_.d_values.size() + y_.d_values.size() + x_.d_values.size());
  }

 private:
  std::optional<simt::Stream> stream_;
  std::optional<simt::Timer> timer_;
  Library library_;
  Columns b_, y_, x_;
  Triangle<Routine> first_, second_;
};

template <class Routine>
Result<std::unique_ptr<ParallelSolve>> make_solve(const Factors<double>& factors, SolveTask task) {
  auto made = std::make_unique<LibrarySolve<Routine>>();
  LULAB_RETURN_IF_ERROR(made->create(factors, task));
  return std::unique_ptr<ParallelSolve>(std::move(made));
}

}  // namespace

Result<std::unique_ptr<ParallelSolve>> library_solve(const Factors<double>& factors, SolveTask task) {
  return task.columns > 1 ? make_solve<SpSM>(factors, task) : make_solve<SpSV>(factors, task);
}

}  // namespace lulab::bench
