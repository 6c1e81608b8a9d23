#pragma once
// A verification report for people.

#include <string>

#include "verify/report.h"

namespace lulab::app {

/// One line a rung, then the messages.
std::string to_text(const MatrixReport& report);
/// One line a check: what was measured, its limit, passed or failed.
std::string to_text(const Checks& checks);

/// What the program returns for it: 1 when a check failed, else 3 or 4 or 2 when a rung said so, else 0.
int exit_code(const MatrixReport& report);
/// Of several matrices or rungs: a failed check before anything else, then device, input, singular.
int worse(int a, int b);

}  // namespace lulab::app
