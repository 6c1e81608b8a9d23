#pragma once
// 10_supernode_panels for many matrices of one pattern: the tasks of one after another in the same launch. A panel of one
// system waits while others of other systems work, so that the chain of panels, which bounds one matrix, bounds many but once.

#include <new>
#include <optional>
#include <string>

#include "core/batch_factorizer.h"
#include "sparse_syncfree/device_panels.h"

namespace lulab::sparse_syncfree {

template <class T, bool disturbed = false>
class PanelBatch final : public BatchFactorizer<T> {
 public:
  explicit PanelBatch(const PanelOptions& options = {}) : options_(options), panels_(options) {}

  Status analyze(const Analysis& analysis, std::int32_t systems) override {
    has_values_ = in_flight_ = false;
    factors_.reset();
    fared_ = before("factor()", "wait()");
    if (systems < 1) return Status::error(StatusCode::invalid_argument, "a batch has at least one system");
    LULAB_RETURN_IF_ERROR(check_perturb_pivots(options_.perturb_pivots));
    if (!stream_) {
      auto stream = simt::Stream::create();
      if (!stream.ok()) return stream.status();
      stream_.emplace(std::move(*stream));
    }
    Status status;
    try {
      auto factors = DeviceFactors<T>::create(
          analysis, *stream_, {.perturb_pivots = options_.perturb_pivots, .pattern = false, .systems = systems});
      if (!factors.ok()) return factors.status();
      status = panels_.prepare(analysis.filled, factors->bytes(), systems, *stream_);
      if (status.ok()) factors_.emplace(std::move(*factors));
    } catch (const std::bad_alloc&) {
      status = Status::error(StatusCode::out_of_memory, "not enough host memory to prepare the factorization");
    }
    systems_ = systems;
    return status;
  }

  Status upload(std::span<const T> values) override {
    has_values_ = in_flight_ = false;
    fared_ = before("factor()", "wait()");
    if (!factors_) return failed(before("analyze()", "upload()"));
    LULAB_RETURN_IF_ERROR(failed(factors_->upload(values, *stream_)));
    has_values_ = true;
    return {};
  }

  Status factor() override {
    in_flight_ = false;
    if (!has_values_) return failed(before("analyze() and upload()", "factor()"));
    LULAB_RETURN_IF_ERROR(failed(factors_->scatter(*stream_)));
    LULAB_RETURN_IF_ERROR(failed(panels_.launch(factors_->view(), *stream_)));
    in_flight_ = true;
    return {};
  }

  Result<std::vector<Status>> wait() override {
    if (in_flight_) fared_ = factors_->wait_for_each(*stream_);
    in_flight_ = false;
    return fared_;
  }

  Result<Factors<T>> download(std::int32_t system) override {
    const auto fared = wait();
    LULAB_RETURN_IF_ERROR(fared.status());
    if (system < 0 || system >= systems_)
      return Status::error(StatusCode::invalid_argument, "download(): there is no system " + std::to_string(system));
    LULAB_RETURN_IF_ERROR((*fared)[system]);
    auto f = factors_->download(*stream_, system);
    if (!f.ok()) return f;
    f->statistics.peak_bytes = bytes();
    f->statistics.perturbed_pivots = factors_->perturbed_pivots(system);
    return f;
  }

  Statistics statistics(std::int32_t system) const override {
    Statistics known;
    if (!factors_ || system < 0 || system >= systems_) return known;
    known.peak_bytes = bytes();
    known.perturbed_pivots = factors_->perturbed_pivots(system);
    return known;
  }

  DeviceArrays<T> device_arrays() const override {
    return factors_ ? DeviceArrays<T>{factors_->a_values(), factors_->view().values} : DeviceArrays<T>{};
  }
  simt::Stream* stream() override { return stream_ ? &*stream_ : nullptr; }

 private:
  static Status before(std::string_view needed, std::string_view call) {
    return Status::error(StatusCode::invalid_argument, "call " + std::string(needed) + " before " + std::string(call));
  }
  Status failed(Status s) {
    if (!s.ok()) fared_ = s;
    return s;
  }
  std::int64_t bytes() const { return factors_->bytes() + panels_.bytes(); }

  const PanelOptions options_;
  std::optional<simt::Stream> stream_;
  std::optional<DeviceFactors<T>> factors_;
  DevicePanels<T, disturbed> panels_;
  std::int32_t systems_ = 0;
  bool has_values_ = false, in_flight_ = false;
  Result<std::vector<Status>> fared_ = before("factor()", "wait()");
};

}  // namespace lulab::sparse_syncfree
