// LU of many small matrices, each in the registers of one warp (n <= 32) or of a few (n <= 128).
//
//   lane i of a warp   holds rows i, i + 32, ..., and for each the position to which swaps brought it: no row moves
//   before
//                      the result is stored
//   warp w of W        holds columns w, w + W, ...: a column is in one warp, which finds its pivot without a barrier
//   step k             the warp of column k finds the pivot, computes L(:,k) and passes both to the others through
//   shared
//                      memory; one barrier of the block (none when W = 1)
//                      every warp puts its part of the pivot row into shared memory; A(i,j) -= L(i,k) · U(k,j) in
//                      registers
//
// L(i,k) = A(i,k) · (1 / pivot), the rule of LAPACK getf2: one reciprocal instead of a quotient for each row. Each lane
// takes it of its own best value while the warp is still searching for the best of all. Where 1 / pivot would not be a
// normal number, column and pivot are scaled first.

#include "dense/08_batched_kernel.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/simt/device_tools.h"

namespace lulab::dense {
namespace {

using simt::all_lanes;

/// How a matrix of up to N columns is laid out in registers.
template <int N, int Warps, int Resident>
struct Layout {
  static constexpr int warps = Warps;
  static constexpr int resident = Resident;  // blocks of a multiprocessor

  static constexpr int lanes = N <= 8 ? 8 : N <= 16 ? 16 : 32;   // of a warp, for one matrix
  static constexpr int rows = (N + lanes - 1) / lanes;           // of a lane: lane, lane + lanes, ...
  static constexpr int columns = N / Warps;                      // of a warp: warp, warp + Warps, ...
  static constexpr int threads = Warps == 1 ? 128 : 32 * Warps;  // of a block
  static constexpr int groups = threads / lanes;                 // of lanes that hold the same columns
  static constexpr int systems = Warps == 1 ? groups : 1;        // of a block
  static_assert(columns * Warps == N && columns % 2 == 0, "columns are read in pairs");
};

template <class T>
struct alignas(2 * sizeof(T)) Pair {  // one load of shared memory
  T first, second;
};

/// The pivot of a step.
struct alignas(16) Pivot {
  int lane, slot;  // the row: lane + lanes * slot
  int position;    // of the row before the swap
  int is_zero;
};

// Magnitudes of floating-point numbers are ordered as their bits are.
__device__ __forceinline__ unsigned long long magnitude(double v) {
  return __double_as_longlong(v) & 0x7fffffffffffffffull;
}
__device__ __forceinline__ unsigned magnitude(float v) { return __float_as_uint(v) & 0x7fffffffu; }
__device__ __forceinline__ unsigned high_word(unsigned long long m) { return static_cast<unsigned>(m >> 32); }
__device__ __forceinline__ unsigned high_word(unsigned m) { return m; }

/// Are a value with this high word and its reciprocal normal numbers?
template <class T>
__device__ __forceinline__ bool is_ordinary(unsigned high) {
  constexpr unsigned least = sizeof(T) == 8 ? 0x00100000u : 0x00800000u;  // the smallest normal number
  constexpr unsigned bound = sizeof(T) == 8 ? 0x7fd00000u : 0x7e800000u;  // 1 / it
  return high - least < bound - least;
}

/// A value whose reciprocal is cheap, in place of a zero or a denormal number.
template <class T>
__device__ __forceinline__ T from_one_to_two(unsigned long long m) {
  if constexpr (sizeof(T) == 8) return __longlong_as_double(static_cast<long long>(m | 0x3ff0000000000000ull));
  return __uint_as_float(static_cast<unsigned>(m) | 0x3f800000u);
}

/// The first of `Lanes` neighbouring lanes whose bit is set in the ballot, counted from the first neighbour.
template <int Lanes>
__device__ __forceinline__ int voter(unsigned ballot) {
  if constexpr (Lanes < 32) ballot = ballot >> (threadIdx.x % 32 / Lanes * Lanes) & ((1u << Lanes) - 1);
  return __ffs(static_cast<int>(ballot)) - 1;
}

/// The pivot by all the rules of getrf_reference(), where the quick search cannot decide: equal candidates, zero, NaN.
/// Where 1 / pivot is not a normal number, column and pivot are scaled by a power of two, so that `inverse` is.
template <int Lanes, class T, int Rows>
__device__ __forceinline__ Pivot find_pivot_exactly(T (&column)[Rows], const int (&position)[Rows], int k, T& inverse) {
  unsigned long long key = 0;  // orders candidates, NaN above all; 0: none
  T value = 0;
  int slot = 0, where = 0;
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const bool nan = column[r] != column[r];
    const unsigned long long other = position[r] < k ? 0 : nan ? ~0ull : magnitude(column[r]) + 1ull;
    if (other > key || (other == key && position[r] < where)) {
      key = other;
      value = column[r];
      slot = r;
      where = position[r];
    }
  }
  const unsigned high = static_cast<unsigned>(key >> 32), low = static_cast<unsigned>(key);
  bool best = high == simt::warp_max<Lanes>(high);
  const unsigned low_of_best = simt::warp_max<Lanes>(best ? low : 0);
  best = best && low == low_of_best;
  const unsigned from_end = 0xffffffffu - where;
  const unsigned first = simt::warp_max<Lanes>(best ? from_end : 0);
  best = best && from_end == first;

