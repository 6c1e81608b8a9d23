// Left-looking LU: a block keeps its column in shared memory; one launch for all columns.
//
//   while a column is left, in parallel               resident blocks only, columns handed out in level order
//     x = A(:,j)                                      compact: entries of the column's own pattern
//     for runs k..k'' of U(:,j), ascending            columns of one supernode            05_supernode_updates.h
//       x(k..k'') = L(k..k'',k..k'') \ x(k..k'')      each warp computes all of it, so that none waits for another
//       x(i) -= L(i,k..k'') · x(k..k'')               threads take rows i, and wait for each L(i,·)
//     U(1:j,j) = x(1:j);  L(j+1:n,j) = x(j+1:n) / x(j)
//
// Pipeline mode of Chen et al. 2015, appendix A.1, with supernode-column updates as in Demmel et al. 1999. L consists
// of full/empty scalars (core/awaited_scalar.h): a reserved NaN means "not written yet", and a thread that needs a
// scalar spins on it. A hop from column to column then costs one store and one load: no flag, no fence between values
// and flag.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/awaited_scalar.h"
#include "core/device_backend.h"
#include "core/simt/device_tools.h"
#include "sparse_leftlooking/05_supernode_updates.h"
#include "sparse_leftlooking/rungs.h"
#include "symbolic/levels.h"

