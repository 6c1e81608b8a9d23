#pragma once
// Pipeline mode: one launch eliminates all columns; a warp waits for each column that it needs.
//                                                                 Chen et al. 2015, appendix A.1, Algorithm 1
// Tickets hand out the columns in level order. A warp that has a ticket is running, and all columns that it waits for
// have smaller tickets; the smallest ticket that is not finished waits for nothing. So the launch ends in whatever
// order the blocks start, even when only one of them is resident. More warps than can be resident would cost memory and
// win nothing.

#include <iterator>
#include <utility>
#include <vector>

#include "core/plan.h"
#include "sparse_leftlooking/01_warp_per_column_kernel.h"

namespace lulab::sparse_leftlooking {

using ColumnFlag = cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>;

/// Loads the flags of a whole batch at once, and waits for the first column's where that is not set.
/// Equivalent to   while (finished[row_idx[p]] == 0) {}  count = 1;
///                 while (count < batch && p + count < diag && finished[row_idx[p + count]] != 0) ++count;
///                 return count;
template <cuda::memory_order observe = cuda::memory_order_acquire>  // RACE: pairs with the release of publish_column()
struct WaitForColumns {
  const std::int32_t* row_idx;  // (nnz)
  std::int32_t* finished;       // (n) 0: not yet

  __device__ __forceinline__ int operator()(std::int64_t p, std::int64_t diag) const {
    const int lane = threadIdx.x % 32;
    std::int32_t* flag = lane < batch && p + lane < diag ? finished + row_idx[p + lane] : nullptr;
    // RACE: the warp of column k stored the flag after L(:,k); acquire orders this lane's reads of L(:,k) after it
    const bool set = flag && ColumnFlag(*flag).load(observe) != 0;
    unsigned seen = __ballot_sync(0xffffffffu, set);
    if ((seen & 1) == 0) {
      simt::note_wait(row_idx[p]);
      // RACE: as above; that warp is running, see the head of this file
      if (lane == 0) simt::spin_wait<observe>(flag, [](std::int32_t value) { return value != 0; });
      seen |= 1;
    }
    __syncwarp();  // RACE: one lane has seen the flag of column k, all lanes read L(:,k); the barrier orders them
    return __ffs(static_cast<int>(~seen)) - 1;
  }
};

/// Sets the flag of column j, for which other warps wait.
__device__ __forceinline__ void publish_column(std::int32_t* finished, std::int32_t j) {
  // RACE: eliminate_column() ended with a barrier of the warp; release orders all its lanes' stores before the flag
  if (threadIdx.x % 32 == 0) ColumnFlag(finished[j]).store(1, cuda::memory_order_release);
}

/// Each warp takes the next column in level order, eliminates it and publishes it, until none is left.
/// grid: at most work_slots / warps_per_block   block: 32 * warps_per_block   shared: none
/// level_cols: (size) columns, each after those it needs   work: (work_slots, n) a dense column for each warp
/// ticket: (1) 0 on entry   finished: (n) flags, not 0 on entry for the columns that an earlier launch finished
template <class T>
__global__ void eliminate_pipeline_kernel(DeviceFactorsView<T> f, const std::int32_t* level_cols, std::int64_t size,
                                          T* work, std::int32_t* ticket, std::int32_t* finished) {
  T* x = work + simt::thread_of_grid() / 32 * f.n;  // (n)
  // lab: tickets begin
  for (;;) {
    const std::int32_t c = simt::warp_ticket(ticket);
    if (c >= size) return;
    eliminate_column(f, level_cols[c], x, WaitForColumns<>{f.row_idx, finished});
    publish_column(finished, level_cols[c]);
  }
  // lab: tickets end
}

/// The ticket and the flags of a pipeline that starts at a level.
class PipelineProgress {
 public:
  /// Columns of levels before first_level are finished when the pipeline starts.   Errors out_of_memory, device_error.
  static Result<PipelineProgress> create(const Schedule& schedule, std::int32_t first_level, simt::Stream& stream) {
    std::vector<std::int32_t> start(schedule.level_of.size() + 1, 0);
    for (std::size_t j = 0; j < schedule.level_of.size(); ++j) start[j + 1] = schedule.level_of[j] < first_level;
    LULAB_ASSIGN_OR_RETURN(auto d_start, simt::DeviceBuffer<std::int32_t>::create(start, stream));
    LULAB_ASSIGN_OR_RETURN(auto d_now, simt::DeviceBuffer<std::int32_t>::create(d_start.size()));
    LULAB_RETURN_IF_ERROR(stream.wait());  // start is a local
    PipelineProgress progress;
    progress.d_start_ = std::move(d_start);
    progress.d_now_ = std::move(d_now);
    simt::name_elements(progress.ticket(), 1, "ticket");
    simt::name_elements(progress.finished(), std::ssize(schedule.level_of), "finished");
    return progress;
  }

  /// Enqueues what must precede every launch of the pipeline: one copy, which a CUDA graph can record.
  Status reset(simt::Stream& stream) {
    return simt::copy_on_device(d_now_.data(), d_start_.data(), 4 * static_cast<std::size_t>(d_start_.size()), stream);
  }

  std::int32_t* ticket() const { return d_now_.data(); }
  std::int32_t* finished() const { return d_now_.data() + 1; }  // (n)
  std::int64_t bytes() const { return 4 * (d_start_.size() + d_now_.size()); }

 private:
  simt::DeviceBuffer<std::int32_t> d_start_, d_now_;  // (1 + n) ticket, flags
};

}  // namespace lulab::sparse_leftlooking
