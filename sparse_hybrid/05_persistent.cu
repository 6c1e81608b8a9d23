// Hybrid right-looking LU in one kernel: all levels, with a barrier of the grid between them.    Peng & Tan 2020, Alg. 2
//
//   for each level of the relaxed rule, in order                       a barrier orders the levels
//     for each As(j,k), j a column of the level, k > j, in parallel    a group of 2^s threads     update_tasks.h
//       for i > j with As(i,j) != 0, in parallel                       a thread a row
//         As(i,k) -= As(i,j) · (As(j,k) / As(j,j))                     atomic; where entry (i,k) lies is in a map
//   for j, in parallel:  As(j+1:n,j) /= As(j,j)
//
// L stays undivided until the end, so that a level is one step, not two with a barrier between. What a level waits for is
// then one load of values and one barrier: tasks and map of the next level are fetched before the barrier. Levels small
// enough for one block are that block's alone, with a barrier of the block between them; the others wait for the last.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <variant>
#include <vector>

#include "core/device_factorizer.h"
#include "core/simt/kernel.h"
#include "sparse_hybrid/rungs.h"
#include "sparse_hybrid/update_tasks.h"
#include "symbolic/dependencies.h"

namespace lulab::sparse_hybrid {
namespace {

constexpr int max_block = 768;
constexpr int rows_at_once = 2;            // of a task after its first, whose loads are in flight together
constexpr int shapes_at_once = 512;        // of levels, in shared memory
constexpr double rounds_of_a_task = 2;     // what a task costs besides its rows
constexpr double rounds_of_a_barrier = 2;  // what a barrier of the grid costs, in rounds of loads and atomics

/// How a level is shared out.
struct LevelShape {
  std::int64_t begin;       // its first task
  std::int32_t size;        // tasks
  std::uint8_t group_log2;  // 2^group_log2 threads have a task together
  bool alone;               // block 0 does it, else all blocks
  bool meet;                // all blocks meet after it, else only the threads of this one
};

/// What a block goes through.
struct Levels {
  const LevelShape* shapes;
  std::int32_t size;
};

template <class Map>
struct Work {
  Levels of_block_0, of_others;  // for the others a run of levels that block 0 does alone is one without tasks
  const UpdateTask* tasks;
  const Map* map;
};

/// As(i,k) -= As(i,j) · (As(j,k) / As(j,j)) for row `row` of L(:,j) and every `step`-th one after it.
/// to: where the first one goes in column k
template <class T, class Map>
__device__ __forceinline__ void update(const DeviceFactorsView<T>& f, const Map* map, const UpdateTask& task,
                                       std::int32_t row, std::int32_t to, int step) {
  if (row >= task.rows) return;
  // not through the first-level cache: atomics of other multiprocessors change values in the second
  const T first = __ldcg(&f.values[task.l + row]);
  const T u = __ldcg(&f.values[task.column + task.u]) / __ldcg(&f.values[task.l - 1]);
  // RACE: tasks of this level add to the same entry; the atomic orders them, the barrier after the level publishes it
  atomicAdd(&f.values[task.column + to], -first * u);
  for (row += step; row < task.rows; row += rows_at_once * step) {
    T l[rows_at_once];
    std::int32_t at[rows_at_once];
#pragma unroll
    for (int q = 0; q < rows_at_once; ++q) {
      const std::int32_t r = row + q * step;
      l[q] = r < task.rows ? __ldcg(&f.values[task.l + r]) : T(0);
      at[q] = r < task.rows ? static_cast<std::int32_t>(map[task.map + r]) : 0;
    }
#pragma unroll
    for (int q = 0; q < rows_at_once; ++q)
      // RACE: as above
      if (row + q * step < task.rows) atomicAdd(&f.values[task.column + at[q]], -l[q] * u);
  }
}

/// grid: resident together   block: a multiple of 32
template <class T, class Map>
__global__ void __launch_bounds__(max_block) eliminate_levels_kernel(DeviceFactorsView<T> f, Work<Map> work) {
  LULAB_SHARED(LevelShape, shapes, shapes_at_once);
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
    return row < task.rows ? static_cast<std::int32_t>(work.map[task.map + row]) : 0;
  };

  // What does not depend on values is on its way one task ahead, across levels: the task, and where its first row goes.
  LevelShape level{};  // none before the first one
  UpdateTask task{};
  std::int32_t to = 0;
  for (std::int32_t l = -1; l < levels.size; ++l) {
    if ((l + 1) % shapes_at_once == 0) {
      for (std::int32_t i = threadIdx.x; i < min(shapes_at_once, levels.size - l - 1); i += blockDim.x)
        shapes[i] = levels.shapes[l + 1 + i];
      __syncthreads();  // RACE: each wrote some shapes, all read them; the barrier of the last level ended its readers
    }
    const LevelShape next = l + 1 < levels.size ? shapes[(l + 1) % shapes_at_once] : LevelShape{};
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
      sound = sound && value - value == T(0);  // false for NaN and infinity
    }
    // RACE: warps lower failed_column; the atomic orders them, the end of the launch publishes it
    if (!sound) atomicMin(f.failed_column, j);
  }
}

