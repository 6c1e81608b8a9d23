#pragma once

#include <cstdint>
#include <vector>

#include "core/simt/workspace.h"
#include "symbolic/fill_sources.h"
#include "symbolic/relaxed_supernodes.h"

namespace lulab {

constexpr std::int32_t max_device_panel_width = 8;

/// RelaxedSupernodes on the device.
struct DeviceSupernodes {
  std::vector<std::int32_t> first = {0};           // (size + 1) as on the device; the rest likewise:
  simt::DeviceBuffer<std::int32_t> d_first, d_of;  // (size + 1), (n)
  simt::DeviceBuffer<std::int64_t> d_row_ptr;      // (size + 1)
  simt::DeviceBuffer<std::int32_t> d_rows;         // as many as row_ptr says

  std::int32_t size() const { return static_cast<std::int32_t>(first.size()) - 1; }
  /// Waits for the stream.   Errors device_error.
  Result<RelaxedSupernodes> download(simt::Stream& stream) const;
};

/// What find_relaxed_supernodes() gives, from a pattern on the device.
///
/// Requires  all columns; 1 <= max_width <= max_device_panel_width.
/// Errors    out_of_memory, device_error.
/// Cost      at most max_width binary searches for each entry of L+U, a warp a column, and 4 · max_width bytes a
///           column; what comes to the host is a byte a column.
Result<DeviceSupernodes> supernodes_on_device(const DeviceFilledPattern& filled, const RelaxationOptions& options,
                                              simt::Workspace& work, simt::Stream& stream);

/// count_updates() on the device.
/// Errors    out_of_memory, device_error.
/// Cost      O(rows of the panels), a warp a panel, and a hop from warp to warp for each panel of the chain.
Result<PanelUpdates> count_updates(const DeviceSupernodes& panels, simt::Stream& stream);

}  // namespace lulab
