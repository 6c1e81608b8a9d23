// Memory, properties and options of the simulated device.

#include "core/simt/device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/simt/device_start.h"
#include "core/simt/host/poison.h"
#include "core/simt/host/race_report.h"
#include "core/simt/host/scheduler.h"
#include "core/simt/host/simulated_device.h"
#include "core/simt/host/simulator_options.h"
#include "core/simt/host/stream_impl.h"
#include "core/simt/memory_limit.h"

namespace lulab::simt {

namespace {

std::size_t host_memory(int what) {
  return static_cast<std::size_t>(sysconf(what)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

struct Memory {
  std::mutex mutex;
  std::unordered_map<void*, std::size_t> sizes;
  std::map<const std::byte*, host::DeviceArray> named;  // by begin
  std::int64_t allocated = 0, peak = 0;
};
Memory& memory() {
  static auto* instance = new Memory;  // outlives every static DeviceBuffer
  return *instance;
}
[[maybe_unused]] const Memory& made_before_threads = memory();  // else ThreadSanitizer misses what orders its making

SimulatorOptions of_environment() {
  SimulatorOptions options;
  if (const char* seed = std::getenv("LULAB_SIM_SEED")) options.seed = std::strtoull(seed, nullptr, 10);
  if (const char* blocks = std::getenv("LULAB_SIM_RESIDENT"))
    options.resident_blocks = static_cast<int>(std::strtol(blocks, nullptr, 10));
  return options;
}
thread_local SimulatorOptions current_options = of_environment();
thread_local int scopes = 0;  // SimulatorScopes that live on this OS thread
thread_local std::optional<SimulatorOptions> last_launch;

}  // namespace

namespace host {
std::optional<DeviceArray> device_array_of(const void* address) {
  const auto* const place = static_cast<const std::byte*>(address);
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  if (auto after = m.named.upper_bound(place); after != m.named.begin()) {
    const DeviceArray& array = (--after)->second;
    if (place < array.begin + array.bytes) return array;
  }
  for (const auto& [begin, bytes] : m.sizes) {
    const auto* const first = static_cast<const std::byte*>(begin);
    if (place >= first && place < first + bytes) return DeviceArray{.begin = first, .bytes = bytes, .col_ptr = {}};
  }
  return {};
}

std::vector<DeviceArray> named_arrays() {
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  std::vector<DeviceArray> arrays;
  for (const auto& [begin, array] : m.named) arrays.push_back(array);
  return arrays;
}

const SimulatorOptions& simulator_options() { return current_options; }
const SimulatorOptions& options_of_launch() { return last_launch.emplace(current_options); }
}  // namespace host

std::optional<SimulatorOptions> current_schedule() { return scopes > 0 ? current_options : last_launch; }
void forget_schedule() { last_launch.reset(); }

Machine machine() { return Machine::simulator; }

Result<DeviceProperties> device_properties() {
  DeviceProperties p;
  p.name = "host simulator";
  p.sm_count = host::sm_count();
  p.max_threads_per_block = host::max_threads_per_block;
  p.max_threads_per_sm = host::max_threads_per_sm;
  p.shared_bytes_per_block = host::shared_limit_per_block;
  p.l2_bytes = std::size_t{32} << 20;
  p.memory_bytes = host_memory(_SC_PHYS_PAGES);
  return p;
}

Result<int> device_count() { return 1; }

double device_start_us() { return 0; }

Result<int> current_device() { return 0; }

Status use_device(int device) {
  if (device == 0) return {};
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("there is no device {}; the simulator is one", device));
}

Result<void*> device_allocate(std::size_t bytes) {
  LULAB_RETURN_IF_ERROR(ask_memory_limit("device memory", bytes));
  // Linux grants address space it does not have; refuse by what is there.
  const std::size_t free = host_memory(_SC_AVPHYS_PAGES), all = host_memory(_SC_PHYS_PAGES);
  void* p = bytes > all ? nullptr : std::aligned_alloc(256, std::max<std::size_t>(256, (bytes + 255) / 256 * 256));
  if (!p)
    return Status::error(StatusCode::out_of_memory,
                         fmt::format("device memory: {} bytes asked for, about {} of {} are free", bytes, free, all));
  host::poison(p, bytes);
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  m.sizes[p] = bytes;
  m.allocated += static_cast<std::int64_t>(bytes);
  count_device_memory(static_cast<std::int64_t>(bytes));
  m.peak = std::max(m.peak, m.allocated);
  return p;
}

void device_free(void* p) {
  if (!p) return;
  Memory& m = memory();
  {
    const std::lock_guard lock(m.mutex);
    const auto it = m.sizes.find(p);
    if (it == m.sizes.end()) return;
    m.allocated -= static_cast<std::int64_t>(it->second);
    count_device_memory(-static_cast<std::int64_t>(it->second));
    const auto* const begin = static_cast<const std::byte*>(p);
    m.named.erase(m.named.lower_bound(begin), m.named.lower_bound(begin + it->second));
    m.sizes.erase(it);
  }
  std::free(p);
}

void name_memory(const void* d_first, std::size_t bytes, std::size_t element_bytes, const char* name,
                 std::span<const std::int64_t> col_ptr) {
  if (bytes == 0) return;
  const auto* const begin = static_cast<const std::byte*>(d_first);
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  m.named.insert_or_assign(begin, host::DeviceArray{begin, bytes, element_bytes, name, col_ptr});
}

void* host_allocate(std::size_t bytes) { return ask_memory_limit("host memory").ok() ? std::malloc(bytes) : nullptr; }
void host_free(void* p) { std::free(p); }
bool is_page_locked(const void* /*p*/) { return true; }

namespace {
Status copy(void* to, const void* from, std::size_t bytes, Stream& stream, const char* what) {
  if (bytes > 0 && (!to || !from))
    return Status::error(StatusCode::invalid_argument, fmt::format("{}: null pointer", what));
  return stream.impl().enqueue([=] {
    if (bytes > 0) std::memmove(to, from, bytes);
    return Status{};
  });
}
}  // namespace

Status copy_to_device(void* d_to, const void* from, std::size_t bytes, Stream& stream) {
  return copy(d_to, from, bytes, stream, "copy_to_device");
}
Status copy_to_host(void* to, const void* d_from, std::size_t bytes, Stream& stream) {
  return copy(to, d_from, bytes, stream, "copy_to_host");
}
Status copy_on_device(void* d_to, const void* d_from, std::size_t bytes, Stream& stream) {
  return copy(d_to, d_from, bytes, stream, "copy_on_device");
}
Status fill_bytes(void* d_to, int byte, std::size_t bytes, Stream& stream) {
  if (bytes > 0 && !d_to) return Status::error(StatusCode::invalid_argument, "fill_bytes: null pointer");
  return stream.impl().enqueue([=] {
    if (bytes > 0) std::memset(d_to, byte, bytes);
    return Status{};
  });
}

std::int64_t allocated_bytes() {
  const std::lock_guard lock(memory().mutex);
  return memory().allocated;
}
std::int64_t peak_bytes() {
  const std::lock_guard lock(memory().mutex);
  return memory().peak;
}
void reset_peak_bytes() {
  const std::lock_guard lock(memory().mutex);
  memory().peak = memory().allocated;
}

SimulatorScope::SimulatorScope(SimulatorOptions options)
    : saved_(std::exchange(current_options, options)), before_(host::this_scheduler().counts()) {
  ++scopes;
}
SimulatorScope::~SimulatorScope() {
  current_options = saved_;
  --scopes;
}
AccessCounts SimulatorScope::access_counts() const {
  AccessCounts c = host::this_scheduler().counts();
  c.atomics -= before_.atomics;
  c.fences -= before_.fences;
  c.block_barriers -= before_.block_barriers;
  c.grid_barriers -= before_.grid_barriers;
  c.cluster_barriers -= before_.cluster_barriers;
  c.warp_collectives -= before_.warp_collectives;
  c.global_loads -= before_.global_loads;
  c.global_stores -= before_.global_stores;
  c.shared_loads -= before_.shared_loads;
  c.shared_stores -= before_.shared_stores;
  return c;
}

}  // namespace lulab::simt
