// One cluster factors a tall panel; every thread keeps its rows in registers.
//
//   for each column j of the panel
//     the row with the largest |a(i,j)|                   of each warp: a reduction; of each block: shared memory; of
//     the
//                                                         cluster: one message from each block to every block
//     l = a(i,j) / pivot;  a(i,j+1) -= l · u(j+1)         every thread, its rows i: first what the next search needs
//     a(i,c) -= l · u(c)  for c > j + 1                   while the next message travels
//
// Rows do not move before the end: with each goes the position to which LAPACK's swaps would have brought it.

#include "dense/06_cluster_panel.h"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include "core/simt/device_tools.h"
#include "core/simt/reciprocal.h"
#include "core/simt/transfer.h"
#include "dense/04_row_swaps.h"
#include "dense/06_swap_and_solve.h"

namespace lulab::dense {
namespace {

constexpr int max_cluster = 16;   // blocks; the limit of sm_90
constexpr int min_threads = 128;  // of a block
constexpr int messages_per_warp = max_cluster / (min_threads / 32);
constexpr unsigned no_position = 0xffffffffu;  // of a row beyond the matrix
using simt::all_lanes;

/// |v| as an integer with the same order; all NaNs are equal, and above infinity.
struct Magnitude {
  unsigned hi, lo;
};
__device__ __forceinline__ Magnitude magnitude(double v) {
  const unsigned hi = static_cast<unsigned>(__double2hiint(v)) & 0x7fffffffu;
  const auto lo = static_cast<unsigned>(__double2loint(v));
  const bool nan = hi > 0x7ff00000u || (hi == 0x7ff00000u && lo != 0);
  return nan ? Magnitude{0x7ff80000u, 0u} : Magnitude{hi, lo};
}
__device__ __forceinline__ Magnitude magnitude(float v) {
  return {min(__float_as_uint(v) & 0x7fffffffu, 0x7f800001u), 0u};
}
/// Is 1 / pivot a normal number? It is not for zero, subnormal numbers, 2^1022 (float: 2^126) and beyond, NaN.
template <class T>
__device__ __forceinline__ bool has_reciprocal(Magnitude pivot) {
  return sizeof(T) == 8 ? pivot.hi >= 0x00100000u && pivot.hi < 0x7fd00000u
                        : pivot.hi >= 0x00800000u && pivot.hi < 0x7e800000u;
}

__device__ __forceinline__ std::uint64_t bits(double v) { return static_cast<std::uint64_t>(__double_as_longlong(v)); }
__device__ __forceinline__ std::uint32_t bits(float v) { return __float_as_uint(v); }

/// A row that a block proposes as pivot, as it lies in shared memory.
struct alignas(8) Proposal {
  Magnitude magnitude;
  unsigned position;  // in the panel, after the swaps so far
  unsigned origin;    // in the panel, before its first swap
  double scale;       // 1 / pivot, or the pivot itself when that has no reciprocal
};
template <class T, int columns>
struct Message {
  Proposal proposal;
  T row[columns];  // right of the pivot
};

/// The lane with the best proposal: the largest magnitude, of equals the first position.
__device__ __noinline__ int best_of_equals(Magnitude m, unsigned position) {
  const unsigned hi = __reduce_max_sync(all_lanes, m.hi);
  const unsigned lo = __reduce_max_sync(all_lanes, m.hi == hi ? m.lo : 0u);
  const bool largest = m.hi == hi && m.lo == lo;
  const unsigned first = __reduce_min_sync(all_lanes, largest ? position : no_position);
  return __ffs(static_cast<int>(__ballot_sync(all_lanes, largest && position == first))) - 1;
}
/// The same by one reduction: of the 27 upper bits of the magnitude with the lane below them. Where several lanes are
/// equal in those bits, best_of_equals() decides. Lane 0 when no lane proposes.
__device__ __forceinline__ int best_lane(Magnitude m, unsigned position, int lane) {
  const unsigned proposes =
      position != no_position ? 0x80000000u : 0u;  // a zero that is a candidate beats no candidate
  const unsigned key = proposes | (m.hi & ~31u) | static_cast<unsigned>(31 - lane);
  const unsigned best = __reduce_max_sync(all_lanes, key);
  const unsigned near = __ballot_sync(all_lanes, proposes != 0 && (key ^ best) < 32u);
  return (near & (near - 1)) == 0 ? 31 - static_cast<int>(best & 31u) : best_of_equals(m, position);
}

template <class T>
struct PanelArguments {
  T* a;  // A(first, first)
  std::int64_t ld;
  std::int32_t n_rows, width;            // of the panel
  std::int32_t first_other, end_others;  // columns of the block, relative to the panel's first: first_other <= 0
  std::int32_t* ipiv;                    // (width) of the panel
  std::int32_t first;                    // row and column of A(first, first)
  std::int32_t* info;
};

/// The panel's row swaps in the other columns of the block, and U12 = L11^-1 · A12 right of it; warps take columns in
/// turn.
/// Shapes    origin, home: (32) in shared memory. Row origin[t] became row t; row t became row home[t].
/// Equivalent to   for each other column c: swap its rows as ipiv says;
///                                          right of the panel, for k, for i > k in the panel: A(i,c) -= L11(i,k) ·
///                                          A(k,c)
template <class T, int columns>
__device__ void finish_other_columns(const PanelArguments<T>& p, const unsigned* origin, const unsigned* home, int warp,
                                     int n_warps, int lane) {
  const bool mine = lane < p.width;
  T l[columns];  // L11(lane, :)
#pragma unroll
  for (int c = 0; c < columns; ++c) l[c] = mine && c < lane && c < p.width ? p.a[lane + c * p.ld] : T(0);
  const unsigned from = mine ? origin[lane] : 0, to = mine ? home[lane] : 0;
  const std::int32_t left = -p.first_other, n_others = left + p.end_others - p.width;
  for (std::int32_t q = warp; q < n_others; q += n_warps) {
    T* column = p.a + (q < left ? q - left : q - left + p.width) * p.ld;
    T u = mine ? column[from] : T(0);
    const T displaced = mine ? column[lane] : T(0);
    __syncwarp();  // RACE: lanes read rows of the column that other lanes write below; the barrier orders them
    if (q >= left) {
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        const T done = __shfl_sync(all_lanes, u, c);
        if (c < lane) u -= l[c] * done;  // a condition, not zeros in l: 0 · infinity is a NaN
      }
    }
    if (mine) column[lane] = u;
    if (mine && to >= static_cast<unsigned>(p.width)) column[to] = displaced;
  }
}

/// Factors the panel.
/// grid: one cluster of at most max_cluster blocks   block: min_threads to max_threads   shared: static
/// Block b holds rows b · rows · blockDim.x and following, its thread t those at distances t, t + blockDim.x, ...
/// The columns are in `groups` groups of `group`. The group that is being eliminated is v[..][0]; then the groups
/// rotate, so that one group's code serves all: straight-line code for 32 columns would wait for its instructions.
/// Equivalent to   for j = 0 .. width - 1:  p = argmax |a(i,j)|, i >= j;  swap rows j and p in the block's columns
///                   for i > j:  l = a(i,j) /= a(j,j);  for c > j:  a(i,c) -= l · a(j,c)
template <class T, int group, int groups, int rows, int max_threads>
__global__ void __launch_bounds__(max_threads) cluster_panel_kernel(PanelArguments<T> p) {
  constexpr int columns = group * groups;
  static_assert(columns <= 32, "a lane a column of the pivot row");
  using Row = Message<T, columns>;
  struct Inbox {
    Row message[3][max_cluster];  // of columns j, j-1 (still being read) and j-2 (slow blocks)
    simt::TransferBarrier arrived[2];
  };
  LULAB_SHARED(Inbox, inbox, 1);
  LULAB_SHARED_2D(Row, proposed, 2, max_threads / 32);  // by the warps of this block
  LULAB_SHARED_2D(T, lagging, 2, max_threads / 32);     // l of the proposed row in the update it still lacks
  LULAB_SHARED(unsigned, pivot_position, 32);           // of the pivot of column j, before its swap
  LULAB_SHARED(unsigned, pivot_origin, 32);             // of the pivot of column j, before the panel
  LULAB_SHARED(unsigned, home, 32);                     // position of row t after the panel

  const auto cluster = cooperative_groups::this_cluster();
  const int n_blocks = static_cast<int>(cluster.num_blocks()), rank = static_cast<int>(cluster.block_rank());
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int n_warps = static_cast<int>(blockDim.x) / 32;

  T v[rows][groups][group];  // this thread's rows
  unsigned position[rows];   // of each, after the swaps so far
  bool active[rows];         // not yet a pivot
  const unsigned first_row = static_cast<unsigned>(rank) * rows * blockDim.x + threadIdx.x;
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    const unsigned i = first_row + r * blockDim.x;
    active[r] = i < static_cast<unsigned>(p.n_rows);
    position[r] = active[r] ? i : no_position;
#pragma unroll
    for (int c = 0; c < columns; ++c) v[r][c / group][c % group] = active[r] && c < p.width ? p.a[i + c * p.ld] : T(0);
  }
  if (thread == 0) {
    simt::transfer_init(&inbox[0].arrived[0]);
    simt::transfer_init(&inbox[0].arrived[1]);
  }
  simt::RemoteShared
      peer[messages_per_warp];  // the inboxes of blocks warp, warp + n_warps, ...: this warp sends to them
#pragma unroll
  for (int q = 0; q < messages_per_warp; ++q)
    peer[q] = simt::remote_shared(&inbox[0], min(warp + q * n_warps, n_blocks - 1));
  cluster.sync();  // RACE: thread 0 wrote the barriers, other blocks send to them; the barrier orders them