/// A warp a part of the map, in turn.   map[task.map + r] = position of the r-th row of L(:,j) in column k
template <class T, class Map>
__global__ void map_rows_kernel(DeviceFactorsView<T> f, const MapPart* parts, std::int64_t n_parts, Map* map) {
  const std::int64_t warps = std::int64_t(gridDim.x) * blockDim.x / 32;
  for (std::int64_t w = (std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32; w < n_parts; w += warps) {
    const UpdateTask task = parts[w].task;
    const std::int32_t* const rows = f.row_idx + task.column;
    const auto size = static_cast<std::int32_t>(f.col_ptr[parts[w].k + 1] - task.column);
    for (std::int32_t r = threadIdx.x % 32; r < task.rows; r += 32) {
      const std::int32_t row = f.row_idx[task.l + r];
      std::int32_t from = task.u + 1 + r, last = size - task.rows + r;  // column k has all rows of L(:,j)
      while (from < last) {
        const std::int32_t middle = from + (last - from) / 2;
        if (rows[middle] < row)
          from = middle + 1;
        else
          last = middle;
      }
      map[task.map + r] = static_cast<Map>(from);
    }
  }
}

/// The size of the groups, and how many rounds of one load and one atomic a level then takes with so many threads.
struct Sharing {
  std::int32_t group_log2 = 0;
  double rounds = std::numeric_limits<double>::infinity();
};

/// work[s]: threads that groups of 2^s keep busy
Sharing best_sharing(const std::array<std::int64_t, 11>& work, std::int64_t tasks, std::int64_t max_rows,
                     std::int64_t threads) {
  Sharing best;
  for (std::int32_t s = 0; s < std::ssize(work) && threads % (std::int64_t(1) << s) == 0; ++s) {  // no group is cut off
    const double rounds = double(work[s]) / double(threads) + double(max_rows >> s) +
                          rounds_of_a_task * double(tasks << s) / double(threads);
    if (rounds < best.rounds) best = {s, rounds};
  }
  return best;
}

template <class T, class Map>
class PersistentWork {
 public:
  Status prepare(const FilledPattern& filled, const DeviceFactorsView<T>& f, simt::Stream& stream) {
    auto device = simt::device_properties();
    if (!device.ok()) return device.status();
    auto blocks_per_sm = simt::max_resident_blocks_per_sm(eliminate_levels_kernel<T, Map>, max_block);
    if (!blocks_per_sm.ok()) return blocks_per_sm.status();
    const UpdateTasks tasks = make_update_tasks(filled, levels_right_looking(filled, DependencyRule::relaxed));
    const std::vector<LevelShape> levels = share_out(tasks, device->sm_count);

    const std::vector<LevelShape> others = levels_of_others(levels);
    LULAB_RETURN_IF_ERROR(simt::make(d_levels_, levels, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_levels_of_others_, others, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_tasks_, tasks.tasks, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_map_, tasks.map_size));
    simt::DeviceBuffer<MapPart> d_parts;
    LULAB_RETURN_IF_ERROR(simt::make(d_parts, tasks.parts, stream));
    if (d_parts.size() > 0)
      LULAB_RETURN_IF_ERROR(simt::launch(
          map_rows_kernel<T, Map>,
          {.grid = static_cast<unsigned>(std::min<std::int64_t>(d_parts.size() / 4 + 1, 4096)), .block = 128}, stream,
          f, d_parts.data(), d_parts.size(), d_map_.data()));
    return stream.wait();  // what is uploaded is local
  }

  Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) {
    return simt::launch(
        eliminate_levels_kernel<T, Map>,
        {.grid = static_cast<unsigned>(blocks_), .block = static_cast<unsigned>(threads_), .cooperative = true}, stream,
        f, Work<Map>{levels_in(d_levels_), levels_in(d_levels_of_others_), d_tasks_.data(), d_map_.data()});
  }

  std::int64_t bytes() const {
    return std::int64_t(sizeof(LevelShape)) * (d_levels_.size() + d_levels_of_others_.size()) +
           std::int64_t(sizeof(UpdateTask)) * d_tasks_.size() + std::int64_t(sizeof(Map)) * d_map_.size();
  }

 private:
  static Levels levels_in(const simt::DeviceBuffer<LevelShape>& shapes) {
    return {shapes.data(), static_cast<std::int32_t>(shapes.size())};
  }

  /// Chooses grid and block, too: no more than the widest level keeps busy.
  std::vector<LevelShape> share_out(const UpdateTasks& tasks, int sm_count) {
    const auto n_levels = static_cast<std::int32_t>(std::ssize(tasks.level_ptr) - 1);
    std::vector<std::array<std::int64_t, 11>> work(n_levels);
    std::vector<std::int64_t> max_rows(n_levels, 0);
    std::int64_t widest = 32;
    for (std::int32_t l = 0; l < n_levels; ++l) {
      work[l].fill(0);
      for (std::int64_t t = tasks.level_ptr[l]; t < tasks.level_ptr[l + 1]; ++t) {
        const std::int64_t rows = tasks.tasks[t].rows;
        max_rows[l] = std::max(max_rows[l], rows);
        for (std::size_t s = 0; s < work[l].size(); ++s) work[l][s] += (rows + (1 << s) - 1) >> s << s;
      }
      widest = std::max(widest, work[l].front());
    }
    // More threads a block make its barriers dearer, and pay where levels have rows for all of them (H200, 512 / 768:
    // 13659pegase 0.52 / 0.53 ms, 90k grid 7.0 / 6.6).
    const std::int64_t rows = std::accumulate(work.begin(), work.end(), std::int64_t{0},
                                              [](std::int64_t sum, const auto& w) { return sum + w.front(); });
    const std::int64_t most = rows / std::max(n_levels, 1) > 40000 ? max_block : 512;
    threads_ = static_cast<int>(std::min(most, (widest + 31) / 32 * 32));
    blocks_ = std::clamp<std::int64_t>(widest / threads_, 1, sm_count);

    std::vector<LevelShape> levels(n_levels);
    for (std::int32_t l = 0; l < n_levels; ++l) {
      const Sharing one = best_sharing(work[l], tasks.level_ptr[l + 1] - tasks.level_ptr[l], max_rows[l], threads_);
      const Sharing all =
          best_sharing(work[l], tasks.level_ptr[l + 1] - tasks.level_ptr[l], max_rows[l], threads_ * blocks_);
      const bool alone = one.rounds <= all.rounds + rounds_of_a_barrier;
      levels[l] = {tasks.level_ptr[l], static_cast<std::int32_t>(tasks.level_ptr[l + 1] - tasks.level_ptr[l]),
                   static_cast<std::uint8_t>((alone ? one : all).group_log2), alone, true};
      if (l > 0) levels[l - 1].meet = !(alone && levels[l - 1].alone);
    }
    return levels;
  }

  /// What blocks other than 0 go through.
  static std::vector<LevelShape> levels_of_others(const std::vector<LevelShape>& levels) {
    std::vector<LevelShape> others;
    for (const LevelShape& level : levels)
      if (!level.alone)
        others.push_back(level);
      else if (level.meet)
        others.push_back({.begin = 0, .size = 0, .group_log2 = 0, .alone = true, .meet = true});
    return others;
  }

  simt::DeviceBuffer<LevelShape> d_levels_, d_levels_of_others_;
  simt::DeviceBuffer<UpdateTask> d_tasks_;
  simt::DeviceBuffer<Map> d_map_;
  std::int64_t blocks_ = 1;
  int threads_ = 32;
};

