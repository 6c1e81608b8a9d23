#include "driver/choose_rung.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/simt/device.h"
#include "driver/calibration.h"
#include "driver/flat_lists.h"
#include "model/panel_costs_cpu.h"
#include "preprocess/ordering.h"
#include "sparse_leftlooking/rungs.h"
#include "sparse_syncfree/options.h"
#include "sparse_syncfree/rungs.h"

namespace lulab {
namespace {

// What a step takes beside the refactorization: values, b and x from and to the host, the pivot check, one solve and
// its residual. Fitted to steps on an H200, within a factor of 1.8.
constexpr double gpu_step_us = 48, gpu_step_us_an_entry = 2e-4, cpu_step_us_an_entry = 9e-3;
constexpr double gpu_step_on_device_us = 25;
// The first factorization on the GPU, and what the second one prepares for fast solves, by 11 (H200): rajat19 3.8 ms,
// memplus 6, 13659pegase 10, hykkt 24. Large ones: af23560 and G3_circuit in peers.json there.
constexpr double gpu_setup_us = 3000, gpu_setup_us_an_entry = 0.018, gpu_setup_us_by_fronts = 0.002;
// From device memory to the CPU and back: step_device less step by 07_threads, within a factor of two of
// bench/results/nvidia-h200/step_rungs.json for circuits.
constexpr double to_cpu_us = 20, to_cpu_us_a_scalar = 4.5e-3;

int cores(int threads) {
  return threads > 0 ? threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// Without flat lists.
double cpu_step_us(const FilledPattern& filled, int threads, const std::optional<CpuCosts>& known) {
  CpuCosts costs =
      on_cores(known ? *known : cpu_costs(filled, 1), threads > 0 ? threads : std::numeric_limits<int>::max());
  if (threads == 0 && costs.threads > 1)  // asks the system, which takes long, only where it matters
    costs = on_cores(costs, cores(threads));
  return costs.predicted_us + cpu_step_us_an_entry * static_cast<double>(filled.nnz());
}

std::string why_no_gpu_in_this_build() {
  return simt::machine() == simt::Machine::simulator ? "this build has no GPU, only its simulator" : "";
}

/// The first question to the GPU starts it, some 0.2 s.
std::string why_no_gpu() {
  if (std::string why = why_no_gpu_in_this_build(); !why.empty()) return why;
  const auto device = simt::device_properties();
  return device.ok() ? "" : "no GPU answers (" + device.status().message + ")";
}

std::string predicted(const Rung& rung, double us, bool at_least = false) {
  return fmt::format("{}{:.3g} ms by {}", at_least ? "at least " : "", 1e-3 * us, rung.facts.id);
}

// Predictions within this factor of each other may turn on another machine.
constexpr double doubtful_ratio = 4;

/// May the GPU win, were its own steps to take no time?
bool starting_pays(const Prospects& p, const Workload& work) {
  return work.expected_steps * p.cpu_us > work.gpu_start_us;
}

/// On the GPU: by 12. Where fronts are found it is prepared sooner than 11, whose steps are shorter
/// where L and U are small.
bool takes_fronts(std::int64_t nnz, double steps, const KnownCosts& known) {
  return prefers_fronts(nnz, known.gpu) || (steps <= 1 && known.fronts);
}

double setup_us(double entries, bool by_fronts) {
  return gpu_setup_us + entries * (by_fronts ? gpu_setup_us_by_fronts : gpu_setup_us_an_entry);
}

/// Of a step on the GPU, by 11 or another order, which is not known yet.
constexpr double share_gained = 0.5;

/// A first step on the GPU, with preparing and starting it, but for its factorization.
double gpu_first_us(double entries, bool by_fronts) {
  return gpu_step_us + gpu_step_us_an_entry * entries + setup_us(entries, by_fronts) + simt::device_start_us();
}

/// Of a step on so many cores, the multiply-adds and a pass over the entries.
double cpu_work_us(double entries, double multiply_adds, int count) {
  return multiply_adds_us(multiply_adds, count) + cpu_step_us_an_entry * entries;
}

/// Whether prefers_fronts() may say yes where no PanelCosts are known.   cpu_us: what a step takes there
bool may_prefer_fronts(double entries, double cpu_us, int threads) {
  constexpr double many = sparse_syncfree::max_fan_in_multiply_adds;
  return entries * std::sqrt(entries) / 2 > many  // of dense triangles 1/3
         && cpu_us > cpu_work_us(entries, many, cores(threads));
}

/// What a step on the CPU takes at least, where the GPU plainly wins.
std::optional<double> least_cpu_step_us(std::int64_t nnz, const KnownCosts& known, int threads) {
  if (!known.gpu) return std::nullopt;
  const auto entries = static_cast<double>(nnz);
  const bool by_fronts = takes_fronts(nnz, 1, known);
  const double gpu_us =
      gpu_first_us(entries, by_fronts) + (by_fronts ? multifrontal_us(*known.gpu, {}) : fan_in_us(*known.gpu, {}));
  constexpr double plain_ratio = 1.5;
  const double least = 0.8 * known.gpu->multiply_adds;  // the rest may be of zeros in the panels
  if (cpu_work_us(entries, least, 1) <= plain_ratio * gpu_us) return std::nullopt;  // without asking for the cores
  const double least_us = cpu_work_us(entries, least, cores(threads));
  return least_us > plain_ratio * gpu_us ? std::optional(least_us) : std::nullopt;
}

/// Of a pattern, for machines of several speeds.
class Predictions {
 public:
  Predictions(const FilledPattern& filled, int threads, const Workload& work, const KnownCosts& known)
      : filled_(filled), entries_(static_cast<double>(filled.nnz())), work_(work), known_(known) {
    if (work.scalars_on_device > 0) {
      to_cpu_us_ = to_cpu_us + to_cpu_us_a_scalar * static_cast<double>(work.scalars_on_device);
      gpu_step_us_ = gpu_step_on_device_us;
    }
    if (threads <= 1 && work.expected_steps > steps_before_lists) lists_us_ = flat_step_us(filled);
    if (!known.cpu && !lists_us_ && why_no_gpu_in_this_build().empty())
      least_us_ = least_cpu_step_us(filled.nnz(), known, threads);
    if (least_us_ && !why_no_gpu().empty()) least_us_.reset();
    if (!lists_us_) columns_us_ = least_us_ ? *least_us_ : cpu_step_us(filled, threads, known.cpu);
    may_be_by_fronts_ = !known.gpu && may_prefer_fronts(entries_, columns_us_, threads);
  }

  Prospects at(const MachineSpeed& speed) {
    Prospects p = {.cpu_us = to_cpu_us_ + speed.cpu * (lists_us_ ? *lists_us_ : columns_us_),
                   .gpu_us = gpu_step_us_ + gpu_step_us_an_entry * entries_,
                   .gpu_setup_us = setup_us(entries_, by_fronts() || may_be_by_fronts_),
                   .no_gpu = why_no_gpu_in_this_build(),
                   .cpu_takes_longer = least_us_.has_value()};
    if (!starting_pays(p, work_)) p.gpu_start_us = work_.gpu_start_us;
    p.gpu_setup_us += p.gpu_start_us;
    p.gpu_takes_longer = p.gpu_us + p.gpu_setup_us / work_.expected_steps > p.cpu_us;
    p.by_fronts = by_fronts();
    if (p.gpu_takes_longer) return p;
    p.no_gpu = why_no_gpu();
    if (!known_.gpu) known_.gpu = panel_costs(filled_);
    p.by_fronts = by_fronts();
    p.gpu_setup_us = setup_us(entries_, p.by_fronts) + p.gpu_start_us;
    p.gpu_us += p.by_fronts ? multifrontal_us(*known_.gpu, speed) : fan_in_us(*known_.gpu, speed);
    return p;
  }

 private:
  bool by_fronts() const { return takes_fronts(filled_.nnz(), work_.expected_steps * work_.systems, known_); }

  const FilledPattern& filled_;
  const double entries_;
  const Workload work_;
  KnownCosts known_;
  std::optional<double> lists_us_, least_us_;
  double columns_us_ = 0, to_cpu_us_ = 0, gpu_step_us_ = gpu_step_us;
  bool may_be_by_fronts_ = false;
};

}  // namespace

Prospects prospects(const FilledPattern& filled, int threads, const Workload& work, const KnownCosts& known,
                    const MachineSpeed& speed) {
  return Predictions(filled, threads, work, known).at(speed);
}

Prospects prospects(const FilledPattern& filled, int threads, const Workload& work, const KnownCosts& known) {
  Predictions predictions(filled, threads, work, known);
  Prospects shipped = predictions.at({});
  if (!starting_pays(shipped, work) || !is_in_doubt(shipped, work.expected_steps)) return shipped;
  if (shipped.no_gpu = why_no_gpu(); !shipped.no_gpu.empty()) return shipped;
  const Calibration calibration = machine_calibration().find(measuring_pays(shipped, work.expected_steps));
  return calibration.is_known ? predictions.at(calibration.speed) : shipped;
}

bool gpu_may_answer_first(const FillEstimate& estimate) {
  return cpu_work_us(estimate.entries, estimate.multiply_adds, 1) > gpu_first_us(estimate.entries, true);
}

bool prefers_fronts(std::int64_t nnz, const std::optional<PanelCosts>& costs) {
  return nnz > sparse_syncfree::max_fan_in_entries ||
         (costs && costs->multiply_adds > sparse_syncfree::max_fan_in_multiply_adds);
}

bool gpu_plainly_wins(std::int64_t nnz, const KnownCosts& known, int threads) {
  return least_cpu_step_us(nnz, known, threads).has_value();
}

bool is_in_doubt(const Prospects& p, double expected_steps) {
  const auto [faster_us, slower_us] = std::minmax({p.cpu_us, p.gpu_us + p.gpu_setup_us / expected_steps});
  return p.no_gpu.empty() && slower_us <= doubtful_ratio * faster_us;
}

bool measuring_pays(const Prospects& p, double expected_steps) {
  const double faster_us = std::min(p.cpu_us, p.gpu_us + p.gpu_setup_us / expected_steps);
  return is_in_doubt(p, expected_steps) && expected_steps * faster_us >= 10 * measure_speed_us;
}

RungChooser::RungChooser(Predict predict) : RungChooser(sparse_leftlooking::threads, sparse_syncfree::fan_in, predict) {
  gpu_by_fronts_ = &sparse_syncfree::multifrontal;
}

Status RungChooser::check_options(const FactorOptions& options) const {
  std::vector<RungOption> known;
  for (const Rung* rung : {cpu_, gpu_, gpu_by_fronts_})
    known.insert(known.end(), rung->facts.options.begin(), rung->facts.options.end());
  return lulab::check_options(options, "auto", known);
}

RungChoice RungChooser::choose(const FilledPattern& filled, const FactorOptions& options, const Workload& work,
                               const KnownCosts& known) const {
  Prospects p = predict_(filled, options.threads, work, known);
  p.gpu_us += p.gpu_setup_us / work.expected_steps;
  if (work.systems > 1 && p.gpu_takes_longer && simt::machine() == simt::Machine::gpu) p.no_gpu = why_no_gpu();
  const bool by_fronts = p.by_fronts || takes_fronts(filled.nnz(), work.expected_steps * work.systems, known);
  const Rung& on_gpu = by_fronts ? *gpu_by_fronts_ : *gpu_;
  const std::string cpu = predicted(*cpu_, p.cpu_us, p.cpu_takes_longer),
                    gpu = predicted(on_gpu, p.gpu_us, p.gpu_takes_longer);
  if (!p.no_gpu.empty())
    return {cpu_, fmt::format("{}; a step is predicted to take {}, on an H200 {}", p.no_gpu, cpu, gpu)};
  if (work.systems > 1)
    return {&on_gpu,
            fmt::format("{} systems fill the GPU; alone, a step is predicted to take {}, {}", work.systems, gpu, cpu)};
  const bool gpu_wins = p.gpu_us < p.cpu_us;
  return {
      gpu_wins ? &on_gpu : cpu_,
      fmt::format("a {}step{} is predicted to take {}, {}", work.expected_steps <= 1 ? "first " : "",
                  work.scalars_on_device > 0 ? " in device memory" : "", gpu_wins ? gpu : cpu, gpu_wins ? cpu : gpu)};
}

double RungChooser::steps_before_preparing(const FilledPattern& filled, const FactorOptions& options,
                                           double expected_steps, const KnownCosts& known, double put_off_us) const {
  const Prospects p = predict_(filled, options.threads, {.expected_steps = 1}, known);
  if (!(p.cpu_us > 0 && p.gpu_us > 0)) return 0;
  const std::int64_t nnz = filled.nnz();
  const auto entries = static_cast<double>(nnz);
  const bool by_fronts = p.by_fronts || takes_fronts(nnz, 1, known);
  // Where no fronts are known, 12 is not there for the first answer alone.
  const bool by_fronts_later = takes_fronts(nnz, expected_steps, known) || (by_fronts && !known.fronts);
  const bool stays = by_fronts == by_fronts_later;
  const double tables_us = by_fronts_later ? 0 : setup_us(entries, false);  // of 11
  if (p.no_gpu.empty() && p.gpu_us + p.gpu_setup_us < p.cpu_us)
    return stays && put_off_us == 0 ? 0 : (put_off_us + tables_us) / (share_gained * p.gpu_us);
  const double setup = p.gpu_setup_us + (stays ? 0 : tables_us - setup_us(entries, true));
  // As choose() for all steps has it, which leaves out what starting the GPU takes where many steps pay for that.
  const double once_us = setup - (expected_steps * p.cpu_us > p.gpu_start_us ? p.gpu_start_us : 0);
  const bool gpu_may_win = p.no_gpu.empty() && p.gpu_us + once_us / expected_steps < p.cpu_us;
  return (put_off_us + (gpu_may_win ? setup : 0)) / p.cpu_us;
}

RungChoice RungChooser::fall_back(const RungChoice& chosen, const Status& failed) const {
  const bool no_room = failed.code == StatusCode::out_of_memory || failed.code == StatusCode::device_error;
  if (!no_room || chosen.rung == cpu_) return {};
  return {cpu_, fmt::format("{} could not be prepared ({}), although {}", chosen.rung->facts.id, failed.message,
                            chosen.reason)};
}

RungChoice choose_rung(const FilledPattern& filled, const FactorOptions& options, std::int32_t systems) {
  return RungChooser().choose(filled, options, {.systems = systems});
}

Result<const Rung*> find_rung_or_auto(std::span<const Rung* const> rungs, std::string_view name) {
  if (name.empty() || name == "auto") return static_cast<const Rung*>(nullptr);
  auto found = find_rung(rungs, name);
  if (found.ok() || found.status().code != StatusCode::invalid_argument) return found;
  Status unknown = found.status();
  unknown.message += "\n  auto: the one that is predicted to be the fastest";
  return unknown;
}

}  // namespace lulab
