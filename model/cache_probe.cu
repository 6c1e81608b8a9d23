#include "model/cache_probe.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/simt/kernel.h"

namespace lulab {
namespace {

constexpr int node = 32;   // 4-byte words between nodes of a chase, so that each node has a 128-byte line of its own
constexpr double u = 2.0;  // with small integer data every sum is exact in any order

/// The successor of node i. An odd increment and a factor of 1 modulo 4 give one cycle through all 2^k nodes.
__host__ __device__ inline std::uint32_t successor(std::uint32_t i, std::uint32_t nodes) {
  return (i * 1664525u + 1013904223u) & (nodes - 1);
}

/// next[node · i] = node · successor(i).   grid-stride
__global__ void link_kernel(std::uint32_t* next, std::uint32_t nodes) {
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < nodes; i += gridDim.x * blockDim.x)
    next[std::int64_t(node) * i] = node * successor(i, nodes);
}

/// `untimed` and then `steps` dependent loads.   end: the last node   cycles: clock cycles of the timed steps
/// grid: 1   block: 1
__global__ void chase_kernel(const std::uint32_t* next, int untimed, int steps, std::uint32_t* end, long long* cycles) {
  std::uint32_t i = 0;
  for (int step = 0; step < untimed; ++step) i = next[i];
  const long long start = clock64();
  for (int step = 0; step < steps; ++step) i = next[i];
  *end = i;
  *cycles = clock64() - start;
}

/// Every warp runs `periods` times x(i) -= u · l(s) on its own x, bypassing L1.   x: (warps, x_size), l: (l_size)
/// cycles: (warps)   grid: warps   block: 32
__global__ void update_kernel(double* x, const double* l, int x_size, int l_size, int stride, int periods,
                              long long* cycles) {
  const int lane = threadIdx.x;
  double* mine = x + std::int64_t(blockIdx.x) * x_size;
  int i = lane * stride % x_size;
  int s = (static_cast<int>(blockIdx.x % (l_size / 32)) * 32 + lane);
  const int step = 32 * stride % x_size;
  const long long start = clock64();
  for (int period = 0; period < periods; ++period) {
    mine[i] = __ldcg(&mine[i]) - u * __ldcg(&l[s]);
    i += step;
    if (i >= x_size) i -= x_size;
    s += 32;
    if (s >= l_size) s -= l_size;
    __syncwarp();  // RACE: another lane may update the same x(i) in the next period; the barrier orders them
  }
  if (lane == 0) cycles[blockIdx.x] = clock64() - start;
}

/// x[i] = i % x_size % 64.   grid-stride
__global__ void start_kernel(double* x, std::int64_t size, int x_size) {
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < size;
       i += std::int64_t(gridDim.x) * blockDim.x)
    x[i] = double(i % x_size % 64);
}

Status wrong_probe(std::string_view what, const std::string& details) {
  return Status::error(StatusCode::device_error, "probe of " + std::string(what) + ": " + details +
                                                     "; the time is discarded, run lulab calibrate again");
}

