// Left-looking LU, columns eliminated by groups of threads smaller or larger than a warp.   Chen et al. 2015, section
// 4.2
//
//   for each level before the first narrow one        cluster mode, one launch: group_lanes lanes for each column
//   all columns of the levels that remain             pipeline mode, one launch: group_warps warps for each column
//
// The paper's virtual groups: smaller ones leave fewer threads idle on short columns, but lanes of a warp that belong
// to different columns diverge, and each group needs a dense column of its own. The paper settles on 32 in both modes;
// here the trade-off can be measured (FactorOptions).

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "core/device_backend.h"
#include "core/simt/device_tools.h"
#include "sparse_leftlooking/02_pipeline_kernel.h"
#include "sparse_leftlooking/03_first_narrow_level.h"
#include "sparse_leftlooking/options.h"
#include "sparse_leftlooking/rungs.h"
#include "symbolic/levels.h"

namespace lulab::sparse_leftlooking {
namespace {

constexpr int cluster_block = 64;  // threads

/// A barrier for the calling group of G threads: lanes of a warp, or for G > 32 the whole block.
template <int G>
__device__ __forceinline__ void group_sync() {
  if constexpr (G > 32) {
    // RACE: orders what the group's threads did before it and what they do next; the callers name both
    __syncthreads();
  } else {
    const unsigned lanes = G == 32 ? 0xffffffffu : ((1u << G) - 1) << (threadIdx.x % 32 / G * G);
    __syncwarp(lanes);  // RACE: as above
  }
}

/// The calling group turns column j of f.values from A into L and U: the same loops as eliminate_column() of
/// 01_warp_per_column_kernel.h, without batches.
///
/// Shapes    x: (n), the group's own.
/// Requires  finished(k), called by all threads of the group, returns once column k of L is visible to all of them.
template <int G, class T, class Finished>
__device__ __forceinline__ void eliminate_column_by_group(const DeviceFactorsView<T>& f, std::int32_t j, T* x,
                                                          Finished finished) {
  const int rank = threadIdx.x % G;
  const std::int64_t begin = f.col_ptr[j], diag = f.diag[j], end = f.col_ptr[j + 1];
  for (std::int64_t s = begin + rank; s < end; s += G) x[f.row_idx[s]] = f.values[s];  // x = A(:,j), zero at fill-in
  group_sync<G>();                               // RACE: the group wrote x; all of it reads x(k) below
  for (std::int64_t p = begin; p < diag; ++p) {  // U(k,j) != 0, ascending k
    const std::int32_t k = f.row_idx[p];
    finished(k);
    const T u = x[k];
    for (std::int64_t s = f.diag[k] + 1 + rank; s < f.col_ptr[k + 1]; s += G) x[f.row_idx[s]] -= f.values[s] * u;
    group_sync<G>();  // RACE: the group wrote x(k+1:n); the next k and the lines below read it
  }
  const T pivot = x[j];
  bool sound = pivot != T(0);
  for (std::int64_t s = begin + rank; s < end; s += G) {
    const T value = s <= diag ? x[f.row_idx[s]] : x[f.row_idx[s]] / pivot;  // U(1:j,j), then L(j+1:n,j)
    f.values[s] = value;
    sound = sound && simt::is_finite(value);
  }
  // RACE: groups of this launch lower failed_column; the atomic orders them, the end of the launch publishes it
  if (!sound) atomicMin(f.failed_column, j);
  group_sync<G>();  // RACE: the group read x and wrote column j; it overwrites x next, and a flag may publish column j
}

/// Groups take the columns of one level in turn.
/// grid * block: at most work_slots * G   block: a multiple of 32 and of G   shared: none
/// level_cols: (size) columns of the level   work: (work_slots, n) a dense column for each group
template <int G, class T>
__global__ void eliminate_level_by_groups_kernel(DeviceFactorsView<T> f, const std::int32_t* level_cols,
                                                 std::int64_t size, T* work) {
  const std::int64_t group = simt::thread_of_grid() / G, n_groups = simt::threads_of_grid() / G;
  for (std::int64_t c = group; c < size; c += n_groups)
    eliminate_column_by_group<G>(f, level_cols[c], work + group * f.n, [](std::int32_t) {});
}

/// Each block takes the next column in level order, eliminates it and publishes it, until none is left.
/// grid: work_slots   block: G   level_cols: (size) columns, each after those it needs   work: (work_slots, n)
/// ticket: (1) 0 on entry   finished: (n), not 0 on entry for the columns that an earlier launch finished
template <int G, class T>
__global__ void eliminate_pipeline_by_groups_kernel(DeviceFactorsView<T> f, const std::int32_t* level_cols,
                                                    std::int64_t size, T* work, std::int32_t* ticket,
                                                    std::int32_t* finished) {
  static_assert(G >= 32);
  T* x = work + std::int64_t(blockIdx.x) * f.n;  // (n)
  for (;;) {
    const std::int32_t c = simt::block_ticket(ticket);
    if (c >= size) return;
    simt::note_column(level_cols[c]);
    eliminate_column_by_group<G>(f, level_cols[c], x, [&](std::int32_t k) {
      simt::note_wait(k);
      // RACE: the block of column k stored the flag after L(:,k), and its ticket is smaller, so it is running; acquire
      // and the barrier order all reads of L(:,k) after the flag
      if (threadIdx.x == 0) simt::spin_wait(&finished[k], [](std::int32_t value) { return value != 0; });
      group_sync<G>();  // RACE: one thread has seen the flag, all read L(:,k)
    });
    // RACE: eliminate_column_by_group() ended with a barrier; release orders all threads' stores before the flag
    if (threadIdx.x == 0) ColumnFlag(finished[level_cols[c]]).store(1, cuda::memory_order_release);
  }
}

template <int... G>
struct GroupSizes {};
using ClusterGroups = GroupSizes<1, 2, 4, 8, 16, 32>;      // lanes
using PipelineGroups = GroupSizes<32, 64, 128, 256, 512>;  // threads

/// call.template operator()<G>() for the G of the list that equals `size`.
template <int... G, class Call>
Status with_group_size(GroupSizes<G...>, int size, Call call) {
  Status status =
      Status::error(StatusCode::invalid_argument, fmt::format("no virtual groups of {} threads; there are: {}", size,
                                                              fmt::join(std::initializer_list<int>{G...}, " ")));
  (void)((size == G && (status = call.template operator()<G>(), true)) || ...);
  return status;
}

template <class T>
class VirtualGroups final : public DeviceBackend<T> {
 public:
  explicit VirtualGroups(const FactorOptions& options)
      : cluster_group_(static_cast<int>(options.get(group_lanes))),
        pipeline_group_(32 * static_cast<int>(options.get(group_warps))) {}

