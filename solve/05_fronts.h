#pragma once
// Both triangles of a solve along the fronts of an assembly tree in one launch. What a task is: front_tasks.h.
//
// Blocks take tasks by ticket, and a task waits for words of smaller tickets only, whose blocks are running: so the
// launch ends, with however few blocks resident. Words carry their own "written" (core/awaited_scalar.h). Columns of L
// and U are loaded before what they are multiplied with is awaited. Sums are taken in an order of the plan alone,
// another one for several right-hand sides: equal inputs give equal bits.

#include <cstdint>

#include "core/simt/device_tools.h"
#include "core/simt/kernel.h"
#include "solve/front_tasks.h"
#include "solve/rungs.h"
#include "solve/solve_kernels.h"

namespace lulab::front_solve {

constexpr int warps = fronts_of_block, solve_threads = 32 * warps;
constexpr int columns_of_warp = front_tile / warps;  // of a tile that a block multiplies
constexpr int step = 4;                              // pivots that a warp solves at once
constexpr int panel = 16;                            // pivots that a block solves at once
constexpr int several = 4;                           // right-hand sides at once, where there are several

struct FrontTaskListView {
  const std::int32_t* ptr;
  const FrontTask* tasks;
  unsigned sets;
};

/// FrontTasks in device memory.
template <class T>
struct FrontTasksView {
  const FrontColumn* columns;
  const std::int32_t* others;
  const std::int64_t* from_ptr;
  const std::int32_t* from;
  FrontTaskListView lower, upper;
  const T* values;  // (nnz) of As
  Word<T>* words;   // (n_words, ld)
};

/// Of a block.
template <class T>
struct FrontShared {
  T* triangle;      // (front_tile, front_tile) by columns
  T* sums;          // (warps, rhs, front_tile) what each warp subtracts from a part of the rows
  T* solved;        // (panel, rhs) of x
  int* is_inverse;  // (panels) of the triangle

  __device__ __forceinline__ FrontShared(double* shared, int* of_panels, int rhs)
      : triangle(reinterpret_cast<T*>(shared)),
        sums(triangle + front_tile * front_tile),
        solved(sums + warps * rhs * front_tile),
        is_inverse(of_panels) {}
};
template <class T>
constexpr std::int64_t shared_bytes(int rhs) {
  return std::int64_t(sizeof(T)) * (front_tile * (front_tile + warps * rhs) + panel * rhs);
}

/// Where R · (I + R)⁻¹ of a panel has a larger entry, its pivots are solved one after another: products with it would
/// lose half the digits, of a float two thirds.
template <class T>
constexpr double max_of_panel = sizeof(T) == 8 ? 0x1p26 : 0x1p16;

/// The barriers of a block that a solve by fronts rests on; tests leave one out.
struct FrontBarriers {
  // RACE: thread 0 wrote the ticket, all read it; all have done what they share of the task before
  __device__ __forceinline__ static void ticket_is_there() { __syncthreads(); }
  __device__ __forceinline__ static void triangle_is_there() { __syncthreads(); }  // RACE: warps wrote it, all read it
  __device__ __forceinline__ static void triangle_is_read() { __syncthreads(); }   // RACE: ... before they overwrite it
  __device__ __forceinline__ static void sums_are_there() { __syncthreads(); }  // RACE: orders sums, triangle: warp 0
};

__device__ __forceinline__ std::uint64_t low_bits(int count) {
  return count < 64 ? (std::uint64_t(1) << count) - 1 : ~std::uint64_t(0);
}

/// a / d for any d whose quotients are in range.
template <class T>
struct Divisor {
  T scale = T(1), inverse = T(1);

