#include "driver/solver_impl.h"

#include <new>

#include <fmt/format.h>

#include "driver/no_x.h"
#include "driver/through_host.h"

namespace lulab {

template <class T>
Status Solver<T>::Impl::step_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream) try {
  if (!analysis) return state;
  const auto n = static_cast<std::size_t>(a().n_cols), nnz = static_cast<std::size_t>(a().nnz());
  if (n > 0 && (d_values == nullptr || d_b == nullptr || d_x == nullptr || overlap({d_b, n}, {d_x, n}) ||
                overlap({d_values, nnz}, {d_x, n})))
    return Status::error(StatusCode::invalid_argument,
                         "step_device: values, b and x are three arrays on the device; x must not overlap the others");
  Status enqueued = was_factored ? enqueue_step_on_device(d_values, d_b, d_x, stream) : state;
  return enqueued.ok() ? enqueued : no_x_on_device(d_x, n, stream, std::move(enqueued));
} catch (const std::bad_alloc&) {
  return no_x_on_device(d_x, a().n_cols, stream, lost_step("not enough host memory for a step"));
}

template <class T>
Status Solver<T>::Impl::enqueue_step_on_device(const double* d_values, const double* d_b, double* d_x,
                                               simt::Stream& stream) {
  if (!chosen.steps_are_on_device() || chosen.is_to_prepare())
    LULAB_RETURN_IF_ERROR(choose_for_steps_on_device(d_values, stream));
  if (!resident || !resident->steps_from_device() || options.factor.perturb_pivots > 0)
    return step_through_host(d_values, d_b, d_x, stream);
  if (Status prepared = resident->prepare_steps_on_device(*factorizer); !prepared.ok()) {
    drop_factorizer();
    last_step = prepared;
    return settle(std::move(prepared));
  }
  const Result<bool> captured = stream.is_captured();
  const bool is_captured = captured.ok() && *captured;
  if (!captured.ok() || is_captured) (void)wait_for_step();
  if (!captured.ok()) return lost_values(captured.status());
  start_step();
  const Status enqueued = resident->enqueue_step_on_device(*factorizer, d_values, d_b, d_x, goal(), stream);
  in_flight = enqueued.ok() && !is_captured;
  if (in_flight) return {};
  Status unknown = enqueued.ok() ? Status::error(StatusCode::invalid_argument,
                                                 "a step was captured in a graph, and what its launches leave is not "
                                                 "known here; call step_device() or refactor() first")
                                 : judge_step(enqueued);
  last_step = unknown;
  (void)settle(std::move(unknown));
  return enqueued;
}

template <class T>
Status Solver<T>::Impl::choose_for_steps_on_device(const double* d_values, simt::Stream& stream) {
  std::vector<double> values(a_values.size());
  chosen.put_steps_on_device(true);
  if (chosen.is_still_the_choice(*analysis)) return {};
  chosen.put_steps_on_device(false);  // until the values are here
  LULAB_RETURN_IF_ERROR(check_may_wait_for(stream));
  Status copied = simt::copy_to_host(values.data(), d_values, values.size() * sizeof(double), stream);
  if (copied.ok()) copied = stream.wait();
  if (!copied.ok()) return lost_values(std::move(copied));
  chosen.put_steps_on_device(true);
  drop_factorizer();
  (void)settle(numeric(values, false));
  return {};
}

template <class T>
Status Solver<T>::Impl::step_through_host(const double* d_values, const double* d_b, double* d_x,
                                          simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(check_may_wait_for(stream));
  std::vector<double> values(a_values.size()), b(a().n_cols), x(a().n_cols);
  if (Status copied = copy_step_to_host(d_values, values, d_b, b, stream); !copied.ok())
    return lost_values(std::move(copied));
  last_step = step(values, b, x);
  if (Status copied = copy_x_to_device(x, d_x, stream); !copied.ok()) return (last_step = std::move(copied)).status();
  const Status done = last_step.status();
  return is_of_machine(done.code) ? done : Status{};  // what is wrong with the values, wait_for_step() says
}

/// Factors of the values before are no answer for these.
template <class T>
Status Solver<T>::Impl::lost_values(Status why) {
  start_step();
  last_step = why;
  return settle(std::move(why));
}

template <class T>
const Result<Refinement>& Solver<T>::Impl::wait_for_step() try {
  if (!in_flight) return last_step;
  in_flight = false;
  Status done = judge_step({});
  if (done.ok()) {
    last_step = resident->finish_step_on_device();
    done = last_step.status();
  }
  if (!done.ok()) {
    last_step = done;
    (void)settle(std::move(done));
    return last_step;
  }
  (void)settle({});
  if (options.probe) put_off = last_step->converged && last_step->omega > 0 ? Probe::replaced : Probe::due;
  if (!last_step->converged)  // the probe, which is due, will tell whether it is the pivots
    last_step = Status::error(
        StatusCode::needs_repivot,
        fmt::format("the x of this step has a backward error of {:.1e} and {}; if b is finite call "
                    "refactor() with these values, which takes new pivots if they are the cause",
                    last_step->backward_error, options.refine == Refine::never ? "was not refined" : "was set to NaN"));
  return last_step;
} catch (const std::bad_alloc&) {
  (void)lost_step("not enough host memory to say what became of a step");
  return last_step;
}

template struct Solver<float>::Impl;
template struct Solver<double>::Impl;

}  // namespace lulab
