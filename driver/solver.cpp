#include "driver/solver.h"

#include <fmt/format.h>

#include "driver/solver_impl.h"

namespace lulab {

Status check_options(const SolverOptions& options) {
  if (!(options.max_growth >= 1))
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("max_growth = {}; it must be at least 1", options.max_growth));
  if (!(options.backward_error >= 0 && options.backward_error <= max_backward_error))
    return Status::error(StatusCode::invalid_argument, fmt::format("backward_error = {}; it must be 0 to {:.3g}",
                                                                   options.backward_error, max_backward_error));
  if (!(options.expected_steps >= 1))
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("expected_steps = {}; it must be at least 1", options.expected_steps));
  return {};
}

template <class T>
Solver<T>::Solver(SolverOptions options) : Solver(RungChooser(), std::move(options)) {}
template <class T>
Solver<T>::Solver(const Rung& rung, SolverOptions options)
    : impl_(new Impl(std::nullopt, {&rung, {}}, std::move(options))) {}
template <class T>
Solver<T>::Solver(const RungChooser& chooser, SolverOptions options)
    : impl_(new Impl(chooser, {}, std::move(options))) {}
template <class T>
Solver<T>::~Solver() = default;
template <class T>
Solver<T>::Solver(Solver&&) noexcept = default;
template <class T>
Solver<T>& Solver<T>::operator=(Solver&&) noexcept = default;

template <class T>
typename Solver<T>::Impl& Solver<T>::impl() const {
  if (!impl_) impl_ = std::move(Solver().impl_);
  return *impl_;
}

template <class T>
typename Solver<T>::Impl& Solver<T>::settled() const {
  (void)impl().wait_for_step();
  return *impl_;
}

template <class T>
Result<ConditionEstimate> Solver<T>::condition() const {
  return settled().condition();
}

template <class T>
Status Solver<T>::analyze(const CscView<double>& a) {
  return settled().analyze(a);
}

template <class T>
Status Solver<T>::analyze(const CscView<double>& a, Analysis analysis) {
  Impl& s = settled();
  s.chosen.forget_analysis();
  return s.take_analysis(a, {std::move(analysis)});
}

template <class T>
Status Solver<T>::factor(const CscView<double>& a) {
  return settled().factor(settled().check_pattern(a), a.values);
}

template <class T>
Status Solver<T>::factor(std::span<const double> values) {
  return settled().factor(settled().check_size(values), values);
}

template <class T>
Status Solver<T>::refactor(const CscView<double>& a) {
  return settled().refactor(settled().check_pattern(a), a.values);
}

template <class T>
Status Solver<T>::refactor(std::span<const double> values) {
  return settled().refactor(settled().check_size(values), values);
}

template <class T>
Result<Refinement> Solver<T>::solve(std::span<const double> b, std::span<double> x) const {
  return settled().solve_one(b, x, false);
}

template <class T>
Result<std::vector<Refinement>> Solver<T>::solve(std::span<const double> b, std::span<double> x,
                                                 std::int32_t columns) const {
  return settled().solve(b, x, columns, false);
}

template <class T>
Result<Refinement> Solver<T>::solve_transposed(std::span<const double> b, std::span<double> x) const {
  return settled().solve_one(b, x, true);
}

template <class T>
Result<std::vector<Refinement>> Solver<T>::solve_transposed(std::span<const double> b, std::span<double> x,
                                                            std::int32_t columns) const {
  return settled().solve(b, x, columns, true);
}

template <class T>
Result<Refinement> Solver<T>::step(std::span<const double> values, std::span<const double> b, std::span<double> x) {
  return settled().step(values, b, x);
}

template <class T>
Status Solver<T>::step_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream) {
  return impl().step_device(d_values, d_b, d_x, stream);
}

template <class T>
Result<Refinement> Solver<T>::wait_for_step() {
  return impl().wait_for_step();
}

template <class T>
const Statistics& Solver<T>::statistics() const {
  return settled().known();
}

template <class T>
Result<const Factors<T>*> Solver<T>::download_factors() const {
  return settled().download_factors();
}

template <class T>
const Factors<T>& Solver<T>::factors() const {
  const auto f = settled().download_factors();
  return f.ok() ? **f : settled().no_factors;
}

template <class T>
Result<double> Solver<T>::largest_multiplier() const {
  return settled().largest_multiplier();
}
template <class T>
Status Solver<T>::pivots(std::span<double> pivots) const {
  return settled().pivots(pivots);
}

template <class T>
const Analysis& Solver<T>::analysis() const {
  return settled().analysis ? *settled().analysis : settled().no_analysis;
}

template <class T>
const Plan& Solver<T>::plan() const {
  return settled().plan();
}

template <class T>
const FilledPattern& Solver<T>::filled() const {
  return settled().filled();
}

template <class T>
const RungChoice& Solver<T>::choice() const {
  return settled().chosen.choice();
}

template <class T>
const StepTimes& Solver<T>::times() const {
  return settled().times;
}

template <class T>
double Solver<T>::numeric_ms() const {
  const StepTimes& t = times();
  return t.pivots + t.upload + t.refactor;
}

template <class T>
const Status& Solver<T>::repivot_cause() const {
  (void)settled().judged_or_out_of_memory();
  return settled().cause;
}

template class Solver<float>;
template class Solver<double>;

}  // namespace lulab
