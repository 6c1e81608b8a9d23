#pragma once
// Which accesses of a trace have no order.

#include <cstdint>
#include <span>
#include <vector>

#include "core/simt/host/trace.h"

namespace lulab::app {

/// The number of the worker (a block, or a warp) that an event belongs to.
inline std::int64_t worker_of(const simt::host::TraceEvent& event, bool column_by_warp) {
  return column_by_warp ? event.block * 32 + event.warp : event.block;
}

/// Two accesses to one element of As by two workers of one launch, one of them a store and not both atomic, that no
/// release and acquire order. Events by number, in the order in which they happened.
struct ObservedRace {
  std::int32_t first, second;
};

/// The races of a trace, one for each element and pair of columns. A worker is taken to order its own threads: races
/// inside a block are ThreadSanitizer's (preset sim-tsan).
///
/// as: the number of the array As in Trace::arrays().
/// Cost      O(events x workers).
/// Source    vector clocks: Fidge 1988, Mattern 1989; release and acquire as in C++ [intro.races], without fences.
std::vector<ObservedRace> find_races(std::span<const simt::host::TraceEvent> events, int as, bool column_by_warp);

}  // namespace lulab::app
