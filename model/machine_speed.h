#pragma once
// How this machine compares with those that the predictions were fitted to, and the file in which that is kept.

#include <string>

#include "core/status.h"

namespace lulab {

/// Times here divided by those on the machines of the fits (bench/results/nvidia-h200): 1, as shipped; 2: half as fast.
struct MachineSpeed {
  double cpu = 1;                // sparse_leftlooking/07_threads on one core, against cpu_costs()
  double gpu_hops = 1;           // from block to block through a flag, against an H200
  double gpu_blocks = 1;         // what all blocks share: as many multiprocessors as an H200 has, over those here
  double gpu_multiply_adds = 1;  // in double, outside tensor cores, against an H200

  bool operator==(const MachineSpeed&) const = default;
};

/// "model name" of /proc/cpuinfo, or "unknown".
std::string cpu_model();

/// What a calibration belongs to, in one line: its format, the CPU, the GPU (or simulator), its compute capability and
/// driver.
std::string machine_key();

/// Where the calibration of this machine is kept.
struct CalibrationPlace {
  bool off = false;       // LULAB_CALIBRATION=off: the shipped constants, whatever there is
  bool is_named = false;  // LULAB_CALIBRATION is a path
  std::string path = {};  // empty: nowhere
};

/// LULAB_CALIBRATION where it is set; else lulab/calibration-<hash of the key>.json in $XDG_CACHE_HOME or
/// $HOME/.cache; a relative one of these two does not count.
CalibrationPlace calibration_place(const std::string& key);

/// Errors    invalid_argument: there is no such file, or it cannot be read. parse_error: it is no calibration.
///           not_implemented: one of another machine or format.
///           where.file = path.
Result<MachineSpeed> load_speed(const std::string& path, const std::string& key);
/// Makes the folder where there is none. Readers see the old file or the whole new one; of several writers the last
/// one wins.   Errors invalid_argument with the system's reason.
Status save_speed(const MachineSpeed& speed, const std::string& key, const std::string& path);

/// Is each factor one that a machine can have? Others come from a broken file or clock.
bool is_plausible(const MachineSpeed& speed);

/// One line: each factor that is not 1.
std::string to_text(const MachineSpeed& speed);

}  // namespace lulab
