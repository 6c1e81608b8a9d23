#include "bench/symbolic_subject.h"

#include <utility>

namespace lulab::bench {

Result<SymbolicSubject> SymbolicSubject::create(const Problem& problem) {
  simt::reset_peak_bytes();
  auto stream = simt::Stream::create();
  if (!stream.ok()) return stream.status();
  auto timer = simt::Timer::create();
  if (!timer.ok()) return timer.status();
  const CscPattern b = permute(problem.a.pattern().view(), problem.analysis.plan.p, problem.analysis.plan.q);
  auto fill = SfluFill::create(b, *stream);
  if (!fill.ok()) return fill.status();
  SymbolicSubject subject(problem, std::move(*stream), std::move(*timer), std::move(*fill));
  LULAB_RETURN_IF_ERROR(subject.fill_.enqueue(subject.stream_));
  LULAB_RETURN_IF_ERROR(subject.verify());
  return subject;
}

Result<double> SymbolicSubject::sample() {
  LULAB_RETURN_IF_ERROR(timer_.start(stream_));
  LULAB_RETURN_IF_ERROR(fill_.enqueue(stream_));
  LULAB_RETURN_IF_ERROR(timer_.stop(stream_));
  return timer_.elapsed_ms();
}

Status SymbolicSubject::verify() {
  const auto filled = fill_.download(stream_);
  if (!filled.ok()) return filled.status();
  if (*filled == problem_->analysis.filled) return {};
  return Status::error(StatusCode::invalid_argument, "symbolic factorization gave another pattern than the analysis");
}

}  // namespace lulab::bench
