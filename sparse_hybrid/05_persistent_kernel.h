#pragma once
// 05_persistent: all levels in one kernel.                                                   Peng & Tan 2020, Alg. 2
//
//   for each level of the relaxed rule, in order                       a barrier orders the levels
//   05_level_sharing.h
//     for each As(j,k), j a column of the level, k > j, in parallel    a task: 2^s threads
//     05_update_tasks.h
//       for i > j with As(i,j) != 0, in parallel                       each thread takes some rows i
//         As(i,k) -= As(i,j) / As(j,j) · As(j,k)                       atomic; a map says where entry (i,k) lies
//   for j, in parallel:  As(j+1:n,j) /= As(j,j)
//
// L stays undivided until the end, so that a level is one step, not two with a barrier between. A level then waits for
// one load of values and one barrier only: the tasks and the map of the next level are loaded before the barrier.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/device_backend.h"
#include "core/simt/device_tools.h"
#include "sparse_hybrid/05_level_sharing.h"
#include "sparse_hybrid/05_update_tasks.h"
#include "symbolic/dependencies.h"

namespace lulab::sparse_hybrid {

inline constexpr int max_block = 768;
inline constexpr int rows_at_once = 2;          // of a task after its first, whose loads are in flight together
inline constexpr int max_shapes_at_once = 512;  // of levels, in shared memory

/// The levels in which a block has a part, in order.
struct Levels {
  const LevelShape* shapes;  // (size)
  std::int32_t size;
};

template <class Map>
struct Work {
  Levels of_block_0, of_others;  // for the others, consecutive levels that block 0 does alone are one without tasks
  std::int32_t shapes_at_once;   // at most max_shapes_at_once
  const UpdateTask* tasks;       // of all levels
  const Map* map;                // (map_size) row r of task t lies at position map[t.map + r] of column k
};

/// Where row number `row` of L(:,j) lies in column k, which has `size` entries. It has all rows of L(:,j), below entry
/// (j,k):
/// so at least row + 1 entries lie after (j,k) up to there, and task.rows - row - 1 beyond.
template <class T>
__device__ __forceinline__ std::int32_t search_row(const DeviceFactorsView<T>& f, const UpdateTask& task,
                                                   std::int32_t size, std::int32_t row) {
  return simt::find_row(f.row_idx + task.column, task.u + 1 + row, size - task.rows + row, f.row_idx[task.l + row]);
}

/// The type of the map's entries where there is no map: rows are searched for.
struct NoMap {};

/// The same from the map, where there is one.
template <class T, class Map>
__device__ __forceinline__ std::int32_t place_of_row(const DeviceFactorsView<T>& f, const Map* map,
                                                     const UpdateTask& task, std::int32_t row) {
  if constexpr (std::is_same_v<Map, NoMap>)
    return search_row(f, task, static_cast<std::int32_t>(task.map - task.column), row);
  else
    return static_cast<std::int32_t>(map[task.map + row]);
}

/// The calling thread's part of a task: rows row, row + step, ... of L(:,j).   to: where the first of them lies in
/// column k
/// Equivalent to   for (r = row; r < task.rows; r += step)                   As(i,k) -= As(i,j) / As(j,j) · As(j,k)
///                   values[task.column + place_of_row(r)] -=
///                       values[task.l + r] / values[task.l - 1] * values[task.column + task.u];
template <class T, class Map>
__device__ __forceinline__ void update(const DeviceFactorsView<T>& f, const Map* map, const UpdateTask& task,
                                       std::int32_t row, std::int32_t to, int step) {
  if (row >= task.rows) return;
  // The first row apart: where a thread has no other, unrolled code costs 0.3 us a level (H200).
  // __ldcg passes by the first-level cache: atomics of other multiprocessors change values in the second.
  const T first = __ldcg(&f.values[task.l + row]), pivot = __ldcg(&f.values[task.l - 1]);
  const T u = __ldcg(&f.values[task.column + task.u]);
  // RACE: tasks of this level add to the same entry; the atomic orders them, the barrier after the level publishes it
  atomicAdd(&f.values[task.column + to], -(first / pivot) * u);
  for (row += step; row < task.rows; row += rows_at_once * step) {
    T l[rows_at_once];
    std::int32_t at[rows_at_once];
#pragma unroll
    for (int q = 0; q < rows_at_once; ++q) {
      const std::int32_t r = row + q * step;
      l[q] = r < task.rows ? __ldcg(&f.values[task.l + r]) : T(0);
      at[q] = r < task.rows ? place_of_row(f, map, task, r) : 0;
    }
#pragma unroll
    for (int q = 0; q < rows_at_once; ++q)
      // RACE: as above
      if (row + q * step < task.rows) atomicAdd(&f.values[task.column + at[q]], -(l[q] / pivot) * u);
  }
}

/// Equivalent to   for each level, for each of its tasks: update() for all its rows;  then for each column j: L(:,j) /=
/// pivot
/// grid: all blocks resident together (cooperative)   block: a multiple of 32, at most max_block   shared: level shapes
template <class T, class Map>
__global__ void __launch_bounds__(max_block) eliminate_levels_kernel(DeviceFactorsView<T> f, Work<Map> work) {
  LULAB_SHARED(LevelShape, shapes, max_shapes_at_once);
  const auto grid = cooperative_groups::this_grid();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int32_t threads = gridDim.x * blockDim.x;
  // neighbouring warps of a level lie on different multiprocessors
  const std::int32_t thread = (warp * gridDim.x + blockIdx.x) * 32 + lane;

  const Levels levels = blockIdx.x == 0 ? work.of_block_0 : work.of_others;
  const auto place = [&](const LevelShape& level) { return level.alone ? static_cast<int>(threadIdx.x) : thread; };
  const auto groups = [&](const LevelShape& level) {
    return static_cast<std::int32_t>(level.alone ? blockDim.x : threads) >> level.group_log2;
  };
  const auto row_in = [&](const LevelShape& level) { return place(level) & ((1 << level.group_log2) - 1); };
  const auto task_at = [&](const LevelShape& level, std::int32_t t) {
    return t < level.size ? work.tasks[level.begin + t] : UpdateTask{};
  };
  const auto first_index = [&](const LevelShape& level) { return place(level) >> level.group_log2; };
  const auto where = [&](const UpdateTask& task, std::int32_t row) {
    return row < task.rows ? place_of_row(f, work.map, task, row) : 0;
  };

  // What does not depend on values is loaded one task ahead, across levels: the task, and where its first row goes.
  LevelShape level{};  // none before the first one
  UpdateTask task{};
  std::int32_t to = 0;
  std::int32_t fetched = 0, used = 0;  // shapes that are in shared memory, and of these, those that were `next`
  for (std::int32_t l = -1; l < levels.size; ++l) {
    if (used == fetched) {
      fetched = min(work.shapes_at_once, levels.size - l - 1), used = 0;
      for (std::int32_t i = threadIdx.x; i < fetched; i += blockDim.x) shapes[i] = levels.shapes[l + 1 + i];
      // RACE: each thread wrote some shapes, all read them; the last level's barrier ended earlier reads
      __syncthreads();
    }
    const LevelShape next = used < fetched ? shapes[used++] : LevelShape{};
    const UpdateTask next_task = task_at(next, first_index(next));

    const int step = 1 << level.group_log2;
    const std::int32_t row = row_in(level);
    update(f, work.map, task, row, to, step);
    std::int32_t t = first_index(level) + groups(level);
    for (UpdateTask one = task_at(level, t); t < level.size;) {
      t += groups(level);
      const UpdateTask another = task_at(level, t);
      update(f, work.map, one, row, where(one, row), step);
      one = another;
    }

    to = where(next_task, row_in(next));
    if (level.meet)
      grid.sync();  // RACE: atomics of the levels so far changed what all blocks read in the next one
    else
      __syncthreads();  // RACE: this block's atomics changed what it reads in its next level
    level = next;
    task = next_task;
  }

  for (std::int32_t j = thread / 32; j < f.n; j += threads / 32) {
    const std::int64_t diag = f.diag[j];
    const T pivot = __ldcg(&f.values[diag]);
    bool sound = pivot != T(0);
    for (std::int64_t p = f.col_ptr[j] + lane; p < f.col_ptr[j + 1]; p += 32) {
      T value = __ldcg(&f.values[p]);
      if (p > diag) f.values[p] = value = value / pivot;
      sound = sound && simt::is_finite(value);
    }
    // RACE: warps lower failed_column; the atomic orders them, the end of the launch publishes it
    if (!sound) atomicMin(f.failed_column, j);
  }
}

/// Each warp fills parts of the map, in turn.   grid, block: any   parts: (n_parts)   map: (map_size)
template <class T, class Map>
__global__ void map_rows_kernel(DeviceFactorsView<T> f, const MapPart* parts, std::int64_t n_parts, Map* map) {
  for (std::int64_t w = simt::thread_of_grid() / 32; w < n_parts; w += simt::threads_of_grid() / 32) {
    const UpdateTask task = parts[w].task;
    const auto size = static_cast<std::int32_t>(f.col_ptr[parts[w].k + 1] - task.column);
    for (std::int32_t r = threadIdx.x % 32; r < task.rows; r += 32)
      map[task.map + r] = static_cast<Map>(search_row(f, task, size, r));
  }
}

/// What only tests choose.
struct PersistentOptions {
  int max_threads = 0;          // of a block, a multiple of 32, at most max_block; 0: as many as pay
  std::int64_t max_blocks = 0;  // 0: one a multiprocessor
  std::int32_t shapes_at_once = max_shapes_at_once;
  double max_map_bytes_per_nonzero =
      24;  // twice the memory of L and U; a larger map is not made, rows are searched for
};

/// Tasks, map and levels in device memory, with entries of the map of one type.
template <class T, class Map>
class PersistentWork {
 public:
  Status prepare(const UpdateTasks& tasks, const PersistentOptions& options, const DeviceFactorsView<T>& f,
                 simt::Stream& stream) {
    LULAB_ASSIGN_OR_RETURN(auto device, simt::device_properties());
    const LevelSharing sharing =
        share_out(tasks, options.max_threads, options.max_blocks > 0 ? options.max_blocks : device.sm_count);
    threads_ = sharing.threads;
    blocks_ = sharing.blocks;
    shapes_at_once_ = options.shapes_at_once;
    LULAB_RETURN_IF_ERROR(simt::make(d_levels_, sharing.of_block_0, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_levels_of_others_, sharing.of_others, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_tasks_, tasks.tasks, stream));
    simt::DeviceBuffer<MapPart> d_parts;
    if constexpr (!std::is_same_v<Map, NoMap>) {
      LULAB_RETURN_IF_ERROR(simt::make(d_map_, tasks.map_size));
      LULAB_RETURN_IF_ERROR(simt::make(d_parts, tasks.parts, stream));
      if (d_parts.size() > 0)
        LULAB_RETURN_IF_ERROR(simt::launch(
            map_rows_kernel<T, Map>,
            {.grid = static_cast<unsigned>(std::min<std::int64_t>(d_parts.size() / 4 + 1, 4096)), .block = 128}, stream,
            f, d_parts.data(), d_parts.size(), d_map_.data()));
    }
    return stream.wait();  // sharing and d_parts are local
  }

  Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) {
    return simt::launch(
        eliminate_levels_kernel<T, Map>,
        {.grid = static_cast<unsigned>(blocks_), .block = static_cast<unsigned>(threads_), .cooperative = true}, stream,
        f,
        Work<Map>{levels_in(d_levels_), levels_in(d_levels_of_others_), shapes_at_once_, d_tasks_.data(),
                  d_map_.data()});
  }

