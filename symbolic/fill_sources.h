#pragma once
// Searches for fill from many columns ("sources") at once on the device: they are independent of each other, so groups
// of them share one workspace, as many at a time as it holds.

#include <cstddef>
#include <cstdint>

#include "core/plan.h"
#include "core/simt/device.h"
#include "core/simt/primitives.h"
#include "symbolic/fill_limits.h"

namespace lulab {

/// A FilledPattern in device memory, or a share of its columns: as many as share.size(n).
struct DeviceFilledPattern {
  std::int32_t n = 0;
  std::int64_t nnz = 0;
  SourceShare share = {};
  simt::DeviceBuffer<std::int64_t> d_col_ptr, d_diag;  // (columns + 1), (columns)
  simt::DeviceBuffer<std::int32_t> d_row_idx;          // (nnz) and room to spare

  /// Waits for the stream.   Requires all columns.   Errors out_of_memory, device_error.
  Result<FilledPattern> download(simt::Stream& stream) const;
};

/// A group of sources; passed to kernels by value.
struct SourceBatch {
  std::int32_t n, first, count;   // sources first, first + step, ..., so many
  const std::int64_t* b_col_ptr;  // (n + 1) B
  const std::int32_t* b_row_idx;  // (nnz(B))
  std::int32_t words;             // of a set of rows, a bit each: ceil(n / 32)
  std::uint32_t* found;           // (count, words) set k: rows of column source(k) of L + U; empty on entry
  unsigned long long* edges;      // (1) entries of B looked at; the kernels add theirs
  std::int32_t step = 1;

  constexpr std::int32_t source(std::int64_t k) const { return static_cast<std::int32_t>(first + k * step); }
};

/// What a rung adds: one way to search from a group of sources.
class SourceSearch {
 public:
  virtual ~SourceSearch() = default;
  /// Sources that keep the device busy.
  virtual std::int32_t most_sources() const = 0;
  /// Workspace without which the sources first .. first + count - 1 cannot be searched from at once; grows with `first`
  /// and with `count`. So those that end at the same source suffice for sources that lie apart. fill_by_sources() lets
  /// one source make do with it.
  virtual std::int64_t least_bytes(std::int32_t first, std::int32_t count) const = 0;
  /// Workspace that these sources make good use of; at least least_bytes().
  virtual std::int64_t useful_bytes(std::int32_t first, std::int32_t count) const { return least_bytes(first, count); }
  /// Enqueues the search that fills the sets batch.found.
  /// Requires  workspace: least_bytes(batch.first, batch.count) or more, the same address in every call; calls come in
  ///           ascending order of sources. What one call leaves in it the next one finds, but for what lies at its end.
  /// Errors    device_error.
  virtual Status enqueue(const SourceBatch& batch, std::byte* workspace, std::int64_t bytes, simt::Stream& stream) = 0;
  /// Of the workspace, by all calls so far.
  std::int64_t cleared_bytes() const { return cleared_bytes_; }

 protected:
  std::int64_t cleared_bytes_ = 0;
};

/// Workspace that all sources of B's n columns make good use of: more is not allocated.   Requires n >= 1.
std::int64_t useful_workspace_bytes(const SourceSearch& search, std::int32_t n, const FillLimits& limits);

/// The pattern of L + U by `search`, group after group. Waits for the stream once a group.
///
/// Shapes    B: n x n, sorted rows. A missing diagonal entry is added (it is a pivot).   work: null, or filled in.
///           The result has the columns of `share`, all unless one is given.
/// Requires  `search` is new: it knows what an earlier call left in its workspace.
/// Ensures   the workspace, replaced where it was too small, is free for other work once the stream has been waited
///           for.
/// Errors    invalid_argument (not square, unsorted, limits below 0), out_of_memory (the workspace does not hold what
///           one source needs; L + U do not fit into device memory), device_error, deadlock.
/// Cost      that of the search, and n² / 32 words of sets, written and read twice.
Result<DeviceFilledPattern> fill_by_sources(CscPatternView b, const FillLimits& limits, SourceSearch& search,
                                            simt::Stream& stream, simt::Scratch& workspace, FillWork* work,
                                            SourceShare share = {});

/// The same with a stream and a workspace of its own, and the pattern brought to the host.
Result<FilledPattern> download_fill_by_sources(CscPatternView b, const FillLimits& limits, SourceSearch& search,
                                               FillWork* work);

/// ceil(rows / 32)
constexpr std::int32_t set_words(std::int32_t rows) { return rows / 32 + (rows % 32 != 0); }

}  // namespace lulab
