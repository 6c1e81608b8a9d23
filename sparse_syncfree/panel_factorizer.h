#pragma once
// 10_supernode_panels as a Factorizer of one matrix.

#include "core/device_factorizer.h"
#include "sparse_syncfree/device_panels.h"

namespace lulab::sparse_syncfree {

template <class T, bool disturbed = false>
class PanelFactorizer final : public DeviceFactorizer<T> {
 public:
  explicit PanelFactorizer(const PanelOptions& options = {})
      : DeviceFactorizer<T>({.perturb_pivots = options.perturb_pivots, .pattern = false}), panels_(options) {}

  const DevicePanels<T, disturbed>& panels() const { return panels_; }

 protected:
  Status prepare() override {
    return panels_.prepare(this->analysis().filled, this->factors_bytes(), 0, *this->stream());
  }
  Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) override { return panels_.launch(f, stream); }
  std::int64_t work_bytes() const override { return panels_.bytes(); }

 private:
  DevicePanels<T, disturbed> panels_;
};

}  // namespace lulab::sparse_syncfree
