#pragma once
// All-gather between GPUs by NCCL.

#include <cstdint>
#include <memory>
#include <span>

#include "core/ranks.h"

namespace lulab::app {

/// One communicator of all ranks, on the device that each uses. NCCL is loaded when it is made, not with the program.
class NcclGather {
 public:
  /// Collective. nullptr on all ranks where one finds no NCCL, or two use one device.
  static std::unique_ptr<NcclGather> create(Ranks& ranks);
  ~NcclGather();
  NcclGather(const NcclGather&) = delete;
  NcclGather& operator=(const NcclGather&) = delete;

  /// As Ranks::all_gather_on_device(), from device to device.
  /// Errors    device_error, after which other ranks may wait for this one.
  Status all_gather(const void* d_mine, std::span<const std::int64_t> bytes, void* d_all, simt::Stream& stream);

 private:
  struct Impl;
  explicit NcclGather(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lulab::app
