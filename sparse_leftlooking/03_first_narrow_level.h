#pragma once
// Where cluster mode (a launch for each level) ends and pipeline mode (one launch for the rest) begins.
//                                                                                         Chen et al. 2015, section 4.1
#include <cstdint>

#include "core/plan.h"

namespace lulab::sparse_leftlooking {

/// A level is wide when it has that many columns for each multiprocessor. The paper says "many columns" and gives no
/// figure; a level with less than a block of two warps for each cannot hide its own launch.
constexpr int wide_columns_per_sm = 2;

/// The first level that is not wide.
inline std::int32_t first_narrow_level(const Schedule& schedule, int sm_count) {
  const std::int64_t wide = std::int64_t(wide_columns_per_sm) * sm_count;
  std::int32_t level = 0;
  while (level < schedule.n_levels() && schedule.level_ptr[level + 1] - schedule.level_ptr[level] >= wide) ++level;
  return level;
}

}  // namespace lulab::sparse_leftlooking
