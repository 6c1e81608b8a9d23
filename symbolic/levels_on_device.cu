// Levels by peeling, in one launch.                                                              after Kahn 1962
//
//   reach[i] <- a column whose level bounds that of all columns right of it which need i    symmetric pruning
//   list for each column those that need it      from U by rows, built here: faster than a pass on the host
//   needs[j] <- columns that j needs
//   queue the columns that need none
//   while a column is left, in parallel          a warp takes the next slot of the queue and waits until it is filled
//     for each k that needs column j
//       level[k] <- max(level[k], level[j] + 1)
//       queue k when that was the last column it needed
//
// Pruning (Eisenstat & Liu 1992): suppose U(i,t) and L(t,i) are nonzero, and L(:,t) is not empty. Elimination of column
// i fills row t of U wherever row i has an entry, and column t of L wherever column i has one. So a column right of t
// that needs i also needs t by the same rule, and t needs i: for levels it is enough to keep t. Only the first 32 rows
// of L(:,i) are tried: any t will do.
//
// Warps take all work by tickets, so only running warps hold work, and every wait is for such work. A pass ends because
// its columns are held by warps that do not wait. A slot t < n is finally filled because the leftmost unfinished column
// needs only finished ones: it is in the queue, in a slot before t or in t itself, and a warp holds it. So the launch
// ends in any order of blocks, even with one resident block.

#include "symbolic/levels_on_device.h"

#include <algorithm>
#include <vector>

#include "core/simt/device_tools.h"
#include "symbolic/levels.h"

namespace lulab {

/// The arrays of the kernel; passed by value.
struct LevelsWork {
  using Progress = DeviceLevels::Progress;

