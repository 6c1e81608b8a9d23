#ifdef LULAB_CUDSS
// cuDSS. Values, b and x of its calls are in device memory; A is given row by row.

#include <cudss.h>

#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "bench/peers/by_rows.h"
#include "bench/peers/peer.h"
#include "core/simt/device.h"

namespace lulab::bench {
namespace {

Status status_of(cudssStatus_t status, std::string_view call) {
  if (status == CUDSS_STATUS_SUCCESS) return {};
  const StatusCode code = status == CUDSS_STATUS_ALLOC_FAILED    ? StatusCode::out_of_memory
                          : status == CUDSS_STATUS_NOT_SUPPORTED ? StatusCode::not_implemented
                                                                 : StatusCode::device_error;
  return Status::error(code, fmt::format("{} answers with status {}", call, static_cast<int>(status)));
}

struct Setting {
  cudssConfigParam_t parameter;
  int value;
};

/// Made once a process, as its users do.
Result<cudssHandle_t> library() {
  static cudssHandle_t handle = nullptr;
  if (handle == nullptr) LULAB_RETURN_IF_ERROR(status_of(cudssCreate(&handle), "cudssCreate"));
  return handle;
}

class Cudss final : public Peer {
 public:
  Cudss(const CscMatrix<double>& a, std::vector<Setting> settings)
      : n_(a.n_cols), rows_(a.pattern().view()), settings_(std::move(settings)) {
    auto made = simt::HostBuffer<double>::create(a.nnz());
    if (made.ok()) values_ = std::move(*made);
  }
  ~Cudss() override {
    const auto handle = library();
    if (stream_) {
      (void)stream_->wait();
      cudssSetStream(*handle, static_cast<cudaStream_t>(stream_->native()));  // it may be one that is no more
    }
    for (cudssMatrix_t m : {a_, b_, x_})
      if (m != nullptr) cudssMatrixDestroy(m);
    if (data_ != nullptr) cudssDataDestroy(*handle, data_);
    if (config_ != nullptr) cudssConfigDestroy(config_);
    if (stream_) cudssSetStream(*handle, nullptr);
  }
  Cudss(const Cudss&) = delete;

  std::span<const double> in_own_order(std::span<const double> values) override {
    return rows_.put(values, values_.span());
  }

  Status analyze(std::span<const double> values) override {
    LULAB_RETURN_IF_ERROR(create());
    LULAB_RETURN_IF_ERROR(d_values_.upload(values, *stream_));
    return execute(CUDSS_PHASE_ANALYSIS, "cudssExecute(analysis)");
  }
  Status factor(std::span<const double> values) override { return factor(values, CUDSS_PHASE_FACTORIZATION); }
  Status refactor(std::span<const double> values) override { return factor(values, CUDSS_PHASE_REFACTORIZATION); }
  Status solve(std::span<const double> b, std::span<double> x) override {
    LULAB_RETURN_IF_ERROR(d_b_.upload(b, *stream_));
    LULAB_RETURN_IF_ERROR(execute(CUDSS_PHASE_SOLVE, "cudssExecute(solve)"));
    LULAB_RETURN_IF_ERROR(d_x_.download(x, *stream_));
    return stream_->wait();
  }

