#pragma once
// Reads the case files of MATPOWER: mpc.baseMVA, mpc.bus, mpc.gen and mpc.branch as plain tables.
// Source: Zimmerman et al. 2011, MATPOWER's manual, appendix B (the columns).

#include <string>
#include <string_view>

#include "core/status.h"
#include "examples/power_flow/network.h"

namespace lulab::examples::power_flow {

/// Elements that are out of service are left out, and with them branches to isolated buses.
///
/// file: how messages call the text.
/// Errors    parse_error with file, line and column: those of read_tables(); a table that is missing or has too few
///           columns; a value that must be finite or whole; a type other than 1 to 4; a bus defined twice; a generator
///           or branch at a bus that is not there.
Result<Network> parse_case(std::string_view text, const std::string& file = "case");

/// Errors    as above; invalid_argument when the file cannot be read.
Result<Network> read_case(const std::string& path);

}  // namespace lulab::examples::power_flow
