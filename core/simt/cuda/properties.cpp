#include <cuda.h>
#include <dlfcn.h>

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/simt/cuda/error.h"
#include "core/simt/device.h"
#include "core/simt/device_start.h"

namespace lulab::simt {

using cuda_rt::status_of;

Machine machine() { return Machine::gpu; }

namespace {

Result<DeviceProperties> read_properties(int device) {
  int driver = 0;
  cudaDeviceProp p{};
  LULAB_RETURN_IF_ERROR(status_of(cudaGetDeviceProperties(&p, device), "read the device's properties"));
  LULAB_RETURN_IF_ERROR(status_of(cudaDriverGetVersion(&driver), "read the driver's version"));
  return DeviceProperties{.name = p.name,
                          .sm_count = p.multiProcessorCount,
                          .max_threads_per_block = p.maxThreadsPerBlock,
                          .max_threads_per_sm = p.maxThreadsPerMultiProcessor,
                          .shared_bytes_per_block = p.sharedMemPerBlockOptin,
                          .l2_bytes = static_cast<std::size_t>(p.l2CacheSize),
                          .memory_bytes = p.totalGlobalMem,
                          .compute_capability = 10 * p.major + p.minor,
                          .driver = fmt::format("{}.{}", driver / 1000, driver % 1000 / 10)};
}

}  // namespace

Result<DeviceProperties> device_properties() {
  thread_local std::optional<std::pair<int, DeviceProperties>> last;  // the driver takes long to tell them
  int device = 0;
  LULAB_RETURN_IF_ERROR(status_of(cudaGetDevice(&device), "find a device"));
  if (!last || last->first != device) {
    LULAB_ASSIGN_OR_RETURN(auto read, read_properties(device));
    last.emplace(device, std::move(read));
  }
  return last->second;
}

Result<int> device_count() {
  int devices = 0;
  LULAB_RETURN_IF_ERROR(status_of(cudaGetDeviceCount(&devices), "count the devices"));
  return devices;
}

double device_start_us() {
  constexpr double start_us = 200'000;  // H200
  using GetState = CUresult(CUdevice device, unsigned* flags, int* is_active);
  // The runtime loads the driver with its first call, and most calls start it: 200 ms.
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return start_us;
  const auto get_state = reinterpret_cast<GetState*>(dlsym(driver, "cuDevicePrimaryCtxGetState"));
  (void)dlclose(driver);  // others hold it
  int device = 0, is_active = 0;
  unsigned flags = 0;
  const auto answers = [&] { return get_state && get_state(device, &flags, &is_active) == CUDA_SUCCESS; };
  return answers() && cudaGetDevice(&device) == cudaSuccess && answers() && is_active ? 0 : start_us;
}

Result<int> current_device() {
  int device = 0;
  LULAB_RETURN_IF_ERROR(status_of(cudaGetDevice(&device), "find the device in use"));
  return device;
}

Status use_device(int device) {
  LULAB_ASSIGN_OR_RETURN(const int devices, device_count());
  if (device < 0 || device >= devices)
    return Status::error(StatusCode::invalid_argument, fmt::format("there is no device {}, but {}", device, devices));
  return status_of(cudaSetDevice(device), "use the device");
}

// Scheduling and access counts belong to the simulator; here the scope only keeps code of one source compiling.
SimulatorScope::SimulatorScope(SimulatorOptions options) : saved_(options) {}
SimulatorScope::~SimulatorScope() = default;
AccessCounts SimulatorScope::access_counts() const { return {}; }
std::optional<SimulatorOptions> current_schedule() { return {}; }
void forget_schedule() {}
void tell_races_briefly() {}
void name_memory(const void* /*d_first*/, std::size_t /*bytes*/, std::size_t /*element_bytes*/, const char* /*name*/,
                 std::span<const std::int64_t> /*col_ptr*/) {}

}  // namespace lulab::simt
