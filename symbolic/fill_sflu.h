#pragma once
// The pattern of L + U found by the device: columns that wait for each other, as in SFLU's numeric factorization.

#include <cstdint>

#include "core/plan.h"
#include "core/simt/device.h"

namespace lulab {

/// fill_reference(b), entry by entry, from one kernel.
///
/// Shapes    B = P·R·A·C·Q: n x n, sorted rows. A missing diagonal entry is added (it is a pivot).
/// Errors    invalid_argument (not square, unsorted), out_of_memory (a block keeps a bit for each row in shared memory,
///           which 227 KB end at n = 1.8 million; the pattern of L + U must fit into device memory), device_error.
/// Cost      O(flops) for following columns of L, without pruning, and n² / 32 words of bits looked at, both shared out;
///           at least the longest chain of columns that wait for each other. nnz(L+U) int32 in device memory, up to twice
///           that when the first guess was too small, and n bits for each resident block.
/// Source    Zhao et al. 2021 (SFLU), Algorithm 1.
Result<FilledPattern> fill_sflu(CscPatternView b);

/// What the kernel works on; passed by value.
struct SfluFillWork {
  struct Progress {
    std::int32_t ticket;      // columns handed out
    unsigned long long used;  // entries that columns asked room for
  };
  std::int32_t n;
  const std::int64_t* b_col_ptr;  // (n + 1) B
  const std::int32_t* b_row_idx;  // (nnz(B))
  std::int32_t* degree;           // (n) entries above the diagonal still to be eliminated, one more until the column is
                                  // stored; 0: finished, -1: given up for want of room
  std::int64_t *first, *diag, *last;  // (n) where column k lies in `rows`, where its diagonal entry, where it ends
  std::int32_t* rows;                 // (room) columns in the order in which they were finished, rows ascending
  std::int64_t room;
  Progress* progress;  // 0 on entry
};

/// The same in parts, to be timed: the pattern in device memory and room for L + U, used repeatedly.
class SfluFill {
 public:
  struct Room {
    std::int64_t first = 0;  // entries of L + U that there is room for at first; 0: four times those of B, and n
    std::int64_t most = 0;   // that there may ever be room for; 0: as many as device memory takes
  };

  /// Uploads the pattern. Waits for the stream.   Errors as fill_sflu().
  static Result<SfluFill> create(CscPatternView b, simt::Stream& stream, Room room);
  static Result<SfluFill> create(CscPatternView b, simt::Stream& stream) { return create(b, stream, Room{}); }

  /// Enqueues the search.   Errors device_error.
  Status enqueue(simt::Stream& stream);

  /// What the last enqueue() found. Waits for the stream. Where the room did not suffice it enqueues again with twice as
  /// much until it does, and so for all searches to come.
  /// Errors    invalid_argument before the first enqueue(), out_of_memory, device_error, deadlock.
  Result<FilledPattern> download(simt::Stream& stream);

  /// The two steps of enqueue(), for kernels that the tests mutate: clears what a search starts from, and the shape.
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
