#pragma once

#include <cstdint>
#include <span>

#include "core/plan.h"

namespace lulab {

/// What fill_permuted(a, p, q) gives, by 08_depth_bitmaps on the device.
///
/// Requires  A: n x n, sorted rows; p and q permutations of n.
/// Errors    out_of_memory (of the device, too; or the elimination tree is too deep), device_error.
/// Cost      The first call of a process waits for the device to start, some 0.2 s.
Result<FilledPattern> fill_permuted_on_device(CscPatternView a, std::span<const std::int32_t> p,
                                              std::span<const std::int32_t> q);

}  // namespace lulab
