#include "app/mpi/nccl_broadcast.h"

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

constexpr std::size_t most_bytes_at_once = std::size_t{16} << 20;

/// The functions of the library.
struct Nccl {
  void* library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  decltype(&ncclGetUniqueId) get_unique_id = find<decltype(&ncclGetUniqueId)>("ncclGetUniqueId");
  decltype(&ncclCommInitRank) init_rank = find<decltype(&ncclCommInitRank)>("ncclCommInitRank");
  decltype(&ncclCommDestroy) destroy = find<decltype(&ncclCommDestroy)>("ncclCommDestroy");
  decltype(&ncclBroadcast) broadcast = find<decltype(&ncclBroadcast)>("ncclBroadcast");
  decltype(&ncclGetErrorString) error_string = find<decltype(&ncclGetErrorString)>("ncclGetErrorString");

  bool complete() const { return get_unique_id && init_rank && destroy && broadcast && error_string; }

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

struct NcclBroadcast::Impl {
  Nccl nccl;
  int rank = 0;
  ncclComm_t communicator = nullptr;
  simt::DeviceBuffer<std::byte> d_part;  // of what another rank sends
};

NcclBroadcast::NcclBroadcast(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

NcclBroadcast::~NcclBroadcast() {
  if (impl_->communicator != nullptr) impl_->nccl.destroy(impl_->communicator);
}

std::unique_ptr<NcclBroadcast> NcclBroadcast::create(Ranks& ranks) {
  if (!devices_differ(ranks)) return nullptr;
  ::setenv("NCCL_NVLS_ENABLE", "0", 0);  // no NVLink multicast, which not every host grants; a set value stays
  std::unique_ptr<NcclBroadcast> made(new NcclBroadcast(std::make_unique<Impl>()));
  Impl& impl = *made->impl_;
  impl.rank = ranks.rank();
  ncclUniqueId id{};
  bool ready = impl.nccl.complete() && simt::make(impl.d_part, most_bytes_at_once).ok();
  if (ready && impl.rank == 0) ready = impl.nccl.get_unique_id(&id) == ncclSuccess;
  if (!everywhere(ranks, ready)) return nullptr;
  broadcast_values(ranks, std::span(id.internal), 0);
  if (impl.nccl.init_rank(&impl.communicator, ranks.count(), id, impl.rank) != ncclSuccess) {
    fmt::print(stderr, "lulab: error: rank {}: NCCL cannot start\n", impl.rank);
    ranks.abort(exit_device);  // the others may wait inside NCCL
    return nullptr;
  }
  return made;
}

Status NcclBroadcast::broadcast(const void* d_from, std::span<std::byte> to, int root, simt::Stream& stream) {
  Impl& impl = *impl_;
  for (std::size_t done = 0; done < to.size();) {
    const std::size_t bytes = std::min(most_bytes_at_once, to.size() - done);
    const void* const d_send = impl.rank == root ? static_cast<const std::byte*>(d_from) + done : nullptr;
    const ncclResult_t sent = impl.nccl.broadcast(d_send, impl.d_part.data(), bytes, ncclInt8, root, impl.communicator,
                                                  static_cast<cudaStream_t>(stream.native()));
    if (sent != ncclSuccess)
      return Status::error(StatusCode::device_error,
                           fmt::format("NCCL cannot broadcast: {}", impl.nccl.error_string(sent)));
    LULAB_RETURN_IF_ERROR(simt::copy_to_host(to.data() + done, impl.d_part.data(), bytes, stream));
    done += bytes;
  }
  return stream.wait();
}

}  // namespace lulab::app