  Divisor() = default;
  __device__ __forceinline__ explicit Divisor(T d) {
    constexpr T small = sizeof(T) == 8 ? T(0x1p-900) : T(0x1p-100), rescaled = sizeof(T) == 8 ? T(0x1p300) : T(0x1p60);
    const T size = d < T(0) ? -d : d;
    if (size < small) scale = rescaled;
    if (size > T(1) / small) scale = T(1) / rescaled;
    inverse = T(1) / (d * scale);
  }
  __device__ __forceinline__ T operator()(T a) const { return a * scale * inverse; }
};

/// Right-hand sides first .. first + count - 1 of a solve. Where a warp has the rows of a tile, a lane has the rows
/// lane and lane + 32.
template <class T, class S, int rhs>
struct FrontSolve {
  const SolveView<T, S>& v;
  const FrontTasksView<T>& f;
  std::int32_t first, count;

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }

  __device__ __forceinline__ Word<T>* word(std::int64_t index, int c) const {
    return f.words + index * v.ld + first + c;
  }
  /// Entry (row, column) of As, zero where there is none or where it is not wanted.
  __device__ __forceinline__ T entry(const FrontColumn& column, std::uint64_t wanted, int row) const {
    const std::uint64_t bit = std::uint64_t(1) << row;
    return column.rows & wanted & bit ? f.values[column.position + __popcll(column.rows & (bit - 1))] : T(0);
  }
  static __device__ __forceinline__ FrontColumn of_lane(const FrontColumn& mine, int from) {
    return {__shfl_sync(simt::all_lanes, mine.rows, from), __shfl_sync(simt::all_lanes, mine.position, from), 0};
  }
  /// Column k, where a lane has the columns lane and lane + 32.
  static __device__ __forceinline__ FrontColumn of_lane(const FrontColumn (&mine)[2], int k) {
    const bool first = k < 32;
    return of_lane(FrontColumn{first ? mine[0].rows : mine[1].rows, first ? mine[0].position : mine[1].position, 0},
                   k % 32);
  }
  /// A word that a lane needs, of each right-hand side; zero where it does not.
  __device__ __forceinline__ void take(std::int64_t index, bool needs, T (&x)[rhs]) const {
    Word<T>* from[rhs];
    Word<T> seen[rhs];
#pragma unroll
    for (int c = 0; c < rhs; ++c) {
      from[c] = word(index, c);
      seen[c] = needs && c < count ? peek(from[c]) : 0;
    }
    Awaited<T>::take(from, seen);
#pragma unroll
    for (int c = 0; c < rhs; ++c) x[c] = to_scalar(seen[c]);
  }
  __device__ __forceinline__ void put(std::int64_t index, const T (&x)[rhs]) const {
#pragma unroll
    for (int c = 0; c < rhs; ++c)
      if (c < count) publish<T>(word(index, c), x[c]);
  }

  /// Tells the simulator which words the task writes.
  __device__ __forceinline__ void note_words(const FrontTask& front, bool is_lower) const {
    const FrontCuts& cuts = front.cuts;
    const int begin = cuts.is_one_tile() ? 0 : cuts.begin(front.part);
    const int end = cuts.is_one_tile() ? cuts.rows : begin + cuts.size(front.part);
    const int pivots = max(min(end, cuts.pivots) - begin, 0), others = end - begin - pivots;
    const std::int64_t handed = 2 * std::int64_t(v.n) + front.others + max(begin - cuts.pivots, 0);
    simt::note_writes(
        simt::written(word((is_lower ? 0 : std::int64_t(v.n)) + front.first_column + begin, 0), count, v.ld, pivots),
        simt::written(word(handed, 0), count, v.ld, is_lower ? others : 0));
  }

