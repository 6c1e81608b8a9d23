#include "dense/device_dense.h"

#include <algorithm>

#include "core/simt/device_tools.h"

namespace lulab::dense {
namespace {

constexpr int threads_per_block = 256;
constexpr std::int64_t max_blocks = 2048;

/// a[position[k]] = values[k].   grid: any   block: threads_per_block   shared: none
template <class T>
__global__ void scatter_to_dense_kernel(std::int64_t nnz, const std::int64_t* position, const T* values, T* a) {
  for (std::int64_t k = simt::thread_of_grid(); k < nnz; k += simt::threads_of_grid()) a[position[k]] = values[k];
}

/// *first = min(*first, columns with a NaN or an infinity); blocks take columns in turn.
/// grid: any   block: threads_per_block   shared: none
template <class T>
__global__ void find_non_finite_column_kernel(std::int32_t n, std::int64_t ld, const T* a, std::int32_t* first) {
  for (std::int32_t j = blockIdx.x; j < n; j += gridDim.x) {
    bool sound = true;
    for (std::int32_t i = threadIdx.x; i < n; i += blockDim.x) {
      sound = sound && simt::is_finite(a[i + j * ld]);
    }
    // RACE: any thread may lower *first; the atomic orders them, the kernel's end publishes the result
    if (!sound) atomicMin(first, j);
  }
}

__global__ void set_kernel(std::int32_t* to, std::int32_t value) { *to = value; }

}  // namespace

double max_device_dense_bytes() {
  return simt::machine() == simt::Machine::simulator ? 512.0 * 512.0 * sizeof(double) : 4e9;
}

template <class T>
Status scatter_to_dense(std::int64_t nnz, const std::int64_t* d_position, const T* d_values, const DeviceDense<T>& a,
                        simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(simt::fill_bytes(a.a, 0, static_cast<std::size_t>(a.ld * a.n) * sizeof(T), stream));
  return simt::launch(scatter_to_dense_kernel<T>,
                      {.grid = simt::blocks_for(nnz, threads_per_block, max_blocks), .block = threads_per_block},
                      stream, nnz, d_position, d_values, a.a);
}

template <class T>
Status find_non_finite_column(const DeviceDense<T>& a, std::int32_t* d_first, simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(simt::launch(set_kernel, {.grid = 1, .block = 1}, stream, d_first, a.n));
  const auto grid = static_cast<unsigned>(std::clamp<std::int64_t>(a.n, 1, max_blocks));
  return simt::launch(find_non_finite_column_kernel<T>, {.grid = grid, .block = threads_per_block}, stream, a.n, a.ld,
                      a.a, d_first);
}

#define LULAB_INSTANTIATE(T)                                                                                           \
  template Status scatter_to_dense(std::int64_t, const std::int64_t*, const T*, const DeviceDense<T>&, simt::Stream&); \
  template Status find_non_finite_column(const DeviceDense<T>&, std::int32_t*, simt::Stream&);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab::dense
