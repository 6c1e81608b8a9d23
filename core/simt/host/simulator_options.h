#pragma once

#include "core/simt/device.h"

namespace lulab::simt::host {

/// What the innermost SimulatorScope of this OS thread asks for.
const SimulatorOptions& simulator_options();

}  // namespace lulab::simt::host
