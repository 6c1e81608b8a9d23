// Left-looking LU, one block a column kept in shared memory, one launch for all columns.
//
//   while a column is left, in parallel               resident blocks only, columns handed out in level order
//     x = A(:,j)                                      compact: entries of the column's own pattern
//     for runs k..k'' of U(:,j), ascending            columns of one supernode            update_panels.h
//       x(k..k'') = L(k..k'',k..k'') \ x(k..k'')      every warp for itself
//       x(i) -= L(i,k..k'') · x(k..k'')               a thread a row, once L(i,·) is there
//     U(1:j,j) = x(1:j);  L(j+1:n,j) = x(j+1:n) / x(j)
//
// Pipeline mode of Chen et al. 2015, appendix A.1, with supernode-column updates as in Demmel et al. 1999. There are no
// flags: L lies in memory that says "not yet" in every scalar, and who needs a scalar waits for that one. What a hop costs
// is then one store and one load, without a fence between values and flag and without loading twice.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/awaited_scalar.h"
#include "core/device_factorizer.h"
#include "core/simt/kernel.h"
#include "sparse_leftlooking/rungs.h"
#include "sparse_leftlooking/update_panels.h"

namespace lulab::sparse_leftlooking {
namespace {

constexpr int max_width = 32;      // of a supernode: a lane a column of a run
constexpr int min_width = 4;       // of a run: narrower ones are faster column by column (1.44 -> 0.67 ms on circuit_1)
constexpr int max_block = 256;     // threads
constexpr int runs_at_once = 64;   // in shared memory
constexpr int narrow_at_once = 8;  // runs of one column whose words are fetched together
constexpr int columns_at_once = 8;  // of a run, fetched by a thread before it waits for the first

template <class T>
struct PanelsView {
  const std::int64_t* l_begin;     // (n)
  const std::int64_t* update_ptr;  // (n + 1)
  const Update* updates;
  const std::uint16_t* map;  // positions of the rows of every update; null: they are searched for
  Word<T>* words;            // L's panels, not_yet on entry
  std::int32_t* ticket;      // -1 on entry
};

/// Position of a row that is among rows[from .. size).
__device__ __forceinline__ int find(const std::int32_t* rows, int from, int size, std::int32_t row) {
  int last = size - 1;
  while (from < last) {
    const int middle = (from + last) / 2;
    if (rows[middle] < row)
      from = middle + 1;
    else
      last = middle;
  }
  return from;
}

/// The column that a block eliminates.
template <class T>
struct Column {
  T* x;                      // (size)
  const std::int32_t* rows;  // (size)
  int size;
};

/// Shared memory of a block besides the column.
template <class T>
struct Scratch {
  Word<T> (*triangle)[max_width + 1];  // (max_width) of a run: [e][i] = L(k+i, k+e)
  T* u;                                // (max_width) x(k..), a copy for each warp
};

/// Where row i below the run goes: its position in the column where there is a map, else the row.
template <class T>
__device__ __forceinline__ std::int32_t where(const DeviceFactorsView<T>& f, const PanelsView<T>& panels,
                                              const Update& run, int i) {
  return panels.map ? panels.map[run.map + i] : f.row_idx[run.rows + i];
}

/// The position from what where() said.
template <class T>
__device__ __forceinline__ int place(const PanelsView<T>& panels, const Column<T>& column, const Update& run,
                                     std::int32_t where) {
  return panels.map ? where : find(column.rows, run.at + run.width, column.size, where);
}

/// words[q] = l[q · ld] for q < count.
template <class W>
__device__ __forceinline__ void fetch(W* l, std::int64_t ld, int count, W (&words)[columns_at_once]) {
#pragma unroll
  for (int q = 0; q < columns_at_once; ++q)
    if (q < count) words[q] = peek(l + q * ld);
}

/// x(i) -= L(i,k) · x(k) for single columns k, one after the other, whose words are fetched together.
/// run: (count), each of one column with a thread a row.   Called by all threads; ends with a barrier.
template <class T>
__device__ __forceinline__ void apply_columns(const DeviceFactorsView<T>& f, const PanelsView<T>& panels,
                                              const Column<T>& column, const Update* run, int count) {
  const int thread = threadIdx.x;
  std::int32_t to[narrow_at_once];
  Word<T> words[narrow_at_once];
#pragma unroll
  for (int q = 0; q < narrow_at_once; ++q) {  // L(i,k), and where row i goes
    const bool mine = q < count && thread < run[q].below;
    to[q] = mine ? where(f, panels, run[q], thread) : -1;
    words[q] = mine ? peek(panels.words + run[q].panel + 1 + thread) : 0;
  }
#pragma unroll
  for (int q = 0; q < narrow_at_once; ++q) {
    if (q >= count) break;
    if (to[q] >= 0) {
      const int position = place(panels, column, run[q], to[q]);
      const T l = to_scalar(await(panels.words + run[q].panel + 1 + thread, words[q]));
      column.x[position] -= l * column.x[run[q].at];
    }
    __syncthreads();  // RACE: each wrote some x(i); the next column k and the caller read them
  }
}

/// x(k..k'') = L(k..k'', k..k'') \ x(k..k''), then x(i) -= L(i, k..k'') · x(k..k''): as many columns of the run at a time
/// as are there, and the one after them.   Called by all threads; ends with a barrier.
template <class T>
__device__ __forceinline__ void apply_run(const DeviceFactorsView<T>& f, const PanelsView<T>& panels,
                                          const Column<T>& column, Update run, const Scratch<T>& scratch) {
  const int thread = threadIdx.x, lane = thread % 32, threads = blockDim.x;
  T* const x = column.x;
  Word<T>* panel = panels.words + run.panel;
  const std::int32_t first_to = thread < run.below ? where(f, panels, run, thread) : 0;
  for (int at = run.at, width = run.width, taken; width > 0;
       at += taken, width -= taken, panel += std::int64_t(taken) * (run.ld + 1)) {
    T u_lane = lane < width ? x[at + lane] : T(0);
    Word<T> words[columns_at_once] = {};  // L(i,k..) of a row i: fetched here for this thread's first row below the run
    if (thread < run.below) fetch(panel + width + thread, run.ld, width, words);
    taken = width;
    if (width > 1) {
      for (int e = thread / 32; e < width - 1; e += threads / 32)
        if (e < lane && lane < width) scratch.triangle[e][lane] = peek(panel + std::int64_t(e) * run.ld + lane);
      __syncthreads();  // RACE: each warp wrote columns of the triangle and read u_lane; all read the triangle
      const bool missing = lane < width - 1 && scratch.triangle[lane][lane + 1] == not_yet<T>;
      const unsigned all_missing = __ballot_sync(0xffffffffu, missing);
      if (all_missing) taken = __ffs(static_cast<int>(all_missing));
      for (int e = 0; e < taken - 1; ++e) {  // every warp for itself, a lane a row
        const T u_e = __shfl_sync(0xffffffffu, u_lane, e);
        if (e < lane && lane < taken)
          u_lane -= to_scalar(await(panel + std::int64_t(e) * run.ld + lane, scratch.triangle[e][lane])) * u_e;
      }
      if (thread < taken) x[at + thread] = u_lane;
    }
    if (lane < taken) scratch.u[lane] = u_lane;
    __syncwarp();  // RACE: lanes wrote u, all lanes read it

    const auto subtract = [&](int position, Word<T>* l) {  // x(i) -= L(i,k..) · x(k..), ascending k, from `words` on
      T sum = x[position];
      for (int e = 0; e < taken; e += columns_at_once) {
        if (e > 0) fetch(l + std::int64_t(e) * run.ld, run.ld, taken - e, words);
#pragma unroll
        for (int q = 0; q < columns_at_once; ++q) {
          if (e + q >= taken) break;
          sum -= to_scalar(await(l + std::int64_t(e + q) * run.ld, words[q])) * scratch.u[e + q];
        }
      }
      x[position] = sum;
    };
    if (thread < run.below) subtract(place(panels, column, run, first_to), panel + width + thread);
    for (int i = thread + threads; i < run.below; i += threads) {
      fetch(panel + width + i, run.ld, taken, words);
      subtract(place(panels, column, run, where(f, panels, run, i)), panel + width + i);
    }
    if (thread < width - taken) {  // rows of the run's own columns that are left
      fetch(panel + taken + thread, run.ld, taken, words);
      subtract(at + taken + thread, panel + taken + thread);
    }
    __syncthreads();  // RACE: all wrote x and read u and the triangle; the next columns and the caller read x
  }
}

/// A block takes the next column in level order, eliminates it, publishes it, until none is left.
/// block: at most max_block   shared: max_rows scalars, and as many row indices where there is no map
/// level_cols: (n) a column after those it needs
/// work: (grid, work_rows) for columns of more than max_rows entries
template <class T>
__global__ void __launch_bounds__(max_block, 2)  // else ptxas keeps to 48 registers and spills
    eliminate_supernode_pipeline_kernel(DeviceFactorsView<T> f, const std::int32_t* level_cols, PanelsView<T> panels,
                                        std::int32_t max_rows, T* work, std::int32_t work_rows) {
  LULAB_DYNAMIC_SHARED(T, shared_x);
  LULAB_SHARED(Word<T>, triangle, max_width][max_width + 1);
  LULAB_SHARED(T, u_of_warp, max_block / 32][max_width);
  LULAB_SHARED(std::int32_t, taken_column, 1);
  LULAB_SHARED(Update, runs, runs_at_once);
  const int thread = threadIdx.x, threads = blockDim.x;
  const Scratch<T> scratch = {triangle, u_of_warp[thread / 32]};

  for (;;) {
    // RACE: no two blocks get one column
    if (thread == 0) taken_column[0] = 1 + atomicAdd(panels.ticket, 1);
    __syncthreads();  // RACE: thread 0 wrote the column, all read it; all are done with x of the column before
    if (taken_column[0] >= f.n) return;
    const std::int32_t j = level_cols[taken_column[0]];
    const std::int64_t begin = f.col_ptr[j];
    const int size = static_cast<int>(f.col_ptr[j + 1] - begin), diag = static_cast<int>(f.diag[j] - begin);
    const bool fits = size <= max_rows, copied = fits && !panels.map;
    T* const x = fits ? shared_x : work + std::int64_t(blockIdx.x) * work_rows;
    std::int32_t* const own_rows = reinterpret_cast<std::int32_t*>(shared_x + max_rows);
    const Column<T> column = {x, copied ? own_rows : f.row_idx + begin, size};
    for (int i = thread; i < size; i += threads) {  // x = A(:,j), zero at fill-in
      x[i] = f.values[begin + i];
      if (copied) own_rows[i] = f.row_idx[begin + i];
    }
    __syncthreads();  // RACE: all wrote x and rows, and read taken_column; all read x and rows

    const Update* updates = panels.updates + panels.update_ptr[j];
    const int n_updates = static_cast<int>(panels.update_ptr[j + 1] - panels.update_ptr[j]);
    for (int s = 0, first = 0, end = 0; s < n_updates;) {  // runs[0 .. end - first) are updates[first .. end)
      if (s + narrow_at_once > end && end < n_updates) {
        first = s;
        end = min(s + runs_at_once, n_updates);
        for (int i = thread; i < end - first; i += threads) runs[i] = updates[first + i];
        __syncthreads();  // RACE: each wrote some runs, all read them; the barrier of the last update ended its readers
      }
      const Update* run = &runs[s - first];
      const int narrow = min(run->narrow, narrow_at_once);
      if (narrow > 0)
        apply_columns(f, panels, column, run, narrow);
      else
        apply_run(f, panels, column, *run, scratch);
      s += max(narrow, 1);
    }

    const T pivot = x[diag];
    bool sound = pivot != T(0);
    Word<T>* l = panels.words + panels.l_begin[j];
    for (int i = diag + 1 + thread; i < size; i += threads) {  // L(j+1:n,j) = x(j+1:n) / x(j)
      const T value = x[i] / pivot;
      publish<T>(l + i - diag - 1, value);
      f.values[begin + i] = value;
      sound = sound && value - value == T(0);  // false for NaN and infinity
    }
    for (int i = thread; i <= diag; i += threads) {  // U(1:j,j) = x(1:j)
      f.values[begin + i] = x[i];
      sound = sound && x[i] - x[i] == T(0);
    }
    // RACE: blocks lower failed_column; the atomic orders them, the end of the launch publishes it
    if (!sound) atomicMin(f.failed_column, j);
  }
}

/// A block a column, in turn: map[run.map + i] = position of row i below the run in the column.
/// values and words are not looked at.
template <class T>
__global__ void map_rows_kernel(DeviceFactorsView<T> f, PanelsView<T> panels, std::uint16_t* map) {
  for (std::int32_t j = blockIdx.x; j < f.n; j += gridDim.x) {
    const int size = static_cast<int>(f.col_ptr[j + 1] - f.col_ptr[j]);
    for (std::int64_t s = panels.update_ptr[j]; s < panels.update_ptr[j + 1]; ++s) {
      const Update run = panels.updates[s];
      for (int i = threadIdx.x; i < run.below; i += blockDim.x)
        map[run.map + i] = static_cast<std::uint16_t>(
            find(f.row_idx + f.col_ptr[j], run.at + run.width, size, f.row_idx[run.rows + i]));
    }
  }
}

template <class T>
class SupernodePipeline final : public DeviceFactorizer<T> {
 protected:
  Status prepare() override {
    const FilledPattern& f = this->analysis().filled;
    threads_ = threads_for(f);
    const UpdatePanels panels = make_update_panels(f, max_width, min_width, threads_);
    auto device = simt::device_properties();
    if (!device.ok()) return device.status();

    std::int64_t longest = 0;
    for (std::int32_t j = 0; j < f.n; ++j) longest = std::max(longest, f.col_ptr[j + 1] - f.col_ptr[j]);
    const std::int64_t map_bytes = sizeof(std::uint16_t) * panels.map_size;
    const bool mapped = map_bytes > 0 && longest <= 65536 && map_bytes <= max_map_bytes_per_nonzero * f.nnz();
    const std::int64_t row_bytes = sizeof(T) + (mapped ? 0 : sizeof(std::int32_t));
    max_rows_ = static_cast<std::int32_t>(std::min<std::int64_t>(
        (longest + 1) / 2 * 2, std::int64_t(device->shared_bytes_per_block / columns_per_sm) / row_bytes / 2 * 2));
    auto blocks_per_sm = simt::max_resident_blocks_per_sm(eliminate_supernode_pipeline_kernel<T>, threads_,
                                                          static_cast<std::size_t>(max_rows_ * row_bytes));
    if (!blocks_per_sm.ok()) return blocks_per_sm.status();
    blocks_ = std::max<std::int64_t>(1, std::min<std::int64_t>(f.n, std::int64_t(device->sm_count) * *blocks_per_sm));
    work_rows_ = longest > max_rows_ ? static_cast<std::int32_t>(longest) : 0;

    simt::Stream& stream = *this->stream();
    LULAB_RETURN_IF_ERROR(simt::make(d_level_cols_, this->analysis().schedule.level_cols, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_l_begin_, panels.l_begin, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_update_ptr_, panels.update_ptr, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_updates_, panels.updates, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_words_, panels.size + 1));  // and the ticket
    LULAB_RETURN_IF_ERROR(simt::make(d_work_, blocks_ * work_rows_));
    LULAB_RETURN_IF_ERROR(simt::make(d_map_, mapped ? panels.map_size : 0));
    shared_bytes_ = static_cast<std::size_t>(max_rows_ * row_bytes);
    if (mapped && f.n > 0)
      LULAB_RETURN_IF_ERROR(simt::launch(map_rows_kernel<T>,
                                         {.grid = static_cast<unsigned>(std::min(f.n, 4096)), .block = 128}, stream,
                                         this->view(), view_of_panels(), d_map_.data()));
    return stream.wait();  // panels is a local
  }

  Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    LULAB_RETURN_IF_ERROR(d_words_.fill_bytes(0xff, stream));
    if (f.n == 0) return {};
    return simt::launch(eliminate_supernode_pipeline_kernel<T>,
                        {.grid = static_cast<unsigned>(blocks_),
                         .block = static_cast<unsigned>(threads_),
                         .shared_bytes = shared_bytes_},
                        stream, f, d_level_cols_.data(), view_of_panels(), max_rows_, d_work_.data(), work_rows_);
  }