  Pivot pivot;
  pivot.lane = voter<Lanes>(__ballot_sync(all_lanes, best));
  pivot.slot = __shfl_sync(all_lanes, slot, pivot.lane, Lanes);
  pivot.position = __shfl_sync(all_lanes, where, pivot.lane, Lanes);
  value = __shfl_sync(all_lanes, value, pivot.lane, Lanes);
  pivot.is_zero = value == T(0);
  if (!is_ordinary<T>(high_word(magnitude(value)))) {
    const T scale = fabs(value) < T(1) ? T(0x1p64) : T(0x1p-64);
    value *= scale;
#pragma unroll
    for (int r = 0; r < Rows; ++r) column[r] *= scale;
  }
  inverse = T(1) / value;
  return pivot;
}

/// Finds the pivot among the entries whose position is k or more, and turns the column into L(:,k), with 0 above and at
/// the
/// pivot.   Called by all lanes of a warp; each group of `Lanes` lanes has a column: column[r] is row lane + Lanes · r.
/// Equivalent to   p = argmax |column[i]|, position[i] >= k
///                 for each row i:  column[i] = position[i] >= k && i != p ? column[i] / column[p] : 0
template <int Lanes, class T, int Rows>
__device__ __forceinline__ Pivot eliminate_column(T (&column)[Rows], const int (&position)[Rows], int k) {
  const int lane = threadIdx.x % Lanes;
  auto most = position[0] >= k ? magnitude(column[0]) : 0;  // 0: no candidate
  T value = column[0];
  int slot = 0, where = position[0];
#pragma unroll
  for (int r = 1; r < Rows; ++r) {
    const auto m = position[r] >= k ? magnitude(column[r]) : 0;
    const bool better = m > most || (m == most && position[r] < where);
    most = better ? m : most;
    value = better ? column[r] : value;
    slot = better ? r : slot;
    where = better ? position[r] : where;
  }
  const unsigned high = high_word(most);
  const unsigned highest = simt::warp_max<Lanes>(high);
  T inverse = T(1) / (is_ordinary<T>(high) ? value : from_one_to_two<T>(most));  // while the search is under way
  const unsigned ballot = __ballot_sync(all_lanes, high == highest || !is_ordinary<T>(highest));
  Pivot pivot;
  pivot.lane = voter<Lanes>(ballot);
  inverse = __shfl_sync(all_lanes, inverse, pivot.lane, Lanes);
  const unsigned row = __shfl_sync(all_lanes, static_cast<unsigned>(where) * 4 + slot, pivot.lane, Lanes);
  pivot.slot = row % 4;
  pivot.position = row / 4;
  pivot.is_zero = 0;
  if (__popc(ballot) != 32 / Lanes)  // not in each system of the warp one candidate with the largest high word
    pivot = find_pivot_exactly<Lanes>(column, position, k, inverse);
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const bool below = position[r] >= k && !(lane == pivot.lane && r == pivot.slot);
    column[r] = below ? column[r] * inverse : T(0);
  }
  return pivot;
}

