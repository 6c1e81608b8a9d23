#ifdef LULAB_CUSOLVER
// cuSOLVER's refactorization, cusolverRf: its host factors once, in the order and with the pivots of cusolverSp; then
// the device factors and solves. It works on the default stream.

#define DISABLE_CUSOLVER_DEPRECATED  // in favour of cuDSS, without a successor of its own in cuSOLVER
#include <cusolverRf.h>
#include <cusolverSp.h>
#include <cusolverSp_LOWLEVEL_PREVIEW.h>

#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "bench/peers/by_rows.h"
#include "bench/peers/peer.h"
#include "core/matrix/permutation.h"
#include "core/simt/device.h"

namespace lulab::bench {
namespace {

Status status_of(cusolverStatus_t status, std::string_view call) {
  if (status == CUSOLVER_STATUS_SUCCESS) return {};
  const StatusCode code = status == CUSOLVER_STATUS_ALLOC_FAILED ? StatusCode::out_of_memory
                          : status == CUSOLVER_STATUS_ZERO_PIVOT ? StatusCode::numerically_singular
                                                                 : StatusCode::device_error;
  return Status::error(code, fmt::format("{} answers with status {}", call, static_cast<int>(status)));
}

/// What cusolverSp makes of A on the host, row by row: A(p, q) = L U, L with its unit diagonal.
struct HostFactors {
  std::vector<int> p, q;
  std::vector<int> l_starts, l_columns, u_starts, u_columns;
  std::vector<double> l_values, u_values;
};

struct Closed {
  void operator()(cusolverSpHandle_t handle) const { cusolverSpDestroy(handle); }
  void operator()(csrluInfoHost_t info) const { cusolverSpDestroyCsrluInfoHost(info); }
  void operator()(cusparseMatDescr_t description) const { cusparseDestroyMatDescr(description); }
  void operator()(cusolverRfHandle_t handle) const { cusolverRfDestroy(handle); }
};
template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Closed>;

template <class Handle, class Create>
Status create(Owned<Handle>& to, const Create& call, const char* name) {
  Handle made = nullptr;
  LULAB_RETURN_IF_ERROR(status_of(call(&made), name));
  to.reset(made);
  return {};
}

class CusolverRf final : public Peer {
 public:
  explicit CusolverRf(CscPatternView a) : n_(a.n_cols), rows_(a), by_rows_(rows_.place.size()) {}

  std::span<const double> in_own_order(std::span<const double> values) override {
    rows_.move(values, by_rows_);
    return by_rows_;
  }

  /// An order for A + Aᵀ, by METIS.
  Status analyze(std::span<const double> /*values*/) override {
    LULAB_RETURN_IF_ERROR(create<cusolverSpHandle_t>(sp_, cusolverSpCreate, "cusolverSpCreate"));
    cusparseMatDescr_t made = nullptr;
    if (cusparseCreateMatDescr(&made) != CUSPARSE_STATUS_SUCCESS)
      return Status::error(StatusCode::device_error, "cusparseCreateMatDescr failed");
    general_.reset(made);
    order_.resize(n_);
    return status_of(cusolverSpXcsrmetisndHost(sp_.get(), n_, nnz(), general_.get(), rows_.starts.data(),
                                               rows_.columns.data(), nullptr, order_.data()),
                     "cusolverSpXcsrmetisndHost");
  }

