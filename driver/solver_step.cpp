#include "driver/solver_impl.h"

#include <new>

#include "core/timing.h"
#include "driver/no_x.h"

namespace lulab {

template <class T>
Result<Refinement> Solver<T>::Impl::step(std::span<const double> values, std::span<const double> b,
                                         std::span<double> x) try {
  LULAB_RETURN_IF_ERROR(check_overlap(b, x));
  if (!analysis) return no_x(x, state);
  LULAB_RETURN_IF_ERROR(check_size(values));
  LULAB_RETURN_IF_ERROR(check_sizes(b, x, 1));
  Refinement refinement;
  const std::span<Refinement> all(&refinement, 1);
  Status done;
  if (steps_with_one_wait() && !chosen.is_to_prepare()) {
    chosen.count_step();
    done = step_with_one_wait(values, b, x, refinement);
  } else {
    done = refactor({}, values);
    if (done.ok()) done = solve_in_step(b, x, all);
  }
  if (done.ok()) done = judge_solutions(b, x, all, false);
  if (done.ok()) return refinement;
  return no_x(x, std::move(done));
} catch (const std::bad_alloc&) {
  return no_x(x, lost_step("not enough host memory for a step"));
}

template <class T>
Status Solver<T>::Impl::solve_in_step(std::span<const double> b, std::span<double> x, std::span<Refinement> all) {
  const auto start = Clock::now();
  Status solved = solve_anywhere(b, x, all, false);
  times.solve += ms_since(start);
  return solved;
}

template <class T>
bool Solver<T>::Impl::steps_with_one_wait() const {
  const bool shows_pivots = options.repivot || !options.probe;  // the solution, in place of a probe
  return factored && resident && resident->steps() && options.factor.perturb_pivots == 0 && shows_pivots;
}

template <class T>
Status Solver<T>::Impl::step_with_one_wait(std::span<const double> values, std::span<const double> b,
                                           std::span<double> x, Refinement& refinement) {
  start_step();
  auto start = Clock::now();
  Status prepared;
  if (resident->is_due()) {
    prepared = resident->prepare_if_due();
    times.prepare += ms_since(start);
    start = Clock::now();
  }
  const Status enqueued = prepared.ok() ? resident->enqueue_step(*factorizer, values, b, x, goal()) : prepared;
  times.upload += ms_since(start);
  Status done = judge_step(enqueued);
  if (asks_for_pivots(done)) {
    LULAB_RETURN_IF_ERROR(settle(repivot(values, std::move(done))));
    return solve_in_step(b, x, std::span(&refinement, 1));
  }
  LULAB_RETURN_IF_ERROR(settle(std::move(done)));
  if (options.probe) put_off = Probe::due;
  start = Clock::now();
  LULAB_ASSIGN_OR_RETURN(refinement, resident->finish_step(x));
  times.solve += ms_since(start);
  return {};
}

template <class T>
void Solver<T>::Impl::start_step() {
  times = {};
  cause = {};
  drop_factors();
  has_values = false;
}

template <class T>
Status Solver<T>::Impl::judge_step(const Status& enqueued) {
  auto start = Clock::now();
  if (!enqueued.ok()) resident->recover();
  const Status done = factorizer->wait();
  LULAB_RETURN_IF_ERROR(enqueued);
  times.refactor += ms_since(start);
  LULAB_RETURN_IF_ERROR(done);
  start = Clock::now();
  statistics = factorizer->statistics();
  LULAB_ASSIGN_OR_RETURN(const auto measured, resident->measured());
  Status judged = judge(measured);
  times.judge += ms_since(start);
  return judged;
}

template <class T>
Status Solver<T>::Impl::lost_step(const char* why) {
  lose_factors();
  in_flight = false;
  last_step = state;
  Status lost = settle(Status::error(StatusCode::out_of_memory, why));
  last_step = lost;
  return lost;
}

template struct Solver<float>::Impl;
template struct Solver<double>::Impl;

}  // namespace lulab