  T l[rows];  // of column j - 1
#pragma unroll
  for (int r = 0; r < rows; ++r) l[r] = T(0);
  const Row* pivot = nullptr;    // of column j - 1
  int slot = 0;                  // j % 3
  std::int32_t zero_pivot = -1;  // the first one; only in thread 0
  const auto note_pivot = [&](int j) {
    pivot_position[j] = pivot->proposal.position;
    pivot_origin[j] = pivot->proposal.origin;
    if (zero_pivot < 0 && pivot->proposal.magnitude.hi == 0 && pivot->proposal.magnitude.lo == 0) zero_pivot = j;
  };

#pragma unroll 1
  for (int turn = 0; turn < groups; ++turn) {
#pragma unroll
    for (int jj = 0; jj < group; ++jj) {
      const int j = turn * group + jj;
      if (j >= p.width) break;
      const int parity = jj % 2;

      // The warp's proposal.
      Magnitude largest{0, 0};
      unsigned best_position = no_position, best_origin = 0;
      T candidate = T(1), candidate_l = T(0);
      int best_row = 0;
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const Magnitude m = magnitude(v[r][0][jj]);
        const bool larger = m.hi > largest.hi || (m.hi == largest.hi && m.lo > largest.lo);
        const bool equal = m.hi == largest.hi && m.lo == largest.lo;
        if (active[r] && (best_position == no_position || larger || (equal && position[r] < best_position))) {
          largest = m;
          best_position = position[r];
          best_origin = first_row + r * blockDim.x;
          candidate = v[r][0][jj];
          candidate_l = l[r];
          best_row = r;
        }
      }
      const T scale = has_reciprocal<T>(largest) ? simt::reciprocal(candidate) : candidate;
      if (lane == best_lane(largest, best_position, lane)) {
        Row& row = proposed[parity][warp];
        row.proposal = {largest, best_position, best_origin, static_cast<double>(scale)};
        lagging[parity][warp] = candidate_l;
#pragma unroll
        for (int r = 0; r < rows; ++r)
          if (r == best_row) {
#pragma unroll
            for (int g = 0; g < groups; ++g)
              if (turn + g < groups) {
#pragma unroll
                for (int c = 0; c < group; ++c)
                  if (g * group + c > jj) row.row[(turn + g) * group + c] = v[r][g][c];
              }
          }
      }
      if (thread == 0)
        simt::transfer_expect(&inbox[0].arrived[parity],
                              static_cast<unsigned>(n_blocks * (sizeof(Proposal) + (columns - 1 - j) * sizeof(T))));
      // RACE: each warp wrote its proposal, all read them; `proposed` is written again two columns later
      __syncthreads();

      // The block's proposal goes to every block; each warp sends to some of them. The row lacks the update by column j
      // - 1, which the thread that holds the row makes later: here each lane makes it for one column.
      {
        const Proposal* of_lane = &proposed[parity][lane < n_warps ? lane : 0].proposal;
        const Magnitude m = lane < n_warps ? of_lane->magnitude : Magnitude{0, 0};
        const int w = best_lane(m, lane < n_warps ? of_lane->position : no_position, lane);
        const Row& row = proposed[parity][w];
        const bool sends_row = lane > j && lane < columns;
        T value = row.row[lane < columns ? lane : 0];
        if (sends_row && j > 0) value -= lagging[parity][w] * pivot->row[lane];
        // The proposal uses the lanes of columns that are done, so that each lane sends one word (saves 4 % of the
        // panel).
        using Word = decltype(bits(T()));
        constexpr int words = sizeof(Proposal) / sizeof(Word);
        const bool sends_proposal = lane < words, together = j >= words - 1;
        const int message = (slot * max_cluster + rank) * static_cast<int>(sizeof(Row));
        const int proposal_word = message + lane * static_cast<int>(sizeof(Word));
        const int row_word = message + static_cast<int>(offsetof(Row, row) + lane * sizeof(Word));
        const int barrier = static_cast<int>(offsetof(Inbox, arrived)) + 8 * parity;
        Word word = bits(value);
        if (sends_proposal)
          memcpy(&word, reinterpret_cast<const char*>(&row.proposal) + lane * sizeof(Word), sizeof(Word));
#pragma unroll
        for (int q = 0; q < messages_per_warp; ++q) {
          if (warp + q * n_warps >= n_blocks) continue;
          if (sends_proposal || (together && sends_row))
            simt::send(peer[q] + (sends_proposal ? proposal_word : row_word), word, peer[q] + barrier);
          if (!together && sends_row) simt::send(peer[q] + row_word, bits(value), peer[q] + barrier);
        }
      }

      // While it travels: the rest of the update by column j - 1.
      if (j > 0) {
#pragma unroll
        for (int g = 0; g < groups; ++g)
          if (turn + g < groups) {
#pragma unroll
            for (int c = 0; c < group; ++c)
              if (g * group + c > jj) {
                const T u = pivot->row[(turn + g) * group + c];
#pragma unroll
                for (int r = 0; r < rows; ++r)
                  if (active[r]) v[r][g][c] -= l[r] * u;
              }
          }
        if (thread == 0) note_pivot(j - 1);
      }
      // RACE: every block sends its proposal of column j to every block; the wait orders the words before what is read
      // below. A block that sends column j + 3 into the same place has received the messages of column j + 2. Each
      // block sent those after its __syncthreads of column j + 2, past which none of its threads reads column j: so
      // three places suffice. Two barriers suffice because the messages of column j + 2 come from blocks that have all
      // of column j + 1.
      simt::transfer_wait(&inbox[0].arrived[parity], static_cast<unsigned>(j / 2 % 2));

      // Every block chooses the same pivot.
      const Proposal* of_lane = &inbox[0].message[slot][lane < n_blocks ? lane : 0].proposal;
      const Magnitude m = lane < n_blocks ? of_lane->magnitude : Magnitude{0, 0};
      pivot = &inbox[0].message[slot][best_lane(m, lane < n_blocks ? of_lane->position : no_position, lane)];
      const T factor = static_cast<T>(pivot->proposal.scale);
      const unsigned chosen = pivot->proposal.position;
      const bool divides = !has_reciprocal<T>(pivot->proposal.magnitude);
      const T next_u = j + 1 < columns ? pivot->row[j + 1 < columns ? j + 1 : 0] : T(0);
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        T& entry = v[r][0][jj];
        T quotient = entry * factor;  // as LAPACK: one reciprocal a column
        if (divides) quotient = factor == T(0) ? entry : entry / factor;
        if (active[r] && position[r] == chosen) {
          position[r] = static_cast<unsigned>(j);
          active[r] = false;
        } else if (active[r] && position[r] == static_cast<unsigned>(j)) {
          position[r] = chosen;
        }
        l[r] = quotient;
        entry = active[r] ? quotient : entry;
        if (active[r] && (jj + 1 < group || turn + 1 < groups))
          v[r][jj + 1 < group ? 0 : 1 % groups][(jj + 1) % group] -= quotient * next_u;
      }
      slot = slot == 2 ? 0 : slot + 1;
    }
    if (groups > 1) {
#pragma unroll
      for (int r = 0; r < rows; ++r)
#pragma unroll
        for (int c = 0; c < group; ++c) {
          const T done = v[r][0][c];
#pragma unroll
          for (int g = 0; g + 1 < groups; ++g) v[r][g][c] = v[r][g + 1][c];
          v[r][groups - 1][c] = done;
        }
    }
  }
  if (thread == 0) note_pivot(p.width - 1);
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    if (position[r] == no_position) continue;
#pragma unroll
    for (int c = 0; c < columns; ++c)
      if (c < p.width) p.a[position[r] + c * p.ld] = v[r][c / group][c % group];
  }
  if (rank == 0 && warp == 0 && lane < p.width)
    for (int b = 0; b < n_blocks; ++b) *cluster.map_shared_rank(&home[lane], b) = position[0];
  // RACE: threads wrote pivot_*, home and L11, all blocks read them from here on; the barrier orders them
  cluster.sync();
  if (rank == 0 && warp == 0 && lane < p.width)
    p.ipiv[lane] = p.first + static_cast<std::int32_t>(pivot_position[lane]);
  if (rank == 0 && thread == 0 && zero_pivot >= 0 && *p.info == 0) *p.info = p.first + zero_pivot + 1;
  if (p.end_others - p.first_other > p.width)
    finish_other_columns<T, columns>(p, pivot_origin, home, rank * n_warps + warp, n_blocks * n_warps, lane);
}

