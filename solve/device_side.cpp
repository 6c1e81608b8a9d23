#include "solve/device_side.h"

#include <algorithm>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace lulab {
namespace {

constexpr std::int32_t most_at_once = 32;  // right-hand sides; DeviceSolver's speed grows little beyond

/// Room for so many right-hand sides.
std::int32_t width_for(std::int32_t columns, std::int32_t n) {
  const std::int32_t most = std::numeric_limits<std::int32_t>::max() / std::max(n, 1);
  const std::int32_t wanted = columns == 1 ? 1 : std::min((columns + 7) / 8 * 8, most_at_once);
  return std::min(wanted, most < 8 ? 1 : most / 8 * 8);
}

}  // namespace

template <class T>
Result<std::unique_ptr<DeviceSide<T>>> DeviceSide<T>::create(const Analysis& analysis, std::span<const double> probe,
                                                             simt::Stream& stream) {
  std::unique_ptr<DeviceSide> side(new DeviceSide(analysis, stream));
  if constexpr (!std::is_same_v<T, double>) LULAB_RETURN_IF_ERROR(simt::make(side->d_a_double_, analysis.a.nnz()));
  LULAB_RETURN_IF_ERROR(side->create_for(1, false));
  auto made = DeviceProbe::create(analysis.a.view(), analysis.plan, probe, stream);
  if (!made.ok()) return made.status();
  side->probe_.emplace(std::move(*made));
  return side;
}

/// All that depends on how many right-hand sides there are. After an error everything is as before.
template <class T>
Status DeviceSide<T>::create_for(std::int32_t width, bool transposed) {
  const FilledPattern& filled = analysis_.filled;
  auto solver =
      DeviceSolver<T>::create(filled, analysis_.plan, {.max_columns = width, .transposed = transposed}, stream_);
  if (!solver.ok()) return solver.status();
  auto refiner = DeviceRefiner::create(analysis_.a.view(), width, stream_);
  if (!refiner.ok()) return refiner.status();
  std::optional<DeviceRefiner> of_transpose;
  if (transposed) {
    auto made = DeviceRefiner::create(analysis_.a.view(), width, stream_, true);
    if (!made.ok()) return made.status();
    of_transpose.emplace(std::move(*made));
  }
  simt::DeviceBuffer<double> d_b, d_x;
  for (auto* buffer : {&d_b, &d_x}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, std::int64_t(filled.n) * width));
  solver_.emplace(std::move(*solver));
  refiner_.emplace(std::move(*refiner));
  transposed_ = std::move(of_transpose);
  d_b_ = std::move(d_b);
  d_x_ = std::move(d_x);
  width_ = width;
  return {};
}

template <class T>
const double* DeviceSide<T>::d_a() const {
  if constexpr (std::is_same_v<T, double>)
    return arrays_.a;
  else
    return d_a_double_.data();
}

template <class T>
Status DeviceSide<T>::refresh() {
  LULAB_RETURN_IF_ERROR(solver_->update(arrays_.lu, stream_));
  LULAB_RETURN_IF_ERROR(refiner_->update(d_a(), stream_));
  return transposed_ ? transposed_->update(d_a(), stream_) : Status{};
}

template <class T>
Status DeviceSide<T>::upload(std::span<const double> a_values) {
  if constexpr (std::is_same_v<T, double>) {
    return {};
  } else {
    LULAB_RETURN_IF_ERROR(d_a_double_.upload(a_values, stream_));
    return stream_.wait();
  }
}

template <class T>
Status DeviceSide<T>::update(const DeviceArrays<T>& arrays) {
  arrays_ = arrays;
  return refresh();
}

template <class T>
Result<typename DeviceSide<T>::Look> DeviceSide<T>::look(bool probe) {
  LULAB_RETURN_IF_ERROR(probe_->measure(d_a(), stream_));
  if (probe) LULAB_RETURN_IF_ERROR(probe_->solve(*solver_, *refiner_, stream_));
  const auto magnitudes = solver_->magnitudes(stream_);
  if (!magnitudes.ok()) return magnitudes.status();
  const auto probed = probe_->result(stream_);
  if (!probed.ok()) return probed.status();
  return Look{*magnitudes, *probed};
}

template <class T>
Result<Refinement> DeviceSide<T>::refine_probe() {
  return probe_->refine(*solver_, *refiner_, stream_);
}

template <class T>
Result<std::vector<Refinement>> DeviceSide<T>::solve(std::span<const double> b, std::span<double> x,
                                                     std::int32_t columns, bool transposed) {
  const std::int32_t n = analysis_.filled.n;
  const std::int32_t wanted = widest_ ? width_ : std::max(width_, width_for(columns, n));
  const bool more = transposed && !transposed_;
  if (wanted > width_ || more) {
    Status created = create_for(wanted, transposed || transposed_.has_value());
    if (created.code == StatusCode::out_of_memory && wanted > width_) {
      widest_ = true;
      created = more ? create_for(width_, true) : Status{};
    }
    LULAB_RETURN_IF_ERROR(created);
    LULAB_RETURN_IF_ERROR(refresh());
  }
  std::vector<Refinement> all;
  all.reserve(columns);
  for (std::int32_t first = 0; first < columns; first += width_) {
    const std::int32_t count = std::min(width_, columns - first);
    const std::size_t begin = std::size_t(n) * first, size = std::size_t(n) * count;
    LULAB_RETURN_IF_ERROR(d_b_.upload(b.subspan(begin, size), stream_));
    LULAB_RETURN_IF_ERROR(transposed ? solver_->solve_transposed(d_b_.data(), d_x_.data(), count, stream_)
                                     : solver_->solve(d_b_.data(), d_x_.data(), count, stream_));
    DeviceRefiner& refiner = transposed ? *transposed_ : *refiner_;
    const auto refined = refiner.refine(*solver_, d_b_.data(), d_x_.data(), count, stream_);
    if (!refined.ok()) return refined.status();
    LULAB_RETURN_IF_ERROR(d_x_.download(x.subspan(begin, size), stream_));
    LULAB_RETURN_IF_ERROR(stream_.wait());
    all.insert(all.end(), refined->begin(), refined->end());
  }
  return all;
}

template <class T>
Status DeviceSide<T>::download_a(std::span<double> a_values) {
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(a_values.data(), d_a(), a_values.size_bytes(), stream_));
  return stream_.wait();
}

template class DeviceSide<float>;
template class DeviceSide<double>;

}  // namespace lulab