  std::int64_t work_bytes() const override {
    return std::int64_t(sizeof(T)) * (d_words_.size() + d_work_.size()) + 4 * d_level_cols_.size() +
           8 * (d_l_begin_.size() + d_update_ptr_.size()) + 2 * d_map_.size() +
           std::int64_t(sizeof(Update)) * d_updates_.size();
  }

 private:
  PanelsView<T> view_of_panels() const {
    return {d_l_begin_.data(), d_update_ptr_.data(),
            d_updates_.data(), d_map_.data(),
            d_words_.data(),   reinterpret_cast<std::int32_t*>(d_words_.data() + d_words_.size() - 1)};
  }

  static constexpr double max_map_bytes_per_nonzero = 24;  // as much as twice what L and U take
  static constexpr int columns_per_sm =
      4;  // a longer column than a fourth of the shared memory is left in global memory

  /// A thread a row of the average update, as far as it pays: more threads cost at barriers what they win at long columns
  /// of L (H200, 64 / 128 / 256: 13659pegase 0.38 / 0.39 / 0.48 ms, 90k grid 3.5 / 2.9 / 3.3, cage10 37 / 22 / 15).
  static int threads_for(const FilledPattern& f) {
    std::int64_t multiply_adds = 0;
    for (std::int32_t j = 0; j < f.n; ++j)
      for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p)
        multiply_adds += f.col_ptr[f.row_idx[p] + 1] - f.diag[f.row_idx[p]] - 1;
    const double rows = double(multiply_adds) / double(std::max<std::int64_t>(1, f.nnz_u() - f.n));
    return rows < 20 ? 64 : rows < 350 ? 128 : max_block;
  }