/// The kernel for panels of so many columns. The more rows a thread has, the fewer columns fit into its registers.
template <class T, int columns>
struct Variant;
template <class T>
struct Variant<T, 32> {
  static constexpr int rows = 1, max_threads = 512;
  static constexpr auto kernel = cluster_panel_kernel<T, 16, 2, rows, max_threads>;
};
template <class T>
struct Variant<T, 16> {
  static constexpr int rows = 2, max_threads = 512;
  static constexpr auto kernel = cluster_panel_kernel<T, 16, 1, rows, max_threads>;
};
template <class T>
struct Variant<T, 8> {
  static constexpr int rows = 4, max_threads = 512;
  static constexpr auto kernel = cluster_panel_kernel<T, 8, 1, rows, max_threads>;
};
template <int columns>
constexpr std::int32_t rows_of_block = Variant<double, columns>::rows* Variant<double, columns>::max_threads;

constexpr int panels_of_leaf = 4;  // blocks of more panels are halved: their product then has a longer inner dimension

using simt::ceil_div;

/// As many blocks as have work for min_threads threads each; when no more are allowed, more threads. On a GPU at least
/// some blocks, so that they share the work on the other columns (512 rows: 37 -> 31 µs on an H200).
template <class T, int columns>
Status launch_panel(const PanelArguments<T>& p, const ClusterPanelLimits& limits, simt::Stream& stream) {
  using V = Variant<T, columns>;
  const std::int32_t needed = ceil_div(ceil_div(p.n_rows, limits.max_blocks * V::rows), 32) * 32;
  const std::int32_t threads = std::max(min_threads, needed);
  const bool shares_work = p.end_others - p.first_other > p.width;
  const std::int32_t helpers = simt::machine() == simt::Machine::simulator ? 1
                               : shares_work                               ? std::clamp(limits.max_blocks, 2, 8)
                                                                           : 2;  // see core/simt/transfer.h
  const std::int32_t blocks = std::max(ceil_div(p.n_rows, threads * V::rows), helpers);
  return simt::launch(V::kernel,
                      {.grid = static_cast<unsigned>(blocks),
                       .block = static_cast<unsigned>(threads),
                       .cluster = static_cast<unsigned>(blocks)},
                      stream, p);
}

}  // namespace

