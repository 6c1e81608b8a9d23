#pragma once
// The factorization by panels on the device: prepare() chooses a plan and uploads it, launch() runs it.

#include <algorithm>
#include <cstdint>

#include "core/device_factors.h"
#include "core/simt/device.h"
#include "sparse_syncfree/10_panel_choice.h"
#include "sparse_syncfree/10_panel_launch.h"
#include "sparse_syncfree/10_panel_tables.h"
#include "sparse_syncfree/systems_of_batch.h"

namespace lulab::sparse_syncfree {

template <class T, bool inject_delays = false>
class DevicePanels {
 public:
  explicit DevicePanels(const PanelOptions& options = {}) : options_(options) {}

  /// Plans and uploads; nothing of `f` is needed afterwards.
  ///
  /// factors_bytes: device memory that the factorization holds besides.   systems: of a batch; 0: it is none.
  /// supernodes: of f by RelaxationOptions{}, where they are known.
  /// Errors    invalid_argument (options), out_of_memory, device_error.
  Status prepare(const FilledPattern& f, std::int64_t factors_bytes, std::int32_t systems, simt::Stream& stream,
                 const RelaxedSupernodes* supernodes = nullptr) {
    LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
    const PanelUse use = {.scalar_bytes = sizeof(T),
                          .nnz = f.nnz(),
                          .systems = systems,
                          .factors_bytes = factors_bytes,
                          .sm_count = device.sm_count,
                          .device_bytes = device.memory_bytes,
                          .inject_delays = inject_delays,
                          .supernodes = supernodes};
    systems_ = systems;
    nnz_ = f.nnz();
    return upload_fastest_plan(
        f, options_, use, [&](const PanelTasks& plan, PanelKernel kind) { return upload(plan, kind, use, stream); });
  }

  /// Enqueues what comes before a launch().
  Status clear(simt::Stream& stream) { return tables_.clear_words(stream); }
  /// Enqueues the elimination of f, which holds P·R·A·C·Q, of all systems.
  Status launch(DeviceFactorsView<T> f, simt::Stream& stream) {
    for (std::int32_t first = 0; first < std::max(systems_, 1); first += at_once_) {
      if (first > 0) LULAB_RETURN_IF_ERROR(clear(stream));
      if (tables_.tasks() == 0) continue;
      const std::int32_t systems = std::min(at_once_, std::max(systems_, 1) - first);
      LULAB_RETURN_IF_ERROR(simt::launch(kernel_,
                                         {.grid = static_cast<unsigned>(blocks_),
                                          .block = static_cast<unsigned>(panel_threads),
                                          .shared_bytes = shared_bytes_},
                                         stream, f, tables_.view(systems), options_.seed));
      f = factors_of(f, nnz_, systems);
    }
    return {};
  }

  /// Device memory held.
  std::int64_t bytes() const { return bytes_; }
  /// For tests.
  PanelKernel kernel() const { return kind_; }

 private:
  Status upload(const PanelTasks& plan, PanelKernel kind, const PanelUse& use, simt::Stream& stream) {
    kind_ = kind;
    at_once_ = systems_of_launch(plan, options_, use);
    LULAB_RETURN_IF_ERROR(tables_.upload(plan, kind.searching, at_once_, nnz_, stream));
    bytes_ = bytes_of(plan, kind.searching, options_, use);
    kernel_ = panel_kernel<T, inject_delays>(kind);
    shared_bytes_ = sizeof(T) * std::max(tables_.task_scalars(), panel_warps * tables_.leaf_scalars());
    LULAB_ASSIGN_OR_RETURN(const auto blocks_per_sm,
                           simt::max_resident_blocks_per_sm(kernel_, panel_threads, shared_bytes_));
    const std::int64_t resident = std::int64_t(use.sm_count) * blocks_per_sm;
    const std::int32_t by_blocks = tables_.tasks() - tables_.leaves(), by_warps = tables_.leaves();
    const std::int64_t useful =
        std::max<std::int64_t>(by_blocks, (by_warps + panel_warps - 1) / panel_warps) * at_once_;
    blocks_ = std::max<std::int64_t>(1, options_.blocks > 0 ? options_.blocks : std::min(resident, useful));
    return {};
  }

  const PanelOptions options_;
  PanelTables<T> tables_;
  PanelKernel kind_;
  EliminatePanels<T> kernel_ = nullptr;
  std::int64_t blocks_ = 1, nnz_ = 0, bytes_ = 0;
  std::int32_t systems_ = 0, at_once_ = 1;  // of a batch, and of one launch
  std::size_t shared_bytes_ = 0;
};

}  // namespace lulab::sparse_syncfree
