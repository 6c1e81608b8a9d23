#include "model/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/simt/kernel.h"
#include "model/cache_probe.h"

namespace lulab {
namespace {

constexpr int cell = 16;  // distance of flags (and payloads) of different steps, so that each has its own cache line
constexpr std::int64_t max_spins = 1 << 22;  // seconds on a GPU; a wait of microseconds is expected

/// x[i] = i.   grid-stride
__global__ void number_kernel(double* x, std::int64_t n) {
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += std::int64_t(gridDim.x) * blockDim.x)
    x[i] = double(i);
}

/// *wrong += number of i with x[i] != i.   grid-stride
__global__ void count_wrong_kernel(const double* x, std::int64_t n, int* wrong) {
  int mine = 0;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += std::int64_t(gridDim.x) * blockDim.x)
    mine += !(x[i] == double(i));
  if (mine > 0) atomicAdd(wrong, mine);  // RACE: threads add to one counter; the atomic orders them
}

/// Eight independent chains x <- x·a + b per thread; out[thread] = their sum.
/// With a = b = 1 chain c ends at c + iterations, so out = 28 + 8 · iterations, exactly.
template <class T>
__global__ void fma_kernel(T* out, T a, T b, int iterations) {
  T x0 = 0, x1 = 1, x2 = 2, x3 = 3, x4 = 4, x5 = 5, x6 = 6, x7 = 7;
#pragma unroll 16
  for (int i = 0; i < iterations; ++i) {
    x0 = fma(x0, a, b);
    x1 = fma(x1, a, b);
    x2 = fma(x2, a, b);
    x3 = fma(x3, a, b);
    x4 = fma(x4, a, b);
    x5 = fma(x5, a, b);
    x6 = fma(x6, a, b);
    x7 = fma(x7, a, b);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
}

/// A token travels through `steps` flags; block b serves steps b, b + gridDim.x, ...: each hop is between two blocks.
/// flags: (cell · (steps + 1)), flags[0] = 1, others 0; flag s becomes s + 1.
/// payload (Dependent): values[cell · s] is read after flag s was seen, and values[cell · (s + 1)] = that + 1.
/// grid: resident blocks only   block: 1
template <bool Dependent>
__global__ void hop_kernel(int* flags, double* values, int steps, int* gave_up) {
  for (int s = blockIdx.x; s < steps; s += gridDim.x) {
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(flags[std::int64_t(cell) * s]);
    cuda::atomic_ref<int, cuda::thread_scope_device> next(flags[std::int64_t(cell) * (s + 1)]);
    int seen = 0;
    // RACE: another block publishes this flag; its release and this acquire order the payload; the spin is bounded
    for (std::int64_t spin = 0; (seen = flag.load(cuda::memory_order_acquire)) == 0; ++spin) {
      if (spin == max_spins) {
        atomicExch(gave_up, 1);  // RACE: several blocks may set it; the atomic orders them
        return;
      }
    }
    if (Dependent) values[std::int64_t(cell) * (s + 1)] = values[std::int64_t(cell) * s] + 1;
    next.store(seen + 1,
               cuda::memory_order_release);  // RACE: publishes the payload to the block that serves the next step
  }
}

/// grid: 1   block: 1
__global__ void count_kernel(int* counter) { *counter += 1; }

/// `rounds` grid-wide barriers. Every block writes its slot before the last one and reads its neighbour's after it.
/// slots: (gridDim.x)   grid: resident blocks, cooperative
__global__ void grid_sync_kernel(int* slots, int rounds, int* wrong) {
  const auto grid = cooperative_groups::this_grid();
  for (int round = 0; round + 1 < rounds; ++round)
    grid.sync();  // RACE: nothing is shared yet; the barrier itself is timed
  if (threadIdx.x == 0) slots[blockIdx.x] = rounds;
  grid.sync();  // RACE: slots were written by other blocks and are read below; the barrier orders them
  // RACE: blocks add to one counter; the atomic orders them
  if (threadIdx.x == 0 && slots[(blockIdx.x + 1) % gridDim.x] != rounds) atomicAdd(wrong, 1);
}

struct Sizes {
  unsigned blocks;
  unsigned threads;
  std::int64_t copy;  // doubles
  int fma_iterations, hop_steps, launches, graph_nodes, sync_rounds;
  int samples;
};

Sizes sizes_for(const simt::DeviceProperties& device) {
  if (simt::machine() == simt::Machine::simulator) return {2, 32, 1000, 16, 16, 8, 8, 4, 1};
  const auto copy = std::min<std::int64_t>(std::int64_t{1} << 27, static_cast<std::int64_t>(device.memory_bytes / 64));
  return {static_cast<unsigned>(device.sm_count), 256, copy, 8192, 20000, 2000, 1000, 2000, 7};
}

Sizes quick_sizes_for(const simt::DeviceProperties& device) {
  Sizes sizes = sizes_for(device);
  if (simt::machine() == simt::Machine::simulator) return sizes;
  sizes.fma_iterations = 128;
  sizes.hop_steps = 500;
  sizes.samples = 2;
  return sizes;
}

Status wrong_result(std::string_view what, const std::string& details) {
  return Status::error(StatusCode::device_error, "calibration of " + std::string(what) + ": " + details +
                                                     "; the time is discarded, run lulab calibrate again");
}

/// The measurements share a stream, a timer and the progress callback.
class Calibrator {
 public:
  Calibrator(simt::Stream stream, simt::Timer timer, const Sizes& sizes)
      : stream_(std::move(stream)), timer_(std::move(timer)), sizes_(sizes) {}

  Result<double> copy_bandwidth();  // bytes/s
  template <class T>
  Result<double> fma_rate();  // flop/s
  template <bool Dependent>
  Result<double> hop_us();
  Result<double> launch_us();
  Result<double> graph_node_us();
  Result<double> grid_sync_us();

 private:
  /// Median over the samples of the device time of run(), after one untimed run. prepare() runs before each.
  template <class Prepare, class Run>
  Result<double> median_ms(std::string_view what, Prepare prepare, Run run);
  template <class T>
  Result<std::vector<T>> download(const simt::DeviceBuffer<T>& buffer);
  template <class T>
  Result<simt::DeviceBuffer<T>> zeros(std::int64_t size);

  simt::Stream stream_;
  simt::Timer timer_;
  Sizes sizes_;
};

template <class Prepare, class Run>
Result<double> Calibrator::median_ms(std::string_view what, Prepare prepare, Run run) {
  std::vector<double> times;
  for (int sample = 0; sample <= sizes_.samples; ++sample) {
    LULAB_RETURN_IF_ERROR(prepare());
    LULAB_RETURN_IF_ERROR(stream_.wait());
    LULAB_RETURN_IF_ERROR(timer_.start(stream_));
    LULAB_RETURN_IF_ERROR(run());
    LULAB_RETURN_IF_ERROR(timer_.stop(stream_));
    LULAB_RETURN_IF_ERROR(stream_.wait());
    const auto ms = timer_.elapsed_ms();
    if (!ms.ok()) return ms;
    if (sample > 0) times.push_back(*ms);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  const double median = times[times.size() / 2];
  if (simt::machine() == simt::Machine::gpu && !(median > 0)) return wrong_result(what, "the timer read 0");
  return median > 0 ? median : 1e-6;
}

template <class T>
Result<std::vector<T>> Calibrator::download(const simt::DeviceBuffer<T>& buffer) {
  std::vector<T> host(static_cast<std::size_t>(buffer.size()));
  LULAB_RETURN_IF_ERROR(buffer.download(std::span<T>(host), stream_));
  LULAB_RETURN_IF_ERROR(stream_.wait());
  return host;
}

template <class T>
Result<simt::DeviceBuffer<T>> Calibrator::zeros(std::int64_t size) {
  auto buffer = simt::DeviceBuffer<T>::create(size);
  if (!buffer.ok()) return buffer;
  LULAB_RETURN_IF_ERROR(buffer->fill_bytes(0, stream_));
  return buffer;
}

const auto nothing = [] { return Status{}; };

Result<double> Calibrator::copy_bandwidth() {
  const std::int64_t n = sizes_.copy;
  LULAB_ASSIGN_OR_RETURN(auto d_from, simt::DeviceBuffer<double>::create(n));
  LULAB_ASSIGN_OR_RETURN(auto d_to, zeros<double>(n));
  LULAB_ASSIGN_OR_RETURN(auto d_wrong, zeros<int>(1));
  const simt::LaunchShape shape{.grid = sizes_.blocks * 8, .block = sizes_.threads};
  LULAB_RETURN_IF_ERROR(simt::launch(number_kernel, shape, stream_, d_from.data(), n));
  const std::size_t bytes = sizeof(double) * static_cast<std::size_t>(n);
  const auto ms = median_ms("copy bandwidth", nothing,
                            [&] { return simt::copy_on_device(d_to.data(), d_from.data(), bytes, stream_); });
  if (!ms.ok()) return ms;
  LULAB_RETURN_IF_ERROR(simt::launch(count_wrong_kernel, shape, stream_, d_to.data(), n, d_wrong.data()));
  LULAB_ASSIGN_OR_RETURN(const auto wrong, download(d_wrong));
  if (wrong[0] != 0)
    return wrong_result("copy bandwidth", std::to_string(wrong[0]) + " of " + std::to_string(n) + " values differ");
  return 2 * static_cast<double>(bytes) / (*ms * 1e-3);  // read + written
}

template <class T>
Result<double> Calibrator::fma_rate() {
  const simt::LaunchShape shape{.grid = sizes_.blocks * 8, .block = sizes_.threads};
  const std::int64_t threads = std::int64_t{sizes_.blocks} * 8 * sizes_.threads;
  LULAB_ASSIGN_OR_RETURN(auto d_out, zeros<T>(threads));
  const auto ms = median_ms("multiply-add rate", nothing, [&] {
    return simt::launch(fma_kernel<T>, shape, stream_, d_out.data(), T(1), T(1), sizes_.fma_iterations);
  });
  if (!ms.ok()) return ms;
  LULAB_ASSIGN_OR_RETURN(const auto out, download(d_out));
  const T expected = T(28) + T(8) * static_cast<T>(sizes_.fma_iterations);
  for (const T x : out) {
    if (!(x == expected))
      return wrong_result("multiply-add rate", "got " + std::to_string(x) + ", expected " + std::to_string(expected));
  }
  return 16.0 * sizes_.fma_iterations * static_cast<double>(threads) / (*ms * 1e-3);
}

template <bool Dependent>
Result<double> Calibrator::hop_us() {
  const std::string_view what = Dependent ? "hop with payload" : "flag hop";
  const int steps = sizes_.hop_steps;
  LULAB_ASSIGN_OR_RETURN(auto d_flags, simt::DeviceBuffer<int>::create(std::int64_t{cell} * (steps + 1)));
  LULAB_ASSIGN_OR_RETURN(auto d_values, simt::DeviceBuffer<double>::create(std::int64_t{cell} * (steps + 1)));
  LULAB_ASSIGN_OR_RETURN(auto d_gave_up, zeros<int>(1));
  const std::array<int, 1> one = {1};
  const auto prepare = [&]() -> Status {
    LULAB_RETURN_IF_ERROR(d_flags.fill_bytes(0, stream_));
    LULAB_RETURN_IF_ERROR(d_values.fill_bytes(0, stream_));
    return d_flags.upload(one, stream_);
  };
  const auto ms = median_ms(what, prepare, [&] {
    return simt::launch(hop_kernel<Dependent>, {.grid = sizes_.blocks, .block = 1}, stream_, d_flags.data(),
                        d_values.data(), steps, d_gave_up.data());
  });
  if (!ms.ok()) return ms;
  LULAB_ASSIGN_OR_RETURN(const auto gave_up, download(d_gave_up));
  if (gave_up[0] != 0) return wrong_result(what, "a block never saw its flag");
  LULAB_ASSIGN_OR_RETURN(const auto flags, download(d_flags));
  LULAB_ASSIGN_OR_RETURN(const auto values, download(d_values));
  if (flags.at(std::size_t{cell} * steps) != steps + 1) return wrong_result(what, "the last flag has a wrong value");
  const double payload = values.at(std::size_t{cell} * steps);
  if (!(payload == (Dependent ? steps : 0)))
    return wrong_result(what, "the last payload is " + std::to_string(payload));
  return *ms * 1e3 / steps;
}

Result<double> Calibrator::launch_us() {
  LULAB_ASSIGN_OR_RETURN(auto d_counter, simt::DeviceBuffer<int>::create(1));
  const auto ms = median_ms(
      "launch interval", [&] { return d_counter.fill_bytes(0, stream_); },
      [&]() -> Status {
        for (int i = 0; i < sizes_.launches; ++i) {
          LULAB_RETURN_IF_ERROR(simt::launch(count_kernel, {.grid = 1, .block = 1}, stream_, d_counter.data()));
        }
        return {};
      });
  if (!ms.ok()) return ms;
  LULAB_ASSIGN_OR_RETURN(const auto counter, download(d_counter));
  if (counter[0] != sizes_.launches)
    return wrong_result("launch interval", std::to_string(counter[0]) + " kernels ran");
  return *ms * 1e3 / sizes_.launches;
}

Result<double> Calibrator::graph_node_us() {
  LULAB_ASSIGN_OR_RETURN(auto d_counter, zeros<int>(1));
  LULAB_RETURN_IF_ERROR(stream_.wait());
  LULAB_RETURN_IF_ERROR(simt::Graph::begin_capture(stream_));
  for (int i = 0; i < sizes_.graph_nodes; ++i) {
    LULAB_RETURN_IF_ERROR(simt::launch(count_kernel, {.grid = 1, .block = 1}, stream_, d_counter.data()));
  }
  auto graph = simt::Graph::end_capture(stream_);
  if (!graph.ok()) return graph.status();
  const auto ms = median_ms(
      "graph node interval", [&] { return d_counter.fill_bytes(0, stream_); }, [&] { return graph->launch(stream_); });
  if (!ms.ok()) return ms;
  LULAB_ASSIGN_OR_RETURN(const auto counter, download(d_counter));
  if (counter[0] != sizes_.graph_nodes) {
    return wrong_result("graph node interval", std::to_string(counter[0]) + " nodes ran");
  }
  return *ms * 1e3 / sizes_.graph_nodes;
}

Result<double> Calibrator::grid_sync_us() {
  LULAB_ASSIGN_OR_RETURN(auto d_slots, simt::DeviceBuffer<int>::create(sizes_.blocks));
  LULAB_ASSIGN_OR_RETURN(auto d_wrong, zeros<int>(1));
  const simt::LaunchShape shape{.grid = sizes_.blocks, .block = sizes_.threads, .cooperative = true};
  const auto ms = median_ms(
      "grid barrier", [&] { return d_slots.fill_bytes(0, stream_); },
      [&] {
        return simt::launch(grid_sync_kernel, shape, stream_, d_slots.data(), sizes_.sync_rounds, d_wrong.data());
      });
  if (!ms.ok()) return ms;
  LULAB_ASSIGN_OR_RETURN(const auto wrong, download(d_wrong));
  LULAB_ASSIGN_OR_RETURN(const auto slots, download(d_slots));
  const bool all_ran = std::all_of(slots.begin(), slots.end(), [&](int slot) { return slot == sizes_.sync_rounds; });
  if (wrong[0] != 0 || !all_ran) return wrong_result("grid barrier", "a block read before its neighbour wrote");
  return *ms * 1e3 / sizes_.sync_rounds;
}

}  // namespace

Result<DeviceConstants> calibrate(const CalibrationProgress& progress) {
  LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto timer, simt::Timer::create());
  Calibrator calibrator(std::move(stream), std::move(timer), sizes_for(device));

  DeviceConstants c;
  c.device = device.name;
  c.measured = true;
  const auto measure = [&](std::string_view what, double DeviceConstants::*figure,
                           Result<double> (Calibrator::*run)()) -> Status {
    if (progress) progress(what);
    const auto value = (calibrator.*run)();
    if (value.ok()) c.*figure = *value;
    return value.status();
  };
  LULAB_RETURN_IF_ERROR(
      measure("copy bandwidth", &DeviceConstants::bandwidth_bytes_per_s, &Calibrator::copy_bandwidth));
  LULAB_RETURN_IF_ERROR(
      measure("double multiply-adds", &DeviceConstants::flops_f64_per_s, &Calibrator::fma_rate<double>));
  LULAB_RETURN_IF_ERROR(
      measure("float multiply-adds", &DeviceConstants::flops_f32_per_s, &Calibrator::fma_rate<float>));
  LULAB_RETURN_IF_ERROR(measure("flag hop", &DeviceConstants::flag_hop_us, &Calibrator::hop_us<false>));
  LULAB_RETURN_IF_ERROR(measure("hop with payload", &DeviceConstants::hop_us, &Calibrator::hop_us<true>));
  LULAB_RETURN_IF_ERROR(measure("launch interval", &DeviceConstants::launch_us, &Calibrator::launch_us));
  LULAB_RETURN_IF_ERROR(measure("graph node interval", &DeviceConstants::graph_node_us, &Calibrator::graph_node_us));
  LULAB_RETURN_IF_ERROR(measure("grid barrier", &DeviceConstants::grid_sync_us, &Calibrator::grid_sync_us));
  const bool simulator = simt::machine() == simt::Machine::simulator;
  LULAB_ASSIGN_OR_RETURN(auto memory,
                         probe_caches(simulator ? tiny_cache_probe_sizes() : cache_probe_sizes(device), progress));
  if (simulator) return builtin_constants(device.name);
  c.memory = std::move(memory);
  return c;
}

Result<DeviceConstants> calibrate_for_choice() {
  LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto timer, simt::Timer::create());
  Calibrator calibrator(std::move(stream), std::move(timer), quick_sizes_for(device));
  DeviceConstants c;
  c.device = device.name;
  c.measured = simt::machine() == simt::Machine::gpu;
  LULAB_ASSIGN_OR_RETURN(c.flag_hop_us, calibrator.hop_us<false>());
  LULAB_ASSIGN_OR_RETURN(c.flops_f64_per_s, calibrator.fma_rate<double>());
  return c;
}

}  // namespace lulab
