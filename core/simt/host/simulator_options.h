#pragma once

#include "core/simt/device.h"

namespace lulab::simt::host {

/// What the innermost SimulatorScope of this OS thread asks for.
const SimulatorOptions& simulator_options();
/// The same, remembered as the options of the last launch.
const SimulatorOptions& options_of_launch();

}  // namespace lulab::simt::host
