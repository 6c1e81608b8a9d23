#pragma once
// Sums and sorting of whole arrays on the device, by CUB on a GPU and by the standard library in the simulator.

#include <cstddef>
#include <cstdint>

#include "core/simt/device.h"

namespace lulab::simt {

/// Working memory of the functions below; they replace it where it is too small, which waits for the stream.
using Scratch = DeviceBuffer<std::byte>;

/// sums[k] = values[0] + ... + values[k-1].
///
/// Shapes    values, sums: (n) in device memory; they may be the same.
/// Errors    out_of_memory, device_error.
Status exclusive_sums(const std::int64_t* d_values, std::int64_t* d_sums, std::int64_t n, Scratch& scratch,
                      Stream& stream);

/// sorted = keys in ascending order.
///
/// Shapes    keys, sorted: (n) in device memory, apart from each other.   Requires 0 <= keys < 2^bits, bits <= 63.
/// Errors    out_of_memory, device_error; in the simulator invalid_argument, when the stream is waited for, where a key
///           has more bits (a GPU leaves them out of account).
Status sort_keys(const std::int64_t* d_keys, std::int64_t* d_sorted, std::int64_t n, int bits, Scratch& scratch,
                 Stream& stream);

}  // namespace lulab::simt
