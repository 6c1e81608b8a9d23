#pragma once
// Verification reports as text.

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/command.h"
#include "verify/report.h"

namespace lulab::app {

/// One line per rung, then the messages.   Requires report.status.ok().
std::string to_text(const MatrixReport& report);
/// One line per check: measured value and limit; then the failures.
std::string to_text(const Checks& checks);

/// The exit code of the program for this report: the worst of its rungs.
int exit_code(const MatrixReport& report);
/// Prints the report: a table, or one line of JSON with the members of *more; or its error, once.
/// Returns exit_code(report).
int show(const Context& context, const MatrixReport& report, const nlohmann::json* more = nullptr);

}  // namespace lulab::app