  /// b of a pivot, zero for another row, and what the children hand to the row.   row: of the front, or beyond it
  __device__ __forceinline__ void start(const FrontTask& front, int row, T (&x)[rhs]) const {
    constexpr int at_once = 4 / rhs;
    const bool has_row = row < front.cuts.rows, is_pivot = row < front.cuts.pivots;
    const std::int64_t at = front.first_column + front.others + row;
    const std::int64_t begin = has_row ? f.from_ptr[at] : 0, end = has_row ? f.from_ptr[at + 1] : 0;
#pragma unroll
    for (int c = 0; c < rhs; ++c)
      x[c] = is_pivot && c < count
                 ? static_cast<T>(scaled_by_power_of_two(v.b[std::int64_t(front.first_column + row) * v.ld + first + c],
                                                         -exponent_of(v.largest[first + c])))
                 : T(0);
    for (std::int64_t e = begin; e < end; e += at_once) {
      Word<T>* from[4];
      Word<T> seen[4];
#pragma unroll
      for (int q = 0; q < 4; ++q) from[q] = word(2 * std::int64_t(v.n) + f.from[min(e + q / rhs, end - 1)], q % rhs);
#pragma unroll
      for (int q = 0; q < 4; ++q) seen[q] = e + q / rhs < end && q % rhs < count ? peek(from[q]) : 0;
      Awaited<T>::take(from, seen);
#pragma unroll
      for (int q = 0; q < 4; ++q) x[q % rhs] += to_scalar(seen[q]);
    }
  }
  /// y of a pivot, or what another row hands up.
  __device__ __forceinline__ void hand_on(const FrontTask& front, int row, const T (&x)[rhs]) const {
    const std::int32_t pivots = front.cuts.pivots;
    put(row < pivots ? front.first_column + row : 2 * std::int64_t(v.n) + front.others + row - pivots, x);
  }
  /// The word of x for a column of the front.
  __device__ __forceinline__ std::int64_t x_of(const FrontTask& front, int column) const {
    const std::int32_t pivots = front.cuts.pivots;
    return std::int64_t(v.n) +
           (column < pivots ? front.first_column + column : f.others[front.others + column - pivots]);
  }
  /// x of the pivots, whose first is this column of As.   Returns the bits of the largest magnitude, where there is one
  /// right-hand side.   Called by a warp.
  __device__ __forceinline__ unsigned long long finish(std::int32_t column, int pivots, const T (&x)[2][rhs]) const {
#pragma unroll
    for (int h = 0; h < 2; ++h)  // first of all: others wait for them
      if (lane() + 32 * h < pivots) put(std::int64_t(v.n) + column + lane() + 32 * h, x[h]);
    unsigned long long bits = 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::int32_t at = column + lane() + 32 * h;
#pragma unroll
      for (int c = 0; c < rhs; ++c) {
        if (lane() + 32 * h >= pivots || c >= count) continue;
        const S solution = write_solution(v, v.to[at], v.scale[at], first + c, x[h][c], v.largest[first + c]);
        bits = larger(bits, bits_of(static_cast<double>(solution)));
      }
    }
    return bits;
  }

  /// Down:  x(i) -= Σ T(i,k) x(k) over k < i, k = 0, 1, ...   Up: over k > i, k = columns - 1, columns - 2, ...
  /// T has a unit diagonal. A shuffle takes longer than a product, so x(k) of a step's columns come together, and each
  /// lane subtracts what they owe each other.
  ///
  /// load(k, of): T(row, k + q) to of[q][h] for q < step and the lane's rows, zero beyond the triangle
  /// Called by a warp.
  template <bool is_up, class Load>
  static __device__ __forceinline__ void substitute(int columns, const Load& load, T (&x)[2][rhs]) {
    constexpr int ahead = 2;  // steps whose entries are on their way
    const int steps = simt::ceil_div(columns, step);
    T next[ahead][step][2] = {};
    const auto column = [&](int s) { return step * (is_up ? steps - 1 - s : s); };
#pragma unroll
    for (int s = 0; s < ahead; ++s)
      if (s < steps) load(column(s), next[s]);
#pragma unroll 1
    for (int first = 0; first < steps; first += ahead)
#pragma unroll
      for (int at = 0; at < ahead; ++at) {
        const int s = first + at, k = column(s);
        if (s >= steps) break;
        T of[step][2];
#pragma unroll
        for (int q = 0; q < step; ++q)
#pragma unroll
          for (int h = 0; h < 2; ++h) of[q][h] = next[at][q][h];
        if (s + ahead < steps) load(column(s + ahead), next[at]);
        substitute_step<is_up>(of, k, x);
      }
  }
  /// of: the columns k .. k + step - 1
  template <bool is_up>
  static __device__ __forceinline__ void substitute_step(const T (&of)[step][2], int k, T (&x)[2][rhs]) {
    T solved[step][rhs];
#pragma unroll
    for (int q = 0; q < step; ++q)
#pragma unroll
      for (int c = 0; c < rhs; ++c)
        solved[q][c] = __shfl_sync(simt::all_lanes, k < 32 ? x[0][c] : x[1][c], (k + q) % 32);
#pragma unroll
    for (int at = 0; at < step; ++at) {
      const int q = is_up ? step - 1 - at : at;
#pragma unroll
      for (int before = 0; before < at; ++before) {
        const int p = is_up ? step - 1 - before : before;
        const T owed = __shfl_sync(simt::all_lanes, k < 32 ? of[p][0] : of[p][1], (k + q) % 32);
#pragma unroll
        for (int c = 0; c < rhs; ++c) solved[q][c] -= owed * solved[p][c];
      }
#pragma unroll
      for (int c = 0; c < rhs; ++c)
#pragma unroll
        for (int h = 0; h < 2; ++h) x[h][c] -= of[q][h] * solved[q][c];
    }
  }

  /// A front of one tile, by the calling warp.
  __device__ __forceinline__ void front_of_l(const FrontTask& front) const {
    const int pivots = front.cuts.pivots;
    const FrontColumn* const columns = f.columns + front.columns;
    const FrontColumn mine[2] = {columns[lane()], columns[lane() + 32]};
    T x[2][rhs];
#pragma unroll
    for (int h = 0; h < 2; ++h) start(front, lane() + 32 * h, x[h]);
    const auto load = [&](int k, T(&of)[step][2]) {
#pragma unroll
      for (int q = 0; q < step; ++q) {
        const FrontColumn column = of_lane(mine, k + q);
#pragma unroll
        for (int h = 0; h < 2; ++h)
          of[q][h] = entry(column, k + q < pivots ? ~low_bits(k + q + 1) : 0, lane() + 32 * h);
      }
    };
    substitute<false>(pivots, load, x);
#pragma unroll
    for (int h = 0; h < 2; ++h)
      if (lane() + 32 * h < front.cuts.rows) hand_on(front, lane() + 32 * h, x[h]);
  }
  __device__ __forceinline__ unsigned long long front_of_u(const FrontTask& front) const {
    const int pivots = front.cuts.pivots, rows = front.cuts.rows;
    const FrontColumn* const columns = f.columns + front.columns;
    const FrontColumn mine[2] = {columns[lane()], columns[lane() + 32]};
    T x[2][rhs];
    Divisor<T> by[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = lane() + 32 * h;
      if (row < pivots) by[h] = Divisor<T>(entry(mine[h], ~std::uint64_t(0), row));
      take(row < pivots ? front.first_column + row : x_of(front, min(row, rows - 1)), row < rows, x[h]);
#pragma unroll
      for (int c = 0; c < rhs; ++c) x[h][c] = by[h](x[h][c]);
    }
    const auto load = [&](int k, T(&of)[step][2]) {
#pragma unroll
      for (int q = 0; q < step; ++q) {
        const FrontColumn column = of_lane(mine, k + q);
#pragma unroll
        for (int h = 0; h < 2; ++h) of[q][h] = by[h](entry(column, low_bits(min(k + q, pivots)), lane() + 32 * h));
      }
    };
    substitute<true>(rows, load, x);
    return finish(front.first_column, pivots, x);
  }

  /// Entries of a tile on the diagonal to triangle(k, row), rows divided by `by`; then, panel of columns by panel, R is
  /// made R · (I + R of the panel's rows)⁻¹, so that a panel is solved by one product (solve_panels).
  template <class Barriers, bool is_up>
  __device__ __forceinline__ void bring_triangle(const FrontColumn* columns, const Divisor<T> (&by)[2],
                                                 const FrontShared<T>& shared) const {
    T* const triangle = shared.triangle;
    const int warp = simt::warp_of_block();
    if (threadIdx.x < front_tile / panel) shared.is_inverse[threadIdx.x] = 1;
#pragma unroll
    for (int q = 0; q < columns_of_warp; ++q) {
      const int k = warp + warps * q;
      const FrontColumn column = columns[k];
#pragma unroll
      for (int h = 0; h < 2; ++h)
        triangle[k * front_tile + lane() + 32 * h] =
            by[h](entry(column, is_up ? low_bits(k) : ~low_bits(k + 1), lane() + 32 * h));
    }
    Barriers::triangle_is_there();
    const int own_panel = static_cast<int>(threadIdx.x) / front_tile, first = own_panel * panel,
              row = static_cast<int>(threadIdx.x) % front_tile;
    T* const own = triangle + first * front_tile;
    T r[panel];
#pragma unroll
    for (int k = 0; k < panel; ++k) r[k] = own[k * front_tile + row];
#pragma unroll
    for (int at = 0; at < panel; ++at) {
      const int k = is_up ? at : panel - 1 - at;
#pragma unroll
      for (int before = 0; before < at; ++before) {
        const int j = is_up ? before : panel - 1 - before;
        r[k] -= r[j] * own[k * front_tile + first + j];
      }
    }
    bool is_small = true;
#pragma unroll
    for (int k = 0; k < panel; ++k) is_small = is_small && fabs(static_cast<double>(r[k])) <= max_of_panel<T>;
    if (!is_small) atomicAnd(&shared.is_inverse[own_panel], 0);  // RACE: any thread may; a barrier orders the readers
    Barriers::triangle_is_read();
    if (shared.is_inverse[own_panel])
#pragma unroll
      for (int k = 0; k < panel; ++k) own[k * front_tile + row] = r[k];
  }
  /// x = T⁻¹ x, with what bring_triangle() left.   Called by warp 0.
  template <bool is_up>
  static __device__ __forceinline__ void solve_panels(int size, const FrontShared<T>& shared, T (&x)[2][rhs]) {
    T* const solved = shared.solved;
    constexpr int chains = rhs == 1 ? 4 : 1;  // sums beside each other: one alone waits for itself
    const int panels = simt::ceil_div(size, panel);
#pragma unroll 1
    for (int at = 0; at < panels; ++at) {
      const int first = panel * (is_up ? panels - 1 - at : at), half = first / 32;
      const T* const own = shared.triangle + first * front_tile + lane();
      if (!shared.is_inverse[first / panel]) {
        one_after_another<is_up>(own, first, x);
        continue;
      }
      T of[panel][2], sum[chains][2][rhs] = {};
#pragma unroll
      for (int k = 0; k < panel; ++k)
#pragma unroll
        for (int h = 0; h < 2; ++h) of[k][h] = own[k * front_tile + 32 * h];
      if (const int k = lane() - first % 32; k >= 0 && k < panel)
#pragma unroll
        for (int c = 0; c < rhs; ++c) solved[k * rhs + c] = half == 0 ? x[0][c] : x[1][c];
      __syncwarp();  // RACE: lanes wrote what they have of the panel, all read it
#pragma unroll
      for (int k = 0; k < panel; ++k)
#pragma unroll
        for (int c = 0; c < rhs; ++c)
#pragma unroll
          for (int h = 0; h < 2; ++h) sum[k % chains][h][c] += of[k][h] * solved[k * rhs + c];
      __syncwarp();  // RACE: all have read before the next panel's are written
#pragma unroll
      for (int c = 0; c < rhs; ++c)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
#pragma unroll
          for (int distance = chains / 2; distance > 0; distance /= 2)
#pragma unroll
            for (int k = 0; k < distance; ++k) sum[k][h][c] += sum[k + distance][h][c];
          x[h][c] -= sum[0][h][c];
        }
    }
  }
  /// own: this lane's first row of the panel's first column
  template <bool is_up>
  static __device__ __noinline__ void one_after_another(const T* own, int first, T (&x)[2][rhs]) {
#pragma unroll 1
    for (int at = 0; at < panel; at += step) {
      const int k = is_up ? panel - step - at : at;
      T of[step][2];
#pragma unroll
      for (int q = 0; q < step; ++q)
#pragma unroll
        for (int h = 0; h < 2; ++h) of[q][h] = own[(k + q) * front_tile + 32 * h];
      substitute_step<is_up>(of, first + k, x);
    }
  }
  /// sum += Σ tile · x of the warp's columns, tile after tile. What leads to the next tile's entries and words is
  /// loaded before this one's words are awaited.
  /// columns_of(t), size_of(t), word_of(t, column): of tile t
  template <class ColumnsOf, class SizeOf, class WordOf>
  __device__ __forceinline__ void add_products(int tiles, const ColumnsOf& columns_of, const SizeOf& size_of,
                                               const WordOf& word_of, T (&sum)[2][rhs]) const {
    const int warp = simt::warp_of_block();
    const int own = warp + warps * (lane() % columns_of_warp);  // a lane awaits one of the warp's columns
    FrontColumn next = {};
    std::int64_t next_word = 0;
    const auto look_at = [&](int t) {
      next = columns_of(t)[own];
      next_word = word_of(t, min(own, size_of(t) - 1));
    };
    T odd[2][rhs] = {};  // of every other column: a sum on its own is a long chain
    if (tiles > 0) look_at(0);
    for (int t = 0; t < tiles; ++t) {
      const FrontColumn mine = next;
      const std::int64_t word = next_word;
      const bool needs = own < size_of(t) && lane() < columns_of_warp;
      if (t + 1 < tiles) look_at(t + 1);
      T of_tile[columns_of_warp][2], x[rhs];
#pragma unroll
      for (int q = 0; q < columns_of_warp; ++q) {
        const FrontColumn column = of_lane(mine, q);
#pragma unroll
        for (int h = 0; h < 2; ++h) of_tile[q][h] = entry(column, ~std::uint64_t(0), lane() + 32 * h);
      }
      take(word, needs, x);
#pragma unroll
      for (int q = 0; q < columns_of_warp; ++q)
#pragma unroll
        for (int c = 0; c < rhs; ++c) {
          const T by = __shfl_sync(simt::all_lanes, x[c], q);
#pragma unroll
          for (int h = 0; h < 2; ++h) (q % 2 == 0 ? sum : odd)[h][c] += of_tile[q][h] * by;
        }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
      for (int c = 0; c < rhs; ++c) sum[h][c] += odd[h][c];
  }
  /// What all warps have summed, subtracted from warp 0's x.   sums: (warps, rhs, front_tile) in shared memory
  template <class Barriers>
  __device__ __forceinline__ void subtract_sums(const T (&sum)[2][rhs], T* sums, T (&x)[2][rhs]) const {
    const int warp = simt::warp_of_block();
#pragma unroll
    for (int c = 0; c < rhs; ++c)
#pragma unroll
      for (int h = 0; h < 2; ++h) sums[(warp * rhs + c) * front_tile + lane() + 32 * h] = sum[h][c];
    Barriers::sums_are_there();
    if (warp > 0) return;
#pragma unroll
    for (int c = 0; c < rhs; ++c)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        T of_warp[warps];
#pragma unroll
        for (int w = 0; w < warps; ++w) of_warp[w] = sums[(w * rhs + c) * front_tile + lane() + 32 * h];
#pragma unroll
        for (int distance = warps / 2; distance > 0; distance /= 2)
#pragma unroll
          for (int w = 0; w < distance; ++w) of_warp[w] += of_warp[w + distance];
        x[h][c] -= of_warp[0];
      }
  }

  /// A part of the rows of a larger front, by the calling block.
  template <class Barriers>
  __device__ __forceinline__ void part_of_l(const FrontTask& front, const FrontShared<T>& shared) const {
    const FrontCuts& cuts = front.cuts;
    const int part = front.part, begin = cuts.begin(part), size = cuts.size(part);
    const bool has_pivots = part < cuts.pivot_tiles, is_first = simt::warp_of_block() == 0;
    const FrontColumn* const columns = f.columns + front.columns;
    T x[2][rhs] = {}, sum[2][rhs] = {};
    if (has_pivots) bring_triangle<Barriers, false>(columns + front_tile * cuts.slot(part, part), {}, shared);
    if (is_first)
#pragma unroll
      for (int h = 0; h < 2; ++h) start(front, lane() + 32 * h < size ? begin + lane() + 32 * h : cuts.rows, x[h]);
    add_products(
        min(part, cuts.pivot_tiles), [&](int t) { return columns + front_tile * cuts.slot(part, t); },
        [&](int t) { return cuts.size(t); },
        [&](int t, int column) { return std::int64_t(front.first_column) + cuts.begin(t) + column; }, sum);
    subtract_sums<Barriers>(sum, shared.sums, x);
    if (!is_first) return;
    if (has_pivots) solve_panels<false>(size, shared, x);
#pragma unroll
    for (int h = 0; h < 2; ++h)
      if (lane() + 32 * h < size) hand_on(front, begin + lane() + 32 * h, x[h]);
  }
  template <class Barriers>
  __device__ __forceinline__ unsigned long long part_of_u(const FrontTask& front, const FrontShared<T>& shared) const {
    const FrontCuts& cuts = front.cuts;
    const int part = front.part, begin = front.first_column + cuts.begin(part), size = cuts.size(part);
    const bool is_first = simt::warp_of_block() == 0;
    const FrontColumn *const columns = f.columns + front.columns, *const diagonal =
                                                                      columns + front_tile * cuts.slot(part, part);
    T x[2][rhs] = {}, sum[2][rhs] = {};
    Divisor<T> by[2];
#pragma unroll
    for (int h = 0; h < 2; ++h)
      if (const int row = lane() + 32 * h; row < size) by[h] = Divisor<T>(entry(diagonal[row], ~std::uint64_t(0), row));
    bring_triangle<Barriers, true>(diagonal, by, shared);
    if (is_first)
#pragma unroll
      for (int h = 0; h < 2; ++h) take(begin + min(lane() + 32 * h, size - 1), lane() + 32 * h < size, x[h]);
    const auto tile = [&](int t) { return cuts.tiles - 1 - t; };
    add_products(
        cuts.tiles - 1 - part, [&](int t) { return columns + front_tile * cuts.slot(part, tile(t)); },
        [&](int t) { return cuts.size(tile(t)); },
        [&](int t, int column) { return x_of(front, cuts.begin(tile(t)) + column); }, sum);
    subtract_sums<Barriers>(sum, shared.sums, x);
    if (!is_first) return 0;
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
      for (int c = 0; c < rhs; ++c) x[h][c] = by[h](x[h][c]);
    solve_panels<true>(size, shared, x);
    return finish(begin, size, x);
  }
};

