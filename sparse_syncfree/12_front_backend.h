#pragma once
// 12_multifrontal as a Backend. Where a plan would take too much memory it factors as 10_supernode_panels does.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "core/device_backend.h"
#include "sparse_syncfree/10_device_panels.h"
#include "sparse_syncfree/12_front_tables.h"
#include "sparse_syncfree/options.h"
#include "sparse_syncfree/systems_of_batch.h"

namespace lulab::sparse_syncfree {

struct FrontSettings {
  FrontOptions plan;          // scalar_bytes and max_bytes are lowered to what there is
  FrontCosts costs = {};      // of fronts that the analysis has not found
  double perturb_pivots = 0;  // see FactorOptions
  double memory_ratio = 4;    // see options.h
  std::int64_t blocks = 0;    // of the grid; 0: as many as are resident at once
  std::uint64_t seed = 0;     // of injected delays
};

template <class T, bool inject_delays = false>
class FrontBackend final : public DeviceBackend<T> {
 public:
  explicit FrontBackend(const FrontSettings& settings = {})
      : DeviceBackend<T>({.perturb_pivots = settings.perturb_pivots, .pattern = false}), settings_(settings) {}
  explicit FrontBackend(const FactorOptions& options)
      : FrontBackend(FrontSettings{.plan = {},
                                   .costs = {},
                                   .perturb_pivots = options.perturb_pivots,
                                   .memory_ratio = options.get(memory_ratio_option)}) {}

  /// For tests: whether it factors as 10 does.
  bool has_fallen_back() const { return panels_.has_value(); }

 protected:
  Status prepare_rung() override {
    panels_.reset();
    release();
    if (!(settings_.memory_ratio >= 0))
      return Status::error(StatusCode::invalid_argument, "memory_ratio must not be negative");
    LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
    const Analysis& analysis = this->analysis();
    FrontOptions options = settings_.plan;
    options.scalar_bytes = sizeof(T);
    const double ratio = settings_.memory_ratio;
    options.max_bytes =
        std::min(options.max_bytes,
                 plan_bytes_allowed(ratio, this->systems() * analysis.filled.nnz(), sizeof(T), this->factors_bytes(),
                                    always_allowed_bytes(ratio, always_allowed_to_fronts, device.memory_bytes)));
    const std::shared_ptr<const Fronts> fronts =
        analysis.fronts ? analysis.fronts : std::make_shared<const Fronts>(find_fronts(analysis, settings_.costs));
    const Status made = prepare_fronts(*fronts, options, device.sm_count);
    if (made.code != StatusCode::not_implemented && made.code != StatusCode::out_of_memory) return made;
    release();
    panels_.emplace(PanelOptions{.perturb_pivots = settings_.perturb_pivots, .memory_ratio = settings_.memory_ratio});
    return panels_->prepare(analysis.filled, this->factors_bytes(), this->systems() > 1 ? this->systems() : 0,
                            *this->stream(), analysis.supernodes.get());
  }
  Status clear(simt::Stream& stream) override { return panels_ ? panels_->clear(stream) : tables_.clear(stream); }
  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    if (panels_) return panels_->launch(f, stream);
    if (tables_.view().n_tiles == 0) return {};
    for (std::int32_t s = 0; s < this->systems(); ++s) {  // each fills the device
      if (s > 0) LULAB_RETURN_IF_ERROR(tables_.clear(stream));
      LULAB_RETURN_IF_ERROR(simt::launch(
          front_kernel<T, inject_delays>(),
          {.grid = static_cast<unsigned>(blocks_), .block = front_threads, .shared_bytes = front_shared_bytes<T>},
          stream, factors_of(f, this->analysis().filled.nnz(), s), tables_.view(), settings_.seed));
    }
    return {};
  }
  std::int64_t work_bytes() const override { return panels_ ? panels_->bytes() : bytes_; }

 private:
  Status prepare_fronts(const Fronts& fronts, const FrontOptions& options, int sm_count) {
    const FilledPattern& filled = this->analysis().filled;
    simt::Stream& stream = *this->stream();
    LULAB_ASSIGN_OR_RETURN(const FrontPlan plan, make_front_plan(fronts, filled.nnz(), options));
    LULAB_ASSIGN_OR_RETURN(auto columns, front_columns_on_device(filled, fronts, stream));
    LULAB_RETURN_IF_ERROR(tables_.upload(plan, std::move(columns), stream));
    bytes_ = bytes_of(plan, sizeof(T));
    LULAB_ASSIGN_OR_RETURN(
        const auto blocks_per_sm,
        simt::max_resident_blocks_per_sm(front_kernel<T, inject_delays>(), front_threads, front_shared_bytes<T>));
    const std::int64_t resident = std::int64_t(sm_count) * blocks_per_sm;
    blocks_ = settings_.blocks > 0 ? settings_.blocks : std::clamp<std::int64_t>(std::ssize(plan.tiles), 1, resident);
    return stream.wait();  // the plan need not outlive this
  }
  void release() {
    tables_ = {};
    bytes_ = 0;
  }

  const FrontSettings settings_;
  std::optional<DevicePanels<T>> panels_;  // where it factors as 10 does
  FrontTables<T> tables_;
  std::int64_t blocks_ = 1, bytes_ = 0;
};

}  // namespace lulab::sparse_syncfree
