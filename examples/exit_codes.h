#pragma once
// Exit codes of the example programs: those of lulab.

#include "core/status.h"

namespace lulab::examples {

enum Exit : int { exit_ok = 0, exit_check_failed = 1, exit_bad_input = 2, exit_singular = 3, exit_device = 4 };

/// Of a program that ends with this error.
inline Exit exit_code(const Status& error) {
  switch (error.code) {
    case StatusCode::structurally_singular:
    case StatusCode::numerically_singular:
    case StatusCode::needs_repivot: return exit_singular;
    case StatusCode::out_of_memory:
    case StatusCode::device_error:
    case StatusCode::deadlock:
    case StatusCode::data_race: return exit_device;
    default: return exit_bad_input;
  }
}

}  // namespace lulab::examples