  std::int64_t bytes() const {
    return std::int64_t(sizeof(LevelShape)) * (d_levels_.size() + d_levels_of_others_.size()) +
           std::int64_t(sizeof(UpdateTask)) * d_tasks_.size() + std::int64_t(sizeof(Map)) * d_map_.size();
  }

 private:
  static Levels levels_in(const simt::DeviceBuffer<LevelShape>& shapes) {
    return {shapes.data(), static_cast<std::int32_t>(shapes.size())};
  }

  simt::DeviceBuffer<LevelShape> d_levels_, d_levels_of_others_;
  simt::DeviceBuffer<UpdateTask> d_tasks_;
  simt::DeviceBuffer<Map> d_map_;
  std::int64_t blocks_ = 1;
  int threads_ = 32;
  std::int32_t shapes_at_once_ = 1;
};

template <class T>
class PersistentBackend final : public DeviceBackend<T> {
 public:
  explicit PersistentBackend(const PersistentOptions& options = {}) : options_(options) {}

 protected:
  Status prepare_rung() override {
    work_.template emplace<0>();  // frees what an earlier pattern needed
    const FilledPattern& f = this->analysis().filled;
    std::int64_t longest = 0;
    for (std::int32_t k = 0; k < f.n; ++k) longest = std::max(longest, f.col_ptr[k + 1] - f.col_ptr[k]);
    const bool narrow = longest <= std::numeric_limits<std::uint16_t>::max() + std::int64_t{1};
    const double entry_bytes = narrow ? sizeof(std::uint16_t) : sizeof(std::int32_t);
    const UpdateTasks tasks = make_update_tasks(
        f, levels_right_looking(f, DependencyRule::relaxed),
        static_cast<std::int64_t>(options_.max_map_bytes_per_nonzero / entry_bytes * double(f.nnz())));
    if (tasks.map_size == 0)
      work_.template emplace<PersistentWork<T, NoMap>>();
    else if (narrow)
      work_.template emplace<PersistentWork<T, std::uint16_t>>();
    else
      work_.template emplace<PersistentWork<T, std::int32_t>>();
    return std::visit([&](auto& work) { return work.prepare(tasks, options_, this->view(), *this->stream()); }, work_);
  }

  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    return std::visit([&](auto& work) { return work.enqueue(f, stream); }, work_);
  }

  std::int64_t work_bytes() const override {
    return std::visit([](const auto& work) { return work.bytes(); }, work_);
  }

 private:
  const PersistentOptions options_;
  std::variant<PersistentWork<T, NoMap>, PersistentWork<T, std::uint16_t>, PersistentWork<T, std::int32_t>> work_;
};

}  // namespace lulab::sparse_hybrid
