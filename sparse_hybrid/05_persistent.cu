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
#include <variant>
#include <vector>

#include "core/device_factorizer.h"
#include "core/simt/kernel.h"
#include "sparse_hybrid/rungs.h"
#include "sparse_hybrid/update_tasks.h"
#include "symbolic/dependencies.h"

namespace lulab::sparse_hybrid {
namespace {

constexpr int max_block = 1024;
constexpr double rounds_of_a_barrier = 4;  // what a barrier of the grid costs, in rounds of loads and atomics

/// How a level is shared out.
struct LevelShape {
  std::int64_t begin, end;  // its tasks
  std::int32_t group_log2;  // 2^group_log2 threads have a task together
  std::int32_t resume;      // the level at which all blocks meet again: the next one, or, where this level and those
                            // before `resume` are block 0's alone, the one after them
  bool alone;
};

template <class Map>
struct Work {
  const LevelShape* levels;
  std::int32_t n_levels;
  const UpdateTask* tasks;
  const Map* map;
};

/// A thread's first step of a level, as far as it can be fetched before the level's values are final.
struct FirstStep {
  LevelShape level;
  UpdateTask task;
  std::int32_t row;  // of L(:,j); task.rows or more: there is none
  std::int32_t to;   // where it goes in column k
};

/// The thread's place in its level: one of `all` threads.
struct Place {
  std::int64_t me, all;
};

template <class Map>
__device__ __forceinline__ FirstStep fetch(const Work<Map>& work, const LevelShape& level, std::int64_t t,
                                           std::int32_t row) {
  FirstStep s;
  s.level = level;
  s.row = row;
  s.task.rows = 0;
  if (t < level.end) s.task = work.tasks[t];
  s.to = row < s.task.rows ? work.map[s.task.map + row] : 0;
  return s;
}

/// As(i,k) -= As(i,j) · (As(j,k) / As(j,j)) for the rows of this thread: s.row and every `step`-th one after it.
template <class T, class Map>
__device__ __forceinline__ void update(const DeviceFactorsView<T>& f, const Work<Map>& work, const FirstStep& s,
                                       int step) {
  const UpdateTask& task = s.task;
  if (s.row >= task.rows) return;
  // not through the first-level cache: atomics of other multiprocessors change values in the second
  T l = __ldcg(&f.values[task.l + s.row]);
  const T u = __ldcg(&f.values[task.column + task.u]) / __ldcg(&f.values[task.l - 1]);
  for (std::int32_t row = s.row, to = s.to;;) {
    // RACE: tasks of this level add to the same entry; the atomic orders them, the barrier after the level publishes it
    atomicAdd(&f.values[task.column + to], -l * u);
    if ((row += step) >= task.rows) return;
    l = __ldcg(&f.values[task.l + row]);
    to = work.map[task.map + row];
  }
}

/// grid: resident together   block: a multiple of 32
template <class T, class Map>
__global__ void __launch_bounds__(max_block) eliminate_levels_kernel(DeviceFactorsView<T> f, Work<Map> work) {
  const auto grid = cooperative_groups::this_grid();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  // neighbouring warps of a level lie on different multiprocessors
  const std::int64_t thread = (std::int64_t(warp) * gridDim.x + blockIdx.x) * 32 + lane;
  const auto place_in = [&](const LevelShape& level) {
    return level.alone ? Place{threadIdx.x, blockDim.x} : Place{thread, threads};
  };
  const auto first_step = [&](std::int32_t l) {
    const LevelShape level = work.levels[l];
    const std::int64_t me = place_in(level).me;
    return fetch(work, level, level.begin + (me >> level.group_log2),
                 static_cast<std::int32_t>(me & ((std::int64_t(1) << level.group_log2) - 1)));
  };

  FirstStep first;
  if (work.n_levels > 0) first = first_step(0);
  for (std::int32_t l = 0; l < work.n_levels;) {
    const LevelShape level = first.level;
    const bool takes_part = !level.alone || blockIdx.x == 0;
    if (takes_part) {
      const Place place = place_in(level);
      const int group = 1 << level.group_log2;
      const std::int32_t row = first.row;
      update(f, work, first, group);
      for (std::int64_t t = level.begin + ((place.me + place.all) >> level.group_log2); t < level.end;
           t += place.all >> level.group_log2)
        update(f, work, fetch(work, level, t, row), group);
    }
    l = takes_part ? l + 1 : level.resume;
    if (l < work.n_levels) first = first_step(l);
    if (takes_part && l < level.resume)
      __syncthreads();  // RACE: this block's atomics changed what it reads in its next level
    else
      grid.sync();  // RACE: atomics of the levels so far changed what all blocks read in the next one
  }

  for (std::int64_t j = thread / 32; j < f.n; j += threads / 32) {
    const std::int64_t diag = f.diag[j];
    const T pivot = __ldcg(&f.values[diag]);
    bool sound = pivot != T(0);
    for (std::int64_t p = f.col_ptr[j] + lane; p < f.col_ptr[j + 1]; p += 32) {
      T value = __ldcg(&f.values[p]);
      if (p > diag) f.values[p] = value = value / pivot;
      sound = sound && value - value == T(0);  // false for NaN and infinity
    }
    // RACE: warps lower failed_column; the atomic orders them, the end of the launch publishes it
    if (!sound) atomicMin(f.failed_column, static_cast<std::int32_t>(j));
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
Sharing best_sharing(const std::array<std::int64_t, 11>& work, std::int64_t max_rows, std::int64_t threads) {
  Sharing best;
  for (std::int32_t s = 0; s < std::ssize(work) && std::int64_t(1) << s <= threads; ++s) {
    const double rounds = double(work[s]) / double(threads) + double(max_rows >> s);
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

    LULAB_RETURN_IF_ERROR(simt::make(d_levels_, levels, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_tasks_, tasks.tasks, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_map_, tasks.map_size));
    simt::DeviceBuffer<MapPart> d_parts;
    LULAB_RETURN_IF_ERROR(simt::make(d_parts, tasks.parts, stream));
    if (d_parts.size() > 0)
      LULAB_RETURN_IF_ERROR(simt::launch(
          map_rows_kernel<T, Map>,
          {.grid = static_cast<unsigned>(std::min<std::int64_t>(d_parts.size() / 4 + 1, 4096)), .block = 128}, stream,
          f, d_parts.data(), d_parts.size(), d_map_.data()));
    return stream.wait();  // tasks, levels and d_parts are locals
  }

  Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) {
    return simt::launch(
        eliminate_levels_kernel<T, Map>,
        {.grid = static_cast<unsigned>(blocks_), .block = static_cast<unsigned>(threads_), .cooperative = true}, stream,
        f, Work<Map>{d_levels_.data(), static_cast<std::int32_t>(d_levels_.size()), d_tasks_.data(), d_map_.data()});
  }

  std::int64_t bytes() const {
    return std::int64_t(sizeof(LevelShape)) * d_levels_.size() + std::int64_t(sizeof(UpdateTask)) * d_tasks_.size() +
           std::int64_t(sizeof(Map)) * d_map_.size();
  }

 private:
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
    threads_ = static_cast<int>(std::min<std::int64_t>(max_block, (widest + 31) / 32 * 32));
    blocks_ = std::clamp<std::int64_t>(widest / threads_, 1, sm_count);

    std::vector<LevelShape> levels(n_levels);
    for (std::int32_t l = n_levels - 1; l >= 0; --l) {
      const Sharing one = best_sharing(work[l], max_rows[l], threads_);
      const Sharing all = best_sharing(work[l], max_rows[l], threads_ * blocks_);
      const bool alone = one.rounds <= all.rounds + rounds_of_a_barrier;
      levels[l] = {tasks.level_ptr[l], tasks.level_ptr[l + 1], (alone ? one : all).group_log2, l + 1, alone};
      if (alone && l + 1 < n_levels && levels[l + 1].alone) levels[l].resume = levels[l + 1].resume;
    }
    return levels;
  }

  simt::DeviceBuffer<LevelShape> d_levels_;
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
              .dependencies = Dependencies::levels,
              .deterministic = false,
              .refactors = true},
    .make_float = make<float>,
    .make_double = make<double>};

}  // namespace lulab::sparse_hybrid
