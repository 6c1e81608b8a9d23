#include "bench/batch_subject.h"

#include <chrono>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/matrix/generate.h"
#include "solve/refine.h"
#include "solve/triangular.h"

namespace lulab::bench {

template <class T>
Result<BatchSubject<T>> BatchSubject<T>::create(const Rung& rung, const Problem& problem, std::int32_t systems,
                                                const FactorOptions& factor) {
  simt::reset_peak_bytes();
  BatchSubject subject(problem, systems);
  auto batch = make_batch<T>(rung, factor);
  if (!batch.ok()) return batch.status();
  subject.batch_ = std::move(*batch);
  LULAB_RETURN_IF_ERROR(subject.batch_->analyze(problem.analysis, systems));
  std::vector<T> values;
  values.reserve(problem.a.values.size() * systems);
  for (std::int32_t s = 0; s < systems; ++s)
    for (const double v : subject.values_of(s)) values.push_back(static_cast<T>(v));
  LULAB_RETURN_IF_ERROR(subject.batch_->upload(values));
  if (simt::Stream* stream = subject.batch_->stream()) {
    auto timer = simt::Timer::create();
    if (!timer.ok()) return timer.status();
    subject.timer_.emplace(std::move(*timer));
    LULAB_RETURN_IF_ERROR(stream->wait());  // values is a local
  }
  LULAB_RETURN_IF_ERROR(subject.sample().status());  // warm-up
  return subject;
}

template <class T>
std::vector<double> BatchSubject<T>::values_of(std::int32_t system) const {
  return perturbed(problem_->a.values, system + 1);
}

template <class T>
Result<double> BatchSubject<T>::sample() {
  const auto start = std::chrono::steady_clock::now();
  if (timer_) LULAB_RETURN_IF_ERROR(timer_->start(*batch_->stream()));
  LULAB_RETURN_IF_ERROR(batch_->factor());
  if (timer_) LULAB_RETURN_IF_ERROR(timer_->stop(*batch_->stream()));
  LULAB_RETURN_IF_ERROR(batch_->wait().status());
  if (!timer_)
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / systems_;
  const auto ms = timer_->elapsed_ms();
  if (!ms.ok()) return ms.status();
  return *ms / systems_;
}

template <class T>
Result<double> BatchSubject<T>::verify() {
  double largest = 0;
  for (const std::int32_t system : {0, systems_ / 2, systems_ - 1}) {
    const auto factors = batch_->download(system);
    if (!factors.ok()) return factors.status();
    CscMatrix<double> a = problem_->a;
    a.values = values_of(system);
    const std::vector<double> b = random_vector(a.n_cols, system + 1);
    std::vector<double> x(b.size(), std::numeric_limits<double>::quiet_NaN());
    LULAB_RETURN_IF_ERROR(solve_mixed<T>(*factors, b, x));
    const double error = componentwise_backward_error(a.view(), x, b);
    const double limit = 10 * std::sqrt(static_cast<double>(std::numeric_limits<T>::epsilon()));
    if (!(error <= limit))
      return Status::error(StatusCode::needs_repivot,
                           fmt::format("system {} of the batch has the backward error {:.1e}", system, error));
    largest = std::max(largest, error);
  }
  return largest;
}

template <class T>
std::int64_t BatchSubject<T>::peak_bytes() const {
  return timer_ ? simt::peak_bytes() : 0;
}

template class BatchSubject<float>;
template class BatchSubject<double>;

}  // namespace lulab::bench
