#include "driver/solver_impl.h"

#include <algorithm>
#include <new>

#include "core/timing.h"

namespace lulab {

template <class T>
Status Solver<T>::Impl::check_on_host(ProbeTime probe_time) {
  if (!on_host.are_in_rung()) LULAB_RETURN_IF_ERROR(check().check_values(on_host.copied()));
  LULAB_RETURN_IF_ERROR(check_growth());
  if (!options.probe) return {};
  if (may_put_off(probe_time)) {
    put_off = Probe::due;
    return {};
  }
  return solve_probe();
}

template <class T>
Status Solver<T>::Impl::check_growth() {
  if (on_host.grow_at_most(options.max_growth)) return {};
  LULAB_RETURN_IF_ERROR(measure());
  return check().check_growth(statistics.pivot_growth, statistics.perturbed_pivots);
}

template <class T>
bool Solver<T>::Impl::may_put_off(ProbeTime probe_time) const {
  return probe_time == ProbeTime::later && options.probe && options.repivot && statistics.perturbed_pivots == 0;
}

template <class T>
Status Solver<T>::Impl::solve_probe() {
  if (resident) {
    LULAB_ASSIGN_OR_RETURN(const auto measured, resident->measure(true));
    return judge_device_probe(measured.probe);
  }
  LULAB_RETURN_IF_ERROR(catch_up());
  const FactorsView<T> f = where_they_lie();
  if (statistics.perturbed_pivots > 0) return check().check_refined_probe(host_solve.refine_probe(a(), f));
  const auto probed = host_solve.probe(a(), f);
  return probed.ok() ? check().check_probe(*probed) : probed.status();
}

template <class T>
Status Solver<T>::Impl::make_up_for_probe() {
  if (put_off == Probe::done) return {};
  const auto start = Clock::now();
  Status checked = solve_probe();
  times.judge += ms_since(start);
  if (is_of_machine(checked.code)) return checked;  // nothing is known of the pivots
  put_off = Probe::done;
  if (checked.ok()) return {};
  if (!asks_for_pivots(checked)) return settle(std::move(checked));
  return replace_pivots(std::move(checked));
}

template <class T>
Status Solver<T>::Impl::judged() {
  if (put_off == Probe::due) LULAB_RETURN_IF_ERROR(make_up_for_probe());
  return factored ? Status{} : state;
}

template <class T>
Status Solver<T>::Impl::judged_or_out_of_memory() try {
  return judged();
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory to judge the pivots");
}

template <class T>
Status Solver<T>::Impl::check_on_device(std::span<const double> values, ProbeTime probe_time) {
  has_values = false;
  auto start = Clock::now();
  LULAB_RETURN_IF_ERROR(resident->upload(values));
  times.upload += ms_since(start);
  start = Clock::now();
  LULAB_RETURN_IF_ERROR(resident->update(factorizer->device_arrays()));
  statistics = factorizer->statistics();
  const bool puts_off = may_put_off(probe_time);
  LULAB_ASSIGN_OR_RETURN(const auto measured, resident->measure(options.probe && !puts_off));
  Status checked = judge(measured);
  if (checked.ok() && puts_off)
    put_off = Probe::due;
  else if (checked.ok() && options.probe)
    checked = judge_device_probe(measured.probe);
  times.judge += ms_since(start);
  return checked;
}

template <class T>
Status Solver<T>::Impl::judge(const typename ResidentSolve<T>::Measured& measured) {
  const FactorMagnitudes& m = measured.factors;
  statistics.structural_rank = statistics.numerical_rank = analysis->filled.n;
  statistics.rcond = m.min_pivot / m.max_pivot;
  statistics.pivot_growth = pivot_growth(m.max_u, measured.probe.max_a);
  Status checked = check().check_largest(m.max_l, m.max_u);
  if (!checked.ok()) return name_not_finite(std::move(checked));
  return check().check_growth(statistics.pivot_growth, statistics.perturbed_pivots);
}

template <class T>
Status Solver<T>::Impl::judge_device_probe(const ProbeResult& probed) {
  return statistics.perturbed_pivots > 0 ? check().check_refined_probe(resident->refine_probe())
                                         : check().check_probe(probed);
}

template <class T>
Status Solver<T>::Impl::name_not_finite(Status known) const {
  LULAB_ASSIGN_OR_RETURN(const auto f, factorizer->download());
  Status named = check().check_values(f);
  return named.ok() ? known : named;
}

template <class T>
Status Solver<T>::Impl::repivot(std::span<const double> values, Status unstable_pivots) {
  if (!options.repivot) return unstable_pivots;
  cause = std::move(unstable_pivots);
  Status outcome;
  if (facts().pivoting == Pivoting::fixed) {
    take_values(values);
    for (const bool by_row : {false, true}) {
      LULAB_RETURN_IF_ERROR(take_pivots(std::max(options.factor.pivot_tol, 0.1), by_row));
      outcome = attempt(values, false, true, ProbeTime::now);  // which asks for pivots by row
      if (outcome.code != StatusCode::needs_repivot) break;
    }
  } else {
    outcome = attempt(values, false, false, ProbeTime::now);
  }
  if (outcome.ok()) statistics.repivots = 1;
  return outcome;
}

template <class T>
Status Solver<T>::Impl::take_pivots(double pivot_tol, bool by_row) {
  const auto start = Clock::now();
  FactorOptions how = options.factor;
  how.pivot_tol = pivot_tol;
  how.perturb_pivots = 0;  // it looks for better ones
  const auto choose = by_row ? choose_pivots_by_row<T> : choose_pivots<T>;
  LULAB_ASSIGN_OR_RETURN(auto others, choose(pivot_chooser(options.first), how, *analysis, a()));
  if (others.plan.p != analysis->plan.p || others.plan.q != analysis->plan.q)
    LULAB_RETURN_IF_ERROR(take_other_analysis(std::move(others)));
  times.pivots += ms_since(start);
  return {};
}

template <class T>
Status Solver<T>::Impl::replace_pivots(Status why) {
  if (Status lost = download_values(); !lost.ok()) return settle(std::move(lost));
  drop_factors();
  state = Status::error(StatusCode::out_of_memory, "not enough host memory for new pivots");  // unless it returns
  return settle(repivot(a_values, std::move(why)));
}

template <class T>
Status Solver<T>::Impl::replace_pivots_of_float(Status why) {
  if (facts().pivoting != Pivoting::fixed) return replace_pivots(std::move(why));
  Analysis before = *analysis;
  const Status replaced = replace_pivots(std::move(why));
  if (replaced.ok() || is_of_machine(replaced.code)) return replaced;
  state = Status::error(StatusCode::out_of_memory, "not enough host memory for the pivots");  // unless it returns
  LULAB_RETURN_IF_ERROR(take_other_analysis(std::move(before)));
  Status done = settle(attempt(a_values, false, true, ProbeTime::later));
  put_off = Probe::done;
  cause = {};
  return done;
}

template struct Solver<float>::Impl;
template struct Solver<double>::Impl;

}  // namespace lulab
