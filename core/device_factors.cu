#include "core/device_factors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "core/factors.h"
#include "core/simt/kernel.h"
#include "core/uninitialized_vector.h"

namespace lulab {
namespace {

constexpr int threads_per_block = 256;

int blocks_for(std::int64_t items) {
  return static_cast<int>(std::clamp<std::int64_t>((items + threads_per_block - 1) / threads_per_block, 1, 2048));
}

template <class T>
__global__ void clear_kernel(T* values, std::int64_t nnz, T* a_max, std::int32_t* outcome, std::int32_t systems,
                             std::int32_t n) {
  const std::int64_t thread = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t k = thread; k < nnz; k += stride) values[k] = T(0);
  for (std::int64_t s = thread; s < systems; s += stride) {
    a_max[s] = T(0);
    outcome[s] = n;
    outcome[systems + s] = 0;
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

/// As(a_to_filled[k]) = scale[k] · a[k]; entries of A land on distinct entries of As.   values null: only a_max
/// grid: (any, any)
template <class T, class Place, class Scale>
__global__ void scatter_kernel(const T* a_values, const Scale* a_scale, const Place* a_to_filled, std::int64_t nnz_a,
                               T* values, std::int64_t nnz, T* a_max, std::int32_t systems) {
  LULAB_SHARED(T, of_warp, threads_per_block / 32);
  const std::int64_t stride = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t s = blockIdx.y; s < systems; s += gridDim.y) {
    T largest = T(0);
    for (std::int64_t k = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; k < nnz_a; k += stride) {
      const T value = a_values[s * nnz_a + k] * static_cast<T>(a_scale[k]);
      if (values) values[s * nnz + static_cast<std::int64_t>(a_to_filled[k])] = value;
      const T magnitude = value < T(0) ? -value : value;
      largest = magnitude > largest ? magnitude : largest;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      const T other = __shfl_xor_sync(0xffffffffu, largest, offset);
      largest = other > largest ? other : largest;
    }
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = largest;
    __syncthreads();         // RACE: each warp wrote its own, thread 0 reads all of them
    if (threadIdx.x == 0) {  // one atomic a block: those of all warps to one address would take longer than the rest
      for (int w = 1; w < threads_per_block / 32; ++w) largest = of_warp[w] > largest ? of_warp[w] : largest;
      atomic_max_nonnegative(a_max + s, largest);
    }
    __syncthreads();  // RACE: thread 0 has read them before the next system's are written
  }
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

/// What each entry of A is multiplied with.   Returns whether each fits Stored exactly.
template <class T, class Stored>
bool find_scales(const CscPattern& a, const Plan& plan, std::vector<Stored>& scale) {
  bool fits = true;
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const auto exact = static_cast<T>(plan.r[a.row_idx[k]] * plan.c[j]);
      const bool in_range = std::abs(exact) <= std::numeric_limits<Stored>::max();
      scale[k] = in_range ? static_cast<Stored>(exact) : Stored(0);
      fits &= in_range && static_cast<T>(scale[k]) == exact;
    }
  return fits;
}

}  // namespace

template <class T>
Result<DeviceFactors<T>> DeviceFactors<T>::create(const Analysis& analysis, simt::Stream& stream,
                                                  const DeviceFactorsOptions& options) {
  const CscPattern& a = analysis.a;
  const FilledPattern& filled = analysis.filled;
  DeviceFactors d;
  d.analysis_ = &analysis;
  d.perturb_pivots_ = static_cast<T>(options.perturb_pivots);
  d.systems_ = options.systems;
  std::vector<std::int64_t> shuffled_map;
  UninitializedVector<std::int32_t> row_idx;
  if (options.order == RowOrder::shuffled) {
    d.shuffled_ = shuffled_places(filled);
    row_idx.resize(filled.row_idx.size());
    for (std::size_t p = 0; p < row_idx.size(); ++p) row_idx[d.shuffled_[p]] = filled.row_idx[p];
    for (const std::int64_t to : analysis.a_to_filled) shuffled_map.push_back(d.shuffled_[to]);
  }
  const std::vector<std::int64_t>& a_to_filled = d.shuffled_.empty() ? analysis.a_to_filled : shuffled_map;
  if (options.pattern) {
    LULAB_RETURN_IF_ERROR(simt::make(d.d_col_ptr_, filled.col_ptr, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d.d_diag_, filled.diag, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d.d_row_idx_, d.shuffled_.empty() ? filled.row_idx : row_idx, stream));
  }
  std::vector<std::uint32_t> a_to_filled_short;
  if (filled.nnz() <= std::numeric_limits<std::uint32_t>::max()) {
    a_to_filled_short.assign(a_to_filled.begin(), a_to_filled.end());
    LULAB_RETURN_IF_ERROR(simt::make(d.d_a_to_filled_short_, a_to_filled_short, stream));
  } else {
    LULAB_RETURN_IF_ERROR(simt::make(d.d_a_to_filled_, a_to_filled, stream));
  }
  LULAB_RETURN_IF_ERROR(simt::make(d.d_a_values_, a.nnz() * d.systems_));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_values_, filled.nnz() * d.systems_));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_a_max_, d.systems_));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_outcome_, 2 * std::int64_t(d.systems_)));
  simt::name_memory(d.d_values_.data(), filled.nnz() * sizeof(T), sizeof(T), "As", filled.col_ptr);
  simt::name_elements(d.d_outcome_.data(), d.systems_, "failed_column");
  simt::name_elements(d.d_outcome_.data() + d.systems_, d.systems_, "perturbed");
  simt::name_elements(d.d_a_max_.data(), d.systems_, "a_max");
  LULAB_ASSIGN_OR_RETURN(d.outcome_, simt::HostBuffer<std::int32_t>::create(d.d_outcome_.size()));
  LULAB_RETURN_IF_ERROR(d.take_scales(stream));
  return d;  // the stream was waited for: the vectors are locals
}