namespace lulab::sparse_leftlooking {
namespace {

constexpr int max_width = 32;      // of a supernode: a lane a column of a run
constexpr int min_width = 4;       // of a run: narrower ones are faster column by column (1.44 -> 0.67 ms on circuit_1)
constexpr int max_block = 256;     // threads
constexpr int runs_at_once = 64;   // in shared memory
constexpr int narrow_at_once = 8;  // runs of one column whose words are loaded together
constexpr int columns_at_once = 8;  // of a run, loaded by a thread before it waits for the first

template <class T>
struct SupernodesView {
  const std::int64_t* l_begin;     // (n) where L(:,j) starts in words
  const std::int64_t* update_ptr;  // (n + 1) into updates
  const Update* updates;           // of all columns
  const std::uint16_t* map;  // (map_size) where the rows of each update lie in its column; null: they are searched for
  Word<T>* words;            // (size) L by supernodes, not_yet on entry
  std::int32_t* ticket;      // (1) -1 on entry
};

/// The column j that a block eliminates.
template <class T>
struct Column {
  T* x;                      // (size) its values, compact: x[i] in row rows[i]
  const std::int32_t* rows;  // (size) ascending
  int size;
};

/// Shared memory of a block besides the column.
template <class T>
struct Scratch {
  Word<T> (*triangle)[max_width + 1];  // (max_width) of a run: [e][i] = L(k+i, k+e)
  T* u;                                // (max_width) x(k..), a copy for each warp
};

/// The target of row i below the run: its position in the column where there is a map, else the row's number.
template <class T>
__device__ __forceinline__ std::int32_t where(const DeviceFactorsView<T>& f, const SupernodesView<T>& supernodes,
                                              const Update& run, int i) {
  return supernodes.map ? supernodes.map[run.map + i] : f.row_idx[run.rows + i];
}

/// The position in the column, from the result of where().
template <class T>
__device__ __forceinline__ int place(const SupernodesView<T>& supernodes, const Column<T>& column, const Update& run,
                                     std::int32_t where) {
  return supernodes.map ? where : simt::find_row(column.rows, run.at + run.width, column.size - 1, where);
}

/// Loads words[q] = l[q · ld] for q < count.
template <class W>
__device__ __forceinline__ void fetch(W* l, std::int64_t ld, int count, W (&words)[columns_at_once]) {
#pragma unroll
  for (int q = 0; q < columns_at_once; ++q)
    if (q < count) words[q] = peek(l + q * ld);
}

/// x(i) -= L(i,k) · x(k) for single columns k, one after another; their words are loaded together.
/// run: (count) at most narrow_at_once, each of one column with at most a row for each thread.
/// Equivalent to   for (q = 0; q < count; ++q)
///                   for (i = 0; i < run[q].below; ++i)  x[place of row i] -= words[run[q].l_kk + 1 + i] *
///                   x[run[q].at];
/// Called by all threads; ends with a barrier.
template <class T>
__device__ __forceinline__ void apply_columns(const DeviceFactorsView<T>& f, const SupernodesView<T>& supernodes,
                                              const Column<T>& column, const Update* run, int count) {
  const int thread = threadIdx.x;
  std::int32_t to[narrow_at_once];
  Word<T> words[narrow_at_once];
#pragma unroll
  for (int q = 0; q < narrow_at_once; ++q) {  // L(i,k), and the target of row i
    const bool mine = q < count && thread < run[q].below;
    to[q] = mine ? where(f, supernodes, run[q], thread) : -1;
    words[q] = mine ? peek(supernodes.words + run[q].l_kk + 1 + thread) : 0;
  }
#pragma unroll
  for (int q = 0; q < narrow_at_once; ++q) {
    if (q >= count) break;
    if (to[q] >= 0) {
      const int position = place(supernodes, column, run[q], to[q]);
      const T l = to_scalar(await(supernodes.words + run[q].l_kk + 1 + thread, words[q]));
      column.x[position] -= l * column.x[run[q].at];
    }
    __syncthreads();  // RACE: each wrote some x(i); the next column k and the caller read them
  }
}

/// x(k..k'') = L(k..k'', k..k'') \ x(k..k''), then x(i) -= L(i, k..k'') · x(k..k''). It takes as many columns of the
/// run at a time as are already there, and the one after them, for which it waits.
/// Equivalent to   for (e = 0; e < run.width; ++e)
///                   for (i = e + 1; i < run.width; ++i) x[run.at + i] -= words[run.l_kk + e * run.ld + i] * x[run.at +
///                   e]; for (i = 0; i < run.below; ++i)
///                     x[place of row i] -= words[run.l_kk + e * run.ld + run.width + i] * x[run.at + e];
/// Called by all threads; ends with a barrier.
template <class T>
__device__ __forceinline__ void apply_run(const DeviceFactorsView<T>& f, const SupernodesView<T>& supernodes,
                                          const Column<T>& column, Update run, const Scratch<T>& scratch) {
  const int thread = threadIdx.x, lane = thread % 32, threads = blockDim.x;
  T* const x = column.x;
  Word<T>* l_kk = supernodes.words + run.l_kk;
  const std::int32_t first_to = thread < run.below ? where(f, supernodes, run, thread) : 0;
  for (int at = run.at, width = run.width, taken; width > 0;
       at += taken, width -= taken, l_kk += std::int64_t(taken) * (run.ld + 1)) {
    T u_lane = lane < width ? x[at + lane] : T(0);
    Word<T> words[columns_at_once] = {};  // L(i,k..) of a row i: first of this thread's first row below the run
    if (thread < run.below) fetch(l_kk + width + thread, run.ld, width, words);
    taken = width;
    if (width > 1) {
      for (int e = thread / 32; e < width - 1; e += threads / 32)
        if (e < lane && lane < width) scratch.triangle[e][lane] = peek(l_kk + std::int64_t(e) * run.ld + lane);
      __syncthreads();  // RACE: each warp wrote columns of the triangle and read u_lane; all read the triangle
      const bool missing = lane < width - 1 && scratch.triangle[lane][lane + 1] == not_yet<T>;
      const unsigned all_missing = __ballot_sync(0xffffffffu, missing);
      if (all_missing) taken = __ffs(static_cast<int>(all_missing));
      for (int e = 0; e < taken - 1; ++e) {  // in every warp, a lane for each row
        const T u_e = __shfl_sync(0xffffffffu, u_lane, e);
        if (e < lane && lane < taken)
          u_lane -= to_scalar(await(l_kk + std::int64_t(e) * run.ld + lane, scratch.triangle[e][lane])) * u_e;
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
    if (thread < run.below) subtract(place(supernodes, column, run, first_to), l_kk + width + thread);
    for (int i = thread + threads; i < run.below; i += threads) {
      fetch(l_kk + width + i, run.ld, taken, words);
      subtract(place(supernodes, column, run, where(f, supernodes, run, i)), l_kk + width + i);
    }
    if (thread < width - taken) {  // rows of the run's own columns that are left
      fetch(l_kk + taken + thread, run.ld, taken, words);
      subtract(at + taken + thread, l_kk + taken + thread);
    }
    __syncthreads();  // RACE: all wrote x and read u and the triangle; the next columns and the caller read x
  }
}

/// Each block takes the next column in level order, eliminates it and publishes it, until none is left.
/// grid: any   block: a multiple of 32, at most max_block   shared: max_rows scalars, and as many row indices without a
/// map
/// level_cols: (n) columns, each after those it needs   work: (grid, work_rows) for columns of more than max_rows
/// entries
template <class T>
__global__ void __launch_bounds__(max_block, 2)  // else ptxas keeps to 48 registers and spills
    eliminate_supernode_pipeline_kernel(DeviceFactorsView<T> f, const std::int32_t* level_cols,
                                        SupernodesView<T> supernodes, std::int32_t max_rows, T* work,
                                        std::int32_t work_rows) {
  LULAB_DYNAMIC_SHARED(T, shared_x);
  LULAB_SHARED_2D(Word<T>, triangle, max_width, max_width + 1);
  LULAB_SHARED_2D(T, u_of_warp, max_block / 32, max_width);
  LULAB_SHARED(Update, runs, runs_at_once);
  const int thread = threadIdx.x, threads = blockDim.x;
  const Scratch<T> scratch = {triangle, u_of_warp[thread / 32]};

  for (;;) {
    // its barrier also ends the reads of the last column's x, which the loop below overwrites
    const std::int32_t ticket = 1 + simt::block_ticket(supernodes.ticket);
    if (ticket >= f.n) return;
    const std::int32_t j = level_cols[ticket];
    simt::note_column(j);
    const std::int64_t begin = f.col_ptr[j];
    const int size = static_cast<int>(f.col_ptr[j + 1] - begin), diag = static_cast<int>(f.diag[j] - begin);
    const bool fits = size <= max_rows, copied = fits && !supernodes.map;
    T* const x = fits ? shared_x : work + std::int64_t(blockIdx.x) * work_rows;
    std::int32_t* const own_rows = reinterpret_cast<std::int32_t*>(shared_x + max_rows);
    const Column<T> column = {x, copied ? own_rows : f.row_idx + begin, size};
    for (int i = thread; i < size; i += threads) {  // x = A(:,j), zero at fill-in
      x[i] = f.values[begin + i];
      if (copied) own_rows[i] = f.row_idx[begin + i];
    }
    __syncthreads();  // RACE: all wrote x and rows, and the ticket; all read x and rows

    const Update* updates = supernodes.updates + supernodes.update_ptr[j];
    const int n_updates = static_cast<int>(supernodes.update_ptr[j + 1] - supernodes.update_ptr[j]);
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
        apply_columns(f, supernodes, column, run, narrow);
      else
        apply_run(f, supernodes, column, *run, scratch);
      s += max(narrow, 1);
    }

    const T pivot = x[diag];
    bool sound = pivot != T(0);
    Word<T>* l = supernodes.words + supernodes.l_begin[j];
    for (int i = diag + 1 + thread; i < size; i += threads) {  // L(j+1:n,j) = x(j+1:n) / x(j)
      const T value = x[i] / pivot;
      publish<T>(l + i - diag - 1, value);
      f.values[begin + i] = value;
      sound = sound && simt::is_finite(value);
    }
    for (int i = thread; i <= diag; i += threads) {  // U(1:j,j) = x(1:j)
      f.values[begin + i] = x[i];
      sound = sound && simt::is_finite(x[i]);
    }
    // RACE: blocks lower failed_column; the atomic orders them, the end of the launch publishes it
    if (!sound) atomicMin(f.failed_column, j);
  }
}

/// map[run.map + i] = position of row i below the run in the column, for every run of every column; blocks take columns
/// in
/// turn. Does not read values and words.   grid, block: any   map: (map_size)
template <class T>
__global__ void map_rows_kernel(DeviceFactorsView<T> f, SupernodesView<T> supernodes, std::uint16_t* map) {
  for (std::int32_t j = blockIdx.x; j < f.n; j += gridDim.x) {
    const int size = static_cast<int>(f.col_ptr[j + 1] - f.col_ptr[j]);
    for (std::int64_t s = supernodes.update_ptr[j]; s < supernodes.update_ptr[j + 1]; ++s) {
      const Update run = supernodes.updates[s];
      for (int i = threadIdx.x; i < run.below; i += blockDim.x)
        map[run.map + i] = static_cast<std::uint16_t>(
            simt::find_row(f.row_idx + f.col_ptr[j], run.at + run.width, size - 1, f.row_idx[run.rows + i]));
    }
  }
}

template <class T>
class SupernodePipeline final : public DeviceBackend<T> {
 protected:
  Status prepare_rung() override {
    const FilledPattern& f = this->analysis().filled;
    threads_ = threads_for(f);
    const SupernodeUpdates updates = make_supernode_updates(f, max_width, min_width, threads_);
    LULAB_ASSIGN_OR_RETURN(auto device, simt::device_properties());

    std::int64_t longest = 0;
    for (std::int32_t j = 0; j < f.n; ++j) longest = std::max(longest, f.col_ptr[j + 1] - f.col_ptr[j]);
    const std::int64_t map_bytes = sizeof(std::uint16_t) * updates.map_size;
    const bool mapped = map_bytes > 0 && longest <= 65536 && map_bytes <= max_map_bytes_per_nonzero * f.nnz();
    const std::int64_t row_bytes = sizeof(T) + (mapped ? 0 : sizeof(std::int32_t));
    max_rows_ = static_cast<std::int32_t>(std::min<std::int64_t>(
        (longest + 1) / 2 * 2, std::int64_t(device.shared_bytes_per_block / columns_per_sm) / row_bytes / 2 * 2));
    LULAB_ASSIGN_OR_RETURN(auto blocks_per_sm,
                           simt::max_resident_blocks_per_sm(eliminate_supernode_pipeline_kernel<T>, threads_,
                                                            static_cast<std::size_t>(max_rows_ * row_bytes)));
    blocks_ = std::max<std::int64_t>(1, std::min<std::int64_t>(f.n, std::int64_t(device.sm_count) * blocks_per_sm));
    work_rows_ = longest > max_rows_ ? static_cast<std::int32_t>(longest) : 0;

    simt::Stream& stream = *this->stream();
    const Schedule schedule = levels_left_looking(f);
    LULAB_RETURN_IF_ERROR(simt::make(d_level_cols_, schedule.level_cols, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_l_begin_, updates.l_begin, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_update_ptr_, updates.update_ptr, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_updates_, updates.updates, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_words_, updates.size + 1));  // and the ticket
    simt::name_elements(d_words_.data(), updates.size, "words");
    simt::name_elements(d_words_.data() + updates.size, 1, "ticket");
    LULAB_RETURN_IF_ERROR(simt::make(d_work_, blocks_ * work_rows_));
    LULAB_RETURN_IF_ERROR(simt::make(d_map_, mapped ? updates.map_size : 0));
    shared_bytes_ = static_cast<std::size_t>(max_rows_ * row_bytes);
    if (mapped && f.n > 0)
      LULAB_RETURN_IF_ERROR(simt::launch(map_rows_kernel<T>,
                                         {.grid = static_cast<unsigned>(std::min(f.n, 4096)), .block = 128}, stream,
                                         this->view(), view_of_supernodes(), d_map_.data()));
    return stream.wait();  // updates and schedule are locals
  }

  Status clear(simt::Stream& stream) override { return d_words_.fill_bytes(0xff, stream); }

  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    if (f.n == 0) return {};
    return simt::launch(eliminate_supernode_pipeline_kernel<T>,
                        {.grid = static_cast<unsigned>(blocks_),
                         .block = static_cast<unsigned>(threads_),
                         .shared_bytes = shared_bytes_},
                        stream, f, d_level_cols_.data(), view_of_supernodes(), max_rows_, d_work_.data(), work_rows_);
  }

  std::int64_t work_bytes() const override {
    return std::int64_t(sizeof(T)) * (d_words_.size() + d_work_.size()) + 4 * d_level_cols_.size() +
           8 * (d_l_begin_.size() + d_update_ptr_.size()) + 2 * d_map_.size() +
           std::int64_t(sizeof(Update)) * d_updates_.size();
  }

 private:
  SupernodesView<T> view_of_supernodes() const {
    return {d_l_begin_.data(), d_update_ptr_.data(),
            d_updates_.data(), d_map_.data(),
            d_words_.data(),   reinterpret_cast<std::int32_t*>(d_words_.data() + d_words_.size() - 1)};
  }

  static constexpr double max_map_bytes_per_nonzero = 24;  // twice the memory of L and U
  static constexpr int columns_per_sm = 4;  // a column longer than a fourth of the shared memory stays in global memory

  /// A thread for each row of the average update, as far as that pays: more threads lose at barriers what they gain on
  /// long columns of L (H200, 64 / 128 / 256: 13659pegase 0.38 / 0.39 / 0.48 ms, 90k grid 3.5 / 2.9 / 3.3, cage10 37 /
  /// 22 / 15).
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
  simt::DeviceBuffer<Word<T>> d_words_;  // L's supernodes, then the ticket
  simt::DeviceBuffer<T> d_work_;
  std::int64_t blocks_ = 1;
  std::int32_t max_rows_ = 0, work_rows_ = 0;
  int threads_ = 128;
  std::size_t shared_bytes_ = 0;
};

}  // namespace

const Rung supernode_pipeline = rung_of<SupernodePipeline>(
    {.id = "sparse_leftlooking/05_supernode_pipeline",
     .stage = "sparse_leftlooking",
     .paper = "Chen et al. 2015, appendix A.1, with supernode-column updates (Demmel et al. 1999)",
     .idea = "one block per column in shared memory, updated by supernodes; readers spin on the values of L "
             "instead of flags",
     .pivoting = Pivoting::fixed,
     .device = Device::gpu,
     .dependencies = Dependencies::values,
     .deterministic = true,
     .refactors = true});

}  // namespace lulab::sparse_leftlooking
