#include "core/host_backend.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/factors.h"
#include "core/scalar.h"

namespace lulab {

template <class T>
Status HostBackend<T>::prepare(const Analysis& analysis, std::int32_t /*systems*/) {
  LULAB_ASSIGN_OR_RETURN(gather_, PlanGather::create(analysis.a, analysis.plan, gathered_rows()));
  pracq_.assign(gather_.pattern().row_idx.size(), T(0));
  analysis_ = &analysis;
  return n() > 0 ? prepare_rung() : Status{};
}

template <class T>
Status HostBackend<T>::take_scales() {
  gather_.take_scales(plan());
  return {};
}

template <class T>
Status HostBackend<T>::upload(std::span<const T> values) {
  LULAB_ASSIGN_OR_RETURN(uploaded_max_, gather_.gather(values, std::span<T>(pracq_)));
  return {};
}

template <class T>
Status HostBackend<T>::enqueue(Phase phase) {
  const bool again = phase == Phase::refactor;
  eliminated_ = n() == 0 ? Status{} : again ? eliminate_again() : eliminate();
  if_not_finite_ = again ? StatusCode::needs_repivot : StatusCode::numerically_singular;
  factored_max_ = uploaded_max_;
  return {};
}

template <class T>
Status HostBackend<T>::collect(std::span<Status> statuses) {
  statuses[0] = eliminated_;
  return {};
}

template <class T>
Result<Factors<T>> HostBackend<T>::download(std::int32_t /*system*/) {
  Factors<T> factors;
  factors.plan = plan();
  if (n() > 0) factors = result();
  if (checked().lu.empty()) LULAB_RETURN_IF_ERROR(check_factors(factors, if_not_finite_));
  measure_factors(factors, plan(), factored_max_);
  return factors;
}

template <class T>
Status HostBackend<T>::download_values(std::span<T> values, std::int32_t system) {
  const std::span<const T> own = checked().lu;
  if (own.empty()) return Backend<T>::download_values(values, system);
  LULAB_RETURN_IF_ERROR(this->check_room(values.size(), own.size()));
  std::ranges::copy(own, values.begin());
  return {};
}

template <class T>
HostArrays<T> HostBackend<T>::host_arrays() const {
  HostArrays<T> arrays = checked();
  arrays.max_pracq = factored_max_;
  return arrays;
}

template <class T>
Status HostBackend<T>::column_error(StatusCode code, std::int32_t j, std::string_view what) const {
  return Status::error(code, fmt::format("column {} of A (column {} of P·R·A·C·Q): {}", plan().q[j] + 1, j + 1, what),
                       {{}, 0, {}, {plan().q[j]}});
}

#define LULAB_INSTANTIATE(T) template class HostBackend<T>;
LULAB_FOR_EACH_SCALAR(LULAB_INSTANTIATE)
#undef LULAB_INSTANTIATE

}  // namespace lulab
