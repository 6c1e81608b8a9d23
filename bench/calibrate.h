#pragma once
// Measures the constants that the limits stand on, with one small kernel each.

#include <functional>
#include <string>
#include <string_view>

#include "bench/limits.h"

namespace lulab::bench {

/// Called with the name of each measurement before it runs; may be empty.
using CalibrationProgress = std::function<void(std::string_view what)>;

/// Runs every micro-benchmark and checks what it computed before its time is believed.
///
/// Ensures   GPU build: every figure > 0, measured = true. Simulator build: the kernels ran at tiny sizes and were
/// checked;
///           the figures are builtin_constants() and measured = false, because host times say nothing about a GPU.
/// Errors    device_error (no device, a kernel failed, a check failed: names the measurement), out_of_memory, deadlock.
/// Cost      a few seconds and 2 GiB of device memory on a GPU; less when the device has less.
Result<DeviceConstants> calibrate(const CalibrationProgress& progress = {});

}  // namespace lulab::bench
