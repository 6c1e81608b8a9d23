#include "core/device_factors.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "core/factors.h"
#include "core/simt/kernel.h"

namespace lulab {
namespace {

constexpr int threads_per_block = 256;

int blocks_for(std::int64_t items) {
  return static_cast<int>(std::clamp<std::int64_t>((items + threads_per_block - 1) / threads_per_block, 1, 2048));
}

template <class T>
__global__ void clear_kernel(T* values, std::int64_t nnz, T* a_max, std::int32_t* outcome, std::int32_t n) {
  const std::int64_t thread = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t k = thread; k < nnz; k += std::int64_t(gridDim.x) * blockDim.x) values[k] = T(0);
  if (thread == 0) {
    *a_max = T(0);
    outcome[0] = n;
    outcome[1] = 0;
  }
}

// Non-negative floats order like their bits.
__device__ inline void atomic_max_nonnegative(double* to, double value) {
  // RACE: any thread may raise *to; the atomic orders them, the kernel's end publishes the result
  atomicMax(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(__double_as_longlong(value)));
}
__device__ inline void atomic_max_nonnegative(float* to, float value) {
  // RACE: as above
  atomicMax(reinterpret_cast<int*>(to), __float_as_int(value));
}

/// As(a_to_filled[k]) = scale[k] · a[k]; entries of A land on distinct entries of As.
template <class T>
__global__ void scatter_kernel(const T* a_values, const T* a_scale, const std::int64_t* a_to_filled, std::int64_t nnz_a,
                               T* values, T* a_max) {
  T largest = T(0);
  const std::int64_t stride = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t k = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; k < nnz_a; k += stride) {
    const T value = a_values[k] * a_scale[k];
    values[a_to_filled[k]] = value;
    const T magnitude = value < T(0) ? -value : value;
    largest = magnitude > largest ? magnitude : largest;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, largest, offset);
    largest = other > largest ? other : largest;
  }
  if (threadIdx.x % 32 == 0) atomic_max_nonnegative(a_max, largest);
}

/// A place for every entry: the rows of each column of L in random order.
std::vector<std::int64_t> shuffled_places(const FilledPattern& f) {
  std::vector<std::int64_t> place(f.nnz());
  std::iota(place.begin(), place.end(), std::int64_t{0});
  std::mt19937_64 random(f.nnz());
  for (std::int32_t j = 0; j < f.n; ++j)
    std::shuffle(place.begin() + f.diag[j] + 1, place.begin() + f.col_ptr[j + 1], random);
  return place;
}

}  // namespace

template <class T>
Result<DeviceFactors<T>> DeviceFactors<T>::create(const Analysis& analysis, simt::Stream& stream, RowOrder order,
                                                  double perturb_pivots) {
  const CscPattern& a = analysis.a;
  const Plan& plan = analysis.plan;
  std::vector<T> a_scale(a.nnz());
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      a_scale[k] = static_cast<T>(plan.r[a.row_idx[k]] * plan.c[j]);

  DeviceFactors d;
  d.analysis_ = &analysis;
  d.perturb_pivots_ = static_cast<T>(perturb_pivots);
  LULAB_RETURN_IF_ERROR(simt::make(d.d_col_ptr_, analysis.filled.col_ptr, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_diag_, analysis.filled.diag, stream));
  std::vector<std::int32_t> row_idx = analysis.filled.row_idx;
  std::vector<std::int64_t> a_to_filled = analysis.a_to_filled;
  if (order == RowOrder::shuffled) {
    d.shuffled_ = shuffled_places(analysis.filled);
    for (std::size_t p = 0; p < row_idx.size(); ++p) row_idx[d.shuffled_[p]] = analysis.filled.row_idx[p];
    for (std::int64_t& to : a_to_filled) to = d.shuffled_[to];
  }
  LULAB_RETURN_IF_ERROR(simt::make(d.d_row_idx_, row_idx, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_a_to_filled_, a_to_filled, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_a_scale_, a_scale, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_a_values_, a.nnz()));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_values_, analysis.filled.nnz()));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_a_max_, 1));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_outcome_, 2));
  LULAB_RETURN_IF_ERROR(stream.wait());  // the vectors are locals
  return d;
}

