#pragma once
// Circuits without an operating point, found before any matrix is singular, and said in words of the circuit.

#include "core/status.h"
#include "examples/transient_circuit/netlist.h"

namespace lulab::examples {

/// Has every node a path to ground on which direct current can flow, and no voltage two sources? Elimination alone does
/// not tell: rounding leaves a tiny pivot where a zero belongs.
///
/// Errors    invalid_argument: no device, no node. numerically_singular, naming the node that only capacitors and current
///           sources connect, or the source or inductor that closes a loop of voltage sources and inductors.
Status check_topology(const Netlist& netlist);

}  // namespace lulab::examples