template <class T>
class Persistent final : public DeviceFactorizer<T> {
 protected:
  Status prepare() override {
    const FilledPattern& f = this->analysis().filled;
    std::int64_t longest = 0;
    for (std::int32_t k = 0; k < f.n; ++k) longest = std::max(longest, f.col_ptr[k + 1] - f.col_ptr[k]);
    if (longest <= std::numeric_limits<std::uint16_t>::max())
      work_.template emplace<PersistentWork<T, std::uint16_t>>();
    else
      work_.template emplace<PersistentWork<T, std::int32_t>>();
    return std::visit([&](auto& work) { return work.prepare(f, this->view(), *this->stream()); }, work_);
  }

  Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    return std::visit([&](auto& work) { return work.enqueue(f, stream); }, work_);
  }

  std::int64_t work_bytes() const override {
    return std::visit([](const auto& work) { return work.bytes(); }, work_);
  }

 private:
  std::variant<PersistentWork<T, std::uint16_t>, PersistentWork<T, std::int32_t>> work_;
};

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions&) {
  return std::make_unique<Persistent<T>>();
}

}  // namespace

const Rung persistent = {
    .facts = {.id = "sparse_hybrid/05_persistent",
              .stage = "sparse_hybrid",
              .paper = "Peng & Tan 2020, Algorithms 2 and 4, in one cooperative kernel",
              .idea =
                  "one kernel: groups of threads update through a map of rows, a barrier of the grid between levels, "
                  "narrow levels by one block",
              .pivoting = Pivoting::fixed,
              .device = Device::gpu,
              .dependencies = Dependencies::values,  // no barrier of the grid between the levels of one block
              .deterministic = false,
              .refactors = true},
    .make_float = make<float>,
    .make_double = make<double>};

}  // namespace lulab::sparse_hybrid