template <class T>
Result<ClusterPanelLimits> cluster_panel_limits(std::int32_t n) {
  const auto device = simt::device_properties();
  if (!device.ok()) return device.status();
  if (simt::machine() == simt::Machine::gpu && device->compute_capability < 90)
    return Status::error(
        StatusCode::not_implemented,
        fmt::format("{} has no thread-block clusters (compute capability 9.0); use 05_blocked_cublas", device->name));
  ClusterPanelLimits limits;
  for (unsigned blocks = max_cluster; blocks >= 1 && limits.max_blocks == 0; blocks /= 2) {
    const simt::LaunchShape shape{.grid = blocks, .block = Variant<T, 32>::max_threads, .cluster = blocks};
    const auto resident = simt::max_resident_clusters(Variant<T, 32>::kernel, shape);
    if (resident.ok() && *resident > 0) limits.max_blocks = static_cast<int>(blocks);
    if (blocks == 1 && !resident.ok()) return resident.status();
  }
  limits.max_rows = limits.max_blocks * rows_of_block<8>;
  if (n > limits.max_rows)
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("n = {}; a cluster of this device holds panels of up to {} rows", n, limits.max_rows));
  return limits;
}

template <class T>
std::int32_t max_cluster_panel_rows() {
  const auto limits = cluster_panel_limits<T>(0);
  return limits.ok() ? limits->max_rows : max_cluster * rows_of_block<8>;
}