  Result<double> step_in_device_memory(std::span<const double> values, std::span<const double> b,
                                       std::span<double> x) override {
    LULAB_RETURN_IF_ERROR(d_values_.upload(values, *stream_));
    LULAB_RETURN_IF_ERROR(d_b_.upload(b, *stream_));
    LULAB_RETURN_IF_ERROR(d_x_.upload(x, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    LULAB_RETURN_IF_ERROR(timer_->start(*stream_));
    LULAB_RETURN_IF_ERROR(execute(CUDSS_PHASE_REFACTORIZATION, "cudssExecute(refactorization)"));
    LULAB_RETURN_IF_ERROR(execute(CUDSS_PHASE_SOLVE, "cudssExecute(solve)"));
    LULAB_RETURN_IF_ERROR(timer_->stop(*stream_));
    LULAB_ASSIGN_OR_RETURN(const double ms, timer_->elapsed_ms());
    LULAB_RETURN_IF_ERROR(d_x_.download(x, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    return ms;
  }

  bool works_on_gpu() const override { return true; }

 private:
  Status create() {
    LULAB_ASSIGN_OR_RETURN(const auto handle, library());
    if (values_.span().size() != rows_.place.size())
      return Status::error(StatusCode::out_of_memory, "no page-locked memory for the values");
    LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::create());
    LULAB_ASSIGN_OR_RETURN(timer_, simt::Timer::create());
    LULAB_RETURN_IF_ERROR(
        status_of(cudssSetStream(handle, static_cast<cudaStream_t>(stream_->native())), "cudssSetStream"));
    LULAB_RETURN_IF_ERROR(simt::make(d_starts_, rows_.starts, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_columns_, rows_.columns, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_values_, std::ssize(rows_.place)));
    LULAB_RETURN_IF_ERROR(simt::make(d_b_, n_));
    LULAB_RETURN_IF_ERROR(simt::make(d_x_, n_));
    LULAB_RETURN_IF_ERROR(status_of(cudssConfigCreate(&config_), "cudssConfigCreate"));
    for (const auto& [parameter, value] : settings_)
      LULAB_RETURN_IF_ERROR(
          status_of(cudssConfigSet(config_, parameter, &value, sizeof value),
                    fmt::format("cudssConfigSet(parameter {}, {})", static_cast<int>(parameter), value)));
    LULAB_RETURN_IF_ERROR(status_of(cudssDataCreate(handle, &data_), "cudssDataCreate"));
    LULAB_RETURN_IF_ERROR(
        status_of(cudssMatrixCreateCsr(&a_, n_, n_, std::ssize(rows_.place), d_starts_.data(), nullptr,
                                       d_columns_.data(), d_values_.data(), CUDA_R_32I, CUDA_R_32I, CUDA_R_64F,
                                       CUDSS_MTYPE_GENERAL, CUDSS_MVIEW_FULL, CUDSS_BASE_ZERO),
                  "cudssMatrixCreateCsr"));
    for (const auto& [matrix, values] : {std::pair{&b_, d_b_.data()}, std::pair{&x_, d_x_.data()}})
      LULAB_RETURN_IF_ERROR(status_of(
          cudssMatrixCreateDn(matrix, n_, 1, n_, values, CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR), "cudssMatrixCreateDn"));
    return {};
  }

  /// The library's stream may be that of another matrix.
  Status execute(int phase, const char* call) {
    LULAB_ASSIGN_OR_RETURN(const auto handle, library());
    LULAB_RETURN_IF_ERROR(
        status_of(cudssSetStream(handle, static_cast<cudaStream_t>(stream_->native())), "cudssSetStream"));
    return status_of(cudssExecute(handle, phase, config_, data_, a_, x_, b_), call);
  }

  Status factor(std::span<const double> values, int phase) {
    LULAB_RETURN_IF_ERROR(d_values_.upload(values, *stream_));
    LULAB_RETURN_IF_ERROR(execute(phase, "cudssExecute(factorization)"));
    return stream_->wait();
  }

  const std::int32_t n_;
  const ByRows rows_;
  const std::vector<Setting> settings_;
  simt::HostBuffer<double> values_;
  std::optional<simt::Stream> stream_;
  std::optional<simt::Timer> timer_;
  simt::DeviceBuffer<std::int32_t> d_starts_, d_columns_;
  simt::DeviceBuffer<double> d_values_, d_b_, d_x_;
  cudssConfig_t config_ = nullptr;
  cudssData_t data_ = nullptr;
  cudssMatrix_t a_ = nullptr, b_ = nullptr, x_ = nullptr;
};

}  // namespace

std::vector<PeerLibrary> cudss_library() {
  const auto with = [](const char* name, const char* label, std::vector<Setting> settings) {
    return PeerLibrary{fmt::format("peers/{}", name), label,
                       [settings](const Problem& problem) { return std::make_unique<Cudss>(problem.a, settings); }};
  };
  constexpr auto order = CUDSS_CONFIG_REORDERING_ALG;
  return {
      with("cudss", "defaults", {}),
      with("cudss_nd", "nested dissection", {{order, CUDSS_REORDERING_ALG_NESTED_DISSECTION}}),
      with("cudss_amd", "AMD", {{order, CUDSS_REORDERING_ALG_AMD}}),
      with("cudss_colamd", "COLAMD", {{order, CUDSS_REORDERING_ALG_COLAMD}}),
      with("cudss_no_matching", "no matching", {{CUDSS_CONFIG_MATCHING_ALG, CUDSS_MATCHING_ALG_NONE}}),
      with("cudss_matching", "matching by the product",
           {{CUDSS_CONFIG_MATCHING_ALG, CUDSS_MATCHING_ALG_MAX_DIAG_PRODUCT}}),
      with("cudss_no_pivoting", "no matching, no pivoting",
           {{CUDSS_CONFIG_MATCHING_ALG, CUDSS_MATCHING_ALG_NONE}, {CUDSS_CONFIG_PIVOT_TYPE, CUDSS_PIVOT_NONE}}),
      with("cudss_deterministic", "deterministic", {{CUDSS_CONFIG_DETERMINISTIC_MODE, 1}}),
  };
}

}  // namespace lulab::bench
#endif
