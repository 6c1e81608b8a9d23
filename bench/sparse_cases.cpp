#include "bench/sparse_cases.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bench/auto_rung.h"
#include "bench/cost_estimate.h"
#include "bench/dense_ladder.h"
#include "bench/extra_phases.h"
#include "bench/fill_cases.h"
#include "bench/rung_timing.h"
#include "bench/solver_phases.h"
#include "symbolic/fill.h"

namespace lulab::bench {
namespace {

// Dense rungs on sparse matrices: a CPU rung on a larger one teaches nothing but patience; a GPU rung shows up to here
// what the zeros cost, but judging its n^2 factors on the host takes seconds.
constexpr std::int32_t max_dense_n_cpu = 1200;
constexpr std::int32_t max_dense_n_quick = 5000;
constexpr std::int32_t max_dense_n = 20000;

// KLU beside a Solver, by what it takes for the larger shared matrices; a step of G3_circuit would take a minute.
constexpr double klu_flops_per_ms = 2e6, max_klu_ms = 20e3;

constexpr const char* simulated = "skipped: performance not measured in the simulator";

bool contains_or_empty(const std::vector<std::string>& list, std::string_view text) {
  return list.empty() || std::find(list.begin(), list.end(), text) != list.end();
}

/// Their ladder has a set of its own; here they are measured for what the zeros cost.
bool is_dense_gpu_rung(const Rung& rung) { return rung.facts.max_dense_bytes > 0 && rung.facts.device == Device::gpu; }

/// This rung's paper has a symbolic phase of its own, on the device.
bool has_symbolic_phase(const Rung& rung) { return rung.facts.id == "sparse_syncfree/01_sflu"; }

/// Host phases are the reference's, once a matrix; beside it stands what a rung's paper does about them on the device.
bool is_timed_under(const Rung& rung, Phase phase) {
  if (phase == Phase::symbolic_device) return false;
  return rung.facts.id == reference_id || (phase == Phase::symbolic && has_symbolic_phase(rung));
}

/// A rung that is prepared when the first of its phases is measured.
template <class T>
class Prepared {
 public:
  Prepared(const Rung& rung, const Problem& problem, RungTimingOptions options)
      : rung_(rung), problem_(problem), options_(std::move(options)) {}
  Status prepare() {
    if (!timing_) timing_.emplace(RungTiming<T>::create(rung_, problem_, options_));
    return timing_->status();
  }
  /// Requires  prepare() is ok.
  RungTiming<T>& operator*() { return **timing_; }
  RungTiming<T>* operator->() { return &**timing_; }

 private:
  const Rung& rung_;
  const Problem& problem_;
  const RungTimingOptions options_;
  std::optional<Result<RungTiming<T>>> timing_;
};

class SparseComparisons {
 public:
  SparseComparisons(const Problem& problem, const SparseOptions& options, const DeviceConstants& constants,
                    CostHistory& history)
      : problem_(problem), options_(options), constants_(constants), history_(history) {}

  std::vector<Comparison> all() {
    if (!problem_.dense) {
      if (const auto klu = find_rung(all_rungs(), klu_id); klu.ok() && needs_klu_refactor())
        add_phases<double>(**klu, std::vector{Phase::refactor});
      for (const Phase phase : solver_phases)
        if ((phase != Phase::run || !options_.phases.empty()) && contains_or_empty(options_.phases, to_string(phase)))
          add_solvers(phase);
      add_fill_rungs();
    }
    std::vector<const Rung*> rungs = {&auto_rung()};
    std::ranges::copy(options_.rungs.empty() ? all_rungs() : every_rung(), std::back_inserter(rungs));
    for (const Rung* rung : rungs) {
      if (!takes_problem(*rung) || !contains_or_empty(options_.rungs, rung->facts.id)) continue;
      add_rung<double>(*rung);
      if (!is_dense_gpu_rung(*rung) || problem_.dense || !options_.precisions.empty()) add_rung<float>(*rung);
    }
    return std::move(comparisons_);
  }

 private:
  /// Some phase that is told against klu_refactor will be timed.
  bool needs_klu_refactor() const {
    if (!options_.rungs.empty() && std::ranges::all_of(options_.rungs, is_fill_rung)) return false;
    return std::ranges::any_of(phases, [&](Phase phase) {
      return !is_solver_phase(phase) && !is_pattern_phase(phase) &&
             contains_or_empty(options_.phases, to_string(phase));
    });
  }

