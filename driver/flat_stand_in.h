#pragma once
// When flat lists stand in for refactorizations of the rung, and which of the two has done the last one.

#include <optional>

#include "driver/flat_lists.h"
#include "driver/flat_lu.h"

namespace lulab {

/// Flat lists are made once some refactorizations of an analysis have come, and where they pay. From then on they do
/// these and the solves after them; the rung catches up where its factors are asked for.
class FlatStandIn {
 public:
  /// Other pivots or scalings: there are no lists.
  void forget();
  /// There are no factors.
  void drop_factors() { has_factors_ = rung_is_behind_ = false; }
  /// Are there lists for the refactorization that comes? Counts it, and makes them when it is time.
  /// at_once: it is time.   Errors  none: without memory for lists the rung, which may need less, goes on.
  bool prepare(const Analysis& analysis, bool at_once);
  /// Requires prepare().
  FlatLu& lists() { return *lists_; }
  const FlatLu& lists() const { return *lists_; }
  /// The lists have done a refactorization.
  void take_over() { has_factors_ = rung_is_behind_ = true; }
  /// The rung has done the same one.
  void catch_up() { rung_is_behind_ = false; }

  /// Did the lists do the last refactorization? They solve, then.
  bool has_factors() const { return has_factors_; }
  /// And the rung has not.
  bool rung_is_behind() const { return rung_is_behind_; }

 private:
  int steps_to_lists_ = steps_before_lists;  // counted down; 0: tried
  std::optional<FlatLu> lists_;              // where it pays
  bool has_factors_ = false;
  bool rung_is_behind_ = false;
};

}  // namespace lulab
