#include "driver/calibration.h"

#include <algorithm>
#include <limits>
#include <new>

#include <fmt/format.h>

#include "core/factorizer.h"
#include "core/matrix/generate.h"
#include "core/simt/device.h"
#include "core/timing.h"
#include "driver/analyze.h"
#include "model/calibrate.h"
#include "model/panel_costs_cpu.h"
#include "sparse_leftlooking/rungs.h"

namespace lulab {
namespace {

constexpr double budget_ms = 1;  // of the samples, but for the first ten
constexpr const char* no_folder = "neither XDG_CACHE_HOME nor HOME names a folder to keep a calibration in";

Status not_measured(const std::string& why) { return Status::error(StatusCode::device_error, "calibration: " + why); }

/// The least time in microseconds, after one run that does not count: what else runs on the machine only adds to it.
/// run() -> Status
template <class Run>
Result<double> least_us(const Run& run) {
  double least_ms = std::numeric_limits<double>::infinity(), sum_ms = 0;
  LULAB_RETURN_IF_ERROR(run());
  for (int count = 0; count < 10 || (sum_ms < budget_ms && count < 100); ++count) {
    const auto start = Clock::now();
    LULAB_RETURN_IF_ERROR(run());
    const double ms = ms_since(start);
    least_ms = std::min(least_ms, ms);
    sum_ms += ms;
  }
  return 1e3 * least_ms;
}

/// Of a refactorization on one core, against its prediction. It stands for steps by flat lists, too: timed alone
/// they stay in the cache, which they do not between the steps of a simulation.
Result<double> compare_core() {
  LULAB_ASSIGN_OR_RETURN(const auto a, generate("sram_array", {.n = 1000, .seed = 1}));
  LULAB_ASSIGN_OR_RETURN(const auto analysis, analyze(a, {.order = Order::amd}));
  auto rung = sparse_leftlooking::threads.make<double>({.threads = 1});
  LULAB_RETURN_IF_ERROR(rung->analyze(analysis));
  LULAB_RETURN_IF_ERROR(rung->upload(a.values));
  LULAB_RETURN_IF_ERROR(rung->factor());
  LULAB_ASSIGN_OR_RETURN(const double us, least_us([&] { return rung->refactor(); }));
  return us / cpu_costs(analysis.filled, 1).predicted_us;
}

/// Of the GPU, against an H200.
Status compare_gpu(MachineSpeed& speed) {
  const auto device = simt::device_properties();
  if (simt::machine() == simt::Machine::simulator || !device.ok()) return {};
  const DeviceConstants h200 = builtin_constants(device->name);
  if (h200.measured && device->sm_count == static_cast<int>(h200.memory.sm_count)) return {};  // a whole one
  LULAB_ASSIGN_OR_RETURN(const auto here, calibrate_for_choice());
  speed.gpu_hops = here.flag_hop_us / h200.flag_hop_us;
  speed.gpu_blocks = h200.memory.sm_count / device->sm_count;
  speed.gpu_multiply_adds = h200.flops_f64_per_s / here.flops_f64_per_s;
  return {};
}

}  // namespace

Result<MachineSpeed> measure_speed() try {
  MachineSpeed speed;
  LULAB_ASSIGN_OR_RETURN(speed.cpu, compare_core());
  LULAB_RETURN_IF_ERROR(compare_gpu(speed));
  if (!is_plausible(speed)) return not_measured("a time is not plausible: " + to_text(speed));
  return speed;
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "calibration: not enough host memory");
}

Calibration find_calibration(const CalibrationPlace& place, const std::string& key, bool may_measure,
                             const MeasureSpeed& measure) {
  if (place.off) return {.source = "shipped constants: LULAB_CALIBRATION=off"};
  Status unread = {};
  if (!place.path.empty()) {
    const auto read = load_speed(place.path, key);
    if (read.ok()) return {*read, true, "read from " + place.path};
    unread = read.status();
  }
  if (!may_measure)
    return {.source = place.path.empty() ? std::string("shipped constants: ").append(no_folder)
                                         : fmt::format("shipped constants: {} ({})", place.path, unread.message)};
  const auto measured = measure();
  if (!measured.ok()) return {.source = "shipped constants: " + measured.status().message};
  std::string source = "measured by this process; ";
  const bool is_a_users = place.is_named && unread.code == StatusCode::parse_error;
  if (place.path.empty())
    source += no_folder;
  else if (is_a_users)
    source += fmt::format("{} holds something else and stays as it is", place.path);
  else if (const Status saved = save_speed(*measured, key, place.path); saved.ok())
    source += "written to " + place.path;
  else
    source += fmt::format("{} {}", place.path, saved.message);
  return {*measured, true, std::move(source)};
}

Calibration MachineCalibration::find(bool may_measure) {
  const std::scoped_lock lock(mutex_);
  if (!known_ || (!known_->is_known && may_measure && !has_measured_)) {
    const std::string key = machine_key();
    known_ = find_calibration(calibration_place(key), key, may_measure);
    has_measured_ = has_measured_ || may_measure;
  }
  return *known_;
}

Result<Calibration> MachineCalibration::renew() {
  const std::scoped_lock lock(mutex_);
  const std::string key = machine_key();
  const CalibrationPlace place = calibration_place(key);
  if (place.off)
    return Status::error(StatusCode::invalid_argument, "LULAB_CALIBRATION=off: unset it to measure this machine");
  if (place.path.empty()) return Status::error(StatusCode::invalid_argument, no_folder);
  if (place.is_named)
    if (Status there = load_speed(place.path, key).status(); there.code == StatusCode::parse_error) return there;
  LULAB_ASSIGN_OR_RETURN(const auto speed, measure_speed());
  LULAB_RETURN_IF_ERROR(save_speed(speed, key, place.path));
  known_ = {speed, true, "measured now; written to " + place.path};
  return *known_;
}

MachineCalibration& machine_calibration() {
  static MachineCalibration of_process;
  return of_process;
}

}  // namespace lulab
