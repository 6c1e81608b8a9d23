#pragma once
// Where the entries of L and U lie by rows, found on the device: on the host it would be most of what a first solution
// waits for after the factorization.

#include <cstdint>

#include "core/plan.h"
#include "core/simt/device.h"
#include "core/simt/primitives.h"
#include "solve/triangle.h"

namespace lulab {

/// What entries_by_rows() returns, in device memory.
///
/// Shapes    d_row_idx: that of As; d_column, d_from: (triangle.entries). All in device memory.
/// Requires  triangle = make_triangle(f, side); side: lower or upper. All stay until the stream was waited for.
/// Errors    out_of_memory, not_implemented (more entries and columns than 63 bits can count), device_error.
/// Cost      O(n) on the host, sorting (entries) keys of 64 bits on the device.
Status entries_by_rows_on_device(const FilledPattern& f, TriangleSide side, const Triangle& triangle,
                                 const std::int32_t* d_row_idx, std::int32_t* d_column, std::int64_t* d_from,
                                 simt::Scratch& scratch, simt::Stream& stream);

}  // namespace lulab