  std::int32_t n;
  const std::int64_t* col_ptr;   // (n + 1) As
  const std::int64_t* diag;      // (n)
  const std::int32_t* row_idx;   // (nnz)
  std::int32_t* reach;           // (n) see above; i if no column needs column i, n if there is no such column
  std::int32_t* last;            // (n) last column of U(i,:) up to reach[i]; 0 on entry
  std::int32_t* list_size;       // (n) columns up to reach[i] that need column i, perhaps twice (L and U); 0 on entry
  unsigned long long* list_end;  // (n) where the next of them goes
  std::int32_t* lists;           // (nnz - n) the lists, in any order
  std::int32_t* needs;           // (n) lists not yet peeled that name column j, counted as often as they do
  std::int32_t* level;           // (n)
  std::int32_t* queue;           // (n)
  Progress* progress;            // 0 on entry
};

namespace {

constexpr int warps_per_block = 4;
constexpr std::int32_t no_column = -1;

using Word = cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>;

/// Whether column i updates any column.
__device__ __forceinline__ bool has_l(const LevelsWork& w, std::int32_t i) { return w.diag[i] + 1 < w.col_ptr[i + 1]; }

/// Calls visit(k) for every column k once: the warps of the grid take columns in turn, and all lanes of a warp call.
/// Then waits until every column is done and its results are visible.
/// Equivalent to   for (k = 0; k < n; ++k) visit(k);  then a barrier of the grid
template <class Visit>
__device__ __forceinline__ void pass_over_columns(const LevelsWork& w, LevelsWork::Progress::Pass& pass,
                                                  std::int32_t columns_a_ticket, const Visit& visit) {
  const int lane = threadIdx.x % 32;
  for (;;) {
    const std::int32_t first = simt::warp_ticket(&pass.ticket, columns_a_ticket);
    if (first >= w.n) break;
    const std::int32_t end = min(first + columns_a_ticket, w.n);
    for (std::int32_t k = first; k < end; ++k) visit(k);
    __syncwarp();  // RACE: orders what all lanes wrote before lane 0's release
    // RACE: a warp that sees all columns finished also sees what their warps wrote
    if (lane == 0) Word(pass.finished).fetch_add(end - first, cuda::memory_order_release);
  }
  // RACE: acquire pairs with the release above
  if (lane == 0) simt::spin_wait(&pass.finished, [&](std::int32_t finished) { return finished == w.n; });
  __syncwarp();  // RACE: lane 0 has seen all columns finished; orders all lanes' reads after that
}

/// U(i,t) != 0, i < t.
__device__ __forceinline__ bool in_u(const LevelsWork& w, std::int32_t i, std::int32_t t) {
  return w.row_idx[simt::find_row(w.row_idx, w.col_ptr[t], w.diag[t], i)] == i;  // at the latest it finds the diagonal
}

/// reach[i], by the calling warp.   Result valid in all lanes.
__device__ __forceinline__ std::int32_t reach_of(const LevelsWork& w, std::int32_t i) {
  if (!has_l(w, i)) return i;
  const std::int64_t p = w.diag[i] + 1 + threadIdx.x % 32;
  const std::int32_t t = p < w.col_ptr[i + 1] ? w.row_idx[p] : w.n;
  const unsigned found = __ballot_sync(0xffffffffu, t < w.n && has_l(w, t) && in_u(w, i, t));
  return found ? __shfl_sync(0xffffffffu, t, __ffs(static_cast<int>(found)) - 1) : w.n;
}

/// visit(i) for the U(i,k) != 0 of a column, i < k <= reach[i], a lane each.   Returns their number.
template <class Visit>
__device__ __forceinline__ std::int32_t look_up(const LevelsWork& w, std::int32_t k, const Visit& visit) {
  std::int32_t count = 0;
  const std::int64_t diag = w.diag[k];
  for (std::int64_t s = w.col_ptr[k]; s < diag; s += 32) {
    const std::int64_t p = s + threadIdx.x % 32;
    const bool counts = p < diag && k <= w.reach[w.row_idx[p]];
    if (counts) visit(w.row_idx[p]);
    count += __popc(__ballot_sync(0xffffffffu, counts));
  }
  return count;
}

/// visit(t) for the columns t < reach[i] that need column i because of L(t,i), a lane each.   Returns their number.
template <class Visit>
__device__ __forceinline__ std::int32_t look_down(const LevelsWork& w, DependencyRule rule, std::int32_t i,
                                                  const Visit& visit) {
  std::int32_t count = 0;
  const std::int32_t reach = w.reach[i];
  const std::int64_t end = rule == DependencyRule::up_looking ? 0 : w.col_ptr[i + 1];
  for (std::int64_t s = w.diag[i] + 1; s < end && w.row_idx[s] < reach; s += 32) {
    const std::int64_t p = s + threadIdx.x % 32;
    const std::int32_t t = p < end ? w.row_idx[p] : w.n;
    const bool counts = t < reach && (rule == DependencyRule::relaxed || (w.last[i] > t && has_l(w, t)));
    if (counts) visit(t);
    count += __popc(__ballot_sync(0xffffffffu, counts));
  }
  return count;
}

__device__ __forceinline__ void push(const LevelsWork& w, std::int32_t j) {
  const std::int32_t slot = atomicAdd(&w.progress->ready, 1);  // RACE: no two columns get one slot
  Word(w.queue[slot]).store(j, cuda::memory_order_release);    // RACE: orders level[j] before the slot; see pop()
}

/// The next column, or no_column when all are handed out.   Result valid in all lanes.
__device__ __forceinline__ std::int32_t pop(const LevelsWork& w) {
  std::int32_t j = no_column;
  if (threadIdx.x % 32 == 0) {
    // RACE: no two warps get one slot. Not warp_ticket(): its shuffle would lengthen every hop from column to column
    const std::int32_t slot = atomicAdd(&w.progress->taken, 1);
    // RACE: acquire pairs with the release of push(), which comes, see the head of this file
    if (slot < w.n) j = simt::spin_wait(&w.queue[slot], [](std::int32_t column) { return column != no_column; });
  }
  __syncwarp();  // RACE: lane 0 has seen the slot, all lanes read level[j]; the barrier orders them
  return __shfl_sync(0xffffffffu, j, 0);
}

/// grid: any   block: 32 * warps_per_block   shared: none
__global__ void levels_kernel(LevelsWork w, DependencyRule rule, std::int32_t columns_a_ticket) {
  const int lane = threadIdx.x % 32;
  pass_over_columns(w, w.progress->prune, columns_a_ticket, [&](std::int32_t i) {
    const std::int32_t reach = reach_of(w, i);
    if (lane == 0) w.reach[i] = reach;
  });
  pass_over_columns(w, w.progress->size_lists, columns_a_ticket, [&](std::int32_t k) {
    const std::int32_t needs = look_up(w, k, [&](std::int32_t i) {
      atomicAdd(&w.list_size[i], 1);                                   // RACE: columns of one row, all in this pass
      if (rule == DependencyRule::double_u) atomicMax(&w.last[i], k);  // RACE: as above
    });
    if (lane == 0) {
      w.needs[k] = needs;
      w.level[k] = 0;
      w.queue[k] = no_column;
    }
  });
  pass_over_columns(w, w.progress->place_lists, columns_a_ticket, [&](std::int32_t i) {
    // RACE: columns left of t, all in this pass
    const std::int32_t below = look_down(w, rule, i, [&](std::int32_t t) { atomicAdd(&w.needs[t], 1); });
    if (lane != 0) return;
    const unsigned long long size = w.list_size[i] += below;
    w.list_end[i] = atomicAdd(&w.progress->listed, size);  // RACE: lists lie apart, in any order
  });
  pass_over_columns(w, w.progress->fill_lists, columns_a_ticket, [&](std::int32_t k) {
    const auto list = [&](std::int32_t i, std::int32_t needing) {
      w.lists[atomicAdd(&w.list_end[i], 1ull)] = needing;  // RACE: each that needs column i gets a place of its own
    };
    look_up(w, k, [&](std::int32_t i) { list(i, k); });
    look_down(w, rule, k, [&](std::int32_t t) { list(k, t); });
    if (lane == 0 && w.needs[k] == 0) push(w, k);  // no warp pops, and so none changes needs, before the pass ends
  });

  for (std::int32_t j = pop(w); j != no_column; j = pop(w)) {
    const std::int32_t next_level = w.level[j] + 1;  // final: all that j needs was peeled
    const auto end = static_cast<std::int64_t>(w.list_end[j]), begin = end - w.list_size[j];
    for (std::int64_t q = begin + lane; q < end; q += 32)
      atomicMax(&w.level[w.lists[q]], next_level);  // RACE: with other columns that it needs; the largest stays
    // RACE: orders each lane's levels before its counts: one fence for all of them
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
    for (std::int64_t q = begin + lane; q < end; q += 32) {
      const std::int32_t k = w.lists[q];
      if (atomicSub(&w.needs[k], 1) != 1) continue;  // RACE: exactly one lane counts to zero
      // RACE: it has seen the counts of all others; acquire orders their levels before push()
      cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
      push(w, k);
    }
  }
}

}  // namespace

Result<DeviceLevels> DeviceLevels::create(const FilledPattern& f, simt::Stream& stream) {
  DeviceLevels d;
  d.n_ = f.n;
  if (f.n == 0) return d;
  LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
  LULAB_ASSIGN_OR_RETURN(const auto blocks_per_sm,
                         simt::max_resident_blocks_per_sm(levels_kernel, 32 * warps_per_block));
  const int resident = blocks_per_sm * device.sm_count;
  d.blocks_ = simt::blocks_for(f.n, warps_per_block, resident);
  // Several tickets for each warp even out unequal columns; more would only queue at the counter.
  d.columns_a_ticket_ = std::max(1, std::min(32, f.n / (8 * warps_per_block * resident)));

  LULAB_RETURN_IF_ERROR(simt::make(d.d_col_ptr_, f.col_ptr, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_diag_, f.diag, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_row_idx_, f.row_idx, stream));
  for (auto* buffer : {&d.d_reach_, &d.d_last_, &d.d_list_size_, &d.d_needs_, &d.d_level_, &d.d_queue_})
    LULAB_RETURN_IF_ERROR(simt::make(*buffer, f.n));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_list_end_, f.n));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_lists_, f.nnz() - f.n));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_progress_, 1));
  LULAB_RETURN_IF_ERROR(stream.wait());  // the caller may free the pattern
  return d;
}