template <class T>
Result<std::vector<T>> download(const simt::DeviceBuffer<T>& buffer, std::int64_t size, simt::Stream& stream) {
  std::vector<T> host(static_cast<std::size_t>(size));
  LULAB_RETURN_IF_ERROR(buffer.download(std::span<T>(host), stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return host;
}

struct Chase {
  double cycles, ns;  // per step
};

Result<Chase> chase(std::string_view what, std::int64_t bytes, bool warm, int steps, simt::Stream& stream,
                    simt::Timer& timer) {
  const auto line = std::int64_t{node} * static_cast<std::int64_t>(sizeof(std::uint32_t));
  std::uint32_t nodes = 1;
  while (2 * nodes * line <= bytes) nodes *= 2;
  LULAB_ASSIGN_OR_RETURN(auto d_next, simt::DeviceBuffer<std::uint32_t>::create(std::int64_t{node} * nodes));
  LULAB_ASSIGN_OR_RETURN(auto d_end, simt::DeviceBuffer<std::uint32_t>::create(1));
  LULAB_ASSIGN_OR_RETURN(auto d_cycles, simt::DeviceBuffer<long long>::create(1));
  LULAB_RETURN_IF_ERROR(simt::launch(link_kernel, {.grid = 64, .block = 32}, stream, d_next.data(), nodes));
  const int untimed = warm ? static_cast<int>(nodes) : 0;
  if (!warm) {  // evict what link_kernel left in the caches
    LULAB_ASSIGN_OR_RETURN(auto flushed, simt::DeviceBuffer<char>::create(bytes / 2));
    LULAB_RETURN_IF_ERROR(flushed.fill_bytes(0, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
  }
  LULAB_RETURN_IF_ERROR(timer.start(stream));
  LULAB_RETURN_IF_ERROR(simt::launch(chase_kernel, {.grid = 1, .block = 1}, stream, d_next.data(), untimed, steps,
                                     d_end.data(), d_cycles.data()));
  LULAB_RETURN_IF_ERROR(timer.stop(stream));
  LULAB_ASSIGN_OR_RETURN(const auto end, download(d_end, 1, stream));
  LULAB_ASSIGN_OR_RETURN(const auto cycles, download(d_cycles, 1, stream));
  LULAB_ASSIGN_OR_RETURN(const auto ms, timer.elapsed_ms());
  std::uint32_t expected = 0;
  for (int step = 0; step < untimed + steps; ++step) expected = successor(expected, nodes);
  if (end.front() != node * expected) return wrong_probe(what, "the walk ended at another node");
  return Chase{static_cast<double>(cycles.front()) / steps, ms * 1e6 / (untimed + steps)};
}

/// x of warp w after the update loop, computed on the host.
std::vector<double> expected_x(const CacheProbeSizes& sizes, int stride, std::int64_t w) {
  std::vector<double> x(static_cast<std::size_t>(sizes.x_size));
  for (int i = 0; i < sizes.x_size; ++i) x[i] = i % 64;
  for (std::int64_t p = 0; p < sizes.periods; ++p)
    for (std::int64_t lane = 0; lane < 32; ++lane)
      x[(32 * p + lane) * stride % sizes.x_size] -= u * static_cast<double>((32 * (w + p) + lane) % sizes.l_size % 16);
  return x;
}

class UpdateLoop {
 public:
  static Result<UpdateLoop> create(const CacheProbeSizes& sizes, simt::Stream& stream) {
    UpdateLoop loop(sizes, stream);
    const std::int64_t warps = loop.most_warps();
    LULAB_ASSIGN_OR_RETURN(auto d_x, simt::DeviceBuffer<double>::create(warps * sizes.x_size));
    std::vector<double> l(static_cast<std::size_t>(sizes.l_size));
    for (int s = 0; s < sizes.l_size; ++s) l[s] = s % 16;
    LULAB_ASSIGN_OR_RETURN(auto d_l, simt::DeviceBuffer<double>::create(l, stream));
    LULAB_ASSIGN_OR_RETURN(auto d_cycles, simt::DeviceBuffer<long long>::create(warps));
    LULAB_RETURN_IF_ERROR(stream.wait());  // the upload reads the local vector l
    loop.d_x_ = std::move(d_x);
    loop.d_l_ = std::move(d_l);
    loop.d_cycles_ = std::move(d_cycles);
    return loop;
  }

  Result<MemoryPeriod> measure(int stride, int warps_per_sm) {
    const std::int64_t warps = std::int64_t{sizes_->sm_count} * warps_per_sm;
    LULAB_RETURN_IF_ERROR(simt::launch(start_kernel, {.grid = 4 * sizes_->sm_count, .block = 128}, *stream_,
                                       d_x_.data(), d_x_.size(), sizes_->x_size));
    LULAB_RETURN_IF_ERROR(simt::launch(update_kernel, {.grid = static_cast<unsigned>(warps), .block = 32}, *stream_,
                                       d_x_.data(), d_l_.data(), sizes_->x_size, sizes_->l_size, stride,
                                       sizes_->periods, d_cycles_.data()));
    LULAB_ASSIGN_OR_RETURN(const auto cycles, download(d_cycles_, warps, *stream_));
    std::vector<double> x(static_cast<std::size_t>(sizes_->x_size));
    for (const std::int64_t w : {std::int64_t{0}, warps / 2, warps - 1}) {
      LULAB_RETURN_IF_ERROR(simt::copy_to_host(x.data(), d_x_.data() + w * sizes_->x_size, 8 * x.size(), *stream_));
      LULAB_RETURN_IF_ERROR(stream_->wait());
      if (x != expected_x(*sizes_, stride, w))
        return wrong_probe("update loop", "stride " + std::to_string(stride) + " gave wrong values of x");
    }
    const double sum = static_cast<double>(std::accumulate(cycles.begin(), cycles.end(), 0LL));
    return MemoryPeriod{stride, warps_per_sm, sum / static_cast<double>(warps) / sizes_->periods};
  }

 private:
  UpdateLoop(const CacheProbeSizes& sizes, simt::Stream& stream) : sizes_(&sizes), stream_(&stream) {}
  std::int64_t most_warps() const {
    return std::int64_t{sizes_->sm_count} * *std::max_element(sizes_->warps_per_sm.begin(), sizes_->warps_per_sm.end());
  }

  const CacheProbeSizes* sizes_;
  simt::Stream* stream_;
  simt::DeviceBuffer<double> d_x_;  // (most_warps, x_size)
  simt::DeviceBuffer<double> d_l_;  // (l_size)
  simt::DeviceBuffer<long long> d_cycles_;
};

}  // namespace

CacheProbeSizes cache_probe_sizes(const simt::DeviceProperties& device) {
  const auto l2_bytes = static_cast<std::int64_t>(device.l2_bytes);
  return {.sm_count = device.sm_count,
          .l2_bytes = l2_bytes,
          .cache_bytes = std::max<std::int64_t>(1 << 20, l2_bytes / 6),
          .global_bytes = std::min(8 * l2_bytes, static_cast<std::int64_t>(device.memory_bytes / 16)),
          .chase_steps = 20000,
          .strides = {1, 2, 4, 8, 16, 32},
          .warps_per_sm = {1, 2, 4, 8, 16, 32},
          .x_size = 4095,
          .l_size = 1 << 14,
          .periods = 2048};
}

CacheProbeSizes tiny_cache_probe_sizes() {
  return {.sm_count = 2,
          .l2_bytes = 4 << 10,
          .cache_bytes = 2 << 10,
          .global_bytes = 4 << 10,
          .chase_steps = 21,
          .strides = {1, 4},
          .warps_per_sm = {1, 2},
          .x_size = 129,
          .l_size = 64,
          .periods = 5};
}

Result<MemoryConstants> probe_caches(const CacheProbeSizes& sizes, const CalibrationProgress& progress) {
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto timer, simt::Timer::create());
  const auto tell = [&](std::string_view what) {
    if (progress) progress(what);
  };

  MemoryConstants m;
  m.sm_count = sizes.sm_count;
  m.l2_bytes = static_cast<double>(sizes.l2_bytes);
  const auto chase_through = [&](const char* what, std::int64_t bytes, bool warm, double& cycles) -> Status {
    tell(what);
    LULAB_ASSIGN_OR_RETURN(const auto result, chase(what, bytes, warm, sizes.chase_steps, stream, timer));
    cycles = result.cycles;
    m.clock_ghz = result.cycles / result.ns;
    return {};
  };
  LULAB_RETURN_IF_ERROR(chase_through("latency of L2", sizes.cache_bytes, true, m.cache_cycle));
  LULAB_RETURN_IF_ERROR(chase_through("latency of memory", sizes.global_bytes, false, m.global_cycle));

  auto loop = UpdateLoop::create(sizes, stream);
  if (!loop.ok()) return loop.status();
  tell("update loop");
  for (const int stride : sizes.strides)
    for (const int warps : sizes.warps_per_sm) {
      LULAB_ASSIGN_OR_RETURN(const auto period, loop->measure(stride, warps));
      m.periods.push_back(period);
    }
  return m;
}

}  // namespace lulab
