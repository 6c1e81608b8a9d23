#pragma once
// What `auto` knows of this machine: measured once, then read from a file.

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "core/status.h"
#include "model/machine_speed.h"

namespace lulab {

/// Measures this machine: a refactorization of a made-up circuit on one core; of a GPU that is no
/// H200 a chain of hops and multiply-adds. In the simulator the factors of a GPU stay 1.
///
/// Errors    device_error (a result was wrong, or a time is not plausible), out_of_memory.
/// Cost      about 5 ms; some ms more on a GPU.
Result<MachineSpeed> measure_speed();
constexpr double measure_speed_us = 5000;

/// A speed, and where it comes from.
struct Calibration {
  MachineSpeed speed = {};
  bool is_known = false;    // read or measured; else the shipped constants
  std::string source = {};  // one sentence
};

using MeasureSpeed = std::function<Result<MachineSpeed>()>;

/// The file, where it holds a calibration of this machine; else, where may_measure, what `measure` gives, which is
/// written to the file; else the shipped constants.
///
/// A file in the cache folder that is broken or of another machine is replaced. One that LULAB_CALIBRATION names is
/// only where lulab wrote it. A file that cannot be written is no error: the source says so.
Calibration find_calibration(const CalibrationPlace& place, const std::string& key, bool may_measure,
                             const MeasureSpeed& measure = measure_speed);

/// The same for this machine, once for the object: a later call measures only where no earlier one did. Threads may
/// call it at the same time; one of them measures.
class MachineCalibration {
 public:
  Calibration find(bool may_measure);
  /// Measures again and replaces the file.   Errors as measure_speed() and save_speed(); invalid_argument:
  /// LULAB_CALIBRATION=off, or names a file that lulab did not write, or there is no folder to write to.
  Result<Calibration> renew();

 private:
  std::mutex mutex_;  // of what follows
  std::optional<Calibration> known_;
  bool has_measured_ = false;  // or tried to
};

/// That of the process.
MachineCalibration& machine_calibration();

}  // namespace lulab
