// split_device() by the driver's green contexts, whose entry points are asked for at run time: an older driver then
// answers not_implemented instead of failing to load the program.

#include <cuda.h>
#include <fmt/format.h>

#include "core/simt/cuda/error.h"
#include "core/simt/cuda/stream_impl.h"

namespace lulab::simt {
namespace {

Status refuse(std::string_view what, std::string_view why) {
  return Status::error(StatusCode::not_implemented,
                       fmt::format("split the device: {}: {}; use streams that share all of it", what, why));
}

template <class F>
Status entry_point(const char* name, F*& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult answer = cudaDriverEntryPointSymbolNotFound;
  constexpr unsigned since = 12050;  // CUDA 12.5
  if (cudaGetDriverEntryPointByVersion(name, &found, since, cudaEnableDefault, &answer) != cudaSuccess ||
      answer != cudaDriverEntryPointSuccess) {
    cudaGetLastError();
    return refuse(name, "the driver does not have it");
  }
  function = reinterpret_cast<F*>(found);
  return {};
}

/// The functions of green contexts.
struct Driver {
  decltype(cuDeviceGetDevResource)* get_resource = nullptr;
  decltype(cuDevSmResourceSplitByCount)* split = nullptr;
  decltype(cuDevResourceGenerateDesc)* describe = nullptr;
  decltype(cuGreenCtxCreate)* create = nullptr;
  decltype(cuGreenCtxDestroy)* destroy = nullptr;
  decltype(cuGreenCtxStreamCreate)* create_stream = nullptr;

  Status load() {
    LULAB_RETURN_IF_ERROR(entry_point("cuDeviceGetDevResource", get_resource));
    LULAB_RETURN_IF_ERROR(entry_point("cuDevSmResourceSplitByCount", split));
    LULAB_RETURN_IF_ERROR(entry_point("cuDevResourceGenerateDesc", describe));
    LULAB_RETURN_IF_ERROR(entry_point("cuGreenCtxCreate", create));
    LULAB_RETURN_IF_ERROR(entry_point("cuGreenCtxDestroy", destroy));
    return entry_point("cuGreenCtxStreamCreate", create_stream);
  }
};

Status check(CUresult result, std::string_view what) {
  if (result == CUDA_SUCCESS) return {};
  if (result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_INVALID_RESOURCE_TYPE ||
      result == CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION)
    return refuse(what, "this device cannot be split so");
  return Status::error(result == CUDA_ERROR_OUT_OF_MEMORY ? StatusCode::out_of_memory : StatusCode::device_error,
                       fmt::format("split the device: {}: CUDA error {}", what, static_cast<int>(result)));
}

}  // namespace

Result<SplitStreams> split_device(int sm_count) {
  Driver driver;
  LULAB_RETURN_IF_ERROR(driver.load());
  int device = 0;
  LULAB_RETURN_IF_ERROR(cuda_rt::status_of(cudaGetDevice(&device), "ask for the device"));
  LULAB_RETURN_IF_ERROR(cuda_rt::status_of(cudaFree(nullptr), "start the device"));  // green contexts need it started

  CUdevResource whole{}, parts[2]{};
  unsigned groups = 1;
  LULAB_RETURN_IF_ERROR(check(driver.get_resource(device, &whole, CU_DEV_RESOURCE_TYPE_SM), "its multiprocessors"));
  LULAB_RETURN_IF_ERROR(
      check(driver.split(&parts[0], &groups, &whole, &parts[1], CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE,
                         static_cast<unsigned>(sm_count)),
            fmt::format("{} of {} multiprocessors", sm_count, whole.sm.smCount)));
  Stream streams[2] = {Stream(std::make_unique<Stream::Impl>()), Stream(std::make_unique<Stream::Impl>())};
  for (int part = 0; part < 2; ++part) {
    CUdevResourceDesc description{};
    CUgreenCtx context{};
    LULAB_RETURN_IF_ERROR(check(driver.describe(&description, &parts[part], 1), "describe a part"));
    LULAB_RETURN_IF_ERROR(check(driver.create(&context, description, device, CU_GREEN_CTX_DEFAULT_STREAM), "a part"));
    Stream::Impl& impl = streams[part].impl();
    impl.sm_count = static_cast<int>(parts[part].sm.smCount);
    impl.context = {context, [destroy = driver.destroy](CUgreenCtx c) { destroy(c); }};
    CUstream stream{};
    LULAB_RETURN_IF_ERROR(check(driver.create_stream(&stream, context, CU_STREAM_NON_BLOCKING, 0), "a part's stream"));
    impl.stream = stream;
    LULAB_RETURN_IF_ERROR(
        cuda_rt::status_of(cudaEventCreateWithFlags(&impl.reached, cudaEventDisableTiming), "create an event"));
  }
  return SplitStreams{std::move(streams[0]), std::move(streams[1])};
}

}  // namespace lulab::simt