 protected:
  Status prepare_rung() override {
    LULAB_ASSIGN_OR_RETURN(auto device, simt::device_properties());
    schedule_ = levels_left_looking(this->analysis().filled);
    first_narrow_ = first_narrow_level(schedule_, device.sm_count);
    const std::int64_t n = this->analysis().filled.n;
    // x is dense: as many groups as a quarter of the memory has room for.
    const std::int64_t slots = std::max<std::int64_t>(
        1, std::int64_t(device.memory_bytes / 4) / (std::max<std::int64_t>(n, 1) * std::int64_t(sizeof(T))));

    int level_blocks = 0, pipeline_blocks = 0;
    LULAB_RETURN_IF_ERROR(with_group_size(ClusterGroups{}, cluster_group_, [&]<int G> {
      return resident(eliminate_level_by_groups_kernel<G, T>, cluster_block, level_blocks);
    }));
    LULAB_RETURN_IF_ERROR(with_group_size(PipelineGroups{}, pipeline_group_, [&]<int G> {
      return resident(eliminate_pipeline_by_groups_kernel<G, T>, G, pipeline_blocks);
    }));
    const std::int64_t groups_a_block = cluster_block / cluster_group_;
    level_blocks_ = std::clamp<std::int64_t>(slots / groups_a_block, 1, std::int64_t(device.sm_count) * level_blocks);
    pipeline_blocks_ = std::clamp<std::int64_t>(std::min(slots, n), 1, std::int64_t(device.sm_count) * pipeline_blocks);

    LULAB_ASSIGN_OR_RETURN(
        d_work_, simt::DeviceBuffer<T>::create(std::max(level_blocks_ * groups_a_block, pipeline_blocks_) * n));
    LULAB_ASSIGN_OR_RETURN(d_level_cols_,
                           simt::DeviceBuffer<std::int32_t>::create(schedule_.level_cols, *this->stream()));
    LULAB_ASSIGN_OR_RETURN(progress_, PipelineProgress::create(schedule_, first_narrow_, *this->stream()));
    return {};
  }

  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    const auto& level_ptr = schedule_.level_ptr;
    LULAB_RETURN_IF_ERROR(progress_.reset(stream));
    for (std::int32_t l = 0; l < first_narrow_; ++l) {
      const std::int64_t size = level_ptr[l + 1] - level_ptr[l];
      const std::int64_t blocks = std::min(level_blocks_, simt::ceil_div(size * cluster_group_, cluster_block));
      LULAB_RETURN_IF_ERROR(with_group_size(ClusterGroups{}, cluster_group_, [&]<int G> {
        return simt::launch(eliminate_level_by_groups_kernel<G, T>,
                            {.grid = static_cast<unsigned>(blocks), .block = cluster_block}, stream, f,
                            d_level_cols_.data() + level_ptr[l], size, d_work_.data());
      }));
    }
    const std::int64_t first = level_ptr[first_narrow_], size = f.n - first;
    if (size == 0) return {};
    return with_group_size(PipelineGroups{}, pipeline_group_, [&]<int G> {
      return simt::launch(eliminate_pipeline_by_groups_kernel<G, T>,
                          {.grid = static_cast<unsigned>(std::min(pipeline_blocks_, size)), .block = G}, stream, f,
                          d_level_cols_.data() + first, size, d_work_.data(), progress_.ticket(), progress_.finished());
    });
  }