  simt::DeviceBuffer<std::int32_t> d_level_cols_;  // (n)
  simt::DeviceBuffer<std::int64_t> d_l_begin_, d_update_ptr_;
  simt::DeviceBuffer<Update> d_updates_;
  simt::DeviceBuffer<std::uint16_t> d_map_;
  simt::DeviceBuffer<Word<T>> d_words_;  // L's panels, then the ticket
  simt::DeviceBuffer<T> d_work_;
  std::int64_t blocks_ = 1;
  std::int32_t max_rows_ = 0, work_rows_ = 0;
  int threads_ = 128;
  std::size_t shared_bytes_ = 0;
};

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions&) {
  return std::make_unique<SupernodePipeline<T>>();
}

}  // namespace

const Rung supernode_pipeline = {
    .facts = {.id = "sparse_leftlooking/05_supernode_pipeline",
              .stage = "sparse_leftlooking",
              .paper = "Chen et al. 2015, appendix A.1, with supernode-column updates (Demmel et al. 1999)",
              .idea = "one block a column in shared memory, updated by a supernode at a time; each scalar of L is its "
                      "own flag",
              .pivoting = Pivoting::fixed,
              .device = Device::gpu,
              .dependencies = Dependencies::values,
              .deterministic = true,
              .refactors = true},
    .make_float = make<float>,
    .make_double = make<double>};

}  // namespace lulab::sparse_leftlooking