template <class T>
Status DeviceFactors<T>::take_scales(simt::Stream& stream) {
  const CscPattern& a = analysis_->a;
  const Plan& plan = analysis_->plan;
  d_a_scale_ = {};
  d_a_scale_short_ = {};
  std::vector<float> scale_short(a.nnz());
  if (find_scales<T>(a, plan, scale_short)) {
    LULAB_RETURN_IF_ERROR(simt::make(d_a_scale_short_, scale_short, stream));
  } else {
    std::vector<T> scale(a.nnz());
    find_scales<T>(a, plan, scale);
    LULAB_RETURN_IF_ERROR(simt::make(d_a_scale_, scale, stream));
  }
  return stream.wait();  // the vectors are locals
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
Status DeviceFactors<T>::upload_from_device(const T* d_a_values, simt::Stream& stream) {
  return simt::copy_on_device(d_a_values_.data(), d_a_values, d_a_values_.size() * sizeof(T), stream);
}

template <class T>
Status DeviceFactors<T>::clear(std::int64_t nnz, simt::Stream& stream) {
  return simt::launch(clear_kernel<T>, {.grid = blocks_for(nnz), .block = threads_per_block}, stream, d_values_.data(),
                      nnz, d_a_max_.data(), d_outcome_.data(), systems_, analysis_->filled.n);
}

template <class T>
Status DeviceFactors<T>::clear(simt::Stream& stream) {
  return clear(d_values_.size(), stream);
}

template <class T>
Status DeviceFactors<T>::clear_outcome(simt::Stream& stream) {
  return clear(0, stream);
}

template <class T>
Status DeviceFactors<T>::scatter(simt::Stream& stream) {
  perturbed_.clear();
  fetched_ = lacks_a_max_ = false;
  return launch_scatter(d_values_.data(), stream);
}

template <class T>
Status DeviceFactors<T>::begin(simt::Stream& stream) {
  perturbed_.clear();
  fetched_ = false;
  lacks_a_max_ = !(perturb_pivots_ > T(0));
  return lacks_a_max_ ? Status{} : launch_scatter(nullptr, stream);
}

template <class T>
ScaledValues<T> DeviceFactors<T>::scaled_values() const {
  const bool is_short = d_a_scale_.size() == 0;
  return {d_a_values_.data(), is_short ? nullptr : d_a_scale_.data(), is_short ? d_a_scale_short_.data() : nullptr};
}

template <class T>
Status DeviceFactors<T>::launch_scatter(T* values, simt::Stream& stream) {
  const auto with_scale = [&](const auto* d_place) {
    return d_a_scale_.size() > 0 ? launch_scatter(values, d_place, d_a_scale_.data(), stream)
                                 : launch_scatter(values, d_place, d_a_scale_short_.data(), stream);
  };
  return d_a_to_filled_.size() > 0 ? with_scale(d_a_to_filled_.data()) : with_scale(d_a_to_filled_short_.data());
}

template <class T>
template <class Place, class Scale>
Status DeviceFactors<T>::launch_scatter(T* values, const Place* d_place, const Scale* d_scale, simt::Stream& stream) {
  const std::int64_t nnz = analysis_->filled.nnz(), nnz_a = analysis_->a.nnz();
  const dim3 grid(blocks_for(nnz_a), static_cast<unsigned>(std::min(systems_, 65535)));
  return simt::launch(scatter_kernel<T, Place, Scale>, {.grid = grid, .block = threads_per_block}, stream,
                      d_a_values_.data(), d_scale, d_place, nnz_a, values, nnz, d_a_max_.data(), systems_);
}

template <class T>
DeviceFactorsView<T> DeviceFactors<T>::view() const {
  return {.n = analysis_->filled.n,
          .col_ptr = d_col_ptr_.data(),
          .row_idx = d_row_idx_.data(),
          .diag = d_diag_.data(),
          .values = d_values_.data(),
          .failed_column = d_outcome_.data(),
          .perturb_pivots = perturb_pivots_,
          .a_max = d_a_max_.data(),
          .perturbed = d_outcome_.data() + systems_};
}

template <class T>
Status DeviceFactors<T>::wait(simt::Stream& stream) {
  std::vector<Status> statuses(systems_);
  LULAB_RETURN_IF_ERROR(wait(statuses, stream));
  const auto failed = std::ranges::find_if(statuses, [](const Status& s) { return !s.ok(); });
  return failed == statuses.end() ? Status{} : *failed;
}

template <class T>
Status DeviceFactors<T>::download_outcome(simt::Stream& stream) {
  std::ranges::fill(outcome_.span(), -1);
  fetched_ = true;
  return d_outcome_.download(outcome_.span(), stream);
}

template <class T>
Status DeviceFactors<T>::wait(std::span<Status> statuses, simt::Stream& stream) {
  if (!fetched_) LULAB_RETURN_IF_ERROR(download_outcome(stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  const std::span<std::int32_t> outcome = outcome_.span();
  perturbed_.assign(outcome.begin() + systems_, outcome.end());
  for (std::int32_t s = 0; s < systems_; ++s) {
    const std::int32_t failed = outcome[s];
    if (failed == analysis_->filled.n) continue;
    if (failed < 0)
      return Status::error(StatusCode::invalid_argument, "a factorization that was recorded in a graph has not run");
    const std::int32_t column = analysis_->plan.q[failed];
    statuses[s] = Status::error(
        StatusCode::needs_repivot,
        fmt::format("the pivot of column {} (eliminated at step {}) is zero or its entries are not finite; "
                    "factor again with pivoting",
                    column + 1, failed + 1),
        {{}, 0, {}, {column}});
  }
  return {};
}

template <class T>
Status DeviceFactors<T>::download_values(std::span<T> values, simt::Stream& stream, std::int32_t system) {
  const std::int64_t nnz = analysis_->filled.nnz();
  LULAB_RETURN_IF_ERROR(
      simt::copy_to_host(values.data(), d_values_.data() + system * nnz, values.size_bytes(), stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  if (shuffled_.empty()) return {};
  const std::vector<T> as_they_lie(values.begin(), values.end());
  for (std::size_t p = 0; p < values.size(); ++p) values[p] = as_they_lie[shuffled_[p]];
  return {};
}

template <class T>
Result<Factors<T>> DeviceFactors<T>::download(simt::Stream& stream, std::int32_t system) {
  Factors<T> f{analysis_->plan, analysis_->filled, std::vector<T>(analysis_->filled.nnz()), {}};
  std::vector<T> a_max(systems_);
  if (lacks_a_max_) LULAB_RETURN_IF_ERROR(launch_scatter(nullptr, stream));
  LULAB_RETURN_IF_ERROR(d_a_max_.download(a_max, stream));
  LULAB_RETURN_IF_ERROR(download_values(f.values, stream, system));
  measure_factors(f, analysis_->plan, static_cast<double>(a_max[system]));
  f.statistics.peak_bytes = bytes();
  return f;
}

template <class T>
std::int64_t DeviceFactors<T>::bytes() const {
  return 8 * (d_col_ptr_.size() + d_diag_.size() + d_a_to_filled_.size()) +
         4 * (d_row_idx_.size() + d_a_to_filled_short_.size() + d_a_scale_short_.size()) +
         static_cast<std::int64_t>(sizeof(T)) * (d_values_.size() + d_a_values_.size() + d_a_scale_.size());
}

template class DeviceFactors<float>;
template class DeviceFactors<double>;

}  // namespace lulab