  std::int64_t work_bytes() const override {
    return std::int64_t(sizeof(T)) * d_work_.size() + 4 * d_level_cols_.size() + progress_.bytes();
  }

 private:
  template <class... P>
  static Status resident(void (*kernel)(P...), int block, int& blocks_per_sm) {
    LULAB_ASSIGN_OR_RETURN(blocks_per_sm, simt::max_resident_blocks_per_sm(kernel, block));
    return {};
  }

  const int cluster_group_, pipeline_group_;  // threads
  Schedule schedule_;
  std::int32_t first_narrow_ = 0;  // level
  std::int64_t level_blocks_ = 1, pipeline_blocks_ = 1;
  simt::DeviceBuffer<std::int32_t> d_level_cols_;  // (n) the schedule's
  simt::DeviceBuffer<T> d_work_;                   // (groups, n)
  PipelineProgress progress_;
};

}  // namespace

const Rung virtual_groups =
    rung_of<VirtualGroups>({.id = "sparse_leftlooking/04_virtual_groups",
                            .stage = "sparse_leftlooking",
                            .paper = "Chen et al. 2015, section 4.2",
                            .idea = "groups of fewer lanes than a warp in wide levels, of several warps in narrow ones",
                            .pivoting = Pivoting::fixed,
                            .device = Device::gpu,
                            .dependencies = Dependencies::levels,
                            .deterministic = true,
                            .refactors = true,
                            .options = group_options});

}  // namespace lulab::sparse_leftlooking
