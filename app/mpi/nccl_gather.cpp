#include "app/mpi/nccl_gather.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nccl.h>

#include "app/command.h"

namespace lulab::app {
namespace {

/// The functions of the library.
struct Nccl {
  void* library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  decltype(&ncclGetUniqueId) get_unique_id = find<decltype(&ncclGetUniqueId)>("ncclGetUniqueId");
  decltype(&ncclCommInitRank) init_rank = find<decltype(&ncclCommInitRank)>("ncclCommInitRank");
  decltype(&ncclCommDestroy) destroy = find<decltype(&ncclCommDestroy)>("ncclCommDestroy");
  decltype(&ncclBroadcast) broadcast = find<decltype(&ncclBroadcast)>("ncclBroadcast");
  decltype(&ncclGroupStart) group_start = find<decltype(&ncclGroupStart)>("ncclGroupStart");
  decltype(&ncclGroupEnd) group_end = find<decltype(&ncclGroupEnd)>("ncclGroupEnd");
  decltype(&ncclGetErrorString) error_string = find<decltype(&ncclGetErrorString)>("ncclGetErrorString");

  bool complete() const {
    return get_unique_id && init_rank && destroy && broadcast && group_start && group_end && error_string;
  }

 private:
  template <class Function>
  Function find(const char* name) const {
    return library != nullptr ? reinterpret_cast<Function>(::dlsym(library, name)) : nullptr;
  }
};

/// Collective. Does each rank have a device, and none that another has?
bool devices_differ(Ranks& ranks) {
  constexpr std::size_t fields = 3;
  std::int64_t own[fields] = {0, 0, 0};  // is there one, and its UUID
  int device = 0;
  cudaDeviceProp properties{};
  if (cudaGetDevice(&device) == cudaSuccess && cudaGetDeviceProperties(&properties, device) == cudaSuccess) {
    static_assert(sizeof(properties.uuid) == 2 * sizeof(own[0]));
    own[0] = 1;
    std::memcpy(own + 1, &properties.uuid, sizeof(properties.uuid));
  }
  std::vector<std::int64_t> all(fields * static_cast<std::size_t>(ranks.count()));
  ranks.all_gather(own, all);
  std::vector<std::pair<std::int64_t, std::int64_t>> uuids;
  for (std::size_t r = 0; r < all.size(); r += fields) {
    if (all[r] == 0) return false;
    uuids.emplace_back(all[r + 1], all[r + 2]);
  }
  std::ranges::sort(uuids);
  return std::adjacent_find(uuids.begin(), uuids.end()) == uuids.end();
}

/// Collective. Does it hold on all ranks?
bool everywhere(Ranks& ranks, bool holds) {
  return agree(ranks, holds ? Status() : Status::error(StatusCode::device_error, "")).ok();
}

}  // namespace

struct NcclGather::Impl {
  Nccl nccl;
  ncclComm_t communicator = nullptr;
};

NcclGather::NcclGather(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

NcclGather::~NcclGather() {
  if (impl_->communicator != nullptr) impl_->nccl.destroy(impl_->communicator);
}

std::unique_ptr<NcclGather> NcclGather::create(Ranks& ranks) {
  if (!devices_differ(ranks)) return nullptr;
  ::setenv("NCCL_NVLS_ENABLE", "0", 0);  // no NVLink multicast, which not every host grants; a set value stays
  std::unique_ptr<NcclGather> made(new NcclGather(std::make_unique<Impl>()));
  Impl& impl = *made->impl_;
  ncclUniqueId id{};
  bool ready = impl.nccl.complete();
  if (ready && ranks.rank() == 0) ready = impl.nccl.get_unique_id(&id) == ncclSuccess;
  if (!everywhere(ranks, ready)) return nullptr;
  broadcast_values(ranks, std::span(id.internal), 0);
  if (impl.nccl.init_rank(&impl.communicator, ranks.count(), id, ranks.rank()) != ncclSuccess) {
    fmt::print(stderr, "lulab: error: rank {}: NCCL cannot start\n", ranks.rank());
    ranks.abort(exit_device);  // the others may wait inside NCCL
    return nullptr;
  }
  return made;
}

Status NcclGather::all_gather(const void* d_mine, std::span<const std::int64_t> bytes, void* d_all,
                              simt::Stream& stream) {
  Impl& impl = *impl_;
  ncclResult_t sent = impl.nccl.group_start();
  auto* d_to = static_cast<std::byte*>(d_all);
  for (int root = 0; root < std::ssize(bytes) && sent == ncclSuccess; ++root) {  // shares differ in size
    const auto size = static_cast<std::size_t>(bytes[root]);
    if (size > 0)
      sent = impl.nccl.broadcast(d_mine, d_to, size, ncclInt8, root, impl.communicator,
                                 static_cast<cudaStream_t>(stream.native()));
    d_to += size;
  }
  if (sent == ncclSuccess) sent = impl.nccl.group_end();
  if (sent != ncclSuccess)
    return Status::error(StatusCode::device_error, fmt::format("NCCL cannot gather: {}", impl.nccl.error_string(sent)));
  return stream.wait();
}

}  // namespace lulab::app
