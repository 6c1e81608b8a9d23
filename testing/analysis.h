#pragma once
// For tests of rooms below driver/: an Analysis under a given order, without the choice among orders.

#include "preprocess/preprocess.h"
#include "symbolic/analyze_with_plan.h"

namespace lulab::testing {

/// Preprocessing and fill. Order::automatic is what preprocess() makes of it.   Errors as theirs.
inline Result<Analysis> analyze_ordered(const CscView<double>& a, const PreprocessOptions& options = {}) {
  LULAB_ASSIGN_OR_RETURN(auto plan, preprocess(a, options));
  return analyze_with_plan(a, std::move(plan));
}

}  // namespace lulab::testing
