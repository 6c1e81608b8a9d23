#include "driver/solver_impl.h"

#include <limits>
#include <new>

#include <fmt/format.h>

#include "core/timing.h"
#include "driver/block_condition.h"

namespace lulab {

template <class T>
const Statistics& Solver<T>::Impl::known() try {
  if (judged().ok() && !resident) (void)measure();
  return statistics;
} catch (const std::bad_alloc&) {
  return statistics;  // growth and rcond stay NaN
}

template <class T>
Result<const Factors<T>*> Solver<T>::Impl::download_factors() try {
  LULAB_RETURN_IF_ERROR(judged());
  LULAB_RETURN_IF_ERROR(copy_factors());
  if (!resident) LULAB_RETURN_IF_ERROR(measure());
  on_host.copied().statistics = statistics;
  return &on_host.copied();
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory for the factors");
}

template <class T>
Status Solver<T>::Impl::copy_factors() {
  if (on_host.are_copied()) return {};
  LULAB_RETURN_IF_ERROR(catch_up());
  const auto start = Clock::now();
  LULAB_RETURN_IF_ERROR(on_host.copy(*factorizer, analysis->plan));
  times.download += ms_since(start);
  return {};
}

template <class T>
Status Solver<T>::Impl::measure() {
  if (on_host.are_measured()) return {};
  LULAB_RETURN_IF_ERROR(copy_factors());
  statistics = on_host.measure(a(), statistics);
  return {};
}

template <class T>
Status Solver<T>::Impl::pivots(std::span<double> of_columns) try {
  if (!factored) return state;
  if (of_columns.size() != static_cast<std::size_t>(a().n_cols))
    return Status::error(StatusCode::invalid_argument, fmt::format("pivots: A has {} columns, but there is room for {}",
                                                                   a().n_cols, of_columns.size()));
  if (flat.has_factors()) {
    flat.lists().pivots(of_columns);
    return {};
  }
  LULAB_RETURN_IF_ERROR(catch_up());
  if (resident) LULAB_RETURN_IF_ERROR(copy_factors());
  unscaled_pivots(where_they_lie(), of_columns);
  return {};
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory for the pivots");
}

template <class T>
Result<double> Solver<T>::Impl::largest_multiplier() try {
  if (!factored) return state;
  if (resident) {
    LULAB_ASSIGN_OR_RETURN(const auto of_step, resident->measured());
    return of_step.factors.max_l;
  }
  if (flat.has_factors()) return flat.lists().largest_multiplier();
  LULAB_RETURN_IF_ERROR(catch_up());
  return lulab::largest_multiplier(where_they_lie());
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory for the factors");
}

template <class T>
Result<ConditionEstimate> Solver<T>::Impl::condition() try {
  LULAB_ASSIGN_OR_RETURN(const auto f, download_factors());
  LULAB_RETURN_IF_ERROR(download_values());
  ConditionEstimate estimate = estimate_condition<T>(a(), *f);
  // So near to singular neither the factors nor the one scaling of A can be trusted.
  if (!(estimate.rcond_scaled >= 1000 * std::numeric_limits<T>::epsilon())) {
    LULAB_ASSIGN_OR_RETURN(estimate.rcond_scaled, estimate_rcond_of_blocks(a()));
  }
  return estimate;
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory to estimate the condition of A");
}

template <class T>
Status Solver<T>::Impl::download_values() {
  if (has_values) return {};
  LULAB_RETURN_IF_ERROR(resident->download_a(a_values));
  has_values = true;
  return {};
}

template <class T>
bool Solver<T>::Impl::has_found_pivots() const {
  return factored && !resident && facts().pivoting != Pivoting::fixed && !flat.has_factors();
}

template <class T>
const Plan& Solver<T>::Impl::plan() const {
  return has_found_pivots() ? where_they_lie().plan : analysis ? analysis->plan : no_analysis.plan;
}

template <class T>
const FilledPattern& Solver<T>::Impl::filled() const {
  return has_found_pivots() ? where_they_lie().filled : analysis ? analysis->filled : no_analysis.filled;
}

template struct Solver<float>::Impl;
template struct Solver<double>::Impl;

}  // namespace lulab
