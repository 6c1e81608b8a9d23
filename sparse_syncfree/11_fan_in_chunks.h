#pragma once
// The chunks of 11_fan_in. Those of a solve (symbolic/chunks.h) bound columns alone; here what a chunk has to multiply
// and the size of its front count too.

#include "sparse_syncfree/11_fan_in_plan.h"
#include "symbolic/chunks.h"
#include "symbolic/rows_of_l.h"
#include "symbolic/rows_of_u.h"

namespace lulab::sparse_syncfree {

/// A column joins the chunks of all columns it needs in their highest layer, within the limits of the options; then
/// small chunks of one layer become one, so that a chunk need not hang together.
///
/// Requires  a valid FilledPattern; u: its U by rows.
/// Cost      nearly O(n + nnz).
Chunks find_fan_in_chunks(const FilledPattern& filled, const RowsOfL& l, const RowsOfU& u, const FanInOptions& options);

}  // namespace lulab::sparse_syncfree