  /// Patterns have no scalar; f64 names them.
  void add_fill_rungs() {
    FillOptions fill = {.host_to_host = contains_or_empty(options_.phases, to_string(Phase::symbolic)),
                        .on_device = contains_or_empty(options_.phases, to_string(Phase::symbolic_device)),
                        .threads = options_.factor.threads,
                        .budget_s = options_.budget_s,
                        .bandwidth_bytes_per_s = constants_.bandwidth_bytes_per_s};
    std::ranges::copy_if(options_.rungs, std::back_inserter(fill.rungs), is_fill_rung);
    const bool asked_for = !fill.rungs.empty() || (options_.rungs.empty() && !options_.phases.empty());
    if (!asked_for || !(fill.host_to_host || fill.on_device)) return;
    if (!contains_or_empty(options_.precisions, to_string(Scalar::f64))) return;
    comparisons_.push_back(fill_comparison(problem_, fill));
  }

  /// A dense rung needs a dense copy, and nothing else factors a dense problem.
  bool takes_problem(const Rung& rung) const {
    const double max_bytes = rung.facts.max_dense_bytes;
    if (!(max_bytes > 0)) return !problem_.dense;
    const std::int32_t n = problem_.a.n_rows;
    const std::int32_t max_n = rung.facts.device == Device::cpu ? max_dense_n_cpu
                               : options_.quick                 ? max_dense_n_quick
                                                                : max_dense_n;
    if (rung.facts.max_n > 0 && n > rung.facts.max_n) return false;
    return double(n) * n * sizeof(double) <= max_bytes && (problem_.dense || n <= max_n);
  }

  template <class T>
  bool wants(const Rung& rung, Phase phase) const {
    if (!contains_or_empty(options_.phases, to_string(phase)) || is_solver_phase(phase)) return false;
    if (not_timed_here(rung)) return phase == Phase::refactor;  // the row says so
    if (is_pattern_phase(phase)) return is_timed_under(rung, phase) && scalar_of<T>() == Scalar::f64;
    if (phase == Phase::refactor) return rung.facts.refactors;  // else it would be factor() again
    if (phase == Phase::batch || phase == Phase::batch_step)
      return !options_.phases.empty() && has_batch_phase<T>(rung);
    return !is_dense_gpu_rung(rung) || phase == Phase::factor || !options_.phases.empty();
  }

  static bool not_timed_here(const Rung& rung) {
    return rung.facts.device == Device::gpu && simt::machine() == simt::Machine::simulator;
  }

  /// Those that are named, else Solver's own choice, beside KLU.
  void add_solvers(Phase phase) {
    std::vector<Contender> contenders = {klu_contender(problem_), klu_our_order_contender(problem_)};
    const auto on_one_core = [ms = factor_flops(problem_.analysis.filled) / klu_flops_per_ms] {
      return Result<std::string>(reason_to_skip(ms, max_klu_ms));
    };
    for (Contender& klu : contenders) klu.reason_to_skip = on_one_core;
    for (const PeerLibrary& peer : options_.peers) {
      contenders.push_back(peer_contender(peer, problem_));
      if (peer.on_one_core) contenders.back().reason_to_skip = on_one_core;
    }
    std::vector<const Rung*> rungs = {&auto_rung()};
    if (!options_.rungs.empty()) std::ranges::copy(every_rung(), std::back_inserter(rungs));
    for (const Rung* rung : rungs) {
      if (!takes_problem(*rung) || !contains_or_empty(options_.rungs, rung->facts.id)) continue;
      add_solver<double>(*rung, contenders);
      add_solver<float>(*rung, contenders);
    }
    if (contenders.size() == 2) return;
    comparisons_.push_back({.title = fmt::format("{}|{}", problem_.name, to_string(phase)),
                            .cases = solver_cases(contenders, problem_, phase, options_.energy),
                            .sampling = {.min_samples = 11,
                                         .max_samples = 2000,
                                         .budget_s = options_.budget_s * static_cast<double>(contenders.size()),
                                         .slow_ms = 500,
                                         .slow_samples = 2}});
  }
  template <class T>
  void add_solver(const Rung& rung, std::vector<Contender>& contenders) const {
    if (!rung.supports<T>() || !contains_or_empty(options_.precisions, to_string(scalar_of<T>()))) return;
    contenders.push_back(solver_contender<T>(rung, problem_, options_.factor));
    if (not_timed_here(rung)) contenders.back().reason_to_skip = [] { return Result<std::string>(simulated); };
  }

