#pragma once
// A warp solves rows of a triangle: x(i) = (b(i) - Σ T(i,j) x(j)) / T(i,i). Device code shared by 01_level_set.h to
// 03_narrow_middle.h, which differ in how a row reads the x(j) of other rows.

#include "core/awaited_scalar.h"
#include "core/power_of_two.h"
#include "core/simt/note_writes.h"
#include "solve/triangle.h"

namespace lulab {

/// One of the two triangles of a solve, in device memory.
template <class T>
struct TriangleView {
  const TriangleRow* rows;        // (n) in the order of the solve
  const TriangleTask* tasks;      // (n_tasks) into rows
  const std::int32_t* level_ptr;  // (n_levels + 1) into tasks
  std::int32_t n_tasks, n_levels;
  const std::int32_t* column;  // (entries)
  const T* values;             // (entries)
  const T* inverse;            // (n) 1 / T(i,i); null: unit diagonal
  int step;                    // from one entry of a row to the next

  __device__ __forceinline__ unsigned tasks_of(std::int32_t level) const {
    return static_cast<unsigned>(level_ptr[level + 1] - level_ptr[level]);
  }
};

/// What the kernels of a solve share; zero on entry.
struct SolveProgress {
  unsigned tickets[2];       // tasks handed out, of the first and of the second triangle
  unsigned blocks[2];        // [0]: blocks that have started
  unsigned long long bad_b;  // n - the first row of b that is not finite; 0: none
  unsigned long long bad_x;  // n - the first such row of x
};

/// Right-hand sides lie side by side: entry i of right-hand side c is [i * ld + c].
template <class T, class S>
struct SolveView {
  TriangleView<T> triangle[2];
  std::int32_t n, columns, ld;
  int rhs_lanes;                      // right-hand sides that a warp takes at a time
  const double* b;                    // (n, ld) scaled and permuted
  const unsigned long long* largest;  // (ld) bits of max |b|
  Word<T>* solved[2];                 // (n, ld) solution of each triangle
  S* x;                               // (n, columns) by columns
  const S* onto;                      // (n, columns) null, or x is the sum of it and the solution
  const std::int32_t* to;             // (n) row of x
  const double* scale;                // (n) of each row of x
  SolveProgress* progress;
  unsigned long long* x_max;   // of one right-hand side: raised to the bits of max |x|; null: not asked for
  const std::int32_t* wanted;  // 0: nothing is to be done; null: it is

  __device__ __forceinline__ bool is_wanted() const { return !wanted || *wanted != 0; }
  /// A task is done once for each.
  __device__ __forceinline__ unsigned rhs_groups() const { return static_cast<unsigned>(ld / rhs_lanes); }
};

/// scale · value · 2^exponent, also where scale · value is out of range and the result is not.
__device__ __forceinline__ double scaled_product(double scale, double value, int exponent) {
  const double product = scale * value;
  if (is_far_from_ends(product, exponent) && product != 0) return times_power_of_two(product, exponent);
  int of_scale = 0;
  const double fraction = frexp(scale, &of_scale);
  return ldexp(fraction * value, of_scale + exponent);
}

/// a / d, rounded as a division but for the last bit, without its latency.
/// inverse: 1 / d
template <class T>
__device__ __forceinline__ T quotient(T a, T d, T inverse) {
  const T q = a * inverse;
  const T corrected = fma(fma(-d, q, a), inverse, q);        // Markstein 1990
  return corrected - corrected == T(0) ? corrected : a / d;  // 1 / d out of range, or no quotient at all
}

/// Solutions that are complete: the kernel orders them before their readers by a barrier.
template <class T>
struct Finished {
  Word<T>* words;  // (n, ld)
  std::int32_t ld;

  __device__ __forceinline__ Word<T>* at(std::int32_t row, std::int32_t c) const {
    return words + std::int64_t(row) * ld + c;
  }
  __device__ __forceinline__ static Word<T> look(Word<T>* word) { return *word; }
  template <int size>
  __device__ __forceinline__ static void take(Word<T>* const (&)[size], Word<T> (&)[size]) {}
  __device__ __forceinline__ void put(std::int32_t row, std::int32_t c, T value) const {
    const Word<T> nan = not_yet<T> >> 1;
    *at(row, c) = value - value == T(0) ? awaited_scalar::to_word(value) : nan;
  }
  __device__ __forceinline__ void note(std::int32_t, std::int32_t) const {}
};

/// Solutions that are written while other warps wait for them.
template <class T>
struct Awaited {
  Word<T>* words;  // (n, ld)
  std::int32_t ld;