template <class T>
Status DeviceFactors<T>::upload(std::span<const T> a_values, simt::Stream& stream) {
  if (static_cast<std::int64_t>(a_values.size()) != d_a_values_.size())
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} values were given for a pattern of {} entries; pass one value an entry of the "
                                     "analyzed matrix",
                                     a_values.size(), d_a_values_.size()));
  return d_a_values_.upload(a_values, stream);
}

template <class T>
Status DeviceFactors<T>::scatter(simt::Stream& stream) {
  const std::int64_t nnz = d_values_.size(), nnz_a = d_a_values_.size();
  LULAB_RETURN_IF_ERROR(simt::launch(clear_kernel<T>, {.grid = blocks_for(nnz), .block = threads_per_block}, stream,
                                     d_values_.data(), nnz, d_a_max_.data(), d_outcome_.data(), analysis_->filled.n));
  return simt::launch(scatter_kernel<T>, {.grid = blocks_for(nnz_a), .block = threads_per_block}, stream,
                      d_a_values_.data(), d_a_scale_.data(), d_a_to_filled_.data(), nnz_a, d_values_.data(),
                      d_a_max_.data());
}

template <class T>
DeviceFactorsView<T> DeviceFactors<T>::view() const {
  return {analysis_->filled.n, d_col_ptr_.data(), d_row_idx_.data(), d_diag_.data(),       d_values_.data(),
          d_outcome_.data(),   perturb_pivots_,   d_a_max_.data(),   d_outcome_.data() + 1};
}

template <class T>
Status DeviceFactors<T>::wait(simt::Stream& stream) {
  std::int32_t outcome[2] = {-1, 0};
  LULAB_RETURN_IF_ERROR(d_outcome_.download(outcome, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  const std::int32_t failed = outcome[0];
  perturbed_ = outcome[1];
  if (failed == analysis_->filled.n) return {};
  const std::int32_t column = analysis_->plan.q[failed];
  return Status::error(
      StatusCode::needs_repivot,
      fmt::format("the pivot of column {} (eliminated at step {}) is zero or its entries are not finite; "
                  "factor again with pivoting",
                  column, failed),
      {{}, 0, {}, {column}});
}

template <class T>
Status DeviceFactors<T>::download_values(std::span<T> values, simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(d_values_.download(values, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  if (shuffled_.empty()) return {};
  const std::vector<T> as_they_lie(values.begin(), values.end());
  for (std::size_t p = 0; p < values.size(); ++p) values[p] = as_they_lie[shuffled_[p]];
  return {};
}

template <class T>
Result<Factors<T>> DeviceFactors<T>::download(simt::Stream& stream) {
  Factors<T> f{analysis_->plan, analysis_->filled, std::vector<T>(d_values_.size()), {}};
  T a_max = T(0);
  LULAB_RETURN_IF_ERROR(d_a_max_.download({&a_max, 1}, stream));
  LULAB_RETURN_IF_ERROR(download_values(f.values, stream));
  measure_factors(f, analysis_->plan, static_cast<double>(a_max));
  f.statistics.peak_bytes = bytes();
  return f;
}

template <class T>
std::int64_t DeviceFactors<T>::bytes() const {
  return 8 * (d_col_ptr_.size() + d_diag_.size() + d_a_to_filled_.size()) + 4 * d_row_idx_.size() +
         static_cast<std::int64_t>(sizeof(T)) * (d_values_.size() + d_a_values_.size() + d_a_scale_.size());
}

template class DeviceFactors<float>;
template class DeviceFactors<double>;

}  // namespace lulab
