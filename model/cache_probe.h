#pragma once
// Measures memory latencies and the time of the update loop of sparse LU.

#include "core/simt/device.h"
#include "model/calibrate.h"
#include "model/memory_constants.h"

namespace lulab {

/// Sizes of the probe. The defaults are for a GPU.
struct CacheProbeSizes {
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t cache_bytes = 0;   // bytes of the chase inside L2; larger than L1
  std::int64_t global_bytes = 0;  // bytes of the chase in device memory; much larger than L2
  int chase_steps = 0;
  std::vector<int> strides, warps_per_sm;
  int x_size = 0;  // elements of x of one warp; odd, so that a stride of any power of two visits all of them
  int l_size = 0;  // elements that all warps read, a multiple of 32
  int periods = 0;
};
CacheProbeSizes cache_probe_sizes(const simt::DeviceProperties& device);
/// Sizes small enough for the simulator.
CacheProbeSizes tiny_cache_probe_sizes();

/// Runs micro-benchmarks, times them in clock cycles of the multiprocessors, and checks their results:
///   chase    i = next[i], a random walk through cache_bytes, and through global_bytes
///   update   x(i) -= u · l(s) with moving i and s, by warps_per_sm warps on every multiprocessor, for every stride
///
/// The update loop is Chen et al.'s micro-benchmark for the miss rate. Each warp has its own x, as in LU, and all warps
/// read the same l. Programs cannot read the hardware counters, so the miss rate follows by eq. 1 from the measured
/// cycles and the two latencies (MissRates in warp_model.h).
///
/// Errors    device_error (no device, a kernel failed, or a result is wrong; names the measurement), out_of_memory.
/// Cost      about a second on a GPU; global_bytes and x_size doubles for every warp of device memory.
/// Source    Chen et al. 2015, appendix C.1.
Result<MemoryConstants> probe_caches(const CacheProbeSizes& sizes, const CalibrationProgress& progress = {});

}  // namespace lulab