  __device__ __forceinline__ Word<T>* at(std::int32_t row, std::int32_t c) const {
    return words + std::int64_t(row) * ld + c;
  }
  __device__ __forceinline__ static Word<T> look(Word<T>* word) { return peek(word); }
  /// Returns once all are written. Those that were not are read together, so that several cost one round trip.
  template <int size>
  __device__ __forceinline__ static void take(Word<T>* const (&from)[size], Word<T> (&seen)[size]) {
    for (;;) {  // forth and back: the simulator takes a thread that reads one word twice in a row for waiting
#pragma unroll
      for (int q = 0; q < size; ++q)  // RACE: see peek(); the warp that publishes them is running
        if (seen[q] == not_yet<T>) seen[q] = peek(from[q]);
      if (all_there(seen)) return;
#pragma unroll
      for (int q = size - 1; q >= 0; --q)  // RACE: as above
        if (seen[q] == not_yet<T>) seen[q] = peek(from[q]);
    }
  }
  template <int size>
  __device__ __forceinline__ static bool all_there(const Word<T> (&seen)[size]) {
    bool there = true;
#pragma unroll
    for (int q = 0; q < size; ++q) there = there & (seen[q] != not_yet<T>);
    return there;
  }
  __device__ __forceinline__ void put(std::int32_t row, std::int32_t c, T value) const {
    publish<T>(at(row, c), value);
  }
  /// The calling thread is going to put there.
  __device__ __forceinline__ void note(std::int32_t row, std::int32_t c) const {
    simt::note_writes(simt::written(at(row, c), 1));
  }
};

/// The same, but the solutions of `count` rows are in shared memory, too, and are awaited there.
template <class T>
struct AwaitedInMiddle {
  Awaited<T> outside;
  const std::int32_t* position;  // (n) of each row in the order of the solve
  std::int32_t first, count;     // rows at positions first .. first + count
  Word<T>* shared;               // (count, ld)