std::int32_t cluster_panel_columns(std::int32_t n_rows, const ClusterPanelLimits& limits) {
  if (n_rows <= limits.max_blocks * rows_of_block<32>) return 32;
  return n_rows <= limits.max_blocks * rows_of_block<16> ? 16 : 8;
}

template <class T>
Status factor_cluster_panel(const DeviceDense<T>& a, std::int32_t first, std::int32_t width, std::int32_t block_begin,
                            std::int32_t block_end, const ClusterPanelLimits& limits, simt::Stream& stream) {
  const std::int32_t n_rows = a.n - first, columns = cluster_panel_columns(n_rows, limits);
  if (first < 0 || width < 1 || width > std::min(columns, n_rows) || n_rows > limits.max_rows || block_begin < 0 ||
      block_begin > first || first + width > block_end || block_end > a.n)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("panel of columns [{}, {}) in the block [{}, {}) of a {} x {} matrix; up to {} "
                                     "columns and {} rows are possible",
                                     first, first + width, block_begin, block_end, a.n, a.n, columns, limits.max_rows));
  const PanelArguments<T> p{a.a + first + first * a.ld, a.ld,           n_rows, width, block_begin - first,
                            block_end - first,          a.ipiv + first, first,  a.info};
  if (columns == 32) return launch_panel<T, 32>(p, limits, stream);
  if (columns == 16) return launch_panel<T, 16>(p, limits, stream);
  return launch_panel<T, 8>(p, limits, stream);
}

