#include "driver/host_factors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/scalar.h"

namespace lulab {

template <class T>
void HostFactors<T>::drop() {
  arrays_ = {};
  is_copy_current_ = are_measured_ = false;
}

template <class T>
void HostFactors<T>::forget() {
  drop();
  copy_.reset();
}

template <class T>
void HostFactors<T>::take(const HostArrays<T>& arrays) {
  is_copy_current_ = are_measured_ = false;
  arrays_ = arrays;
  if (!are_in_rung() || arrays_.filled != nullptr) copy_.reset();  // its pattern may be another one
}

template <class T>
Status HostFactors<T>::copy(Factorizer<T>& factorizer, const Plan& plan) {
  if (copy_) {
    LULAB_RETURN_IF_ERROR(factorizer.download_values(copy_->values));
    if (are_in_rung()) measure_factors(*copy_, plan, arrays_.max_pracq);
  } else {
    auto f = factorizer.download();
    if (!f.ok()) return f.status();
    copy_ = std::move(*f);
  }
  is_copy_current_ = true;
  return {};
}

template <class T>
FactorsView<T> HostFactors<T>::view(const Analysis& analysis) const {
  if (!are_in_rung()) return *copy_;
  return {arrays_.filled ? *arrays_.filled : analysis.filled, arrays_.plan ? *arrays_.plan : analysis.plan, arrays_.lu};
}

template <class T>
Statistics HostFactors<T>::measure(const CscView<double>& a, const Statistics& known) {
  Statistics all = copy_->statistics;
  all.perturbed_pivots = std::max(all.perturbed_pivots, known.perturbed_pivots);
  all.repivots = known.repivots;
  all.pivot_growth = pivot_growth(max_abs_u(*copy_), max_abs_pracq(a, copy_->plan));
  are_measured_ = true;
  return all;
}

template <class T>
double largest_multiplier(const FactorsView<T>& f) {
  double largest = 0;  // columns are short: a call of max_abs() for each would take longer than its work
  for (std::int32_t k = 0; k < f.filled.n; ++k)
    for (std::int64_t s = f.filled.diag[k] + 1; s < f.filled.col_ptr[k + 1]; ++s)
      largest = larger_or_nan(largest, std::abs(static_cast<double>(f.values[s])));
  return largest;
}

template <class T>
void unscaled_pivots(const FactorsView<T>& f, std::span<double> of_columns) {
  for (std::int32_t k = 0; k < f.filled.n; ++k) {
    const std::int32_t j = f.plan.q[k];
    of_columns[j] = f.values[f.filled.diag[k]] / f.plan.r[f.plan.p[k]] / f.plan.c[j];
  }
}

#define LULAB_INSTANTIATE(T)                                 \
  template class HostFactors<T>;                             \
  template double largest_multiplier(const FactorsView<T>&); \
  template void unscaled_pivots(const FactorsView<T>&, std::span<double>);
LULAB_FOR_EACH_SCALAR(LULAB_INSTANTIATE)
#undef LULAB_INSTANTIATE

}  // namespace lulab