/// Factors every system of the batch that the mask does not exclude.
/// grid: ceil(batch / L::systems)   block: L::threads   shared: static, under 8 KB
/// Equivalent to   for k = 0 .. n - 1:  p = argmax |A(i,k)|, i >= k;  swap rows k and p
///                   for i > k:  A(i,k) /= A(k,k);  for j > k:  A(i,j) -= A(i,k) · A(k,j)
template <class T, class L>
__global__ void __launch_bounds__(L::threads, L::resident) getrf_batched_kernel(DenseBatchView<T> b) {
  constexpr int rows = L::rows, columns = L::columns;
  constexpr int row_size = L::groups * columns / 2, column_size = L::warps == 1 ? 1 : rows * L::lanes;
  LULAB_SHARED(Pair<T>, shared_row, 2 * row_size);  // U(k,:), a part for each group of lanes; odd and even k
  LULAB_SHARED(T, shared_column, 2 * column_size);  // L(:,k) likewise
  LULAB_SHARED(Pivot, shared_pivot, 2);

  const int lane = threadIdx.x % L::lanes;
  const int group = threadIdx.x / L::lanes;
  const int warp = L::warps == 1 ? 0 : group;
  const std::int64_t system = L::warps == 1 ? std::int64_t(blockIdx.x) * L::systems + group : blockIdx.x;
  const bool mine = system < b.batch && (!b.mask || b.mask[system]);
  if (L::warps == 1 ? !__any_sync(all_lanes, mine) : !mine) return;

  T a[rows][columns];
  int position[rows];
  T* const matrix = b.a + (mine ? system * b.stride : 0);
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    const int i = lane + L::lanes * r;
    position[r] = i < b.n ? i : -1;  // -1: no row
    std::int64_t from = i + warp * b.ld;
#pragma unroll
    for (int q = 0; q < columns; ++q, from += L::warps * b.ld) {
      const int j = warp + L::warps * q;
      // The identity stands in for a system that is masked, beside others in this warp.
      a[r][q] = mine && i < b.n && j < b.n ? matrix[from] : T(i == j);
    }
  }

  int info = 0;
