#pragma once
// Finds circuits without an operating point before their matrix turns out singular, and names the device or node.

#include "core/status.h"
#include "examples/transient_circuit/netlist.h"

namespace lulab::examples {

/// Checks that every node has a path for direct current to ground and that no loop consists of voltage sources and
/// inductors. Elimination cannot tell: rounding turns a zero pivot into a tiny one.
///
/// Errors    invalid_argument: the netlist has no device or no node. numerically_singular, naming the node that only
///           capacitors and current sources connect, or the source or inductor that closes a loop of voltage sources
///           and inductors.
Status check_topology(const Netlist& netlist);

}  // namespace lulab::examples