Status DeviceLevels::enqueue(DependencyRule rule, simt::Stream& stream) {
  enqueued_ = true;
  if (n_ == 0) return {};
  LULAB_RETURN_IF_ERROR(d_last_.fill_bytes(0, stream));
  LULAB_RETURN_IF_ERROR(d_list_size_.fill_bytes(0, stream));
  LULAB_RETURN_IF_ERROR(d_progress_.fill_bytes(0, stream));
  const LevelsWork work = {.n = n_,
                           .col_ptr = d_col_ptr_.data(),
                           .diag = d_diag_.data(),
                           .row_idx = d_row_idx_.data(),
                           .reach = d_reach_.data(),
                           .last = d_last_.data(),
                           .list_size = d_list_size_.data(),
                           .list_end = d_list_end_.data(),
                           .lists = d_lists_.data(),
                           .needs = d_needs_.data(),
                           .level = d_level_.data(),
                           .queue = d_queue_.data(),
                           .progress = d_progress_.data()};
  return simt::launch(levels_kernel, {.grid = blocks_, .block = 32 * warps_per_block}, stream, work, rule,
                      columns_a_ticket_);
}

Result<Schedule> DeviceLevels::download(simt::Stream& stream) const {
  if (!enqueued_) return Status::error(StatusCode::invalid_argument, "call enqueue() before download()");
  std::vector<std::int32_t> level_of(n_);
  if (n_ > 0) LULAB_RETURN_IF_ERROR(d_level_.download(level_of, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return group_levels(std::move(level_of));
}

Result<Schedule> levels_on_device(const FilledPattern& f, DependencyRule rule) {
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto levels, DeviceLevels::create(f, stream));
  LULAB_RETURN_IF_ERROR(levels.enqueue(rule, stream));
  return levels.download(stream);
}

}  // namespace lulab
