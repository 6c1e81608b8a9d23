#pragma once
// The host side of core/simt: memory, streams, events, graphs and properties of the device that runs kernels,
// the GPU (preset cuda) or the host simulator (presets sim*). Any .cpp may include this; launching needs
// core/simt/kernel.h.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/status.h"

namespace lulab::simt {

enum class Machine { gpu, simulator };
/// What this build runs kernels on.
Machine machine();

struct DeviceProperties {
  std::string name;  // "NVIDIA H200" or "host simulator"
  int sm_count = 0;
  int max_threads_per_block = 0;
  int max_threads_per_sm = 0;
  std::size_t shared_bytes_per_block = 0;  // with opt-in
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  int compute_capability = 0;  // 90; 0 in the simulator
  std::string driver;          // "13.0"; empty in the simulator
};

/// Errors    device_error when the build is for a GPU and none answers.
Result<DeviceProperties> device_properties();

/// How many devices this process sees, at least 1; the simulator is one.   Errors device_error: none answers.
Result<int> device_count();
/// The device of this thread.   Errors device_error.
Result<int> current_device();
/// What this thread allocates and launches from now on is on that device, 0 .. device_count() - 1.
/// Errors    invalid_argument: there is no such device; device_error.
Status use_device(int device);

/// Of two streams with work that is ready, the device starts that of the high one first.
enum class Priority { normal, high };

/// In-order queue of work. Moves only. The simulator runs each item when it is enqueued.
class Stream {
 public:
  static Result<Stream> create(Priority priority = Priority::normal);
  /// A stream that the caller made: native is its cudaStream_t (null: the default stream), and must outlive the result.
  /// The simulator has none; there it is a new one.   Errors device_error.
  static Result<Stream> of(void* native);
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  /// Blocks until the queue is empty.   Errors device_error, deadlock (what the kernels since the last wait() met).
  Status wait();
  /// Work enqueued here from now on starts after all that is enqueued on `earlier` by now. The host does not wait.
  /// Fork: side.wait_for(main). Join: main.wait_for(side). While `earlier` is being captured, this stream joins the
  /// capture: what it is given is recorded in the same graph until the capture ends.
  ///
  /// Ensures   a fault of `earlier` is answered by this stream's wait() too.
  /// Errors    invalid_argument when a captured stream would depend on one outside its capture, device_error.
  Status wait_for(Stream& earlier);
  /// Is what it is given recorded in a graph?   Errors device_error.
  Result<bool> is_captured() const;
  /// cudaStream_t of the GPU build, nullptr in the simulator.
  void* native() const;

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  friend Result<struct SplitStreams> split_device(int sm_count);
  explicit Stream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Streams that work side by side because each has multiprocessors of its own.
struct SplitStreams {
  Stream few, most;
};

/// Divides the device: `few` runs on at least sm_count multiprocessors (as many more as the hardware rounds up to, and
/// near enough to each other for a cluster of that many blocks), `most` on the others. In the simulator two ordinary
/// streams.
/// Errors    not_implemented (a driver or device without green contexts, or too few multiprocessors), device_error,
///           out_of_memory.
Result<SplitStreams> split_device(int sm_count);

/// Device time between two points of a stream (CUDA events; steady_clock in the simulator).
class Timer {
 public:
  static Result<Timer> create();
  ~Timer();
  Timer(Timer&&) noexcept;
  Timer& operator=(Timer&&) noexcept;
  Status start(Stream& stream);
  Status stop(Stream& stream);
  /// Waits for stop.   Unit ms.
  Result<double> elapsed_ms();

  struct Impl;

