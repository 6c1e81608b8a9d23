#pragma once
// DeviceBackend for Traced: As in device memory and nothing else, for the backends of rungs to stand on.

#include <optional>
#include <span>
#include <vector>

#include "app/host/explain_run.h"
#include "core/device_backend.h"
#include "core/simt/host/traced.h"

namespace lulab {

template <>
class DeviceBackend<simt::host::Traced> : public app::Explained::Runner {
 public:
  using Value = simt::host::Traced;

  explicit DeviceBackend(const DeviceFactorsOptions& /*options*/ = {}) {}

  Status run(const Analysis& analysis, std::span<const double> a_values, std::vector<double>& values) final;
  simt::Stream* stream() { return &*stream_; }

 protected:
  virtual Status prepare_rung() = 0;
  virtual Status launch(const DeviceFactorsView<Value>& f, simt::Stream& stream) = 0;
  virtual std::int64_t work_bytes() const = 0;

  const Analysis& analysis() const { return *analysis_; }

 private:
  const Analysis* analysis_ = nullptr;
  std::optional<simt::Stream> stream_;
};

}  // namespace lulab