  Status factor(std::span<const double> values) override {
    LULAB_ASSIGN_OR_RETURN(const HostFactors f, factor_on_host(values));
    LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::of(nullptr));
    LULAB_ASSIGN_OR_RETURN(timer_, simt::Timer::create());
    LULAB_RETURN_IF_ERROR(simt::make(d_starts_, rows_.starts, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_columns_, rows_.columns, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_p_, f.p, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_q_, f.q, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_values_, nnz()));
    LULAB_RETURN_IF_ERROR(simt::make(d_x_, n_));
    LULAB_RETURN_IF_ERROR(simt::make(d_work_, n_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    LULAB_RETURN_IF_ERROR(create<cusolverRfHandle_t>(rf_, cusolverRfCreate, "cusolverRfCreate"));
    const auto rf = rf_.get();
    LULAB_RETURN_IF_ERROR(
        status_of(cusolverRfSetMatrixFormat(rf, CUSOLVERRF_MATRIX_FORMAT_CSR, CUSOLVERRF_UNIT_DIAGONAL_STORED_L),
                  "cusolverRfSetMatrixFormat"));
    LULAB_RETURN_IF_ERROR(status_of(cusolverRfSetResetValuesFastMode(rf, CUSOLVERRF_RESET_VALUES_FAST_MODE_ON),
                                    "cusolverRfSetResetValuesFastMode"));
    // It reads them all; the pointers are not const.
    auto unread = [](const auto& of) { return const_cast<std::remove_cvref_t<decltype(of[0])>*>(of.data()); };
    LULAB_RETURN_IF_ERROR(
        status_of(cusolverRfSetupHost(n_, nnz(), unread(rows_.starts), unread(rows_.columns), unread(values),
                                      static_cast<int>(f.l_values.size()), unread(f.l_starts), unread(f.l_columns),
                                      unread(f.l_values), static_cast<int>(f.u_values.size()), unread(f.u_starts),
                                      unread(f.u_columns), unread(f.u_values), unread(f.p), unread(f.q), rf),
                  "cusolverRfSetupHost"));
    LULAB_RETURN_IF_ERROR(status_of(cusolverRfAnalyze(rf), "cusolverRfAnalyze"));
    return refactor(values);
  }

  Status refactor(std::span<const double> values) override {
    LULAB_RETURN_IF_ERROR(d_values_.upload(values, *stream_));
    LULAB_RETURN_IF_ERROR(refactor_on_device());
    return stream_->wait();
  }
  Status solve(std::span<const double> b, std::span<double> x) override {
    LULAB_RETURN_IF_ERROR(d_x_.upload(b, *stream_));
    LULAB_RETURN_IF_ERROR(solve_on_device());
    LULAB_RETURN_IF_ERROR(d_x_.download(x, *stream_));
    return stream_->wait();
  }

  Result<double> step_in_device_memory(std::span<const double> values, std::span<const double> b,
                                       std::span<double> x) override {
    LULAB_RETURN_IF_ERROR(d_values_.upload(values, *stream_));
    LULAB_RETURN_IF_ERROR(d_x_.upload(b, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    LULAB_RETURN_IF_ERROR(timer_->start(*stream_));
    LULAB_RETURN_IF_ERROR(refactor_on_device());
    LULAB_RETURN_IF_ERROR(solve_on_device());
    LULAB_RETURN_IF_ERROR(timer_->stop(*stream_));
    LULAB_ASSIGN_OR_RETURN(const double ms, timer_->elapsed_ms());
    LULAB_RETURN_IF_ERROR(d_x_.download(x, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    return ms;
  }

  bool works_on_gpu() const override { return true; }

 private:
  int nnz() const { return static_cast<int>(rows_.place.size()); }

  Result<HostFactors> factor_on_host(std::span<const double> values) {
    constexpr double pivot_threshold = 1.0;  // partial pivoting, as in NVIDIA's example
    // B = A(order, order), its rows as the columns of a transposed matrix.
    const CscMatrix<double> b =
        permute(CscView<double>{{n_, n_, wide_starts(), rows_.columns}, values}, order_, order_);
    const std::vector<int> starts(b.col_ptr.begin(), b.col_ptr.end());
    const auto sp = sp_.get();
    const auto description = general_.get();
    Owned<csrluInfoHost_t> info;
    LULAB_RETURN_IF_ERROR(
        create<csrluInfoHost_t>(info, cusolverSpCreateCsrluInfoHost, "cusolverSpCreateCsrluInfoHost"));
    LULAB_RETURN_IF_ERROR(
        status_of(cusolverSpXcsrluAnalysisHost(sp, n_, nnz(), description, starts.data(), b.row_idx.data(), info.get()),
                  "cusolverSpXcsrluAnalysisHost"));
    std::size_t internal = 0, room = 0;
    LULAB_RETURN_IF_ERROR(
        status_of(cusolverSpDcsrluBufferInfoHost(sp, n_, nnz(), description, b.values.data(), starts.data(),
                                                 b.row_idx.data(), info.get(), &internal, &room),
                  "cusolverSpDcsrluBufferInfoHost"));
    std::vector<char> work(room);
    LULAB_RETURN_IF_ERROR(
        status_of(cusolverSpDcsrluFactorHost(sp, n_, nnz(), description, b.values.data(), starts.data(),
                                             b.row_idx.data(), info.get(), pivot_threshold, work.data()),
                  "cusolverSpDcsrluFactorHost"));
    int zero_pivot = -1;
    LULAB_RETURN_IF_ERROR(
        status_of(cusolverSpDcsrluZeroPivotHost(sp, info.get(), 0.0, &zero_pivot), "cusolverSpDcsrluZeroPivotHost"));
    if (zero_pivot >= 0)
      return Status::error(StatusCode::numerically_singular, fmt::format("cusolverSp: pivot {} is zero", zero_pivot));
    int nnz_l = 0, nnz_u = 0;
    LULAB_RETURN_IF_ERROR(
        status_of(cusolverSpXcsrluNnzHost(sp, &nnz_l, &nnz_u, info.get()), "cusolverSpXcsrluNnzHost"));
    HostFactors f;
    f.p.resize(n_), f.q.resize(n_);
    f.l_starts.resize(n_ + 1), f.u_starts.resize(n_ + 1);
    f.l_columns.resize(nnz_l), f.l_values.resize(nnz_l);
    f.u_columns.resize(nnz_u), f.u_values.resize(nnz_u);
    LULAB_RETURN_IF_ERROR(
        status_of(cusolverSpDcsrluExtractHost(sp, f.p.data(), f.q.data(), description, f.l_values.data(),
                                              f.l_starts.data(), f.l_columns.data(), description, f.u_values.data(),
                                              f.u_starts.data(), f.u_columns.data(), info.get(), work.data()),
                  "cusolverSpDcsrluExtractHost"));
    for (std::vector<int>* of : {&f.p, &f.q})
      for (int& i : *of) i = order_[i];
    return f;
  }

  std::vector<std::int64_t> wide_starts() const { return {rows_.starts.begin(), rows_.starts.end()}; }

  Status refactor_on_device() {
    LULAB_RETURN_IF_ERROR(status_of(cusolverRfResetValues(n_, nnz(), d_starts_.data(), d_columns_.data(),
                                                          d_values_.data(), d_p_.data(), d_q_.data(), rf_.get()),
                                    "cusolverRfResetValues"));
    return status_of(cusolverRfRefactor(rf_.get()), "cusolverRfRefactor");
  }
  Status solve_on_device() {
    return status_of(cusolverRfSolve(rf_.get(), d_p_.data(), d_q_.data(), 1, d_work_.data(), n_, d_x_.data(), n_),
                     "cusolverRfSolve");
  }

  const int n_;
  const ByRows rows_;
  std::vector<double> by_rows_;
  Permutation order_;
  Owned<cusolverSpHandle_t> sp_;
  Owned<cusparseMatDescr_t> general_;
  Owned<cusolverRfHandle_t> rf_;
  std::optional<simt::Stream> stream_;
  std::optional<simt::Timer> timer_;
  simt::DeviceBuffer<int> d_starts_, d_columns_, d_p_, d_q_;
  simt::DeviceBuffer<double> d_values_, d_x_, d_work_;
};

}  // namespace

std::vector<PeerLibrary> cusolver_library() {
  return {{"peers/cusolver_rf", "METIS, partial pivoting on the host",
           [](const Problem& problem) { return std::make_unique<CusolverRf>(problem.a.pattern().view()); }}};
}

}  // namespace lulab::bench
#endif