 private:
  explicit Timer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Untyped memory; DeviceBuffer<T> below is what callers use.
Result<void*> device_allocate(std::size_t bytes);  // out_of_memory names how much was asked and how much is free
void device_free(void* p);
Status copy_to_device(void* d_to, const void* from, std::size_t bytes, Stream& stream);
Status copy_to_host(void* to, const void* d_from, std::size_t bytes,
                    Stream& stream);  // host memory valid after stream.wait()
Status copy_on_device(void* d_to, const void* d_from, std::size_t bytes, Stream& stream);
Status fill_bytes(void* d_to, int byte, std::size_t bytes, Stream& stream);
/// Bytes now allocated through device_allocate, and the most there ever were since reset_peak_bytes().
std::int64_t allocated_bytes();
std::int64_t peak_bytes();
void reset_peak_bytes();

/// size elements of T in device memory. T is trivially copyable. In the simulator fresh memory is poisoned (NaN,
/// negative as an integer).
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  static Result<DeviceBuffer> create(std::int64_t size) {
    DeviceBuffer b;
    if (size > 0) {
      LULAB_ASSIGN_OR_RETURN(auto p, device_allocate(static_cast<std::size_t>(size) * sizeof(T)));
      b.data_ = static_cast<T*>(p);
      b.size_ = size;
    }
    return b;
  }
  /// A buffer with the contents of `from`.
  static Result<DeviceBuffer> create(std::span<const T> from, Stream& stream) {
    auto b = create(static_cast<std::int64_t>(from.size()));
    if (!b.ok()) return b;
    if (Status s = b->upload(from, stream); !s.ok()) return s;
    return b;
  }
  ~DeviceBuffer() { device_free(data_); }
  DeviceBuffer(DeviceBuffer&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }

  T* data() const { return data_; }  // device pointer
  std::int64_t size() const { return size_; }
  /// Requires from.size() <= size().
  Status upload(std::span<const T> from, Stream& stream) {
    return copy_to_device(data_, from.data(), from.size_bytes(), stream);
  }
  /// Requires to.size() <= size(). `to` is valid after stream.wait().
  Status download(std::span<T> to, Stream& stream) const {
    return copy_to_host(to.data(), data_, to.size_bytes(), stream);
  }
  Status fill_bytes(int byte, Stream& stream) {
    return simt::fill_bytes(data_, byte, static_cast<std::size_t>(size_) * sizeof(T), stream);
  }

