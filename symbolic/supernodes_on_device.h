#pragma once

#include "core/simt/device.h"
#include "symbolic/fill_sources.h"
#include "symbolic/relaxed_supernodes.h"

namespace lulab {

constexpr std::int32_t max_device_panel_width = 8;

/// What find_relaxed_supernodes() gives, from a pattern on the device. Waits for the stream.
///
/// Requires  all columns; 1 <= max_width <= max_device_panel_width.
/// Errors    out_of_memory, device_error.
/// Cost      at most max_width binary searches for each entry of L+U, a warp a column, and 4 · max_width bytes a
///           column; the rows of the panels come to the host, and what ends them, 8 bytes a column.
Result<RelaxedSupernodes> supernodes_on_device(const DeviceFilledPattern& filled, const RelaxationOptions& options,
                                               simt::Stream& stream);

}  // namespace lulab
