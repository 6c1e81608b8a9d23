#pragma once
// What every rung on the GPU with fixed pivots shares: As and A's values on the device, and the stream.

#include <optional>

#include "core/backend.h"
#include "core/device_factors.h"

namespace lulab {

/// A Backend on the device whose rung writes only the steps below.
template <class T>
class DeviceBackend : public Backend<T> {
 public:
  explicit DeviceBackend(const DeviceFactorsOptions& options = {}) : options_(options) {}

  Status prepare(const Analysis& analysis, std::int32_t systems) final;
  Status take_scales() final { return factors_->take_scales(*stream_); }
  Status upload(std::span<const T> values) final;
  Status upload_from_device(const T* d_values) final;
  Status enqueue(Phase phase) final;
  Status download_outcome(simt::Stream& stream) final { return factors_->download_outcome(stream); }
  Status collect(std::span<Status> statuses) final { return factors_->wait(statuses, *stream_); }
  Result<Factors<T>> download(std::int32_t system) final;
  Status download_values(std::span<T> values, std::int32_t system) final;
  Statistics statistics(std::int32_t system) const final;
  DeviceArrays<T> device_arrays() const final;
  simt::Stream* stream() final { return stream_ ? &*stream_ : nullptr; }

 protected:
  /// Once an analysis: workspace and schedules in device memory.
  virtual Status prepare_rung() = 0;
  /// Enqueues what launch() needs cleared. No values are there yet.
  virtual Status clear(simt::Stream& /*stream*/) { return {}; }
  /// Does launch() take scaled_values()? Then As holds anything before it, and a_max is known only where pivots are
  /// perturbed. prepare_rung() decides.
  virtual bool takes_scaled_values() const { return false; }
  /// Does launch() set failed_column and perturbed, whatever they were before it?   Requires  takes_scaled_values().
  virtual bool tells_outcome() const { return false; }
  /// Enqueues the elimination of f, which holds P·R·A·C·Q unless takes_scaled_values() (of the first system; see
  /// DeviceFactors for the others).
  virtual Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) = 0;
  /// (n) DeviceArrays::y
  virtual const T* right_side_solution() const { return nullptr; }
  /// Device memory held besides As.   Unit bytes.
  virtual std::int64_t work_bytes() const = 0;

  const Analysis& analysis() const { return *analysis_; }
  std::int32_t systems() const { return options_.systems; }
  /// Device memory that As, A's values and their map into As take.   Unit bytes.
  std::int64_t factors_bytes() const { return factors_->bytes(); }
  /// As on the device, of the first system.
  DeviceFactorsView<T> view() const { return factors_->view(); }
  ScaledValues<T> scaled_values() const { return factors_->scaled_values(); }

 private:
  Status clear_all(simt::Stream& stream);
  Status clear_beside();

  DeviceFactorsOptions options_;
  const Analysis* analysis_ = nullptr;
  std::optional<simt::Stream> stream_, beside_;
  bool cleared_ = false;             // on beside_, for the next enqueue()
  bool cleared_in_capture_ = false;  // of stream_, which beside_ joined
  std::optional<DeviceFactors<T>> factors_;
};

}  // namespace lulab
