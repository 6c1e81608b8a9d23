#include "core/device_backend.h"

#include <utility>

#include "core/factor_options.h"
#include "core/scalar.h"

namespace lulab {

template <class T>
Status DeviceBackend<T>::prepare(const Analysis& analysis, std::int32_t systems) {
  factors_.reset();  // its memory first
  analysis_ = &analysis;
  options_.systems = systems;
  for (auto* stream : {&stream_, &beside_}) {
    if (*stream) continue;
    LULAB_ASSIGN_OR_RETURN(*stream, simt::Stream::create());
  }
  cleared_ = false;
  LULAB_ASSIGN_OR_RETURN(factors_, DeviceFactors<T>::create(analysis, *stream_, options_));
  Status prepared = prepare_rung();
  if (prepared.ok() && tells_outcome()) prepared = factors_->clear_outcome(*stream_);  // where there is nothing to do
  if (!prepared.ok()) factors_.reset();
  return prepared;
}

template <class T>
Status DeviceBackend<T>::upload(std::span<const T> values) {
  LULAB_RETURN_IF_ERROR(clear_beside());
  return factors_->upload(values, *stream_);
}

template <class T>
Status DeviceBackend<T>::upload_from_device(const T* d_values) {
  LULAB_RETURN_IF_ERROR(clear_beside());
  return factors_->upload_from_device(d_values, *stream_);
}

template <class T>
Status DeviceBackend<T>::clear_all(simt::Stream& stream) {
  const bool is_told = tells_outcome() && !(options_.perturb_pivots > 0);  // and a_max is not asked for
  if (!is_told)
    LULAB_RETURN_IF_ERROR(takes_scaled_values() ? factors_->clear_outcome(stream) : factors_->clear(stream));
  return clear(stream);
}

/// What needs no values runs while they come.
template <class T>
Status DeviceBackend<T>::clear_beside() {
  cleared_ = false;
  LULAB_ASSIGN_OR_RETURN(cleared_in_capture_, stream_->is_captured());
  LULAB_RETURN_IF_ERROR(beside_->wait_for(*stream_));
  LULAB_RETURN_IF_ERROR(clear_all(*beside_));
  cleared_ = true;
  return {};
}

template <class T>
Status DeviceBackend<T>::enqueue(Phase /*phase*/) {
  LULAB_ASSIGN_OR_RETURN(const bool is_captured, stream_->is_captured());
  const bool is_cleared = std::exchange(cleared_, false) && cleared_in_capture_ == is_captured;
  LULAB_RETURN_IF_ERROR(is_cleared ? stream_->wait_for(*beside_) : clear_all(*stream_));
  LULAB_RETURN_IF_ERROR(takes_scaled_values() ? factors_->begin(*stream_) : factors_->scatter(*stream_));
  return launch(factors_->view(), *stream_);
}

template <class T>
Result<Factors<T>> DeviceBackend<T>::download(std::int32_t system) {
  LULAB_ASSIGN_OR_RETURN(auto f, factors_->download(*stream_, system));
  const Statistics known = statistics(system);
  f.statistics.peak_bytes = known.peak_bytes;
  f.statistics.perturbed_pivots = known.perturbed_pivots;
  return f;
}

template <class T>
Status DeviceBackend<T>::download_values(std::span<T> values, std::int32_t system) {
  LULAB_RETURN_IF_ERROR(this->check_room(values.size(), analysis_->filled.row_idx.size()));
  return factors_->download_values(values, *stream_, system);
}

template <class T>
Statistics DeviceBackend<T>::statistics(std::int32_t system) const {
  Statistics known;
  if (!factors_) return known;
  known.peak_bytes = factors_->bytes() + work_bytes();
  known.perturbed_pivots = factors_->perturbed_pivots(system);
  return known;
}

template <class T>
DeviceArrays<T> DeviceBackend<T>::device_arrays() const {
  if (!factors_ || options_.order != RowOrder::sorted) return {};
  const DeviceFactorsView<T> f = factors_->view();
  return {factors_->a_values(), f.values, f.failed_column, f.perturbed, right_side_solution()};
}

#define LULAB_INSTANTIATE(T) template class DeviceBackend<T>;
LULAB_FOR_EACH_SCALAR(LULAB_INSTANTIATE)
#undef LULAB_INSTANTIATE

}  // namespace lulab