  __device__ __forceinline__ Word<T>* at(std::int32_t row, std::int32_t c) const {
    const std::int32_t p = position[row] - first;
    return p >= 0 && p < count ? shared + p * outside.ld + c : outside.at(row, c);
  }
  __device__ __forceinline__ static Word<T> look(Word<T>* word) { return peek(word); }
  template <int size>
  __device__ __forceinline__ static void take(Word<T>* const (&from)[size], Word<T> (&seen)[size]) {
    Awaited<T>::take(from, seen);
  }
  /// Requires  one of the rows.
  __device__ __forceinline__ void put(std::int32_t row, std::int32_t c, T value) const {
    publish<T>(at(row, c), value);
    publish<T>(outside.at(row, c), value);
  }
  __device__ __forceinline__ void note(std::int32_t row, std::int32_t c) const {
    simt::note_writes(simt::written(at(row, c), 1), simt::written(outside.at(row, c), 1));
  }
};

/// Σ T(i,j) x(j) over the entries first, first + lanes, ... of a row for right-hand side c, in this order.
/// meanwhile() is called once, before the first wait.
template <class T, class Words, class Meanwhile>
__device__ __forceinline__ T row_times_x(const TriangleView<T>& t, const TriangleRow& row, int first, int lanes,
                                         std::int32_t c, const Words& words, const Meanwhile& meanwhile) {
  constexpr int at_once = 4;
  T sum = T(0);
  if (first >= row.count) meanwhile();
  for (int e = first; e < row.count; e += at_once * lanes) {
    T values[at_once];
    std::int32_t columns[at_once];
    Word<T>* from[at_once];
    Word<T> seen[at_once];
    // All loads of a kind before the first use of one, so that they wait together. What would lie beyond the row is its
    // last entry times zero.
#pragma unroll
    for (int q = 0; q < at_once; ++q) {
      const std::int64_t p = row.begin + std::int64_t(t.step) * min(e + q * lanes, row.count - 1);
      columns[q] = t.column[p];
      values[q] = t.values[p];
    }
#pragma unroll
    for (int q = 0; q < at_once; ++q) from[q] = words.at(columns[q], c);
#pragma unroll
    for (int q = 0; q < at_once; ++q) seen[q] = e + q * lanes < row.count ? words.look(from[q]) : 0;
    if (e == first) meanwhile();
    words.take(from, seen);
#pragma unroll
    for (int q = 0; q < at_once; ++q) sum += values[q] * to_scalar(seen[q]);
  }
  return sum;
}

/// x(to) of right-hand side c <- onto(to) + scale · value · 2^exponent_of(largest). Returns x(to).
template <class T, class S>
__device__ __forceinline__ S write_solution(const SolveView<T, S>& v, std::int32_t to, double scale, std::int32_t c,
                                            T value, unsigned long long largest) {
  S result = static_cast<S>(scaled_product(scale, static_cast<double>(value), exponent_of(largest)));
  const std::int64_t at = std::int64_t(c) * v.n + to;
  if (v.onto) result += v.onto[at];
  v.x[at] = result;
  // RACE: rows of several warps; the largest n - row stays
  if (!(result - result == S(0))) atomicMax(&v.progress->bad_x, static_cast<unsigned long long>(v.n - to));
  return result;
}

/// The rows of task task_index / groups for the right-hand sides of group task_index % groups, by the calling warp.
/// which: 0 for the first triangle, whose right-hand side is b, 1 for the second, whose right-hand side is the first's
/// solution and whose own is x
/// before: words of the first triangle's solution   words: of this triangle's
template <int which, class T, class S, class Before, class Words>
__device__ __forceinline__ void solve_task(const SolveView<T, S>& v, unsigned task_index, const Before& before,
                                           const Words& words) {
  const TriangleView<T>& t = v.triangle[which];
  const unsigned groups = v.rhs_groups(), rhs_group = task_index % groups;
  const TriangleTask task = t.tasks[task_index / groups];
  const int lane = threadIdx.x % 32, group_lanes = task.lanes * v.rhs_lanes;
  const int group = lane / group_lanes, entry_lane = lane % group_lanes / v.rhs_lanes;
  const auto c = static_cast<std::int32_t>(rhs_group) * v.rhs_lanes + lane % v.rhs_lanes;
  const bool has_row = group < task.count && c < v.columns;
  const bool ends_row = has_row && entry_lane == 0;
  const TriangleRow row = t.rows[task.first + (has_row ? group : 0)];
  if (ends_row) words.note(row.row, c);

  // Loaded before the row waits for others, used after.
  Word<T>* y_from[1] = {nullptr};  // the first triangle's solution
  Word<T> y_seen[1] = {0};
  unsigned long long largest = 0;
  double unscaled = 0, scale = 0;
  std::int32_t to = 0;
  T b = T(0), diagonal = T(1), inverse = T(1);
  if (ends_row) {
    largest = v.largest[c];
    if constexpr (which == 1) {
      to = v.to[row.row];
      scale = v.scale[row.row];
      y_from[0] = before.at(row.row, c);
      y_seen[0] = before.look(y_from[0]);
    } else {
      unscaled = v.b[std::int64_t(row.row) * v.ld + c];
    }
    if (t.inverse) {
      diagonal = t.values[row.begin + row.count];
      inverse = t.inverse[row.row];
    }
  }
  const auto take_b = [&] {
    if (!ends_row) return;
    if constexpr (which == 1) {
      before.take(y_from, y_seen);  // it comes before the row's own x(j) more often than not
      b = to_scalar(y_seen[0]);
    } else {
      b = static_cast<T>(scaled_by_power_of_two(unscaled, -exponent_of(largest)));
    }
  };
  T sum = has_row ? row_times_x(t, row, entry_lane, task.lanes, c, words, take_b) : T(0);
  // lab: triangular_solve begin
  for (int offset = group_lanes / 2; offset >= v.rhs_lanes; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (!ends_row) return;
  T x = b - sum;
  if (t.inverse) x = quotient(x, diagonal, inverse);
  words.put(row.row, c, x);
  // lab: triangular_solve end
  if constexpr (which == 1) {
    const S solution = write_solution(v, to, scale, c, x, largest);
    // RACE: rows of several warps; the largest stays, the end of the kernel publishes it
    if (v.x_max) atomicMax(v.x_max, bits_of(static_cast<double>(solution)));
  }
}

}  // namespace lulab
