#pragma once
// What every dense GPU rung shares: getrf on a matrix that lies on the device, and the Backend around it that takes a
// sparse A, writes P·R·A·C·Q into a full matrix and returns L and U on the full pattern.

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/backend.h"
#include "core/factors.h"
#include "core/plan_gather.h"
#include "core/rung.h"
#include "dense/00_reference.h"
#include "dense/device_dense.h"
#include "dense/full_factors.h"

namespace lulab::dense {

/// A Backend of one system whose rung writes only prepare_rung(), launch() and work_bytes(). A caller whose matrix is
/// on the device already uses prepare_getrf() and getrf() instead, and reads ipiv and info as LAPACK's.
template <class T>
class DenseBackend : public Backend<T> {
 public:
  explicit DenseBackend(Pivoting pivoting) : pivoting_(pivoting) {}

  /// Workspace for matrices of this size; later work goes to `stream`, which must outlive it.
  /// Errors    invalid_argument (n outside 0..max_n()), not_implemented (a device without what the rung needs),
  ///           out_of_memory, device_error.
  Status prepare_getrf(std::int32_t n, simt::Stream& stream) {
    prepared_n_ = -1;
    if (n < 0 || n > max_n())
      return Status::error(StatusCode::invalid_argument, fmt::format("n = {}; this rung takes 0 to {}", n, max_n()));
    if (n > 0) LULAB_RETURN_IF_ERROR(prepare_rung(n, stream));
    prepared_n_ = n;
    getrf_stream_ = &stream;
    return {};
  }

  /// Enqueues A := L and U of P·A = L·U. A rung without pivoting gives ipiv[k] = k. A zero pivot is noted in info and
  /// the factorization goes on (LAPACK getrf).
  ///
  /// Requires  prepare_getrf(a.n, stream).
  /// Errors    invalid_argument (other n, ld < n), device_error.
  Status getrf(const DeviceDense<T>& a) {
    if (a.n < 0 || a.n != prepared_n_)
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("n = {}, but prepare_getrf() was called for n = {}", a.n, prepared_n_));
    if (a.ld < std::max(1, a.n))
      return Status::error(StatusCode::invalid_argument, fmt::format("ld = {} for n = {}; give ld >= n", a.ld, a.n));
    LULAB_RETURN_IF_ERROR(simt::fill_bytes(a.info, 0, sizeof(std::int32_t), *getrf_stream_));
    return a.n > 0 ? launch(a) : Status{};
  }

  /// Device memory held besides the matrix.   Unit bytes.
  virtual std::int64_t work_bytes() const = 0;
  /// The largest n that the rung takes.
  virtual std::int32_t max_n() const { return 1 << 17; }

