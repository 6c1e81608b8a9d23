#pragma once
// `--rung auto` in the list of rungs to time: no rung, but a name that is resolved for each problem.

#include "core/rung.h"
#include "driver/choose_rung.h"

namespace lulab::bench {

/// Stands in lists of rungs; RungTiming and the batch phase factor with what resolve() returns. It makes no factorizer
/// itself.
const Rung& auto_rung();

/// The rung itself, or for auto_rung() the one that choose_rung() chooses for this pattern.
RungChoice resolve(const Rung& rung, const FilledPattern& filled, const FactorOptions& options,
                   std::int32_t systems = 1);

/// every_rung() and auto_rung by name.   Errors as find_rung_or_auto().
Result<const Rung*> find_timed_rung(std::string_view name);

}  // namespace lulab::bench
