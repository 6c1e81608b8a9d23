#pragma once
// launch() on the GPU.

#include <type_traits>
#include <utility>

namespace lulab::simt {

namespace cuda_rt {

Status launch_kernel(const void* kernel, const LaunchShape& shape, Stream& stream, void** parameters);
Result<int> resident_blocks_per_sm(const void* kernel, int threads_per_block, std::size_t shared_bytes);
Result<int> resident_clusters(const void* kernel, const LaunchShape& shape);

}  // namespace cuda_rt

template <class... P, class... A>
Status launch(void (*kernel)(P...), const LaunchShape& shape, Stream& stream, A&&... args) {
  static_assert(sizeof...(P) == sizeof...(A), "one argument for each parameter of the kernel");
  return [&](std::remove_cv_t<P>... values) {
    void* parameters[] = {static_cast<void*>(&values)..., nullptr};
    return cuda_rt::launch_kernel(reinterpret_cast<const void*>(kernel), shape, stream, parameters);
  }(static_cast<P>(std::forward<A>(args))...);
}

template <class... P>
Result<int> max_resident_blocks_per_sm(void (*kernel)(P...), int threads_per_block, std::size_t shared_bytes) {
  return cuda_rt::resident_blocks_per_sm(reinterpret_cast<const void*>(kernel), threads_per_block, shared_bytes);
}

template <class... P>
Result<int> max_resident_clusters(void (*kernel)(P...), const LaunchShape& shape) {
  return cuda_rt::resident_clusters(reinterpret_cast<const void*>(kernel), shape);
}

}  // namespace lulab::simt