#pragma unroll
  for (int q = 0; q < columns; ++q)
    for (int owner = 0; owner < L::warps && owner + L::warps * q < b.n; ++owner) {
      const int k = owner + L::warps * q;
      Pivot pivot;
      T l[rows];
      if (L::warps == 1 || warp == owner) {
#pragma unroll
        for (int r = 0; r < rows; ++r) l[r] = a[r][q];
        pivot = eliminate_column<L::lanes>(l, position, k);
        if (mine && lane == 0) b.ipiv[system * b.n + k] = pivot.position;
      }
      if constexpr (L::warps > 1) {
        T* const column = shared_column + k % 2 * column_size;
        if (warp == owner) {
#pragma unroll
          for (int r = 0; r < rows; ++r) column[lane + 32 * r] = l[r];
          if (lane == 0) shared_pivot[k % 2] = pivot;
        }
        // RACE: the owner wrote column and pivot, all warps read them below; the owner of step k + 2 overwrites them
        // after the barrier of step k + 1, which every warp reaches after its reads
        __syncthreads();
        pivot = shared_pivot[k % 2];
#pragma unroll
        for (int r = 0; r < rows; ++r) l[r] = column[lane + 32 * r];
      }

      Pair<T>* const row = shared_row + k % 2 * row_size + group * (columns / 2);
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const bool chosen = lane == pivot.lane && r == pivot.slot;
        if (chosen)
#pragma unroll
          for (int p = q / 2; p < columns / 2; ++p) row[p] = {a[r][2 * p], a[r][2 * p + 1]};
        position[r] = chosen ? k : position[r] == k ? pivot.position : position[r];
      }
      // RACE: the pivot's lane wrote row, its group reads it; the next write to it is in step k + 2, after the
      // __syncwarp of step k + 1, which every lane reaches after its reads
      __syncwarp();
      if (pivot.is_zero) {
        info = info == 0 ? k + 1 : info;  // nothing to divide or to subtract
      } else {
#pragma unroll
        for (int r = 0; r < rows; ++r)
          if (warp == owner && position[r] > k) a[r][q] = l[r];
#pragma unroll
        for (int p = q / 2; p < columns / 2; ++p) {
          const Pair<T> u = row[p];  // U(k,j) of this warp's columns j
          const bool first = 2 * p > q || (2 * p == q && warp > owner);
          const bool second = 2 * p + 1 > q || (2 * p + 1 == q && warp > owner);
#pragma unroll
          for (int r = 0; r < rows; ++r) {
            if (first) a[r][2 * p] -= l[r] * u.first;  // A(i,j) -= L(i,k) * U(k,j)
            if (second) a[r][2 * p + 1] -= l[r] * u.second;
          }
        }
      }
    }

  if (!mine) return;
  if (warp == 0 && lane == 0) b.info[system] = info;
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    std::int64_t to = position[r] + warp * b.ld;
#pragma unroll
    for (int q = 0; q < columns; ++q, to += L::warps * b.ld)
      if (position[r] >= 0 && warp + L::warps * q < b.n) matrix[to] = a[r][q];
  }
}

template <class L, class T>
Status launch_getrf_batched(const DenseBatchView<T>& b, simt::Stream& stream) {
  const unsigned blocks = simt::blocks_for(b.batch, L::systems);
  return simt::launch(getrf_batched_kernel<T, L>, {.grid = blocks, .block = L::threads}, stream, b);
}

}  // namespace

template <class T>
Status getrf_batched(const DenseBatchView<T>& b, simt::Stream& stream) {
  if (b.n < 0 || b.n > max_batched_n)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("n = {} of a batch; 0 to {} are possible", b.n, max_batched_n));
  if (b.batch < 0) return Status::error(StatusCode::invalid_argument, fmt::format("a batch of {} systems", b.batch));
  if (b.ld < std::max(1, b.n))
    return Status::error(StatusCode::invalid_argument, fmt::format("ld = {} for n = {}; give ld >= n", b.ld, b.n));
  if (const std::int64_t size = b.n > 0 ? b.ld * (b.n - 1) + b.n : 0; b.batch > 1 && b.stride < size)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("stride = {} for n = {} and ld = {}: systems would overlap; give stride >= {}",
                                     b.stride, b.n, b.ld, size));
  if (b.batch == 0) return {};
  if (b.n <= 8) return launch_getrf_batched<Layout<8, 1, 10>>(b, stream);
  if (b.n <= 16) return launch_getrf_batched<Layout<16, 1, 8>>(b, stream);
  if (b.n <= 24) return launch_getrf_batched<Layout<24, 1, 6>>(b, stream);
  if (b.n <= 32) return launch_getrf_batched<Layout<32, 1, 5>>(b, stream);
  if (b.n <= 48) return launch_getrf_batched<Layout<48, 4, 5>>(b, stream);
  if (b.n <= 64) return launch_getrf_batched<Layout<64, 4, 5>>(b, stream);
  if (b.n <= 96) return launch_getrf_batched<Layout<96, 8, 2>>(b, stream);
  return launch_getrf_batched<Layout<128, 16, 1>>(b, stream);
}
template Status getrf_batched(const DenseBatchView<float>&, simt::Stream&);
template Status getrf_batched(const DenseBatchView<double>&, simt::Stream&);

}  // namespace lulab::dense
