#pragma once

#include <cstdint>
#include <span>

#include "core/plan.h"

namespace lulab {

/// What fill_permuted(a, p, q) gives, by 08_depth_bitmaps on the device.
///
/// Requires  A: n x n, sorted rows; p and q permutations of n.
/// Errors    out_of_memory (of the device, too), not_implemented (an elimination tree that the host is faster on: deep,
///           or more than 128 chains above each other), device_error.
/// Cost      The first call of a process waits for the device to start, some 0.2 s.
Result<FilledPattern> fill_permuted_on_device(CscPatternView a, std::span<const std::int32_t> p,
                                              std::span<const std::int32_t> q);

}  // namespace lulab
