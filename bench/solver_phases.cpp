#include "bench/solver_phases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "bench/auto_rung.h"
#include "bench/energy.h"
#include "bench/gpu_meter.h"
#include "bench/host_memory.h"
#include "bench/host_threads.h"
#include "bench/klu_solver.h"
#include "bench/peers/peer.h"
#include "bench/rung_timing.h"
#include "core/simt/device.h"
#include "core/timing.h"
#include "driver/solver.h"
#include "solve/refine.h"

namespace lulab::bench {
namespace {

constexpr std::uint64_t answers_a_run = 100;
const double refined_limit = 1e-12;
const double unrefined_limit = 10 * std::sqrt(std::numeric_limits<double>::epsilon());

/// Adds the time of each call to a list.
class Lap {
 public:
  template <class Call>
  auto operator()(Call&& call) {
    const auto start = Clock::now();
    auto result = call();
    times_.push_back(ms_since(start));
    return result;
  }
  const Times& times() const { return times_; }

 private:
  Times times_;
};

template <class T>
class OurSolver final : public TimedSolver {
 public:
  OurSolver(const Rung& rung, const Problem& problem, const FactorOptions& factor)
      : problem_(problem), options_(factor), solver_(make(rung, problem, factor)) {}

  std::vector<std::string> parts(Phase phase) const override {
    if (phase == Phase::first) return {"analyze", "factor", "solve"};
    if (phase == Phase::step_device) return {"step"};
    return {"pivots", "upload", "refactor", "judge", "download", "solve"};
  }

  Status prepare(const CscView<double>& a) override {
    LULAB_RETURN_IF_ERROR(solver_.analyze(a, problem_.analysis));
    LULAB_RETURN_IF_ERROR(solver_.factor(a));
    const std::vector<double> b(a.n_rows, 1.0);
    std::vector<double> x(a.n_cols);
    LULAB_RETURN_IF_ERROR(solver_.solve(b, x).status());
    return warm_up(rung()->facts.uses_threads ? runs_that_tell : 1,
                   [&] { return solver_.step(a.values, b, x).status(); });
  }

  Result<Times> step(std::span<const double> values, std::span<const double> b, std::span<double> x) override {
    LULAB_RETURN_IF_ERROR(solver_.step(values, b, x).status());
    const StepTimes& t = solver_.times();
    count_step();
    return Times{t.pivots, t.upload, t.refactor, t.judge, t.download, t.solve};
  }

  Result<Times> first(const CscView<double>& a, std::span<const double> b, std::span<double> x) override {
    Lap lap;
    LULAB_RETURN_IF_ERROR(lap([&] { return solver_.analyze(a); }));
    LULAB_RETURN_IF_ERROR(lap([&] { return solver_.factor(a); }));
    LULAB_RETURN_IF_ERROR(lap([&] { return solver_.solve(b, x); }).status());
    return lap.times();
  }

