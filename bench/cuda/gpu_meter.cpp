#include "bench/gpu_meter.h"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <array>

namespace lulab::bench {
namespace {

/// NVML comes with the driver, and is not there on a machine without one: found when the program runs.
class Nvml {
 public:
  Nvml() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return;
    const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
    const auto find =
        reinterpret_cast<int (*)(const char*, void**)>(dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
    energy_ =
        reinterpret_cast<int (*)(void*, unsigned long long*)>(dlsym(library, "nvmlDeviceGetTotalEnergyConsumption"));
    int device = 0;
    std::array<char, 32> bus_id{};
    const bool found = init != nullptr && find != nullptr && energy_ != nullptr &&
                       cudaGetDevice(&device) == cudaSuccess &&
                       cudaDeviceGetPCIBusId(bus_id.data(), bus_id.size(), device) == cudaSuccess && init() == 0 &&
                       find(bus_id.data(), &device_) == 0;
    if (!found) energy_ = nullptr;
  }

  std::optional<double> joules() const {
    unsigned long long millijoules = 0;
    if (energy_ == nullptr || energy_(device_, &millijoules) != 0) return std::nullopt;
    return 1e-3 * static_cast<double>(millijoules);
  }

 private:
  int (*energy_)(void*, unsigned long long*) = nullptr;
  void* device_ = nullptr;
};

}  // namespace

std::optional<std::int64_t> device_bytes_in_use() {
  std::size_t free_bytes = 0, all_bytes = 0;
  if (cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess) return std::nullopt;
  return static_cast<std::int64_t>(all_bytes - free_bytes);
}

std::optional<double> gpu_joules() {
  static const Nvml nvml;
  return nvml.joules();
}

}  // namespace lulab::bench
