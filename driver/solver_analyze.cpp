#include "driver/solver_impl.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "core/timing.h"

namespace lulab {
namespace {

Status call_factor_first() { return Status::error(StatusCode::invalid_argument, "solver: call factor() first"); }
Status no_memory_for_analysis() {
  return Status::error(StatusCode::out_of_memory, "not enough host memory for the analysis of A");
}

}  // namespace

template <class T>
Status Solver<T>::Impl::analyze(const CscView<double>& from) try {
  auto next = chosen.next_analysis(from, analysis.get());
  if (!next.ok()) return forget(next.status());
  return next->anew ? take_analysis(from, std::move(*next->anew)) : keep_analysis(from, next->new_scales);
} catch (const std::bad_alloc&) {
  return forget(no_memory_for_analysis());
}

template <class T>
Status Solver<T>::Impl::take_analysis(const CscView<double>& from, CostedAnalysis of_a) try {
  (void)forget(call_factor_first());
  a_values.assign(from.values.begin(), from.values.end());
  has_values = true;
  analysis = std::make_unique<Analysis>(std::move(of_a.analysis));
  chosen.take_costs(of_a.costs, of_a.put_off_us);
  Status made = make_factorizer();
  return made.ok() ? made : forget(std::move(made));
} catch (const std::bad_alloc&) {
  return forget(no_memory_for_analysis());
}

template <class T>
Status Solver<T>::Impl::keep_analysis(const CscView<double>& from, bool new_scales) try {
  const bool usable = factorizer && !chosen.fell_back() && !is_of_machine(state.code);
  (void)start_over(call_factor_first());
  device_path_unavailable = false;
  take_values(from.values);
  Status kept = usable ? new_scales ? take_scales() : Status{} : make_factorizer();
  if (kept.code == StatusCode::not_implemented && usable) kept = make_factorizer();
  return kept.ok() ? kept : forget(std::move(kept));
} catch (const std::bad_alloc&) {
  return forget(no_memory_for_analysis());
}

template <class T>
Status Solver<T>::Impl::take_scales() {
  on_host.forget();  // they hold the old ones, as flat lists do
  flat.forget();
  LULAB_RETURN_IF_ERROR(factorizer->take_scales());
  return resident ? resident->take_scales() : Status{};
}

template <class T>
Status Solver<T>::Impl::forget(Status s) {
  drop_factorizer();
  chosen.forget_choice();
  analysis.reset();
  host_solve.forget();
  return start_over(std::move(s));
}

template <class T>
Status Solver<T>::Impl::start_over(Status s) {
  was_tried = was_factored = in_flight = new_pivots_are_no_better = false;
  last_step = Status::error(StatusCode::invalid_argument, "solver: call step_device() first");
  cause = {};
  times = {};
  drop_factors();
  return state = std::move(s);
}

template <class T>
void Solver<T>::Impl::drop_factorizer() {
  resident.reset();
  on_host.forget();
  factorizer.reset();
  device_path_unavailable = false;
  flat.forget();
}

template <class T>
Status Solver<T>::Impl::make_factorizer() {
  drop_factorizer();
  LULAB_RETURN_IF_ERROR(check_options(options));
  LULAB_RETURN_IF_ERROR(chosen.choose(*analysis));
  Status status = prepare_rung();
  if (status.ok() || !chosen.fall_back(status)) return status;
  drop_factorizer();
  return prepare_rung();
}

template <class T>
Status Solver<T>::Impl::make_factorizer_or_none() try {
  Status made = make_factorizer();
  if (!made.ok()) drop_factorizer();
  return made;
} catch (const std::bad_alloc&) {
  drop_factorizer();
  throw;
}

template <class T>
Status Solver<T>::Impl::prepare_rung() {
  factorizer = chosen.choice().rung->make<T>(chosen.factor_options());
  if (!factorizer)
    return Status::error(StatusCode::not_implemented,
                         fmt::format("{} does not factor {}", facts().id, sizeof(T) == 4 ? "f32" : "f64"));
  chosen.drop_fronts_without_use(*analysis);
  LULAB_RETURN_IF_ERROR(factorizer->analyze(*analysis));
  if (options.factor.perturb_pivots > 0 && !facts().perturbs_pivots)
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("{} does not perturb pivots; set perturb_pivots to 0 or take another rung", facts().id));
  return {};
}

template <class T>
Status Solver<T>::Impl::take_other_analysis(Analysis other) {
  take_analysis_alone(std::move(other), {});
  return make_factorizer_or_none();
}

template <class T>
void Solver<T>::Impl::take_analysis_alone(Analysis other, const KnownCosts& of_other) {
  drop_factorizer();  // refers to the analysis, as the refiners do
  host_solve.forget();
  *analysis = std::move(other);
  chosen.take_costs(of_other);
}

template <class T>
Status Solver<T>::Impl::prepare(std::span<const double> values) {
  const auto start = Clock::now();
  take_values(values);
  drop_factorizer();  // the orders may want its memory
  if (chosen.has_put_off_order()) {
    auto ordered = chosen.order_for_all_steps(a());
    if (ordered.ok())
      take_analysis_alone(std::move(ordered->analysis), ordered->costs);
    else if (!is_of_machine(ordered.status().code))
      return make_factorizer_or_none();
  }
  chosen.end_first_steps();
  new_pivots_are_no_better = false;
  LULAB_RETURN_IF_ERROR(make_factorizer_or_none());
  times.prepare += ms_since(start);
  return {};
}

template <class T>
Status Solver<T>::Impl::check_pattern(const CscView<double>& from) const {
  if (!analysis) return state;
  if (from.n_rows != a().n_rows || from.n_cols != a().n_cols || !std::ranges::equal(from.col_ptr, a().col_ptr) ||
      !std::ranges::equal(from.row_idx, a().row_idx))
    return Status::error(StatusCode::invalid_argument,
                         "solver: this matrix has another pattern than the one analyzed; call analyze() for it");
  return {};
}

template <class T>
Status Solver<T>::Impl::check_size(std::span<const double> values) const {
  if (!analysis) return state;
  if (values.size() != a_values.size())
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("solver: {} values were given; the matrix analyzed has {} entries; call "
                                     "analyze() for another pattern",
                                     values.size(), a_values.size()));
  return {};
}

template struct Solver<float>::Impl;
template struct Solver<double>::Impl;

}  // namespace lulab