  Result<Times> step_device(std::span<const double> values, std::span<const double> b, std::span<double> x) override {
    if (!stream_) {
      LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::create());
      LULAB_ASSIGN_OR_RETURN(timer_, simt::Timer::create());
      LULAB_RETURN_IF_ERROR(simt::make(d_values_, static_cast<std::int64_t>(values.size())));
      for (auto* buffer : {&d_b_, &d_x_})
        LULAB_RETURN_IF_ERROR(simt::make(*buffer, static_cast<std::int64_t>(b.size())));
      LULAB_RETURN_IF_ERROR(upload(values, b, x));
      LULAB_RETURN_IF_ERROR(solver_.step_device(d_values_.data(), d_b_.data(), d_x_.data(), *stream_));  // prepares
      LULAB_RETURN_IF_ERROR(solver_.wait_for_step().status());
    }
    LULAB_RETURN_IF_ERROR(upload(values, b, x));
    const auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(timer_->start(*stream_));
    LULAB_RETURN_IF_ERROR(solver_.step_device(d_values_.data(), d_b_.data(), d_x_.data(), *stream_));
    LULAB_RETURN_IF_ERROR(timer_->stop(*stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    const double host_ms = ms_since(start);
    LULAB_RETURN_IF_ERROR(solver_.wait_for_step().status());
    LULAB_ASSIGN_OR_RETURN(const double device_ms, timer_->elapsed_ms());
    LULAB_RETURN_IF_ERROR(d_x_.download(x, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    count_step();
    const double ms =
        rung()->facts.device == Device::gpu && simt::machine() == simt::Machine::gpu ? device_ms : host_ms;
    return Times{ms, ms};
  }

  const Rung* rung() const { return solver_.choice().rung; }
  bool works_on_host() const override { return rung()->facts.device == Device::cpu; }

  void describe(Row& row) const override {
    const RungChoice& choice = solver_.choice();
    std::vector<std::string> labels;
    if (!choice.reason.empty()) {
      row.chosen_rung = choice.rung->facts.id;
      row.choice_reason = choice.reason;
      labels.push_back("chose " + row.chosen_rung);
    }
    if (std::string of_options = label_of(options_); !of_options.empty()) labels.push_back(std::move(of_options));
    if (repivoted_ > 0) labels.push_back(fmt::format("re-pivoted in {} of {} steps", repivoted_, steps_));
    row.label = fmt::format("{}", fmt::join(labels, ", "));
  }

 private:
  static Solver<T> make(const Rung& rung, const Problem& problem, const FactorOptions& factor) {
    SolverOptions options;
    options.preprocess = problem.requested;
    options.expected_steps = problem.expected_steps;
    options.prepare_at_once = problem.prepare_at_once;
    options.factor = factor;
    if (!factor.of_rung.empty())  // a rung ignores the options of others; Solver would refuse them
      options.factor = factor.only(resolve(rung, problem.analysis.filled, factor).rung->facts.options);
    return &rung == &auto_rung() ? Solver<T>(std::move(options)) : Solver<T>(rung, std::move(options));
  }

  Status upload(std::span<const double> values, std::span<const double> b, std::span<const double> x) {
    LULAB_RETURN_IF_ERROR(d_values_.upload(values, *stream_));
    LULAB_RETURN_IF_ERROR(d_b_.upload(b, *stream_));
    LULAB_RETURN_IF_ERROR(d_x_.upload(x, *stream_));
    return stream_->wait();
  }

  void count_step() {
    ++steps_;
    repivoted_ += solver_.times().pivots > 0;  // statistics() would measure the factors
  }

  const Problem& problem_;
  const FactorOptions options_;
  Solver<T> solver_;
  std::optional<simt::Stream> stream_;  // of step_device()
  std::optional<simt::Timer> timer_;
  simt::DeviceBuffer<double> d_values_, d_b_, d_x_;
  int steps_ = 0, repivoted_ = 0;
};

class KluPeer final : public Peer {
 public:
  KluPeer(const Problem& problem, bool our_order)
      : problem_(problem), our_order_(our_order), klu_(problem.a.pattern().view()) {}

  Status analyze(std::span<const double> values) override {
    if (!our_order_) return klu_.analyze();
    CscView<double> a = problem_.a;
    a.values = values;
    LULAB_ASSIGN_OR_RETURN(const auto plan, preprocess(a, problem_.preprocess));
    return klu_.analyze(plan);
  }
  Status factor(std::span<const double> values) override { return klu_.factor(values); }
  Status refactor(std::span<const double> values) override { return klu_.refactor(values); }
  Status solve(std::span<const double> b, std::span<double> x) override { return klu_.solve(b, x); }

 private:
  const Problem& problem_;
  const bool our_order_;
  KluSolver klu_;
};

class TimedPeer final : public TimedSolver {
 public:
  TimedPeer(std::unique_ptr<Peer> peer, std::string label) : peer_(std::move(peer)), label_(std::move(label)) {}

  std::vector<std::string> parts(Phase phase) const override {
    if (phase == Phase::first) return {"analyze", "factor", "solve"};
    if (phase == Phase::step_device) return {"step"};
    return {"refactor", "solve"};
  }

  std::span<const double> in_own_order(std::span<const double> values) override { return peer_->in_own_order(values); }

  Status prepare(const CscView<double>& a) override {
    const std::span<const double> values = peer_->in_own_order(a.values);
    LULAB_RETURN_IF_ERROR(peer_->analyze(values));
    return peer_->factor(values);
  }

  Result<Times> step(std::span<const double> values, std::span<const double> b, std::span<double> x) override {
    Lap lap;
    LULAB_RETURN_IF_ERROR(lap([&] { return peer_->refactor(values); }));
    LULAB_RETURN_IF_ERROR(lap([&] { return peer_->solve(b, x); }));
    return lap.times();
  }

  Result<Times> first(const CscView<double>& a, std::span<const double> b, std::span<double> x) override {
    Lap lap;
    LULAB_RETURN_IF_ERROR(lap([&] { return peer_->analyze(a.values); }));
    LULAB_RETURN_IF_ERROR(lap([&] { return peer_->factor(a.values); }));
    LULAB_RETURN_IF_ERROR(lap([&] { return peer_->solve(b, x); }));
    return lap.times();
  }

  Result<Times> step_device(std::span<const double> values, std::span<const double> b, std::span<double> x) override {
    if (peer_->works_on_gpu()) {
      LULAB_ASSIGN_OR_RETURN(const double ms, peer_->step_in_device_memory(values, b, x));
      return Times{ms, ms};
    }
    Lap lap;
    LULAB_RETURN_IF_ERROR(lap([&] { return step(values, b, x); }).status());
    return Times{lap.times()[0], lap.times()[0]};
  }

  bool works_on_host() const override { return !peer_->works_on_gpu(); }
  int threads() const override { return peer_->threads(); }
  void describe(Row& row) const override { row.label = label_; }

 private:
  const std::unique_ptr<Peer> peer_;
  const std::string label_;
};

/// Values, right-hand sides and room for x.
class Systems {
 public:
  static Result<Systems> create(const Problem& problem) {
    Systems s;
    LULAB_ASSIGN_OR_RETURN(s.x, simt::HostBuffer<double>::create(problem.a.n_cols));
    for (const System& step : problem.sequence) LULAB_RETURN_IF_ERROR(s.add(step.values, step.b));
    for (std::uint64_t k = 0; problem.sequence.empty() && k < 3; ++k) {
      std::mt19937_64 random(7 + k);
      std::uniform_real_distribution<double> uniform(0.5, 1.5);
      std::vector<double> b(problem.a.n_rows);
      for (double& value : b) value = uniform(random);
      LULAB_RETURN_IF_ERROR(s.add(perturbed(problem.a.values, k + 1), b));
    }
    return s;
  }

  std::size_t size() const { return values_.size(); }
  std::span<const double> values(std::uint64_t seed) const { return values_[seed % values_.size()].span(); }
  std::span<const double> b(std::uint64_t seed) const { return b_[seed % b_.size()].span(); }
  simt::HostBuffer<double> x;

 private:
  Status add(std::span<const double> values, std::span<const double> b) {
    for (const auto& [kept, numbers] : {std::pair{&values_, values}, std::pair{&b_, b}}) {
      LULAB_ASSIGN_OR_RETURN(auto memory, simt::HostBuffer<double>::create(std::ssize(numbers)));
      std::ranges::copy(numbers, memory.span().begin());
      kept->push_back(std::move(memory));
    }
    return {};
  }

  std::vector<simt::HostBuffer<double>> values_, b_;
};

using SharedSystems = std::shared_ptr<std::optional<Systems>>;  // made by the case that is prepared first

struct Memory {
  std::int64_t host = 0, device = 0;  // bytes; 0: none, or not known
};

/// What a solver takes from now on.
class MemoryWatch {
 public:
  Memory taken() const {
    Memory memory = {.host = host_.most_bytes().value_or(0)};
    if (const auto now = device_bytes_in_use(); now && device_before_)
      memory.device = std::max<std::int64_t>(*now - *device_before_, 0);
    return memory;
  }

 private:
  HostMemoryWatch host_;
  std::optional<std::int64_t> device_before_ = device_bytes_in_use();
};

/// A contender in one phase.
class Running {
 public:
  Running(Contender contender, const Problem& problem, Phase phase, bool energy, SharedSystems systems)
      : contender_(std::move(contender)),
        problem_(problem),
        phase_(phase),
        measures_energy_(energy && phase == Phase::step),
        systems_(std::move(systems)) {}

  Status prepare() {
    if (!*systems_) {
      LULAB_ASSIGN_OR_RETURN(*systems_, Systems::create(problem_));
    }
    if (starts_anew()) return {};
    solver_ = contender_.make();
    const NewThreads started;
    LULAB_RETURN_IF_ERROR(solver_->prepare(problem_.a));
    count_threads(started);
    return {};
  }

  /// The whole and its parts.
  Result<Times> run(std::uint64_t seed) {
    if (!starts_anew()) return one_answer(seed);
    solver_.reset();
    solver_ = contender_.make();  // which may bring A into the library's order: a user has it so
    // The first run loads what the process keeps, kernels of a library for one.
    if (++runs_ == 2) watch_.emplace();
    return phase_ == Phase::run ? answers_of_a_run(seed) : one_answer(seed);
  }

  /// Fills in what is not time, and measures what is not measured beside it.
  Status describe(Row& row) {
    if (measures_energy_ && !solver_->works_on_host()) {
      LULAB_ASSIGN_OR_RETURN(row.energy, energy_of_steps());
    }
    row.backward_error = backward_error_;
    row.threads = threads_;
    row.host_bytes = memory_.host;
    row.device_bytes = memory_.device;
    solver_->describe(row);
    return {};
  }

 private:
  bool starts_anew() const { return phase_ == Phase::first || phase_ == Phase::run; }

  CscView<double> with_values(std::uint64_t seed) const {
    CscView<double> a = problem_.a;
    a.values = (*systems_)->values(seed);
    return a;
  }
  CscView<double> in_own_order(std::uint64_t seed) {
    CscView<double> a = with_values(seed);
    a.values = solver_->in_own_order(a.values);
    return a;
  }
  std::span<double> poisoned_x() {
    std::ranges::fill((*systems_)->x.span(), std::numeric_limits<double>::quiet_NaN());
    return (*systems_)->x.span();
  }
  Result<std::optional<Energy>> energy_of_steps() {
    constexpr double least_s = 1;
    std::vector<simt::HostBuffer<double>> values;
    for (std::uint64_t k = 0; k < (*systems_)->size(); ++k) {
      LULAB_ASSIGN_OR_RETURN(auto kept, simt::HostBuffer<double>::create(problem_.a.nnz()));
      std::ranges::copy(in_own_order(k).values, kept.span().begin());
      values.push_back(std::move(kept));
    }
    const std::span<double> x = poisoned_x();
    std::uint64_t seed = 0;
    const auto step = [&] {
      ++seed;
      return solver_->step(values[seed % values.size()].span(), (*systems_)->b(seed), x).status();
    };
    LULAB_ASSIGN_OR_RETURN(const auto energy, energy_of(gpu_joules, step, least_s));
    LULAB_RETURN_IF_ERROR(judge(seed));
    return energy;
  }

  Status judge(std::uint64_t seed) {
    LULAB_ASSIGN_OR_RETURN(const auto error, judge_solution(with_values(seed), (*systems_)->x.span(),
                                                            (*systems_)->b(seed), contender_.accuracy));
    backward_error_ = std::max(backward_error_, error);
    return {};
  }

  Result<Times> one_answer(std::uint64_t seed) {
    const std::span<double> x = poisoned_x();
    LULAB_ASSIGN_OR_RETURN(auto times, timed(in_own_order(seed), (*systems_)->b(seed), x));
    take_memory();
    LULAB_RETURN_IF_ERROR(judge(seed));
    return times;
  }

  /// Returns the ms of all, of the first one, and of the others.
  Result<Times> answers_of_a_run(std::uint64_t seed) {
    const NewThreads started;
    Times times = {0, 0, 0};
    for (std::uint64_t k = 0; k < answers_a_run; ++k) {
      const std::span<double> x = poisoned_x();
      const std::span<const double> b = (*systems_)->b(seed + k);
      const CscView<double> a = in_own_order(seed + k);
      const auto start = Clock::now();
      const auto parts = k == 0 ? solver_->first(a, b, x) : solver_->step(a.values, b, x);
      times[k == 0 ? 1 : 2] += ms_since(start);
      if (!parts.ok()) return parts.status();
      LULAB_RETURN_IF_ERROR(judge(seed + k));
    }
    take_memory();  // what judging took among it: a few vectors
    count_threads(started);
    times[0] = times[1] + times[2];
    return times;
  }

  void take_memory() {
    if (watch_) memory_ = watch_->taken();
    watch_.reset();
  }

  /// The largest number: threads of the run before may still be ending when a count begins. The driver of a GPU has
  /// threads of its own, which wait.
  void count_threads(const NewThreads& started) {
    if (solver_->works_on_host()) threads_ = std::max({threads_, started.with_caller(), solver_->threads()});
  }

  Result<Times> timed(const CscView<double>& a, std::span<const double> b, std::span<double> x) {
    const bool steps = phase_ != Phase::first;
    const NewThreads started;
    const StayOnCore stay(steps && solver_->works_on_host() && threads_ == 1);
    if (phase_ == Phase::step_device) return solver_->step_device(a.values, b, x);
    const auto start = Clock::now();
    auto parts = steps ? solver_->step(a.values, b, x) : solver_->first(a, b, x);
    const double ms = ms_since(start);
    if (!parts.ok()) return parts.status();
    if (!steps) count_threads(started);
    parts->insert(parts->begin(), ms);
    return parts;
  }

  const Contender contender_;
  const Problem& problem_;
  const Phase phase_;
  const bool measures_energy_;
  const SharedSystems systems_;
  std::unique_ptr<TimedSolver> solver_;
  double backward_error_ = 0;
  int threads_ = 1, runs_ = 0;
  std::optional<MemoryWatch> watch_;
  Memory memory_;
};

}  // namespace

template <class T>
Contender solver_contender(const Rung& rung, const Problem& problem, const FactorOptions& factor) {
  return {.id = std::string(rung.facts.id),
          .scalar = scalar_of<T>(),
          .make = [&rung, &problem, factor] { return std::make_unique<OurSolver<T>>(rung, problem, factor); },
          .accuracy = refined_limit};
}
template Contender solver_contender<float>(const Rung&, const Problem&, const FactorOptions&);
template Contender solver_contender<double>(const Rung&, const Problem&, const FactorOptions&);

Contender klu_contender(const Problem& problem) {
  return peer_contender(
      {std::string(klu_peer_id), "defaults", [](const Problem& p) { return std::make_unique<KluPeer>(p, false); }},
      problem);
}

Contender klu_our_order_contender(const Problem& problem) {
  return peer_contender({std::string(klu_our_order_peer_id), "order " + problem.analysis.plan.order,
                         [](const Problem& p) { return std::make_unique<KluPeer>(p, true); }},
                        problem);
}

Contender peer_contender(const PeerLibrary& library, const Problem& problem) {
  return {.id = library.id,
          .make = [library, &problem] { return std::make_unique<TimedPeer>(library.make(problem), library.label); },
          .accuracy = unrefined_limit};
}

Result<double> judge_solution(const CscView<double>& a, std::span<const double> x, std::span<const double> b,
                              double limit) {
  const double error = componentwise_backward_error(a, x, b);
  if (error <= limit) return error;
  return Status::error(StatusCode::needs_repivot,
                       fmt::format("inaccurate: backward error {:.1e} of x exceeds {:.1e}", error, limit));
}

std::vector<Case> solver_cases(const std::vector<Contender>& contenders, const Problem& problem, Phase phase,
                               bool energy) {
  const auto systems = std::make_shared<std::optional<Systems>>();
  std::vector<Case> cases;
  for (const Contender& contender : contenders) {
    const auto running = std::make_shared<Running>(contender, problem, phase, energy, systems);
    Case c;
    c.rows = {{.name = {contender.id, problem.name, phase, contender.scalar}}};
    c.parts = phase == Phase::run ? std::vector<std::string>{"first", "steps"} : contender.make()->parts(phase);
    c.reason_to_skip = contender.reason_to_skip;
    c.prepare = [running] { return running->prepare(); };
    c.run = [running](std::uint64_t seed) { return running->run(seed); };
    c.verify = [running](std::span<Row> rows) { return running->describe(rows[0]); };
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace lulab::bench
