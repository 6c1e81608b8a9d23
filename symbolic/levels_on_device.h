#pragma once
// Levels of right-looking columns, computed on the device.

#include <cstdint>

#include "core/plan.h"
#include "core/simt/device.h"
#include "symbolic/dependencies.h"

namespace lulab {

/// The same result as levels_right_looking(filled, rule), computed by one kernel: uploads the pattern, downloads
/// levels.
///
/// Requires  a valid FilledPattern.
/// Errors    out_of_memory, device_error.
/// Cost      O(nnz(L+U)) work, most of it before the first level; then one hop between blocks per level.
/// Source    Peng & Tan 2020, Algs. 3 and 4 (rules); Kahn 1962 (a column starts when all columns it needs are
///           finished); Eisenstat & Liu 1992 (symmetric pruning: few dependencies make the levels).
Result<Schedule> levels_on_device(const FilledPattern& filled, DependencyRule rule);

struct LevelsWork;

/// The same in steps, for timing: keeps the pattern and the workspace on the device; any rule, repeatedly.
class DeviceLevels {
 public:
  /// Uploads the pattern. Waits for the stream.   Errors out_of_memory, device_error.
  static Result<DeviceLevels> create(const FilledPattern& filled, simt::Stream& stream);

  /// Enqueues the computation of the levels.   Errors device_error.
  Status enqueue(DependencyRule rule, simt::Stream& stream);

  /// The result of the last enqueue(). Waits for the stream.
  /// Errors    invalid_argument before the first enqueue(), device_error, deadlock.
  Result<Schedule> download(simt::Stream& stream) const;

 private:
  /// Cleared before every run.
  struct Progress {
    struct Pass {
      std::int32_t ticket, finished;  // columns handed out, columns done
    } prune, size_lists, place_lists, fill_lists;
    std::int32_t ready, taken;  // columns in the queue, tickets for them
    unsigned long long listed;  // entries of all lists
  };
  friend struct LevelsWork;

  bool enqueued_ = false;
  std::int32_t n_ = 0;
  unsigned blocks_ = 0;
  std::int32_t columns_a_ticket_ = 1;
  simt::DeviceBuffer<std::int64_t> d_col_ptr_, d_diag_;           // (n + 1), (n)
  simt::DeviceBuffer<std::int32_t> d_row_idx_;                    // (nnz)
  simt::DeviceBuffer<std::int32_t> d_reach_, d_last_;             // (n)
  simt::DeviceBuffer<std::int32_t> d_list_size_;                  // (n)
  simt::DeviceBuffer<unsigned long long> d_list_end_;             // (n)
  simt::DeviceBuffer<std::int32_t> d_lists_;                      // (nnz - n)
  simt::DeviceBuffer<std::int32_t> d_needs_, d_level_, d_queue_;  // (n)
  simt::DeviceBuffer<Progress> d_progress_;                       // (1)
};

}  // namespace lulab
