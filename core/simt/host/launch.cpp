// Checks a launch against the simulated device's limits and hands it to the stream.

#include <fmt/format.h>

#include <algorithm>

#include "core/simt/host/scheduler.h"
#include "core/simt/host/simulated_device.h"
#include "core/simt/host/simulator_options.h"
#include "core/simt/host/stream_impl.h"
#include "core/simt/kernel.h"

namespace lulab::simt::host {

namespace {

/// Blocks of this shape that can be resident at once.
std::uint64_t room_for(int threads, std::size_t shared_bytes) {
  const auto room = static_cast<std::uint64_t>(blocks_per_sm(threads, shared_bytes)) * sm_count();
  const int limit = simulator_options().resident_blocks;
  return limit > 0 ? std::min(room, static_cast<std::uint64_t>(limit)) : room;
}

Status check(const void* kernel, const LaunchShape& s) {
  const auto refuse = [&](const std::string& why) {
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("launch of kernel {}: {}", kernel_name(kernel), why));
  };
  const std::uint64_t threads = std::uint64_t{s.block.x} * s.block.y * s.block.z;
  if (s.grid.x == 0 || s.grid.y == 0 || s.grid.z == 0 || threads == 0) return refuse("the grid or the block is empty");
  if (s.block.x > 1024 || s.block.y > 1024 || s.block.z > 64)
    return refuse(
        fmt::format("block of {} x {} x {}; the limits are 1024 x 1024 x 64", s.block.x, s.block.y, s.block.z));
  if (threads > max_threads_per_block)
    return refuse(fmt::format("{} threads in a block; the limit is {}", threads, max_threads_per_block));
  if (s.grid.x > 0x7fffffffu || s.grid.y > 65535 || s.grid.z > 65535)
    return refuse(
        fmt::format("grid of {} x {} x {}; the limits are 2147483647 x 65535 x 65535", s.grid.x, s.grid.y, s.grid.z));
  if (s.shared_bytes > shared_limit_per_block)
    return refuse(
        fmt::format("{} bytes of shared memory in a block; the limit is {}", s.shared_bytes, shared_limit_per_block));
  const std::uint64_t blocks = std::uint64_t{s.grid.x} * s.grid.y * s.grid.z;
  if (blocks >> 40) return refuse(fmt::format("{} blocks; the simulator would not live to see the end", blocks));
  const std::uint64_t room = room_for(static_cast<int>(threads), s.shared_bytes);
  if (s.cluster > max_blocks_per_cluster)
    return refuse(fmt::format("{} blocks in a cluster; the limit is {}", s.cluster, max_blocks_per_cluster));
  if (s.cluster > 1 && s.grid.x % s.cluster != 0)
    return refuse(fmt::format("a grid of {} blocks along x is no multiple of its clusters of {}", s.grid.x, s.cluster));
  if (s.cluster > room)
    return refuse(fmt::format("clusters of {} blocks; only {} can be resident at once", s.cluster, room));
  if (s.cooperative && blocks > room)
    return refuse(fmt::format("{} blocks in a cooperative launch; only {} can be resident at once", blocks, room));
  return {};
}

}  // namespace

Status enqueue_kernel(KernelCall call, const LaunchShape& shape, Stream& stream) {
  if (active_scheduler) return Status::error(StatusCode::invalid_argument, "launch: not from within a kernel");
  LULAB_RETURN_IF_ERROR(check(call.address, shape));
  return stream.impl().enqueue([call = std::move(call), shape]() -> Status {
    const SimulatorOptions& options = options_of_launch();
    const dim3 g = shape.grid, b = shape.block;
    return this_scheduler().run({call.address,
                                 &call.run_thread,
                                 {g.x, g.y, g.z},
                                 {b.x, b.y, b.z},
                                 shape.shared_bytes,
                                 shape.cooperative,
                                 std::max(1u, shape.cluster)},
                                options);
  });
}

Result<int> resident_blocks_per_sm(const void* kernel, int threads_per_block, std::size_t shared_bytes) {
  const int blocks = blocks_per_sm(threads_per_block, shared_bytes);
  if (blocks == 0)
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("kernel {}: a block of {} threads and {} bytes of shared memory does not fit; the limits "
                    "are {} threads and {} bytes",
                    kernel_name(kernel), threads_per_block, shared_bytes, max_threads_per_block,
                    shared_limit_per_block));
  return blocks;
}

Result<int> resident_clusters(const void* kernel, const LaunchShape& shape) {
  LULAB_RETURN_IF_ERROR(check(kernel, shape));
  const auto threads = static_cast<int>(shape.block.x * shape.block.y * shape.block.z);
  return static_cast<int>(room_for(threads, shape.shared_bytes) / std::max(1u, shape.cluster));
}

}  // namespace lulab::simt::host