template <class T>
Status factor_block_by_panels(const DeviceDense<T>& a, std::int32_t first, std::int32_t end,
                              const ClusterPanelLimits& limits, simt::Blas& blas, simt::Stream& stream) {
  const auto subtract_product = [&](std::int64_t k, std::int64_t split) {  // A22 -= L21 · U12 of columns [k, split)
    return blas.subtract_product(a.n - split, end - split, split - k, a.a + split + k * a.ld, a.ld,
                                 a.a + k + split * a.ld, a.ld, a.a + split + split * a.ld, a.ld);
  };
  const std::int32_t columns = cluster_panel_columns(a.n - first, limits);
  if (end - first > panels_of_leaf * columns) {
    const std::int32_t middle = first + ceil_div(ceil_div(end - first, 2), columns) * columns;
    LULAB_RETURN_IF_ERROR(factor_block_by_panels(a, first, middle, limits, blas, stream));
    LULAB_RETURN_IF_ERROR(swap_rows_and_solve(a, first, middle, middle, end, blas, stream));
    LULAB_RETURN_IF_ERROR(subtract_product(first, middle));
    LULAB_RETURN_IF_ERROR(factor_block_by_panels(a, middle, end, limits, blas, stream));
    return swap_rows(a, middle, end, first, middle, stream);
  }
  for (std::int32_t j = first, next; j < end; j = next) {
    next = std::min(j + cluster_panel_columns(a.n - j, limits), end);
    LULAB_RETURN_IF_ERROR(factor_cluster_panel(a, j, next - j, first, end, limits, stream));
    LULAB_RETURN_IF_ERROR(subtract_product(j, next));
  }
  return {};
}

#define LULAB_INSTANTIATE(T)                                                                                           \
  template Result<ClusterPanelLimits> cluster_panel_limits<T>(std::int32_t);                                           \
  template std::int32_t max_cluster_panel_rows<T>();                                                                   \
  template Status factor_cluster_panel(const DeviceDense<T>&, std::int32_t, std::int32_t, std::int32_t, std::int32_t,  \
                                       const ClusterPanelLimits&, simt::Stream&);                                      \
  template Status factor_block_by_panels(const DeviceDense<T>&, std::int32_t, std::int32_t, const ClusterPanelLimits&, \
                                         simt::Blas&, simt::Stream&);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab::dense