/// grid: any   block: solve_threads   shared: shared_bytes<T>(rhs)
/// rhs: 1 or, for several right-hand sides, `several`
template <class T, class S, int rhs, class Barriers = FrontBarriers>
__global__ void __launch_bounds__(solve_threads, rhs == 1 ? 3 : 2)
    front_solve_kernel(SolveView<T, S> v, FrontTasksView<T> f) {
  LULAB_DYNAMIC_SHARED(double, shared);
  LULAB_SHARED(unsigned, next, 2);  // in turns: a warp may still read one when thread 0 has the next
  if (!v.is_wanted()) return;
  LULAB_SHARED(int, of_panels, front_tile / panel);
  const FrontShared<T> own_shared(shared, of_panels, rhs);
  const unsigned groups = simt::ceil_div(static_cast<unsigned>(v.columns), rhs);
  const unsigned of_l = f.lower.sets * groups, end = of_l + f.upper.sets * groups;
  const auto draw = [&] { return atomicAdd(&v.progress->tickets[0], 1u); };  // RACE: no two blocks get one set
  unsigned drawn = threadIdx.x == 0 ? draw() : 0;
  unsigned long long x_max = 0;
  for (int turn = 0;; turn ^= 1) {
    if (threadIdx.x == 0) next[turn] = drawn;
    Barriers::ticket_is_there();
    const unsigned ticket = next[turn];
    if (ticket >= end) break;
    if (threadIdx.x == 0) drawn = draw();  // before the block waits, so that it takes no time of its own
    const bool is_lower = ticket < of_l;
    const std::int32_t* const ptr = is_lower ? f.lower.ptr : f.upper.ptr;
    const unsigned at = is_lower ? ticket : ticket - of_l, set = at / groups;
    const auto first = static_cast<std::int32_t>(at % groups) * rhs;
    const FrontSolve<T, S, rhs> solve = {v, f, first, min(rhs, v.columns - first)};
    const std::int32_t begin = ptr[set], own = begin + simt::warp_of_block(), last = ptr[set + 1] - 1;
    const FrontTask task = (is_lower ? f.lower.tasks : f.upper.tasks)[min(own, last)];
    solve.note_words(task, is_lower);
    if (!task.cuts.is_one_tile()) {
      if (is_lower)
        solve.template part_of_l<Barriers>(task, own_shared);
      else
        x_max = larger(x_max, solve.template part_of_u<Barriers>(task, own_shared));
    } else if (own <= last) {
      if (is_lower)
        solve.front_of_l(task);
      else
        x_max = larger(x_max, solve.front_of_u(task));
    }
  }
  if (rhs == 1 && v.x_max) raise_by_block({v.x_max}, {x_max});
}

