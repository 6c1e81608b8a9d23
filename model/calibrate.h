#pragma once
// Measures the device constants of limits.h, with one small kernel each.

#include <functional>
#include <string>
#include <string_view>

#include "model/limits.h"

namespace lulab {

/// Called with the name of each measurement before it runs; may be empty.
using CalibrationProgress = std::function<void(std::string_view what)>;

/// Runs every micro-benchmark and checks its result before using its time.
///
/// Ensures   GPU build: every constant > 0, measured = true. Simulator build: the kernels run at tiny sizes and are
///           checked, but the constants are builtin_constants() with measured = false.
/// Errors    device_error (no device, a kernel or a check failed; names the measurement), out_of_memory, deadlock.
/// Cost      a few seconds and 2 GiB of device memory on a GPU; less when the device has less.
Result<DeviceConstants> calibrate(const CalibrationProgress& progress = {});

/// The two constants by which GPUs are compared with an H200: flag_hop_us and flops_f64_per_s. The others stay 0.
///
/// Errors    as calibrate().
/// Cost      some 3 ms on a GPU and 4 MiB of its memory.
Result<DeviceConstants> calibrate_for_choice();

}  // namespace lulab
