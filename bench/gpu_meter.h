#pragma once
// What a GPU and its driver tell of themselves; nullopt in the simulator (host/gpu_meter.cpp), and where they tell
// nothing.

#include <cstdint>
#include <optional>

namespace lulab::bench {

/// Of the device's memory, whoever asked for it.
std::optional<std::int64_t> device_bytes_in_use();

/// Energy of the whole board since its driver was loaded (NVML). The counter moves about ten times a second.   Unit J.
std::optional<double> gpu_joules();

}  // namespace lulab::bench
