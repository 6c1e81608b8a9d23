#pragma once
// launch() of the simulator: the stream keeps a copy of the arguments and calls the kernel once for each thread.

#include <functional>
#include <memory>
#include <tuple>
#include <utility>

namespace lulab::simt {

struct LaunchShape;

namespace host {

struct KernelCall {
  const void* address;               // of the kernel, for its name
  std::function<void()> run_thread;  // the kernel with its arguments
};

Status enqueue_kernel(KernelCall call, const LaunchShape& shape, Stream& stream);
Result<int> resident_blocks_per_sm(const void* kernel, int threads_per_block, std::size_t shared_bytes);
Result<int> resident_clusters(const void* kernel, const LaunchShape& shape);

}  // namespace host

template <class... P, class... A>
Status launch(void (*kernel)(P...), const LaunchShape& shape, Stream& stream, A&&... args) {
  static_assert(sizeof...(P) == sizeof...(A), "one argument for each parameter of the kernel");
  auto parameters = std::make_shared<std::tuple<std::decay_t<P>...>>(static_cast<P>(std::forward<A>(args))...);
  return host::enqueue_kernel(
      {reinterpret_cast<const void*>(kernel), [kernel, parameters] { std::apply(kernel, *parameters); }}, shape,
      stream);
}

template <class... P>
Result<int> max_resident_blocks_per_sm(void (*kernel)(P...), int threads_per_block, std::size_t shared_bytes) {
  return host::resident_blocks_per_sm(reinterpret_cast<const void*>(kernel), threads_per_block, shared_bytes);
}

template <class... P>
Result<int> max_resident_clusters(void (*kernel)(P...), const LaunchShape& shape) {
  return host::resident_clusters(reinterpret_cast<const void*>(kernel), shape);
}

}  // namespace lulab::simt
