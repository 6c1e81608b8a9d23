#pragma once
// The rung where none is named: CPU or GPU, by the predicted time of a step: new values and b to x.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/plan.h"
#include "core/rung.h"
#include "core/simt/device_start.h"
#include "core/status.h"
#include "model/machine_speed.h"
#include "model/panel_costs.h"
#include "model/panel_costs_cpu.h"

namespace lulab {

struct FillEstimate;  // preprocess/ordering.h

constexpr double default_expected_steps = 1000;

/// What is to be factored, beside the pattern.
struct Workload {
  std::int32_t systems = 1;                        // of one pattern, factored together
  double expected_steps = default_expected_steps;  // that share what is done once a pattern; at least 1
  std::int64_t scalars_on_device = 0;              // values, b and x of a step that are in device memory: all, or 0
  double gpu_start_us = simt::device_start_us();   // what starting the GPU takes; 0: it was started
};

/// Which rung, and why.
struct RungChoice {
  const Rung* rung = nullptr;
  std::string reason = {};  // one sentence; empty: the caller named the rung
};

/// What the choice rests on.
struct Prospects {
  /// A step: refactor() and solve() of Solver, from and to where its values, b and x are; at least so long where
  /// cpu_takes_longer.
  double cpu_us = 0;
  double gpu_us = 0;        // likewise; at least so long where gpu_takes_longer
  double gpu_setup_us = 0;  // once a pattern: device memory and what the kernels want to know
  double gpu_start_us = 0;  // of it: starting the GPU
  std::string no_gpu = {};  // why there is none; empty: there is one, or gpu_takes_longer and nobody asked
  bool by_fronts = false;   // gpu_us is that of 12_multifrontal, not of 11_fan_in
  bool gpu_takes_longer = false;
  bool cpu_takes_longer = false;  // gpu_plainly_wins(): nobody predicted by how much
};

/// What is known already of a pattern.
struct KnownCosts {
  std::optional<PanelCosts> gpu = {};
  std::optional<CpuCosts> cpu = {};  // on any number of cores
  bool fronts = false;               // Analysis::fronts: 12_multifrontal is soon prepared
};

/// May the GPU be the shortest way to a first answer, were it to factor in no time and the CPU on one core?
/// Ensures   starting the GPU counts, unless it was started.   Cost O(1).
bool gpu_may_answer_first(const FillEstimate& estimate);

/// On the GPU, for all steps: is 12_multifrontal the faster one, not 11_fan_in?   nnz: of L + U
bool prefers_fronts(std::int64_t nnz, const std::optional<PanelCosts>& costs);

/// Is one step on the GPU, with preparing it, predicted to take less than two thirds of what the CPU takes at least:
/// the multiply-adds of a factorization on all cores of this machine, and a pass over the entries? Then nobody needs
/// cpu_costs(), which read all of a large pattern: without them and without levels G3_circuit's first answer takes
/// 2.5 s instead of 2.7 (H200, 16 cores).
///
/// nnz: of L + U   known: of that pattern; without KnownCosts::gpu nobody says so   threads: as of prospects()
/// Cost      O(1).
bool gpu_plainly_wins(std::int64_t nnz, const KnownCosts& known, int threads = 0);

/// Predictions from the pattern (model/panel_costs.h, panel_costs_cpu.h) for a machine of this speed, and whether a GPU
/// answers, unless gpu_takes_longer: asking starts it. The simulator is no GPU.
///
/// threads: FactorOptions::threads; 0: the cores of this machine.
/// known: panel_costs(filled) and cpu_costs(filled, any number), where the caller has them
/// work: for up to steps_before_lists of expected_steps Solver makes no flat lists
/// Ensures   gpu_takes_longer where what the GPU needs for any pattern of this size is more than cpu_us already, or
///           where all steps on the CPU take no longer than starting the GPU would. Then nobody asks it.
/// Cost      that of cpu_costs(), unless gpu_plainly_wins(), and of panel_costs(), unless gpu_takes_longer, where they
///           are not known.
Prospects prospects(const FilledPattern& filled, int threads, const Workload& work, const KnownCosts& known,
                    const MachineSpeed& speed);
/// For this machine (driver/calibration.h). Where the choice is not in doubt the shipped constants do.
Prospects prospects(const FilledPattern& filled, int threads, const Workload& work = {}, const KnownCosts& known = {});

/// May the choice turn on how fast this machine is? Not without a GPU.   p: with the shipped constants
bool is_in_doubt(const Prospects& p, double expected_steps);
/// Likewise; and does measuring take at most a tenth of what all steps are predicted to take?
bool measuring_pays(const Prospects& p, double expected_steps);

/// Chooses between one rung on the CPU and one on the GPU.
class RungChooser {
 public:
  using Predict = Prospects (*)(const FilledPattern& filled, int threads, const Workload& work,
                                const KnownCosts& known);

  /// sparse_leftlooking/07_threads, and sparse_syncfree/11_fan_in or, where prefers_fronts(), and for a first answer
  /// where fronts are known, 12_multifrontal.
  explicit RungChooser(Predict predict = prospects);
  RungChooser(const Rung& cpu, const Rung& gpu, Predict predict = prospects)
      : cpu_(&cpu), gpu_(&gpu), gpu_by_fronts_(&gpu), predict_(predict) {}

  /// Does a candidate know each option, with a value in its range? Those of the one that is not chosen are no error.
  /// Errors    invalid_argument: an option that neither has; those of check_options().
  Status check_options(const FactorOptions& options) const;
  /// The GPU where there is one and it is predicted to be faster; whatever the pattern for a batch, whose systems fill
  /// it that alone would not. The reason names both times.
  /// known: as of prospects()
  RungChoice choose(const FilledPattern& filled, const FactorOptions& options, const Workload& work = {},
                    const KnownCosts& known = {}) const;
  /// Where a first answer is to come first: after how many steps these have taken as long as preparing for all of them
  /// would, in another order and, where it may be the faster one, on the GPU; twice as long where the GPU answers:
  /// another order or rung is reckoned to save half of a step there. 0: that is the shortest way to the first answer,
  /// too, or there is nothing to prepare.
  ///
  /// put_off_us: what choosing another order takes   Ensures   finite.
  double steps_before_preparing(const FilledPattern& filled, const FactorOptions& options, double expected_steps,
                                const KnownCosts& known, double put_off_us) const;
  /// After `chosen` failed to prepare: the CPU, where it was the GPU that failed for want of memory or with a device
  /// error.
  /// rung = nullptr: nothing else to try.
  RungChoice fall_back(const RungChoice& chosen, const Status& failed) const;

  /// Can it choose a rung on the GPU?
  bool may_choose_gpu() const { return gpu_->facts.device == Device::gpu; }

 private:
  const Rung *cpu_, *gpu_, *gpu_by_fronts_;
  Predict predict_;
};

/// Before a factorizer is made: which rung is the fastest for this pattern on this machine, and why.
RungChoice choose_rung(const FilledPattern& filled, const FactorOptions& options, std::int32_t systems = 1);

/// find_rung(), or nullptr for "auto" and "": choose_rung() chooses once the pattern is known.
Result<const Rung*> find_rung_or_auto(std::span<const Rung* const> rungs, std::string_view name);

}  // namespace lulab
