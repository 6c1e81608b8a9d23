#pragma once
// A trace as JSON.

#include <nlohmann/json.hpp>

#include "core/plan.h"
#include "core/simt/host/trace.h"

namespace lulab::app {

/// An array with an object for each event, in the order in which they happened: event, launch (from 1), block, warp,
/// lane, column (from 1), array and element (from 0), row and of_column of an entry of As (from 1), value, before, file
/// and line; `from` of a store are the numbers, from 0, of the events that read what it was computed from.
nlohmann::json events_to_json(const simt::host::Trace& trace, const FilledPattern& filled);

}  // namespace lulab::app
