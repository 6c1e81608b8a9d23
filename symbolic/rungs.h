#pragma once
// The ladder of this room: the ways to find the pattern of L + U, as rungs.def lists them.

#include <memory>
#include <span>
#include <string_view>

#include "core/plan.h"
#include "core/rung.h"
#include "symbolic/fill_limits.h"

namespace lulab {

class SourceSearch;

struct FillRung {
  std::string_view id;     // "symbolic/05_gsofa"; stable
  std::string_view paper;  // source
  std::string_view idea;   // one sentence
  Device device;
  bool is_fast = false;  // its work is near the size of the result, or little for each of n² / 32 words
  /// The pattern of L + U of B, all pivots on the diagonal: what fill_reference(b) gives, entry by entry.
  /// Errors    those of symbolic/fill.h, and of fill_sources.h on the device.
  Result<FilledPattern> (*fill)(CscPatternView b, const FillLimits& limits, FillWork* work);
  /// The search of fill_sources.h, for fill_over_ranks(); null: the rung does not search from each column on its own.
  Result<std::unique_ptr<SourceSearch>> (*make_search)(std::int32_t n, const FillLimits& limits) = nullptr;
};

/// All, in ladder order.
std::span<const FillRung* const> every_fill_rung();

namespace fill_rungs {
#define LULAB_RUNG(name) extern const FillRung name;
#include "symbolic/rungs.def"
#undef LULAB_RUNG
}  // namespace fill_rungs

}  // namespace lulab
