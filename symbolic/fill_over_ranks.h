#pragma once
// The pattern of L + U by several ranks: each searches from a share of the columns, on its device.

#include <vector>

#include "core/ranks.h"
#include "symbolic/rungs.h"

namespace lulab {

/// Collective: all ranks call it with the same B and rung. Rank r searches from columns r, r + count, ...; then the
/// sizes of the columns are gathered and summed up to where they begin, and the columns gathered, from device to device
/// and then to every host, so many at a time as the workspace of the searches holds twice, but one at least. No device
/// holds all of L + U, where its workspace is smaller.
///
/// Shapes    B: n x n, sorted rows. A missing diagonal entry is added (it is a pivot).
///           limits: of each rank, they may differ.   work: null, or filled in, an entry a rank.
/// Requires  the rung has a search (make_search).
/// Ensures   every rank has the pattern that one rank finds, entry by entry.
/// Errors    those of fill_sources.h; that of one rank is returned by all (agree).
/// Cost      that of the slowest search; host memory for L + U on every rank.
/// Source    Gaihre et al. 2021, section 5. There chunks of rows go to the nodes in turn, and the rows of a chunk to
///           the devices of its node, so that supernodes are found without a word between nodes. Here columns go to
///           the ranks in turn, which is balanced better (README.md).
Result<FilledPattern> fill_over_ranks(CscPatternView b, const FillRung& rung, const FillLimits& limits, Ranks& ranks,
                                      std::vector<FillWork>* work);

}  // namespace lulab