/// What update_kernel finds, where there are no copies by rows.   col_ptr, diag: of As   grid: any   block: 32 * any
template <class T>
__global__ void find_magnitudes_kernel(const T* values, const std::int64_t* col_ptr, const std::int64_t* diag,
                                       std::int32_t n, device_solver::Findings* found) {
  unsigned long long max_l = 0, max_u = 0;
  device_solver::PivotSizes pivots;
  const unsigned lane = threadIdx.x % 32;
  for (std::int64_t j = simt::thread_of_grid() / 32; j < n; j += simt::threads_of_grid() / 32) {
    const std::int64_t end = col_ptr[j + 1], pivot = diag[j];
#pragma unroll 1
    for (std::int64_t begin = col_ptr[j] + lane; begin < end; begin += 4 * 32) {
      T value[4];
#pragma unroll
      for (int q = 0; q < 4; ++q) value[q] = begin + 32 * q < end ? values[begin + 32 * q] : T(0);
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const unsigned long long bits = bits_of(static_cast<double>(value[q]));
        if (begin + 32 * q > pivot)
          max_l = larger(max_l, bits);
        else
          max_u = larger(max_u, bits);
      }
    }
    if (lane == 0) pivots.add(values[pivot], n - j, found);
  }
  raise_by_block({&found->max_l, &found->max_u, &found->max_pivot, &found->not_min_pivot},
                 {max_l, max_u, pivots.max, pivots.not_min});
}

}  // namespace lulab::front_solve

namespace lulab::solve_rungs {

inline constexpr SolveRung fronts = {
    .id = "solve/05_fronts",
    .paper = "ours; multifrontal (Duff & Reid 1983)",
    .idea =
        "along the dense fronts of an assembly tree: parts of a front wait for parts, its rows for the children's "
        "sums; nothing is copied or inverted; patterns far from symmetric by 02",
    .method = SolveMethod::fronts};

}  // namespace lulab::solve_rungs
