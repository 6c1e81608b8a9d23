#pragma once

namespace lulab::simt {

/// What the first question to the device of this thread would take, in microseconds: 0 once it was started, by
/// whomever, and in the simulator. Asking does not start it.
double device_start_us();

}  // namespace lulab::simt
