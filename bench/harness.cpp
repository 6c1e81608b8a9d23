#include "bench/harness.h"

#include <algorithm>
#include <utility>

namespace lulab::bench {
namespace {

/// A case at work.
class RunningCase {
 public:
  explicit RunningCase(Case& measured) : case_(measured), times_(measured.rows.size() + measured.parts.size()) {}

  void check_cost() {
    if (!case_.reason_to_skip) return;
    const auto why = case_.reason_to_skip();
    if (!why.ok() || !why->empty()) stop(why.ok() ? *why : why.status().to_string());
  }
  void prepare() {
    if (goes_on_ && case_.prepare) stop_unless(case_.prepare());
  }
  void first_run(std::uint64_t seed, const Sampling& sampling) {
    const double ms = run(seed);
    slow_ = goes_on_ && ms > sampling.slow_ms;
    if (slow_) take_sample(sampling.slow_samples);
  }
  double warm_up(std::uint64_t seed) { return slow_ ? 0 : run(seed); }
  double sample(std::uint64_t seed, const Sampling& sampling, bool last_round) {
    const double ms = run(seed);
    if (goes_on_) take_sample(slow_ ? sampling.slow_samples : last_round ? 1 : sampling.max_samples + 1);
    return ms;
  }
  bool goes_on() const { return goes_on_; }

 private:
  void stop(const std::string& error) {
    for (Row& row : case_.rows) row.error = error;
    goes_on_ = false;
  }
  void stop_unless(const Status& status) {
    if (!status.ok()) stop(status.to_string());
  }

  double run(std::uint64_t seed) {
    if (!goes_on_) return 0;
    auto times = case_.run(seed);
    stop_unless(times.status());
    if (!goes_on_) return 0;
    if (times->empty()) return verify(), 0;
    last_ = std::move(*times);
    return *std::ranges::max_element(last_);
  }

  void take_sample(int enough) {
    for (std::size_t k = 0; k < times_.size(); ++k) times_[k].push_back(last_[k]);
    if (static_cast<int>(times_[0].size()) < enough) return;
    const std::size_t n_rows = case_.rows.size();
    for (std::size_t k = 0; k < n_rows; ++k) set_times(case_.rows[k], std::move(times_[k]));
    for (std::size_t k = 0; k < case_.parts.size(); ++k)
      case_.rows[0].parts.push_back({case_.parts[k], median(std::move(times_[n_rows + k]))});
    verify();
  }

  void verify() {
    goes_on_ = false;
    if (case_.verify) stop_unless(case_.verify(case_.rows));
    for (Row& row : case_.rows)
      if (!row.error.empty()) row = {.name = row.name, .error = row.error, .flops = row.flops};
  }

  Case& case_;
  std::vector<Times> times_;  // for each row, then for each part
  Times last_;
  bool goes_on_ = true, slow_ = false;
};

}  // namespace

Result<Times> one_time(const Result<double>& ms) {
  if (!ms.ok()) return ms.status();
  return Times{*ms};
}

std::vector<Row> measure(Comparison& comparison) {
  const Sampling& sampling = comparison.sampling;
  std::vector<RunningCase> running(comparison.cases.begin(), comparison.cases.end());
  const auto any_goes_on = [&] { return std::ranges::any_of(running, &RunningCase::goes_on); };
  if (!comparison.reason_to_skip.empty()) {
    for (Case& c : comparison.cases)
      for (Row& row : c.rows) row.error = comparison.reason_to_skip;
    running.clear();
  }
  for (RunningCase& r : running) r.check_cost();
  for (RunningCase& r : running) r.prepare();

  std::uint64_t seed = 1;
  for (RunningCase& r : running) r.first_run(seed, sampling);
  const auto round = [&](std::size_t first, auto&& one_run) {
    ++seed;
    double ms = 0;
    for (std::size_t k = 0; k < running.size(); ++k) ms += one_run(running[(first + k) % running.size()]);
    return ms;
  };
  double warm_ms = 0;
  for (int k = 0; k < sampling.max_samples / 10 && warm_ms < 100 * sampling.budget_s && any_goes_on(); ++k)
    warm_ms += round(0, [&](RunningCase& r) { return r.warm_up(seed); });

  double sampled_ms = 0;
  for (int k = 1; any_goes_on(); ++k) {
    const bool enough = k >= sampling.min_samples && sampled_ms >= 1000 * sampling.budget_s;
    const bool last = enough || k >= sampling.max_samples;
    sampled_ms += round(k, [&](RunningCase& r) { return r.sample(seed, sampling, last); });
    if (last) break;
  }

  std::vector<Row> rows;
  for (Case& c : comparison.cases) rows.insert(rows.end(), c.rows.begin(), c.rows.end());
  return rows;
}

}  // namespace lulab::bench
