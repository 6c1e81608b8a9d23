#pragma once
// What every GPU rung shares: the order of calls, A's values on the device, and the error that bars download().

#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/device_factors.h"
#include "core/rung.h"

namespace lulab {

/// A fixed-pivot Factorizer on the device whose rung writes only the two steps below.
template <class T>
class DeviceFactorizer : public Factorizer<T> {
 public:
  explicit DeviceFactorizer(const DeviceFactorsOptions& options = {}) : options_(options) {}

  Status analyze(const Analysis& analysis) final {
    has_values_ = has_pivots_ = in_flight_ = false;
    factors_.reset();
    analysis_ = &analysis;
    error_ = before("factor()", "download()");
    LULAB_RETURN_IF_ERROR(check_perturb_pivots(options_.perturb_pivots));
    if (!stream_) {
      auto stream = simt::Stream::create();
      if (!stream.ok()) return stream.status();
      stream_.emplace(std::move(*stream));
    }
    Status status;
    try {
      status = prepare_factors();
    } catch (const std::bad_alloc&) {
      status = Status::error(StatusCode::out_of_memory, "not enough host memory to prepare the factorization");
    }
    if (!status.ok()) factors_.reset();
    return status;
  }

  Status upload(std::span<const T> values) final {
    has_values_ = false;
    if (!factors_) return refuse(before("analyze()", "upload()"));
    if (Status s = factors_->upload(values, *stream_); !s.ok()) return refuse(std::move(s));
    has_values_ = true;
    return {};
  }

  Status factor() final {
    if (!has_values_) return refuse(before("analyze() and upload()", "factor()"));
    LULAB_RETURN_IF_ERROR(start());
    has_pivots_ = true;  // the plan's, whatever becomes of the values
    return {};
  }

  Status refactor() final {
    if (!has_values_ || !has_pivots_) return refuse(before("upload() and factor()", "refactor()"));
    return start();
  }

  Status wait() final {
    if (!in_flight_) return error_;
    in_flight_ = false;
    return error_ = factors_->wait(*stream_);
  }

  Result<Factors<T>> download() final {
    LULAB_RETURN_IF_ERROR(wait());
    auto f = factors_->download(*stream_);
    if (!f.ok()) return f;
    const Statistics known = statistics();
    f->statistics.peak_bytes = known.peak_bytes;
    f->statistics.perturbed_pivots = known.perturbed_pivots;
    return f;
  }

  Status download_values(std::span<T> values) final {
    LULAB_RETURN_IF_ERROR(wait());
    LULAB_RETURN_IF_ERROR(this->check_size(values.size(), analysis_->filled.row_idx.size()));
    return factors_->download_values(values, *stream_);
  }

  Statistics statistics() const final {
    Statistics known;
    if (!factors_) return known;
    known.peak_bytes = factors_->bytes() + work_bytes();
    known.perturbed_pivots = factors_->perturbed_pivots();
    return known;
  }

  DeviceArrays<T> device_arrays() const final {
    if (!factors_ || options_.order != RowOrder::sorted) return {};
    return {factors_->a_values(), factors_->view().values};
  }

  simt::Stream* stream() final { return stream_ ? &*stream_ : nullptr; }

 protected:
  /// Once a pattern: workspace and schedules in device memory.
  virtual Status prepare() = 0;
  /// Enqueues the elimination of view(), which holds P·R·A·C·Q.
  virtual Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) = 0;
  /// Device memory held besides As.   Unit bytes.
  virtual std::int64_t work_bytes() const = 0;

  const Analysis& analysis() const { return *analysis_; }
  /// Device memory that As, A's values and their way into As take.
  std::int64_t factors_bytes() const { return factors_->bytes(); }
  /// As on the device.
  DeviceFactorsView<T> view() const { return factors_->view(); }

 private:
  static Status before(std::string_view needed, std::string_view call) {
    return Status::error(StatusCode::invalid_argument, "call " + std::string(needed) + " before " + std::string(call));
  }

  Status prepare_factors() {
    auto factors = DeviceFactors<T>::create(*analysis_, *stream_, options_);
    if (!factors.ok()) return factors.status();
    factors_.emplace(std::move(*factors));
    return prepare();
  }

  /// What was enqueued before is no longer waited for: its factors are not to be had.
  Status refuse(Status s) {
    in_flight_ = false;
    return error_ = std::move(s);
  }

  Status start() {
    if (Status s = factors_->scatter(*stream_); !s.ok()) return refuse(std::move(s));
    if (Status s = enqueue(factors_->view(), *stream_); !s.ok()) return refuse(std::move(s));
    in_flight_ = true;
    return {};
  }

  const DeviceFactorsOptions options_;
  const Analysis* analysis_ = nullptr;
  std::optional<simt::Stream> stream_;
  std::optional<DeviceFactors<T>> factors_;
  bool has_values_ = false, has_pivots_ = false;
  bool in_flight_ = false;                                                   // enqueued, not yet waited for
  Status error_ = before("analyze(), upload() and factor()", "download()");  // why there are no factors; ok: there are
};

}  // namespace lulab