  Status prepare(const Analysis& analysis, std::int32_t /*systems*/) final {
    LULAB_ASSIGN_OR_RETURN(gather_, PlanGather::create(analysis.a, analysis.plan));
    const std::int32_t n = gather_.pattern().n_cols;
    LULAB_RETURN_IF_ERROR(check_dense_size<T>(n, max_n(), max_device_dense_bytes()));
    if (!stream_) {
      LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::create());
    }
    LULAB_RETURN_IF_ERROR(allocate(n));
    analysis_ = &analysis;
    return prepare_getrf(n, *stream_);
  }

  Status take_scales() final {
    gather_.take_scales(analysis_->plan);
    return {};
  }

  Status upload(std::span<const T> values) final {
    LULAB_ASSIGN_OR_RETURN(pracq_max_, gather_.gather(values, std::span<T>(pracq_)));
    return d_pracq_.upload(pracq_, *stream_);
  }

  Status enqueue(Phase /*phase*/) final {
    LULAB_RETURN_IF_ERROR(scatter_to_dense(d_pracq_.size(), d_position_.data(), d_pracq_.data(), matrix(), *stream_));
    return getrf(matrix());
  }

  /// A zero pivot and an overflow are errors with the column in A's own numbering.
  Status collect(std::span<Status> statuses) final {
    std::int32_t found[2] = {-1, -1};
    LULAB_RETURN_IF_ERROR(find_non_finite_column(matrix(), d_info_.data() + 1, *stream_));
    LULAB_RETURN_IF_ERROR(d_info_.download(found, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    const bool zero_pivot = found[0] > 0;
    const std::int32_t j = zero_pivot ? found[0] - 1 : found[1];
    if (j == matrix().n) return {};
    const std::int32_t column = analysis_->plan.q[j];
    const StatusCode code = pivoting_ == Pivoting::fixed ? StatusCode::needs_repivot : StatusCode::numerically_singular;
    statuses[0] = Status::error(code,
                                fmt::format("column {} of A (column {} of P·R·A·C·Q): {}", column + 1, j + 1,
                                            zero_pivot ? "the pivot is zero" : "a value is not finite"),
                                {{}, 0, {}, {column}});
    return {};
  }

  Result<Factors<T>> download(std::int32_t /*system*/) final {
    const std::int32_t n = gather_.pattern().n_cols;
    Factors<T> f;
    f.plan = analysis_->plan;
    f.values.resize(d_a_.size());
    std::vector<std::int32_t> ipiv(n);
    LULAB_RETURN_IF_ERROR(d_a_.download(f.values, *stream_));
    LULAB_RETURN_IF_ERROR(d_ipiv_.download(ipiv, *stream_));
    f.filled = full_pattern(n);
    LULAB_RETURN_IF_ERROR(stream_->wait());
    f.plan.p = compose(analysis_->plan.p, row_permutation_from_ipiv(ipiv, n));
    measure_factors(f, analysis_->plan, pracq_max_);
    f.statistics.flops = getrf_flops(n);
    f.statistics.peak_bytes =
        static_cast<std::int64_t>(sizeof(T)) * (d_a_.size() + d_pracq_.size()) + 8 * d_position_.size() + work_bytes();
    return f;
  }

  simt::Stream* stream() final { return stream_ ? &*stream_ : nullptr; }

 protected:
  /// Once a size: workspace, handles, graphs. Called with n > 0.
  virtual Status prepare_rung(std::int32_t n, simt::Stream& stream) = 0;
  /// Enqueues the factorization; *a.info is 0. Called with a.n = n > 0 and a.ld >= n.
  virtual Status launch(const DeviceDense<T>& a) = 0;

 private:
  DeviceDense<T> matrix() const {
    const std::int32_t n = gather_.pattern().n_cols;
    return {n, std::max(1, n), d_a_.data(), d_ipiv_.data(), d_info_.data()};
  }

  Status allocate(std::int32_t n) {
    const CscPattern& pracq = gather_.pattern();
    std::vector<std::int64_t> position;
    position.reserve(pracq.row_idx.size());
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int64_t k = pracq.col_ptr[j]; k < pracq.col_ptr[j + 1]; ++k)
        position.push_back(pracq.row_idx[k] + std::int64_t(j) * n);
    pracq_.assign(position.size(), T(0));
    LULAB_RETURN_IF_ERROR(make(d_position_, static_cast<std::int64_t>(position.size())));
    LULAB_RETURN_IF_ERROR(make(d_pracq_, static_cast<std::int64_t>(position.size())));
    LULAB_RETURN_IF_ERROR(make(d_a_, std::int64_t(n) * n));
    LULAB_RETURN_IF_ERROR(make(d_ipiv_, n));
    LULAB_RETURN_IF_ERROR(make(d_info_, 2));  // info, first column that is not finite
    LULAB_RETURN_IF_ERROR(d_position_.upload(position, *stream_));
    return stream_->wait();  // position is a local
  }
  template <class U>
  static Status make(simt::DeviceBuffer<U>& buffer, std::int64_t size) {
    buffer = {};  // the old memory first
    LULAB_ASSIGN_OR_RETURN(buffer, simt::DeviceBuffer<U>::create(size));
    return {};
  }

  Pivoting pivoting_;
  std::int32_t prepared_n_ = -1;
  simt::Stream* getrf_stream_ = nullptr;

  const Analysis* analysis_ = nullptr;
  PlanGather gather_;
  std::vector<T> pracq_;
  double pracq_max_ = 0;
  std::optional<simt::Stream> stream_;
  simt::DeviceBuffer<std::int64_t> d_position_;  // (nnz) of P·R·A·C·Q in the full matrix
  simt::DeviceBuffer<T> d_pracq_, d_a_;
  simt::DeviceBuffer<std::int32_t> d_ipiv_, d_info_;
};

}  // namespace lulab::dense
