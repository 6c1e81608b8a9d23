#pragma once
// Broadcasts between GPUs by NCCL.

#include <cstddef>
#include <memory>
#include <span>

#include "core/ranks.h"

namespace lulab::app {

/// One communicator of all ranks, on the device that each uses. NCCL is loaded when it is made, not with the program.
class NcclBroadcast {
 public:
  /// Collective. nullptr on all ranks where NCCL is not to be had, or two ranks use one device.
  static std::unique_ptr<NcclBroadcast> create(Ranks& ranks);
  ~NcclBroadcast();
  NcclBroadcast(const NcclBroadcast&) = delete;
  NcclBroadcast& operator=(const NcclBroadcast&) = delete;

  /// As Ranks::broadcast_from_device(), by way of at most 16 MiB of device memory.
  /// Errors    device_error, after which other ranks may wait for this one.
  Status broadcast(const void* d_from, std::span<std::byte> to, int root, simt::Stream& stream);

 private:
  struct Impl;
  explicit NcclBroadcast(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lulab::app
