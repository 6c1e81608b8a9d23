#include "driver/solver_impl.h"

#include <algorithm>
#include <new>
#include <string_view>

#include <fmt/format.h>

#include "core/timing.h"
#include "sparse_leftlooking/rungs.h"

namespace lulab {
namespace {

Status no_factors_for(const SolveRung& solve, std::string_view rung) {
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("{} solves with factors that lie on the device, and {} leaves none there; take {} "
                                   "or another rung",
                                   solve.id, rung, solve_rungs::reference.id));
}

}  // namespace

template <class T>
Status Solver<T>::Impl::factor(Status wrong, std::span<const double> values) {
  was_tried = true;
  was_factored = false;
  return settle(wrong.ok() ? numeric_or_no_memory(values, false) : std::move(wrong));
}

template <class T>
Status Solver<T>::Impl::refactor(Status wrong, std::span<const double> values) {
  if (!was_tried) return state;
  return settle(wrong.ok() ? numeric_or_no_memory(values, factored) : std::move(wrong));
}

template <class T>
Status Solver<T>::Impl::numeric_or_no_memory(std::span<const double> values, bool again) try {
  return numeric(values, again);
} catch (const std::bad_alloc&) {
  lose_factors();
  return Status::error(StatusCode::out_of_memory, "not enough host memory to factor");
}

template <class T>
Status Solver<T>::Impl::numeric(std::span<const double> values, bool again) {
  times = {};
  cause = {};
  drop_factors();
  if (chosen.is_to_prepare()) {
    LULAB_RETURN_IF_ERROR(prepare(values));
    again = false;
  }
  chosen.count_step();
  if (!factorizer) LULAB_RETURN_IF_ERROR(make_factorizer_or_none());
  if (!again && options.first != FirstFactorization::rung && chosen.choice().rung != &pivot_chooser(options.first)) {
    take_values(values);
    LULAB_RETURN_IF_ERROR(take_pivots(options.factor.pivot_tol));
  }
  const bool given_pivots = again || facts().pivoting == Pivoting::fixed;
  Status outcome = attempt(values, again, given_pivots, ProbeTime::later);
  if (!outcome.ok()) return given_pivots && asks_for_pivots(outcome) ? repivot(values, std::move(outcome)) : outcome;
  statistics.repivots = 0;
  return {};
}

template <class T>
Status Solver<T>::Impl::attempt(std::span<const double> values, bool again, bool given_pivots, ProbeTime probe_time) {
  if (again && refactors_flat() && refactor_flat(values)) return {};
  LULAB_RETURN_IF_ERROR(run(values, again));
  pivots_were_given = given_pivots;
  auto start = Clock::now();
  LULAB_RETURN_IF_ERROR(prepare_device_path());
  times.judge += ms_since(start);
  if (resident) return check_on_device(values, probe_time);
  statistics = factorizer->statistics();
  on_host.take(factorizer->host_arrays());
  if (!on_host.are_in_rung()) LULAB_RETURN_IF_ERROR(copy_factors());
  start = Clock::now();
  take_values(values);
  if (given_pivots) LULAB_RETURN_IF_ERROR(check_on_host(probe_time));
  times.judge += ms_since(start);
  return {};
}

template <class T>
Status Solver<T>::Impl::run(std::span<const double> values, bool again) {
  auto start = Clock::now();
  LULAB_RETURN_IF_ERROR(factorizer->upload(values));
  if (simt::Stream* stream = factorizer->stream()) LULAB_RETURN_IF_ERROR(stream->wait());
  times.upload += ms_since(start);
  start = Clock::now();
  LULAB_RETURN_IF_ERROR(again ? factorizer->refactor() : factorizer->factor());
  LULAB_RETURN_IF_ERROR(factorizer->wait());
  times.refactor += ms_since(start);
  return {};
}

template <class T>
Status Solver<T>::Impl::prepare_device_path() {
  if (resident || device_path_unavailable) return {};
  const auto asked_for = options.solve != nullptr ? options.solve->method : std::nullopt;
  if (options.solve != nullptr && !asked_for) return {};  // the host
  if (facts().pivoting != Pivoting::fixed || factorizer->stream() == nullptr ||
      factorizer->device_arrays().lu == nullptr)
    return asked_for ? no_factors_for(*options.solve, facts().id) : Status{};
  auto made = ResidentSolve<T>::create(*analysis, *factorizer, host_solve.known_solution(a().n_cols), asked_for,
                                       chosen.steps_prepared_for(), chosen.puts_off_preparing());
  device_path_unavailable = !asked_for && made.status().code == StatusCode::out_of_memory;
  if (made.ok()) resident = std::move(*made);
  return device_path_unavailable ? Status{} : made.status();
}

template <class T>
bool Solver<T>::Impl::refactors_flat() {
  if (sizeof(T) != sizeof(double) || options.solve != nullptr || chosen.choice().rung != &sparse_leftlooking::threads ||
      options.factor.threads > 1 || options.factor.perturb_pivots > 0 || (options.probe && !options.repivot))
    return false;
  return flat.prepare(*analysis, options.prepare_at_once || !options.repivot);
}

template <class T>
bool Solver<T>::Impl::refactor_flat(std::span<const double> values) {
  const auto start = Clock::now();
  FlatLu& lists = flat.lists();
  lists.upload(values);
  const auto uploaded = Clock::now();
  lists.eliminate();
  const auto eliminated = Clock::now();
  if (!lists.is_stable(options.max_growth)) return false;
  take_values(values);
  times.upload += ms_between(start, uploaded);
  times.refactor += ms_between(uploaded, eliminated);
  times.judge += ms_since(eliminated);
  statistics = factorizer->statistics();
  if (options.probe) put_off = Probe::due;
  flat.take_over();
  return true;
}

template <class T>
Status Solver<T>::Impl::catch_up() {
  if (!flat.rung_is_behind()) return {};
  LULAB_RETURN_IF_ERROR(run(a_values, true));
  flat.catch_up();
  on_host.take_array(factorizer->host_arrays());
  return {};
}

template <class T>
Status Solver<T>::Impl::settle(Status s) {
  if (s.ok())
    factored = was_factored = true;
  else
    drop_factors();
  return state = std::move(s);
}

template <class T>
void Solver<T>::Impl::drop_factors() {
  factored = false;
  on_host.drop();
  flat.drop_factors();
  host_solve.drop_factors();
  put_off = Probe::done;
  statistics = {};
}

template <class T>
void Solver<T>::Impl::lose_factors() {
  if (resident) resident->recover();
  drop_factors();
  state = {};
  state.code = StatusCode::out_of_memory;
}

template <class T>
void Solver<T>::Impl::take_values(std::span<const double> values) {
  if (values.data() != a_values.data()) std::ranges::copy(values, a_values.begin());
  has_values = true;
}

template struct Solver<float>::Impl;
template struct Solver<double>::Impl;

}  // namespace lulab
