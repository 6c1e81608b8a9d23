#include "driver/flat_stand_in.h"

#include <new>

namespace lulab {

void FlatStandIn::forget() {
  lists_.reset();
  steps_to_lists_ = steps_before_lists;
  drop_factors();
}

bool FlatStandIn::prepare(const Analysis& analysis, bool at_once) try {
  if (steps_to_lists_ > 0 && (at_once || --steps_to_lists_ == 0)) {
    steps_to_lists_ = 0;
    lists_ = FlatLu::create(analysis);
  }
  return lists_.has_value();
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace lulab