 private:
  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

/// What reports of races call device memory: element i from d_first on is name[i], and of column j where
/// col_ptr[j] <= i < col_ptr[j + 1] if there is a col_ptr, which must outlive the memory. Ignored on a GPU.
void name_memory(const void* d_first, std::size_t bytes, std::size_t element_bytes, const char* name,
                 std::span<const std::int64_t> col_ptr = {});
template <class T>
void name_elements(const T* d_first, std::int64_t size, const char* name) {
  name_memory(d_first, static_cast<std::size_t>(size) * sizeof(T), sizeof(T), name);
}

/// buffer = a new one with the contents of `from`.   Requires `from` until stream.wait().
template <class T, class Range>
Status make(DeviceBuffer<T>& buffer, const Range& from, Stream& stream) {
  LULAB_ASSIGN_OR_RETURN(buffer, DeviceBuffer<T>::create(std::span<const T>(from), stream));
  return {};
}
/// buffer = a new one of so many elements.
template <class T>
Status make(DeviceBuffer<T>& buffer, std::int64_t size) {
  LULAB_ASSIGN_OR_RETURN(buffer, DeviceBuffer<T>::create(size));
  return {};
}

/// Host memory that the device copies from and to at the full speed of the bus, and that kernels may write
/// (page-locked; in the simulator, and where no GPU answers, ordinary memory). nullptr: none left.
void* host_allocate(std::size_t bytes);
void host_free(void* p);
/// Is it host memory of that kind, whoever made it? Copies of other memory cannot be recorded in a graph: the driver
/// makes them by way of memory of its own. In the simulator all memory is.
bool is_page_locked(const void* p);

/// size elements of T in such memory. T is trivially copyable. When it goes, nothing that is enqueued may use it: the
/// next one may get the same memory. A struct declares it before the DeviceBuffer that is copied to it: that one goes
/// first, and waits for what is enqueued.
template <class T>
class HostBuffer {
 public:
  HostBuffer() = default;
  /// Errors    out_of_memory.
  static Result<HostBuffer> create(std::int64_t size) {
    HostBuffer b;
    if (size > 0) {
      const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T);
      b.data_ = static_cast<T*>(host_allocate(bytes));
      if (b.data_ == nullptr)
        return Status::error(StatusCode::out_of_memory, std::to_string(bytes) + " bytes of host memory were asked for");
      b.size_ = static_cast<std::size_t>(size);
    }
    return b;
  }
  ~HostBuffer() { host_free(data_); }
  HostBuffer(HostBuffer&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  HostBuffer& operator=(HostBuffer&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }
  std::span<T> span() const { return {data_, size_}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A recorded sequence of launches and copies, replayed with one call (CUDA graph; the simulator replays the recorded
/// calls).
class Graph {
 public:
  /// Everything enqueued on `stream`, and on streams that joined by Stream::wait_for, is recorded instead of run.
  /// Errors    invalid_argument when it is being captured already.
  static Status begin_capture(Stream& stream);
  /// Requires  `stream` is the one that begin_capture had.
  /// Errors    invalid_argument when it is not, or when work of a stream that joined is not waited for by `stream`.
  static Result<Graph> end_capture(Stream& stream);
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  Status launch(Stream& stream);

  struct Impl;

 private:
  explicit Graph(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// How the simulator schedules; ignored on a GPU. Set for the current thread by SimulatorScope.
struct SimulatorOptions {
  std::uint64_t seed = 1;         // permutes block, warp and lane order
  int resident_blocks = 0;        // at most this many blocks live at once; 0: as many as the simulated device holds
  bool count_accesses = false;    // fill AccessCounts (teaching)
  std::int64_t max_switches = 0;  // 0: no bound; else Status::deadlock when a kernel needs more scheduling steps
  // A kernel that reaches no scheduling point for so long ends the process with a message.
  double watchdog_seconds = 60;
};

/// What kernels did, over all their threads. Counted in the simulator when SimulatorOptions::count_accesses is set,
/// else zero. Atomics include loads and stores of cuda::atomic_ref. Plain loads and stores count only where they go
/// through counted_global(p) or counted_shared(p) of core/simt/kernel.h: elements, not transactions.
struct AccessCounts {
  std::int64_t atomics = 0;
  std::int64_t fences = 0;
  std::int64_t block_barriers = 0;  // calls, one for each thread; likewise below
  std::int64_t grid_barriers = 0;
  std::int64_t cluster_barriers = 0;  // arrivals
  std::int64_t warp_collectives = 0;  // __syncwarp, shuffles, votes, matches, reductions
  std::int64_t global_loads = 0, global_stores = 0;
  std::int64_t shared_loads = 0, shared_stores = 0;

  bool operator==(const AccessCounts&) const = default;
};

/// The options of kernels that this OS thread launches while it lives. Harmless in a GPU build.
class SimulatorScope {
 public:
  explicit SimulatorScope(SimulatorOptions options);
  ~SimulatorScope();
  SimulatorScope(const SimulatorScope&) = delete;
  SimulatorScope& operator=(const SimulatorScope&) = delete;

  /// Of the kernels that ran on this OS thread since the scope began.
  AccessCounts access_counts() const;

 private:
  SimulatorOptions saved_;
  AccessCounts before_;
};

/// For a program with exit codes of its own, first in main(). Of a race in a kernel only five lines go to stderr:
/// ThreadSanitizer's own report goes to a file that the last of them names, TSAN_OPTIONS=log_path=PATH says where else,
/// and where none can be written it stays on stderr. An exit code other than 0 is not replaced by ThreadSanitizer's.
/// Nothing in builds without ThreadSanitizer.
void tell_races_briefly();

/// The schedule behind what a test has just seen: the options of the innermost SimulatorScope of this OS thread, else
/// those of its last launch since forget_schedule(). nullopt when there is neither, and on a GPU.
std::optional<SimulatorOptions> current_schedule();
void forget_schedule();

}  // namespace lulab::simt
