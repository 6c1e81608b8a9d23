#pragma once
// How many threads a level's columns get: the three kernel modes of GLU3.0.        Peng & Tan 2020, section III-B2

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "core/plan.h"
#include "core/simt/device.h"
#include "sparse_hybrid/options.h"

namespace lulab::sparse_hybrid {

enum class KernelMode {
  small_block,  // type A, many columns: a block of few warps for each column, a warp for each subcolumn
  large_block,  // type B: a block of all its warps for each column, a warp for each subcolumn
  stream,       // type C, few columns: launches for each column, in several streams; a block for each subcolumn
};

/// What decides the mode of a level.
struct ModeLimits {
  int total_warps = 0;        // shared out among the columns of a level; 0: no small-block mode
  int large_block_warps = 0;  // of a block in large-block mode
  int stream_columns = 0;     // most columns of a level in stream mode; 0: no stream mode

  bool operator==(const ModeLimits&) const = default;
};

/// The paper's, on a GTX TITAN X: 24 multiprocessors of 64 warps.
inline constexpr ModeLimits paper_mode_limits = {.total_warps = 1536, .large_block_warps = 32, .stream_columns = 16};

struct LevelMode {
  KernelMode mode = KernelMode::large_block;
  int warps = 0;  // of the block that eliminates a column; in stream mode of the one that divides it

  bool operator==(const LevelMode&) const = default;
};

inline constexpr int stream_count = 16;         // with more the paper found launches to cost more than they win
inline constexpr int smallest_block_warps = 2;  // the paper's

/// Warps of the largest block of which a multiprocessor holds two: one works while the other waits at a barrier.
inline int large_block_warps(const simt::DeviceProperties& device) {
  return std::min(device.max_threads_per_block, device.max_threads_per_sm / 2) / 32;
}

/// total_warps and stream_columns of the options, or of the device where they are 0: as many warps as it holds, and
/// stream mode where a block a column would use an eighth of its multiprocessors or less (H200, thresholds 1 to 256:
/// 03_glu3, whose launches keep the host busy, is fastest with 4 to 16, 04_glu3_graph with 16 to 64).
inline ModeLimits mode_limits(const simt::DeviceProperties& device, const FactorOptions& options) {
  const auto given = [&](const RungOption& option, int by_device) {
    const auto value = static_cast<int>(options.get(option));
    return value == 0 ? by_device : std::max(0, value);
  };
  return {.total_warps = given(total_warps, device.sm_count * device.max_threads_per_sm / 32),
          .large_block_warps = large_block_warps(device),
          .stream_columns = given(stream_columns, std::max(1, device.sm_count / 8))};
}

/// The mode of a level of so many columns. In small-block mode W = total_warps / columns (eq. 4), rounded down to 2, 4,
/// 8, ...
inline LevelMode mode_of_level(std::int64_t columns, const ModeLimits& limits) {
  if (columns <= limits.stream_columns) return {KernelMode::stream, limits.large_block_warps};
  const auto w = static_cast<std::uint64_t>(limits.total_warps / std::max<std::int64_t>(columns, 1));
  if (limits.total_warps == 0 || w >= static_cast<std::uint64_t>(limits.large_block_warps))
    return {KernelMode::large_block, limits.large_block_warps};
  return {KernelMode::small_block,
          std::clamp(static_cast<int>(std::bit_floor(w)), smallest_block_warps, limits.large_block_warps)};
}

/// Levels of type A, B and C: in small-block, large-block and stream mode (Table III).
inline std::array<std::int32_t, 3> count_modes(const Schedule& schedule, const ModeLimits& limits) {
  std::array<std::int32_t, 3> count{};
  for (std::int32_t l = 0; l < schedule.n_levels(); ++l)
    ++count[static_cast<int>(mode_of_level(schedule.level_ptr[l + 1] - schedule.level_ptr[l], limits).mode)];
  return count;
}

}  // namespace lulab::sparse_hybrid
