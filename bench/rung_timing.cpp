#include "bench/rung_timing.h"

#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "bench/auto_rung.h"
#include "bench/host_threads.h"
#include "driver/analyze.h"
#include "solve/refine.h"
#include "solve/triangular.h"
#include "symbolic/analyze_with_plan.h"
#include "symbolic/fill.h"

namespace lulab::bench {
namespace {

/// stream: null on the CPU, where there is nothing to wait for.
Status wait_for(simt::Stream* stream) { return stream != nullptr ? stream->wait() : Status{}; }

Result<Plan> reference_pivots(const Problem& problem) {
  LULAB_ASSIGN_OR_RETURN(const auto rung, find_rung(all_rungs(), reference_id));
  const auto factorizer = rung->make<double>();
  LULAB_RETURN_IF_ERROR(factorizer->analyze(problem.analysis));
  LULAB_RETURN_IF_ERROR(factorizer->upload(problem.a.values));
  LULAB_RETURN_IF_ERROR(factorizer->factor());
  LULAB_RETURN_IF_ERROR(factorizer->wait());
  LULAB_ASSIGN_OR_RETURN(auto factors, factorizer->download());
  return std::move(factors.plan);
}

/// Half the digits, as Solver asks of fixed pivots.
template <class T>
double accuracy_limit() {
  return std::sqrt(static_cast<double>(std::numeric_limits<T>::epsilon()));
}

bool blames_pivots(StatusCode code) {
  return code == StatusCode::needs_repivot || code == StatusCode::numerically_singular;
}

}  // namespace

Result<double> sample_host_phase(const Problem& problem, Phase phase) {
  if (phase == Phase::preprocess) {
    const auto start = Clock::now();
    const auto plan = lulab::preprocess(problem.a, problem.preprocess);
    const double ms = ms_since(start);
    if (!plan.ok()) return plan.status();
    if (plan->p != problem.analysis.plan.p || plan->q != problem.analysis.plan.q) {
      return Status::error(StatusCode::invalid_argument, "preprocessing gave other permutations than the analysis");
    }
    return ms;
  }
  const CscPattern b = permute(problem.a.pattern().view(), problem.analysis.plan.p, problem.analysis.plan.q);
  const auto start = Clock::now();
  const auto filled = fill_gilbert_peierls(b);
  const double ms = ms_since(start);
  if (!filled.ok()) return filled.status();
  if (*filled != problem.analysis.filled) {
    return Status::error(StatusCode::invalid_argument, "symbolic factorization gave another pattern than the analysis");
  }
  return ms;
}

std::string label_of(const FactorOptions& options) {
  std::vector<std::string> parts;
  if (options.threads > 0) parts.push_back(fmt::format("at most {} threads", options.threads));
  for (const auto& [name, value] : options.of_rung) parts.push_back(fmt::format("{} = {}", name, value));
  return fmt::format("{}", fmt::join(parts, ", "));
}

template <class T>
Result<RungTiming<T>> RungTiming<T>::create(const Rung& rung, const Problem& problem, RungTimingOptions options) {
  const RungChoice choice = resolve(rung, problem.analysis.filled, options.factor);
  RungTiming s(choice, problem, options.factor.only(choice.rung->facts.options));
  simt::reset_peak_bytes();
  for (std::size_t k = 0; k < s.inputs_.size(); ++k) {
    s.inputs_[k] = perturbed(problem.a.values, k + 1);
    LULAB_ASSIGN_OR_RETURN(auto upload, simt::HostBuffer<T>::create(problem.a.nnz()));
    s.uploads_[k] = std::move(upload);
    std::copy(s.inputs_[k].begin(), s.inputs_[k].end(), s.uploads_[k].span().begin());
  }
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  s.b_.resize(static_cast<std::size_t>(problem.a.n_rows));
  for (T& b : s.b_) b = static_cast<T>(uniform(random));
  s.x_.resize(s.b_.size());

  const NewThreads started;
  Status status = s.start(problem.analysis);
  if (blames_pivots(status.code) && choice.rung->facts.pivoting == Pivoting::fixed) {
    LULAB_RETURN_IF_ERROR(s.take_reference_pivots());
    status = s.start(*s.repivoted_);
  }
  if (!status.ok()) return status;
  LULAB_RETURN_IF_ERROR(s.find_out_threads());
  if (s.working_rung().facts.device == Device::cpu) s.threads_ = started.with_caller();
  const auto add_label = [&s](const std::string& what) {
    if (!what.empty()) s.label_ += (s.label_.empty() ? "" : ", ") + what;
  };
  if (!s.choice_.reason.empty()) add_label(fmt::format("chose {}", s.choice_.rung->facts.id));
  add_label(label_of(options.factor));

  LULAB_ASSIGN_OR_RETURN(s.watch_, Stopwatch::create(s.factorizer_->stream()));
  if (options.cold && s.watch_->on_device()) {
    LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
    LULAB_ASSIGN_OR_RETURN(s.flushed_,
                           simt::DeviceBuffer<char>::create(static_cast<std::int64_t>(2 * device.l2_bytes)));
    add_label("cold L2");
  }
  return s;
}

/// A fresh factorizer on this analysis, its first factorization judged.
template <class T>
Status RungTiming<T>::start(const Analysis& analysis) {
  analysis_ = &analysis;
  factorizer_ = rung_->template make<T>(factor_options_);
  LULAB_RETURN_IF_ERROR(factorizer_->analyze(analysis));
  LULAB_RETURN_IF_ERROR(factorizer_->upload(uploads_[current_].span()));
  LULAB_RETURN_IF_ERROR(factorizer_->factor());
  return verify(Phase::factor, accuracy_limit<T>()).status();
}

/// Before what factorizer_ does is timed.   Requires  values, and a first factorization.
template <class T>
Status RungTiming<T>::find_out_threads() {
  if (!working_rung().facts.uses_threads) return {};
  factors_.reset();
  return warm_up(runs_that_tell, [&]() -> Status {
    LULAB_RETURN_IF_ERROR(factorizer_->refactor());
    return factorizer_->wait();
  });
}

template <class T>
Status RungTiming<T>::take_reference_pivots() {
  LULAB_ASSIGN_OR_RETURN(auto plan, reference_pivots(*problem_));
  LULAB_ASSIGN_OR_RETURN(auto analysis, analyze_with_plan(problem_->a.pattern(), std::move(plan)));
  repivoted_ = std::make_unique<Analysis>(std::move(analysis));
  label_ = fmt::format("pivots of {}", reference_id);
  return {};
}

template <class T>
Status RungTiming<T>::download_factors() {
  auto factors = factorizer_->download();
  if (factors.ok()) factors_ = std::move(*factors);
  return factors.status();
}

/// Room for the values of the pivots that the last factor() chose.
template <class T>
Status RungTiming<T>::make_room() {
  LULAB_RETURN_IF_ERROR(factorizer_->upload(uploads_[current_].span()));
  LULAB_RETURN_IF_ERROR(factorizer_->refactor());
  LULAB_RETURN_IF_ERROR(factorizer_->wait());
  LULAB_RETURN_IF_ERROR(download_factors());
  LULAB_ASSIGN_OR_RETURN(downloaded_, simt::HostBuffer<T>::create(static_cast<std::int64_t>(factors_->values.size())));
  has_room_ = true;
  return {};
}

template <class T>
Result<double> RungTiming<T>::timed(const std::function<Status()>& operation) {
  if (flushed_) {
    LULAB_RETURN_IF_ERROR(flushed_->fill_bytes(0, *factorizer_->stream()));
    LULAB_RETURN_IF_ERROR(wait_for(factorizer_->stream()));
  }
  return watch_->time(operation);
}

template <class T>
Result<double> RungTiming<T>::sample(Phase phase) {
  const StayOnCore stay(threads_ == 1 && working_rung().facts.device == Device::cpu && phase != Phase::schedule);
  const auto download = [&] { return factorizer_->download_values(downloaded_.span()); };
  if (phase == Phase::schedule) {
    auto fresh = rung_->template make<T>(factor_options_);
    const auto start = Clock::now();
    const auto map = map_into_filled(analysis_->a, analysis_->plan, analysis_->filled);
    Status status = fresh->analyze(*analysis_);
    if (status.ok()) status = wait_for(fresh->stream());
    const double ms = ms_since(start);
    LULAB_RETURN_IF_ERROR(status);
    if (!map.ok()) return map.status();
    if (*map != analysis_->a_to_filled)
      return Status::error(StatusCode::invalid_argument, "the map differs from that of the analysis");
    factorizer_ = std::move(fresh);
    LULAB_ASSIGN_OR_RETURN(watch_, Stopwatch::create(factorizer_->stream()));
    has_room_ = false;
    return ms;
  }
  if (phase == Phase::solve) {
    if (!factors_) LULAB_RETURN_IF_ERROR(download_factors());
    x_.assign(b_.size(), std::numeric_limits<T>::quiet_NaN());
    const auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(lulab::solve<T>(*factors_, b_, x_));
    return ms_since(start);
  }

  if (phase == Phase::factor) has_room_ = false;
  if ((phase == Phase::download || phase == Phase::end_to_end) && !has_room_) LULAB_RETURN_IF_ERROR(make_room());
  factors_.reset();
  current_ = (current_ + 1) % uploads_.size();
  const std::span<const T> values = uploads_[current_].span();
  if (phase == Phase::end_to_end) {
    return timed([&]() -> Status {
      LULAB_RETURN_IF_ERROR(factorizer_->upload(values));
      LULAB_RETURN_IF_ERROR(factorizer_->refactor());
      LULAB_RETURN_IF_ERROR(factorizer_->wait());
      return download();
    });
  }
  if (phase == Phase::upload) {
    const auto ms = timed([&] { return factorizer_->upload(values); });
    LULAB_RETURN_IF_ERROR(wait_for(factorizer_->stream()));
    return ms;
  }
  LULAB_RETURN_IF_ERROR(factorizer_->upload(values));
  LULAB_RETURN_IF_ERROR(wait_for(factorizer_->stream()));
  if (phase == Phase::download) {
    LULAB_RETURN_IF_ERROR(factorizer_->refactor());
    LULAB_RETURN_IF_ERROR(factorizer_->wait());
    return timed(download);
  }
  const auto ms = timed([&] { return phase == Phase::factor ? factorizer_->factor() : factorizer_->refactor(); });
  LULAB_RETURN_IF_ERROR(factorizer_->wait());
  return ms;
}

template <class T>
Result<double> RungTiming<T>::verify(Phase phase) {
  return verify(phase, 10 * accuracy_limit<T>());
}

template <class T>
Result<double> RungTiming<T>::verify(Phase phase, double limit) {
  if (phase == Phase::schedule) {
    LULAB_RETURN_IF_ERROR(factorizer_->upload(uploads_[current_].span()));
    LULAB_RETURN_IF_ERROR(factorizer_->factor());
    LULAB_RETURN_IF_ERROR(find_out_threads());
    factors_.reset();
  }
  if (phase == Phase::upload) LULAB_RETURN_IF_ERROR(factorizer_->refactor());
  if (!factors_) {
    LULAB_RETURN_IF_ERROR(factorizer_->wait());
    LULAB_RETURN_IF_ERROR(download_factors());
    if (phase == Phase::download || phase == Phase::end_to_end)
      factors_->values.assign(downloaded_.span().begin(), downloaded_.span().end());
  }
  if (phase == Phase::solve) return judge(x_, limit);
  for (const T value : factors_->values) {
    if (!std::isfinite(value))
      return Status::error(StatusCode::needs_repivot, "the factors hold a value that is not finite");
  }
  std::vector<T> x(b_.size());
  LULAB_RETURN_IF_ERROR(lulab::solve<T>(*factors_, b_, x));
  return judge(x, limit);
}

template <class T>
Result<double> RungTiming<T>::judge(std::span<const T> x, double limit) const {
  CscView<double> a = problem_->a;
  a.values = inputs_[current_];
  const std::vector<double> b(b_.begin(), b_.end());
  const std::vector<double> solution(x.begin(), x.end());
  const double error = componentwise_backward_error(a, solution, b);
  if (!(error <= limit)) {
    return Status::error(
        StatusCode::needs_repivot,
        fmt::format("inaccurate: backward error {:.1e} before refinement exceeds {:.1e}", error, limit));
  }
  return error;
}

template <class T>
const Rung& RungTiming<T>::working_rung() const {
  return *rung_;
}

template <class T>
Limits RungTiming<T>::limits(const DeviceConstants& constants, Dependencies dependencies) const {
  if (!repivoted_) return with_dependencies(problem_->limits(scalar_of<T>()), dependencies);
  return compute_limits(*repivoted_, sizeof(T), constants, dependencies);
}

template <class T>
std::int64_t RungTiming<T>::peak_bytes() const {
  return working_rung().facts.device == Device::gpu ? simt::peak_bytes() : 0;
}

template class RungTiming<float>;
template class RungTiming<double>;

}  // namespace lulab::bench
