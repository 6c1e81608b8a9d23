#include <fmt/format.h>

#include "core/simt/cuda/error.h"
#include "core/simt/cuda/stream_impl.h"
#include "core/simt/memory_limit.h"

namespace lulab::simt {

using cuda_rt::status_of;

Stream::Stream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}
Stream::~Stream() {
  if (!impl_) return;
  if (impl_->reached) cudaEventDestroy(impl_->reached);
  if (impl_->stream && impl_->owns_stream) cudaStreamDestroy(impl_->stream);
}

Result<Stream> Stream::create(Priority priority) {
  LULAB_RETURN_IF_ERROR(ask_memory_limit("a stream"));
  Stream stream(std::make_unique<Impl>());
  Impl& impl = stream.impl();
  int lowest = 0, highest = 0;
  LULAB_RETURN_IF_ERROR(
      status_of(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "read the range of stream priorities"));
  LULAB_RETURN_IF_ERROR(status_of(
      cudaStreamCreateWithPriority(&impl.stream, cudaStreamNonBlocking, priority == Priority::high ? highest : lowest),
      "create a stream"));
  LULAB_RETURN_IF_ERROR(status_of(cudaEventCreateWithFlags(&impl.reached, cudaEventDisableTiming), "create an event"));
  return stream;
}

Result<Stream> Stream::of(void* native) {
  Stream stream(std::make_unique<Impl>());
  stream.impl().stream = static_cast<cudaStream_t>(native);
  stream.impl().owns_stream = false;
  LULAB_RETURN_IF_ERROR(
      status_of(cudaEventCreateWithFlags(&stream.impl().reached, cudaEventDisableTiming), "create an event"));
  return stream;
}

// A stream waits for the event as it was last recorded before the call, so one event serves every wait.
Status Stream::wait_for(Stream& earlier) {
  const Impl& other = earlier.impl();
  LULAB_RETURN_IF_ERROR(status_of(cudaEventRecord(other.reached, other.stream), "record an event"));
  return status_of(cudaStreamWaitEvent(impl_->stream, other.reached, 0), "let a stream wait for another");
}

Status Stream::wait() {
  const cudaError_t error = cudaStreamSynchronize(impl_->stream);
  if (error == cudaSuccess) return {};
  return status_of(error, fmt::format("{} or work enqueued before it", cuda_rt::kernel_name(impl_->last_kernel)));
}

Result<bool> Stream::is_captured() const {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  LULAB_RETURN_IF_ERROR(status_of(cudaStreamIsCapturing(impl_->stream, &capture), "ask whether a stream is captured"));
  return capture != cudaStreamCaptureStatusNone;
}

void* Stream::native() const { return impl_->stream; }

struct Timer::Impl {
  cudaEvent_t start = nullptr, stop = nullptr;
  ~Impl() {
    if (start) cudaEventDestroy(start);
    if (stop) cudaEventDestroy(stop);
  }
};

Timer::Timer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Timer::Timer(Timer&&) noexcept = default;
Timer& Timer::operator=(Timer&&) noexcept = default;
Timer::~Timer() = default;

Result<Timer> Timer::create() {
  auto impl = std::make_unique<Impl>();
  LULAB_RETURN_IF_ERROR(status_of(cudaEventCreate(&impl->start), "create an event"));
  LULAB_RETURN_IF_ERROR(status_of(cudaEventCreate(&impl->stop), "create an event"));
  return Timer(std::move(impl));
}

Status Timer::start(Stream& stream) {
  return status_of(cudaEventRecord(impl_->start, stream.impl().stream), "record an event");
}
Status Timer::stop(Stream& stream) {
  return status_of(cudaEventRecord(impl_->stop, stream.impl().stream), "record an event");
}

Result<double> Timer::elapsed_ms() {
  LULAB_RETURN_IF_ERROR(status_of(cudaEventSynchronize(impl_->stop), "wait for an event"));
  float ms = 0;
  LULAB_RETURN_IF_ERROR(status_of(cudaEventElapsedTime(&ms, impl_->start, impl_->stop), "read a timer"));
  return static_cast<double>(ms);
}

struct Graph::Impl {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ~Impl() {
    if (executable) cudaGraphExecDestroy(executable);
    if (graph) cudaGraphDestroy(graph);
  }
};

Graph::Graph(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

Status Graph::begin_capture(Stream& stream) {
  return status_of(cudaStreamBeginCapture(stream.impl().stream, cudaStreamCaptureModeThreadLocal), "begin a capture");
}

Result<Graph> Graph::end_capture(Stream& stream) {
  auto impl = std::make_unique<Impl>();
  LULAB_RETURN_IF_ERROR(status_of(cudaStreamEndCapture(stream.impl().stream, &impl->graph), "end a capture"));
  LULAB_RETURN_IF_ERROR(ask_memory_limit("a graph"));
  LULAB_RETURN_IF_ERROR(status_of(cudaGraphInstantiate(&impl->executable, impl->graph, 0), "instantiate a graph"));
  return Graph(std::move(impl));
}

Status Graph::launch(Stream& stream) {
  return status_of(cudaGraphLaunch(impl_->executable, stream.impl().stream), "launch a graph");
}

}  // namespace lulab::simt
