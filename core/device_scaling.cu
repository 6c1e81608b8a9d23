#include "core/device_scaling.h"

#include <algorithm>
#include <vector>

#include "core/scalar.h"
#include "core/simt/device_tools.h"
#include "core/simt/kernel.h"

namespace lulab {
namespace {

constexpr int scaling_threads = 256;
constexpr unsigned max_scaling_blocks = 2048;

/// scaled(i,j) = r(i) · a(i,j) · c(j).   grid: (any, any)
template <class T>
__global__ void scale_kernel(const double* values, const std::int32_t* row, const std::int32_t* column, const double* r,
                             const double* c, std::int64_t nnz, std::int32_t systems, T* scaled) {
  const std::int64_t stride = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t s = blockIdx.y; s < systems; s += gridDim.y)
    for (std::int64_t k = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; k < nnz; k += stride)
      scaled[s * nnz + k] = static_cast<T>(r[row[k]] * values[s * nnz + k] * c[column[k]]);
}

}  // namespace

template <class T>
Result<DeviceScaling<T>> DeviceScaling<T>::create(const Analysis& analysis, std::int32_t systems,
                                                  simt::Stream& stream) {
  const CscPattern& a = analysis.a;
  std::vector<std::int32_t> column(a.nnz());
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    std::fill(column.begin() + a.col_ptr[j], column.begin() + a.col_ptr[j + 1], j);
  DeviceScaling d;
  LULAB_RETURN_IF_ERROR(simt::make(d.d_row_, a.row_idx, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_column_, column, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_r_, std::ssize(analysis.plan.r)));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_c_, std::ssize(analysis.plan.c)));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_scaled_, a.nnz() * systems));
  LULAB_RETURN_IF_ERROR(d.take_scales(analysis.plan, stream));
  return d;  // the stream was waited for: column is a local
}

template <class T>
Status DeviceScaling<T>::take_scales(const Plan& plan, simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(d_r_.upload(plan.r, stream));
  LULAB_RETURN_IF_ERROR(d_c_.upload(plan.c, stream));
  return stream.wait();
}

template <class T>
Status DeviceScaling<T>::scale(const double* d_values, simt::Stream& stream) {
  const std::int64_t nnz = d_row_.size();
  if (nnz == 0) return {};
  const auto systems = static_cast<std::int32_t>(d_scaled_.size() / nnz);
  const dim3 grid(simt::blocks_for(nnz, scaling_threads, max_scaling_blocks),
                  static_cast<unsigned>(std::min(systems, 65535)));
  return simt::launch(scale_kernel<T>, {.grid = grid, .block = scaling_threads}, stream, d_values, d_row_.data(),
                      d_column_.data(), d_r_.data(), d_c_.data(), nnz, systems, d_scaled_.data());
}

#define LULAB_INSTANTIATE(T) template class DeviceScaling<T>;
LULAB_FOR_EACH_SCALAR(LULAB_INSTANTIATE)
#undef LULAB_INSTANTIATE

}  // namespace lulab
