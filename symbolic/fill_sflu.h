#pragma once
// The pattern of L + U computed on the device: columns wait for each other, as in SFLU's numeric factorization.

#include <cstdint>

#include "core/plan.h"
#include "core/simt/device.h"

namespace lulab {

/// The same result as fill_reference(b), computed by one kernel.
///
/// Shapes    B = P·R·A·C·Q: n x n, sorted rows. A missing diagonal entry is added (it is a pivot).
/// Errors    invalid_argument (not square, unsorted), out_of_memory (a block keeps one bit per row in shared memory:
///           227 KB allow n = 1.8 million; the pattern of L + U must fit into device memory), device_error.
/// Cost      O(flops) without pruning plus reading n² / 32 words of bits, shared by all blocks; at least the longest
///           chain of columns that wait for each other. nnz(L+U) int32 in device memory, up to twice that if the
///           first guess was too small, and n bits for each resident block.
/// Source    Zhao et al. 2021 (SFLU), Algorithm 1.
Result<FilledPattern> fill_sflu(CscPatternView b);

/// The arrays of the kernel; passed by value.
struct SfluFillWork {
  struct Progress {
    std::int32_t ticket;      // columns handed out
    unsigned long long used;  // entries that columns have reserved
  };
  std::int32_t n;
  const std::int64_t* b_col_ptr;  // (n + 1) B
  const std::int32_t* b_row_idx;  // (nnz(B))
  std::int32_t* degree;           // (n) entries above the diagonal still to be eliminated, one more until the column is
                                  // stored; 0: finished, -1: given up because there was no room
  std::int64_t *first, *diag, *last;  // (n) positions in `rows`: start, diagonal entry and end of column k
  std::int32_t* rows;                 // (room) columns in order of completion, rows ascending
  std::int64_t room;
  Progress* progress;  // 0 on entry
};

/// The same in steps, for timing: keeps the pattern and the room for L + U on the device, for repeated use.
class SfluFill {
 public:
  struct Room {
    std::int64_t first = 0;  // room at first, in entries of L + U; 0: four times nnz(B), plus n
    std::int64_t most = 0;   // largest room; 0: what device memory holds
  };

  /// Uploads the pattern. Waits for the stream.   Errors as fill_sflu().
  static Result<SfluFill> create(CscPatternView b, simt::Stream& stream, Room room);
  static Result<SfluFill> create(CscPatternView b, simt::Stream& stream) { return create(b, stream, Room{}); }

  /// Enqueues the kernel.   Errors device_error.
  Status enqueue(simt::Stream& stream);

  /// The result of the last enqueue(). Waits for the stream. If the room was too small, enqueues again with twice as
  /// much until it suffices, and keeps that room.
  /// Errors    invalid_argument before the first enqueue(), out_of_memory, device_error, deadlock.
  Result<FilledPattern> download(simt::Stream& stream);

  /// The two steps of enqueue(), for tests that change the kernel: clear its arrays; the shape of the launch.
  Result<SfluFillWork> start(simt::Stream& stream);
  unsigned blocks() const { return blocks_; }
  unsigned threads_per_block() const;
  std::size_t shared_bytes() const;

 private:
  Status make_room(std::int64_t entries);

  bool enqueued_ = false;
  std::int32_t n_ = 0;
  unsigned blocks_ = 0;
  std::int64_t most_ = 0;
  simt::DeviceBuffer<std::int64_t> d_b_col_ptr_;                // (n + 1)
  simt::DeviceBuffer<std::int32_t> d_b_row_idx_;                // (nnz(B))
  simt::DeviceBuffer<std::int32_t> d_degree_start_, d_degree_;  // (n)
  simt::DeviceBuffer<std::int64_t> d_first_, d_diag_, d_last_;  // (n)
  simt::DeviceBuffer<std::int32_t> d_rows_;                     // (room)
  simt::DeviceBuffer<SfluFillWork::Progress> d_progress_;       // (1)
};

}  // namespace lulab