  template <class T>
  void add_rung(const Rung& rung) {
    if (!rung.supports<T>() || !contains_or_empty(options_.precisions, to_string(scalar_of<T>()))) return;
    std::vector<Phase> wanted;
    for (const Phase phase : phases)
      if (wants<T>(rung, phase)) wanted.push_back(phase);
    add_phases<T>(rung, wanted);
  }

  template <class T>
  void add_phases(const Rung& rung, const std::vector<Phase>& wanted) {
    const auto prepared = std::make_shared<Prepared<T>>(
        rung, problem_, RungTimingOptions{.cold = options_.cold, .factor = options_.factor});
    for (const Phase phase : wanted) {
      const Name name{std::string(rung.facts.id), problem_.name, phase, scalar_of<T>()};
      if (std::ranges::any_of(comparisons_, [&](const Comparison& c) { return c.cases[0].rows[0].name == name; }))
        continue;
      comparisons_.push_back({.title = to_string(name),
                              .cases = {case_of<T>(rung, name, prepared)},
                              .sampling = {.min_samples = 2,
                                           .max_samples = 2000,
                                           .budget_s = options_.budget_s,
                                           .slow_ms = 2000,
                                           .slow_samples = 1},
                              .reason_to_skip = not_timed_here(rung) ? simulated : ""});
    }
  }

  template <class T>
  Case case_of(const Rung& rung, const Name& name, std::shared_ptr<Prepared<T>> prepared) {
    if (name.phase == Phase::symbolic && has_symbolic_phase(rung)) return sflu_fill_case(name, problem_);
    if (is_pattern_phase(name.phase)) return host_case(name);
    if (name.phase == Phase::batch) return batch_case<T>(rung, problem_, options_.batch, options_.factor);
    if (name.phase == Phase::batch_step) return batch_step_case<T>(rung, problem_, options_.batch, options_.factor);
    return phase_case<T>(rung, name, std::move(prepared));
  }

  /// Each run compares its result with the analysis.
  Case host_case(const Name& name) const {
    Case c;
    c.rows = {{.name = name}};
    c.run = [&problem = problem_, phase = name.phase](std::uint64_t) {
      return one_time(sample_host_phase(problem, phase));
    };
    return c;
  }

  template <class T>
  Case phase_case(const Rung& rung, const Name& name, std::shared_ptr<Prepared<T>> prepared) const {
    Case c;
    c.rows = {{.name = name}};
    if (is_dense_gpu_rung(rung))
      c.reason_to_skip = [&rung, scalar = name.scalar, n = problem_.a.n_rows,
                          &history = history_]() -> Result<std::string> {
        LULAB_ASSIGN_OR_RETURN(const auto ms, estimate_dense_ms(rung, scalar, n, max_dense_ms, history));
        return reason_to_skip(ms, max_dense_ms);
      };
    c.prepare = [prepared] { return prepared->prepare(); };
    c.run = [prepared, phase = name.phase](std::uint64_t) { return one_time((*prepared)->sample(phase)); };
    c.verify = [prepared, &rung, &constants = constants_](std::span<Row> rows) {
      return verify_phase(**prepared, rung, constants, rows[0]);
    };
    return c;
  }

  template <class T>
  static Status verify_phase(RungTiming<T>& timing, const Rung& rung, const DeviceConstants& constants, Row& row) {
    const Phase phase = row.name.phase;
    LULAB_ASSIGN_OR_RETURN(row.backward_error, timing.verify(phase));
    row.label = timing.label();
    row.peak_bytes = timing.peak_bytes();
    row.threads = timing.threads();
    const Rung& working = timing.working_rung();
    if (&working != &rung) row.chosen_rung = working.facts.id;
    row.choice_reason = timing.choice_reason();
    if (working.facts.device == Device::gpu && (phase == Phase::factor || phase == Phase::refactor)) {
      const Limits limits = timing.limits(constants, working.facts.dependencies);
      row.bound_ms = limits.bound_ms;
      row.bound_by = to_string(limits.bound_by);
    }
    return {};
  }

  const Problem& problem_;
  const SparseOptions& options_;
  const DeviceConstants& constants_;
  CostHistory& history_;
  std::vector<Comparison> comparisons_;
};

}  // namespace

std::vector<Comparison> sparse_comparisons(const Problem& problem, const SparseOptions& options,
                                           const DeviceConstants& constants, CostHistory& history) {
  return SparseComparisons(problem, options, constants, history).all();
}

}  // namespace lulab::bench
