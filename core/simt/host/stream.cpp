#include <chrono>
#include <utility>

#include "core/simt/host/stream_impl.h"
#include "core/simt/memory_limit.h"

namespace lulab::simt {

Stream::Stream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Result<Stream> Stream::create(Priority) {
  LULAB_RETURN_IF_ERROR(ask_memory_limit("a stream"));
  return Stream(std::make_unique<Impl>());
}
Result<Stream> Stream::of(void*) { return create(); }
Status Stream::wait() {
  if (impl_->capturing())
    return Status::error(StatusCode::invalid_argument, "Stream::wait: the stream is being captured; end_capture first");
  return std::exchange(impl_->failure, {});
}
Status Stream::wait_for(Stream& earlier) {
  Impl& other = earlier.impl();
  if (impl_->capturing() && impl_->capture != (other.capturing() ? other.capture : nullptr))
    return Status::error(
        StatusCode::invalid_argument,
        "Stream::wait_for: the stream is being captured, and the one to wait for is not in its capture");
  if (!other.capturing()) {
    if (impl_->failure.ok()) impl_->failure = other.failure;
    return {};
  }
  if (!impl_->capturing()) {
    impl_->capture = other.capture;
    impl_->member = other.capture->known.size();
    other.capture->known.emplace_back();
  }
  impl_->capture->wait_for(impl_->member, other.member);
  return {};
}
Result<bool> Stream::is_captured() const { return impl_->capturing(); }
void* Stream::native() const { return nullptr; }

Result<SplitStreams> split_device(int) {
  return SplitStreams{Stream(std::make_unique<Stream::Impl>()), Stream(std::make_unique<Stream::Impl>())};
}

struct Timer::Impl {
  std::chrono::steady_clock::time_point start, stop;
  bool started = false, stopped = false;
};
Timer::Timer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Timer::~Timer() = default;
Timer::Timer(Timer&&) noexcept = default;
Timer& Timer::operator=(Timer&&) noexcept = default;
Result<Timer> Timer::create() { return Timer(std::make_unique<Impl>()); }
Status Timer::start(Stream& stream) {
  if (stream.impl().capturing())
    return Status::error(StatusCode::invalid_argument,
                         "Timer::start: the stream is being captured; time the graph's launch");
  impl_->start = std::chrono::steady_clock::now();
  impl_->started = true;
  impl_->stopped = false;
  return {};
}
Status Timer::stop(Stream& stream) {
  if (stream.impl().capturing())
    return Status::error(StatusCode::invalid_argument,
                         "Timer::stop: the stream is being captured; time the graph's launch");
  impl_->stop = std::chrono::steady_clock::now();
  impl_->stopped = true;
  return {};
}
Result<double> Timer::elapsed_ms() {
  if (!impl_->started || !impl_->stopped)
    return Status::error(StatusCode::invalid_argument, "Timer::elapsed_ms: call start() and stop() first");
  return std::chrono::duration<double, std::milli>(impl_->stop - impl_->start).count();
}

struct Graph::Impl {
  std::shared_ptr<const std::vector<std::function<Status()>>> items;
};
Graph::Graph(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Status Graph::begin_capture(Stream& stream) {
  if (stream.impl().capturing())
    return Status::error(StatusCode::invalid_argument, "Graph::begin_capture: the stream is being captured already");
  stream.impl().capture = std::make_shared<host::Capture>();
  stream.impl().capture->known.emplace_back();
  stream.impl().member = 0;
  return {};
}
Result<Graph> Graph::end_capture(Stream& stream) {
  if (!stream.impl().capturing())
    return Status::error(StatusCode::invalid_argument, "Graph::end_capture: the stream is not being captured");
  if (stream.impl().member != 0)
    return Status::error(StatusCode::invalid_argument,
                         "Graph::end_capture: the stream joined the capture; end it on the stream that began it");
  host::Capture& capture = *stream.impl().capture;
  capture.ended = true;
  for (std::size_t s = 1; s < capture.known.size(); ++s)
    if (capture.known_of(s, s) > capture.known_of(0, s))
      return Status::error(StatusCode::invalid_argument,
                           "Graph::end_capture: unjoined work; the captured stream must wait_for every stream that "
                           "joined the capture, after its work");
  LULAB_RETURN_IF_ERROR(ask_memory_limit("a graph"));
  auto impl = std::make_unique<Impl>();
  impl->items = std::make_shared<const std::vector<std::function<Status()>>>(std::move(capture.items));
  return Graph(std::move(impl));
}
Status Graph::launch(Stream& stream) {
  return stream.impl().enqueue([items = impl_->items]() -> Status {
    for (const auto& item : *items) LULAB_RETURN_IF_ERROR(item());
    return {};
  });
}

}  // namespace lulab::simt
