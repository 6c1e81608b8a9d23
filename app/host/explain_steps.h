#pragma once
// The steps of a trace: what a reader sees at once, in words.

#include <span>
#include <vector>

#include "app/explain.h"
#include "app/host/explain_run.h"
#include "core/simt/host/trace.h"

namespace lulab::app {

/// Joins events of one worker to one end into a step. Steps come in the order in which they ended; `changed` of each
/// says what became of As since the step before, by whatever worker.
///
/// Shapes    is_fill: (nnz(L+U)), start: (nnz(L+U)) As before the run.
/// Cost      O(events · log(events)).
std::vector<ExplainStep> make_steps(const simt::host::Trace& trace, const Explained& algorithm,
                                    const FilledPattern& filled, const std::vector<char>& is_fill,
                                    std::span<const double> start);

}  // namespace lulab::app
