#pragma once
// 10_supernode_panels as a Backend, for one matrix or a batch: the tasks of one system after another in the same
// launch. A panel of one system waits while panels of other systems work, so the chain of panels, which bounds one
// matrix, counts only once for a batch.

#include "core/device_backend.h"
#include "sparse_syncfree/10_device_panels.h"
#include "sparse_syncfree/options.h"

namespace lulab::sparse_syncfree {

template <class T, bool inject_delays = false>
class PanelBackend final : public DeviceBackend<T> {
 public:
  explicit PanelBackend(const PanelOptions& options = {})
      : DeviceBackend<T>({.perturb_pivots = options.perturb_pivots, .pattern = false}), panels_(options) {}
  explicit PanelBackend(const FactorOptions& options)
      : PanelBackend(
            PanelOptions{.perturb_pivots = options.perturb_pivots, .memory_ratio = options.get(memory_ratio_option)}) {}

  /// For tests: which of its kernels the plan takes.
  PanelKernel kernel() const { return panels_.kernel(); }

 protected:
  Status prepare_rung() override {
    const std::int32_t batch = this->systems() > 1 ? this->systems() : 0;
    const Analysis& analysis = this->analysis();
    return panels_.prepare(analysis.filled, this->factors_bytes(), batch, *this->stream(), analysis.supernodes.get());
  }
  Status clear(simt::Stream& stream) override { return panels_.clear(stream); }
  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override { return panels_.launch(f, stream); }
  std::int64_t work_bytes() const override { return panels_.bytes(); }

 private:
  DevicePanels<T, inject_delays> panels_;
};

}  // namespace lulab::sparse_syncfree
