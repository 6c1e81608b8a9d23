#pragma once
// Measures the latencies of the memory hierarchy and how the update loop of sparse LU meets them.

#include "bench/calibrate.h"
#include "bench/memory_constants.h"
#include "core/simt/device.h"

namespace lulab::bench {

/// Sizes of the probe. The defaults are for a GPU.
struct CacheProbeSizes {
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t cache_bytes = 0;   // chased inside L2, beyond L1
  std::int64_t global_bytes = 0;  // chased far beyond L2
  int chase_steps = 0;
  std::vector<int> strides, warps_per_sm;
  int x_size = 0;  // elements of a warp's own x; odd, so that every power of two as stride visits all of them
  int l_size = 0;  // elements that all warps read, a multiple of 32
  int periods = 0;
};
CacheProbeSizes cache_probe_sizes(const simt::DeviceProperties& device);
/// The same kernels in a moment on the host.
CacheProbeSizes tiny_cache_probe_sizes();

/// Times, with the multiprocessors' own clocks, one kernel for each question and checks what it computed:
///   chase    i = next[i], a random walk through cache_bytes, and through global_bytes
///   update   x(i) -= u · l(s), i and s moving on, by warps_per_sm warps on every multiprocessor, for every stride
///
/// The update loop is Chen et al.'s micro-benchmark for the miss rate, but x is a warp's own (in LU it is, and the
/// warps do not race), while all warps read the same l. Hardware counters are not open to a program: the miss rate is
/// what eq. 1 makes of the measured cycles and the two latencies (MissRates in warp_model.h).
///
/// Errors    device_error (no device, a kernel failed, a wrong result: names the measurement), out_of_memory.
/// Cost      about a second on a GPU; global_bytes and x_size doubles for every warp of device memory.
/// Source    Chen et al. 2015, appendix C.1.
Result<MemoryConstants> probe_caches(const CacheProbeSizes& sizes, const CalibrationProgress& progress = {});

}  // namespace lulab::bench
