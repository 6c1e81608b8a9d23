#pragma once
// Reads netlists in a small subset of SPICE's format.
//
//     * a comment; also after ;
//     R1 in out 1k            C1 out 0 100n           L1 a b 10u
//     V1 in 0 5               V1 in 0 SIN(0 10 50 [delay])
//     I1 0 out 1m             V1 in 0 PULSE(low high [delay rise fall width period])
//     D1 out 0 [IS=1e-14] [N=1]
//
// Upper and lower case are equal. Numbers may have SPICE's factors f p n u m k meg g t and a unit, which is ignored.

#include <string>
#include <string_view>

#include "core/status.h"
#include "examples/transient_circuit/netlist.h"

namespace lulab::examples {

/// name: how messages call the text.
/// Errors    parse_error with file and line: unknown device, wrong number of arguments, not a number, a value that must
///           be positive, a device defined twice.
Result<Netlist> parse_netlist(std::string_view text, std::string name = "netlist");

/// Errors    as above; invalid_argument when the file cannot be read.
Result<Netlist> read_netlist(const std::string& path);

/// "1k" -> 1000, "10u" -> 1e-5, "2.2kOhm" -> 2200.   Errors  parse_error.
Result<double> parse_number(std::string_view text);

}  // namespace lulab::examples
