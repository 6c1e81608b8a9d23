#pragma once
// The tasks of a solve by chunks, written on the device: for af23560 and its transpose in 9 ms, where the host took 250
// (H200).

#include <cstdint>

#include "core/plan.h"
#include "core/simt/device.h"
#include "solve/chunk_tasks.h"
#include "symbolic/tree_on_device.h"

namespace lulab {

/// The tasks of both triangles, in device memory. A task needs words of earlier tasks only.
struct ChunkTasks {
  simt::DeviceBuffer<std::int32_t> d_column_at;  // (n) column of As at each position
  simt::DeviceBuffer<std::byte> d_tasks;
  simt::DeviceBuffer<std::int64_t> d_begin;  // (size + 1) into d_tasks, multiples of 16
  struct Workers {
    simt::DeviceBuffer<std::int32_t> d_ptr;   // (workers + 1) into d_task
    simt::DeviceBuffer<std::int32_t> d_task;  // tasks of each worker, ascending
  };
  Workers both, second;                           // who does all tasks; who does those of the second triangle alone
  simt::DeviceBuffer<ChunkMove> d_moves;          // of the first triangle, then of the second
  simt::DeviceBuffer<ChunkTriangle> d_triangles;  // large ones, then small ones; of these those of the second triangle
                                                  // come first, larger ones before others
  simt::DeviceBuffer<ChunkEntry> d_entries, d_inverses;
  std::int64_t n_words = 0;  // [0, n) first triangle's solution by position, [n, 2n) the second's, the rest what tasks
                             // hand to each other
  std::int64_t n_first_moves = 0;
  std::uint32_t n_large = 0;  // triangles of more than small_chunk_columns
  std::uint32_t n_large_of_second = 0, n_small_of_second = 0;
  std::int32_t size = 0, max_rows = 0, max_inputs = 0, max_partial_sums = 0;  // of a task
  std::int64_t max_bytes = 0;

  std::int64_t bytes() const;
};

/// Tasks of chunks of at most max_columns columns.
///
/// as: the same pattern   d_diag: (n) positions of its diagonal, on the device, too
/// Requires  n >= 1, every diagonal entry; 1 <= max_columns <= max_chunk_columns.
/// Errors    not_implemented: more entries than 32 bits can count; out_of_memory, device_error.
/// Cost      O(n) on the host, where chunks go by need O(n + nnz); on the device a sort of (nnz) keys, which the
///           transpose does not need, and O(nnz · (1 + n / (32 mark_words))).
Result<ChunkTasks> make_chunk_tasks(const FilledPattern& filled, const DevicePattern& as, const std::int64_t* d_diag,
                                    std::int32_t max_columns, const ChunkTaskOptions& options, simt::Stream& stream);

}  // namespace lulab
