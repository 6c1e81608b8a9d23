#pragma once
// The kernel that solves and refines a batch: the lanes of a warp are systems.   Arioli, Demmel & Duff 1989, section 3
//
//   As, A and b of up to 32 systems, a group, are laid side by side              interleave()
//   x = C Q U⁻¹ L⁻¹ P R b                 a warp takes a row for a group and     solve_group()
//                                         waits for the x(j) that it needs
//   r = what the rule corrects of b - A x, omega(x)                              add_errors()
//   while the rule wants a step of some system                                   decide(), refinement_rule.h
//     x' = x + C Q U⁻¹ L⁻¹ P R r,   r, omega(x')
//     x <- x' if the rule accepts it
//
// All lanes of a warp take the same row, so what the pattern says is read once for 32 systems, and their values lie in
// one line. Sums are taken in an order that depends on the pattern alone. One cooperative launch for as many systems as
// the workspace holds, a barrier of the grid after each of these steps: nothing comes to the host in between.

#include <cstdint>
#include <limits>

#include "core/awaited_scalar.h"
#include "core/simt/kernel.h"
#include "core/simt/note_writes.h"
#include "solve/batch_rows.h"
#include "solve/device_batch_solver.h"
#include "solve/row_residual.h"
#include "solve/solve_kernels.h"
#include "solve/solve_row.h"

namespace lulab::batch_solve {

constexpr int threads = 256, warps = threads / 32;  // of a block
constexpr int max_group = 32;                       // systems
constexpr int tile_size = 32 * 33;
constexpr int long_row = 64;  // entries of A from which a block shares a row

struct SideView {
  const BatchRow* rows;  // (n_rows)
  const BatchEntry* entries;
  std::int32_t n_rows, n_words;
};

/// A by rows.
struct RowsView {
  const std::int64_t* row_ptr;  // (n + 1)
  const BatchEntry* entries;
  const std::int32_t* long_rows;  // (n_long_rows)
  std::int32_t n_long_rows;
};

/// Of a system in a launch; zero on entry. Magnitudes as bits_of().
struct SystemState {
  unsigned long long right_side[2];  // the largest entry of R b or R r, of this and the next solve
  unsigned long long x_max, omega1, omega2, componentwise;
  unsigned long long bad_b;  // n - the first row of b that is not finite; 0: none
  RefinementRule rule;
  double componentwise_of_best;
  std::int32_t best;    // which of both x
  std::int32_t active;  // wants another solve
};

/// Arrays of a group lie (count, ld), those of group g behind those of g - 1.
template <class T>
struct View {
  std::int32_t n;
  std::int64_t nnz_a, nnz_lu;
  std::int32_t ld;  // systems of a group
  SideView lower, upper;
  RowsView rows;
  const std::int32_t* from;  // (n) p: entry i of P R b is row from[i] of b ...
  const double* r;           // (n) ... times r[from[i]]
  const std::int32_t* to;    // (n) q
  const double* c;           // (n) of y(i), which becomes x(to[i])
  T* lu;
  double *a, *b, *residual, *x[2];
  Word<T>* words[2];    // of L and of U
  SystemState* states;  // (groups, 32)
  unsigned* active;     // (2) systems that want another solve, after this and after the last round
};

/// The systems of a launch.
template <class T>
struct Systems {
  const std::int32_t* which;  // null: first, first + 1, ...
  std::int32_t first, count;
  const double* a;  // (nnz(A), systems)
  const T* lu;      // (nnz(L+U), systems)
  const double* b;  // (n, systems)
  double* x;
  SystemSolution* solutions;   // of all launches: those of this one from `first` on
  const std::int32_t* usable;  // (systems) or null

  __device__ __forceinline__ std::int64_t system(std::int32_t slot) const {
    return which ? which[first + slot] : first + slot;
  }
};

/// A block's share of the work for a group.
struct Share {
  std::int32_t member, members;  // blocks of the group
  std::int32_t group, groups_at_once;
  std::int32_t groups;

  __device__ __forceinline__ Share(std::int32_t of_launch) : groups(of_launch) {
    const auto blocks = static_cast<std::int32_t>(gridDim.x);
    members = max(1, blocks / groups);
    groups_at_once = blocks / members;
    member = static_cast<std::int32_t>(blockIdx.x) % members;
    group = static_cast<std::int32_t>(blockIdx.x) / members;
  }
  __device__ __forceinline__ std::int32_t warp() const { return member * warps + int(threadIdx.x) / 32; }
  __device__ __forceinline__ std::int32_t warps_of_group() const { return members * warps; }
};

/// work(group, systems of it) for those of the block. A block beyond the last whole share of blocks has none.
template <class T, class Work>
__device__ __forceinline__ void for_each_group(const View<T>& v, const Systems<T>& s, const Share& share,
                                               const Work& work) {
  if (share.group >= share.groups_at_once) return;
  for (std::int32_t g = share.group; g < share.groups; g += share.groups_at_once)
    work(g, min(v.ld, s.count - g * v.ld));
}

/// *to of each lane's system = max(*to, bits of that lane in all warps of the block).   Called by all threads.
__device__ __forceinline__ void raise_of_lane(unsigned long long* to, unsigned long long bits, bool has_system) {
  LULAB_SHARED(unsigned long long, of_warp, threads);
  of_warp[threadIdx.x] = bits;
  __syncthreads();  // RACE: each warp wrote its lanes', the first reads all of them
  if (threadIdx.x < 32 && has_system) {
    for (int w = 1; w < warps; ++w) bits = larger(bits, of_warp[32 * w + threadIdx.x]);
    if (bits > 0) atomicMax(to, bits);  // RACE: blocks of a group raise it; a barrier of the grid orders its readers
  }
  __syncthreads();  // RACE: all have read before the next call writes
}

/// to(k, lane) <- from(k) of the lane's system.   visit(k, value) for each k and system, by its lane.
/// tile: (tile_size) shared   Called by all threads of a block.
template <class S, class Visit>
__device__ __forceinline__ void interleave(const Share& share, std::int64_t count, std::int32_t ld, std::int32_t size,
                                           const std::int64_t* system, const S* from, S* to, double* tile,
                                           const Visit& visit) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (std::int64_t first = 32 * std::int64_t(share.member); first < count; first += 32 * std::int64_t(share.members)) {
    for (int k = warp; k < size; k += warps)
      if (first + lane < count) tile[k * 33 + lane] = static_cast<double>(from[system[k] * count + first + lane]);
    __syncthreads();  // RACE: warps read systems, others write positions
    for (int k = warp; k < 32; k += warps)
      if (first + k < count && lane < size) {
        const S value = static_cast<S>(tile[lane * 33 + k]);
        to[(first + k) * ld + lane] = value;
        visit(first + k, value);
      }
    __syncthreads();  // RACE: all have read the tile before the next one overwrites it
  }
}

/// The first 32 entries of a row, one to a lane; each lane gets them in turn.
struct LoadedRow {
  BatchRow row = {};
  BatchEntry entry = {};

  __device__ __forceinline__ void load_entries(const BatchEntry* entries) {
    const int lane = threadIdx.x % 32;
    entry = lane < row.count ? entries[row.begin + lane] : BatchEntry{0, 0};
  }
};

/// Σ T(i,j) x(j) over the row's entries, then its parts.   Called by all lanes of a warp.
template <class T>
__device__ __forceinline__ T row_times_x(const LoadedRow& loaded, const T* lu, Word<T>* words, std::int32_t ld,
                                         bool active) {
  constexpr int at_once = 4;
  const BatchRow& row = loaded.row;
  T sum = T(0);
  for (int e = 0; e < row.count; e += at_once) {
    T values[at_once];
    Word<T>* from[at_once];
    Word<T> seen[at_once];
#pragma unroll
    for (int q = 0; q < at_once; ++q) {
      const std::int32_t column = __shfl_sync(0xffffffffu, loaded.entry.column, e + q);
      const std::int32_t at = __shfl_sync(0xffffffffu, loaded.entry.from, e + q);
      const bool is_there = active && e + q < row.count;
      from[q] = words + std::int64_t(column) * ld;
      values[q] = is_there ? lu[std::int64_t(at) * ld] : T(0);
      seen[q] = is_there ? peek(from[q]) : Word<T>(0);
    }
#pragma unroll
    for (int q = 0; q < at_once; ++q) sum += values[q] * to_scalar(await(from[q], seen[q]));  // RACE: see peek()
  }
  for (std::int32_t e = 0; active && e < row.parts; e += at_once) {
    Word<T>* from[at_once];
    Word<T> seen[at_once];
#pragma unroll
    for (int q = 0; q < at_once; ++q) {
      from[q] = words + std::int64_t(row.first_part + e + q) * ld;
      seen[q] = e + q < row.parts ? peek(from[q]) : Word<T>(0);
    }
#pragma unroll
    for (int q = 0; q < at_once; ++q) sum += to_scalar(await(from[q], seen[q]));  // RACE: see peek()
  }
  return sum;
}

/// solve(row) for the warp's rows of a triangle, each a grid's width of warps after the other, what is read of the next
/// ones meanwhile.
template <class Solve>
__device__ __forceinline__ void take_rows(const SideView& side, const Share& share, const Solve& solve) {
  const std::int32_t step = share.warps_of_group();
  std::int32_t k = share.warp();
  const auto row_at = [&](std::int32_t at) { return at < side.n_rows ? side.rows[at] : BatchRow{}; };
  LoadedRow loaded = {row_at(k), {}};
  loaded.load_entries(side.entries);
  LoadedRow next = {row_at(k + step), {}};
  for (; k < side.n_rows; k += step) {
    const BatchRow after = row_at(k + 2 * step);
    next.load_entries(side.entries);
    solve(loaded);
    loaded = next;
    next.row = after;
  }
}

/// x' of the systems of a group, and its largest entry.   round: 0 for the first solve
/// Called by all threads of the group's blocks, all resident: a row needs only earlier ones, and each warp takes its
/// rows in their order, so the first row that is left never waits.
template <class T>
__device__ __forceinline__ void solve_group(const View<T>& v, const Share& share, std::int32_t group, std::int32_t size,
                                            int round) {
  const int lane = threadIdx.x % 32;
  SystemState& state = v.states[group * 32 + lane];
  const bool active = lane < size && state.active != 0;
  if (!__any_sync(0xffffffffu, active)) return;
  const std::int64_t of_group = std::int64_t(group) * v.n * v.ld + lane;
  const T* const lu = v.lu + std::int64_t(group) * v.nnz_lu * v.ld + lane;
  Word<T>* const y = v.words[0] + std::int64_t(group) * v.lower.n_words * v.ld + lane;
  Word<T>* const z = v.words[1] + std::int64_t(group) * v.upper.n_words * v.ld + lane;
  const double* const right_side = (round == 0 ? v.b : v.residual) + of_group;
  const int exponent = active ? exponent_of(state.right_side[round % 2]) : 0;
  const std::int32_t best = active ? state.best : 0;
  const double* const old = v.x[best] + of_group;
  double* const x = v.x[round == 0 ? 0 : 1 - best] + of_group;
  take_rows(v.lower, share, [&](const LoadedRow& loaded) {
    const std::int32_t word = loaded.row.word;
    const bool is_row = active && word < v.n;
    const std::int32_t from = is_row ? v.from[word] : 0;
    const double entry = is_row ? v.r[from] * right_side[std::int64_t(from) * v.ld] : 0;
    if (active) simt::note_writes(simt::written(y + std::int64_t(word) * v.ld, 1));
    const T sum = row_times_x(loaded, lu, y, v.ld, active);
    if (!active) return;
    const T solved = is_row ? static_cast<T>(scaled_by_power_of_two(entry, -exponent)) - sum : sum;
    publish<T>(y + std::int64_t(word) * v.ld, solved);
  });
  unsigned long long largest = 0;
  take_rows(v.upper, share, [&](const LoadedRow& loaded) {
    const BatchRow& row = loaded.row;
    const bool is_row = active && row.word < v.n;
    const T diagonal = is_row ? lu[std::int64_t(row.diagonal) * v.ld] : T(1), inverse = T(1) / diagonal;
    const std::int32_t to = is_row ? v.to[row.word] : 0;
    const double scale = is_row ? v.c[row.word] : 0;
    const double before = is_row && round > 0 ? old[std::int64_t(to) * v.ld] : 0;
    if (active) simt::note_writes(simt::written(z + std::int64_t(row.word) * v.ld, 1));
    const T sum = row_times_x(loaded, lu, z, v.ld, active);
    if (!active) return;
    T solved = sum;
    if (is_row) {
      Word<T>* const from = y + std::int64_t(row.word) * v.ld;
      const T left = to_scalar(await(from, peek(from))) - sum;  // RACE: see peek()
      solved = quotient(left, diagonal, inverse);
    }
    publish<T>(z + std::int64_t(row.word) * v.ld, solved);
    if (!is_row) return;
    const double sum_of_x = before + scaled_product(scale, static_cast<double>(solved), exponent);
    x[std::int64_t(to) * v.ld] = sum_of_x;
    largest = larger(largest, bits_of(sum_of_x));
  });
  raise_of_lane(&state.x_max, largest, active);
}

struct RowOfBatch {
  RowResidual residual;
  double size;  // max |A(i,:)|; a NaN in A makes `residual` NaN
};

/// Entries first to end - 1 of A by rows, of the lane's system.   Called by all lanes of a warp.
__device__ __forceinline__ void subtract_entries(const RowsView& rows, std::int64_t first, std::int64_t end,
                                                 const double* a, const double* x, std::int32_t ld, bool has_system,
                                                 RowOfBatch& sum) {
  constexpr int at_once = 4;
  const int lane = threadIdx.x % 32;
  for (std::int64_t k = first; k < end; k += 32) {
    const BatchEntry mine = k + lane < end ? rows.entries[k + lane] : BatchEntry{0, 0};
    const int count = static_cast<int>(min(std::int64_t(32), end - k));
    for (int e = 0; e < count; e += at_once) {
      double value[at_once], of_x[at_once];
#pragma unroll
      for (int q = 0; q < at_once; ++q) {
        const std::int32_t column = __shfl_sync(0xffffffffu, mine.column, e + q);
        const std::int32_t at = __shfl_sync(0xffffffffu, mine.from, e + q);
        const bool is_there = has_system && e + q < count;
        value[q] = is_there ? a[std::int64_t(at) * ld] : 0;
        of_x[q] = is_there ? x[std::int64_t(column) * ld] : 0;
      }
#pragma unroll
      for (int q = 0; q < at_once; ++q) {
        if (e + q >= count) break;
        sum.residual.subtract_product(value[q], of_x[q]);
        sum.size = fmax(sum.size, fabs(value[q]));
      }
    }
  }
}

/// r of the systems of a group, its errors, and the largest entry of R r.
/// Called by all threads of the group's blocks.
template <class T>
__device__ __forceinline__ void add_errors(const View<T>& v, const Share& share, std::int32_t group, std::int32_t size,
                                           int round) {
  LULAB_SHARED(RowOfBatch, of_warp, threads);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const bool has_system = lane < size;
  SystemState& state = v.states[group * 32 + lane];
  const bool active = has_system && state.active != 0;
  if (!__any_sync(0xffffffffu, active)) return;
  const std::int64_t of_group = std::int64_t(group) * v.n * v.ld + lane;
  const double* const a = v.a + std::int64_t(group) * v.nnz_a * v.ld + lane;
  const double* const x = v.x[round == 0 || !has_system ? 0 : 1 - state.best] + of_group;
  const double x_max = has_system ? magnitude_of(state.x_max) : 0;
  LargestErrors errors;
  unsigned long long right_side = 0;
  const auto sum_of = [&](std::int64_t first, std::int64_t end, double b) {
    RowOfBatch sum{{{b, 0}, 0}, 0};
    subtract_entries(v.rows, first, end, a, x, v.ld, active, sum);
    return sum;
  };
  const auto finish = [&](std::int32_t i, const RowOfBatch& sum) {
    if (!active) return;
    const double r = errors.add(sum.residual, v.b[of_group + std::int64_t(i) * v.ld], sum.size * x_max, v.n);
    v.residual[of_group + std::int64_t(i) * v.ld] = r;
    right_side = larger(right_side, bits_of(v.r[i] * r));
  };
  const auto b_of = [&](std::int32_t i) { return active ? v.b[of_group + std::int64_t(i) * v.ld] : 0; };
  for (std::int32_t q = share.member; q < v.rows.n_long_rows; q += share.members) {
    const std::int32_t i = v.rows.long_rows[q];
    const std::int64_t begin = v.rows.row_ptr[i], end = v.rows.row_ptr[i + 1];
    const std::int64_t part = (end - begin + warps - 1) / warps, first = min(begin + warp * part, end);
    of_warp[threadIdx.x] = sum_of(first, min(first + part, end), warp == 0 ? b_of(i) : 0);
    __syncthreads();  // RACE: each warp wrote its part, the first reads all of them
    if (warp == 0) {
      RowOfBatch sum = of_warp[lane];
      for (int w = 1; w < warps; ++w) {
        sum.residual.merge(of_warp[32 * w + lane].residual);
        sum.size = fmax(sum.size, of_warp[32 * w + lane].size);
      }
      finish(i, sum);
    }
    __syncthreads();  // RACE: all have read before the next row's parts are written
  }
  for (std::int32_t i = share.warp(); i < v.n; i += share.warps_of_group()) {
    const std::int64_t begin = v.rows.row_ptr[i], end = v.rows.row_ptr[i + 1];
    if (end - begin < long_row) finish(i, sum_of(begin, end, b_of(i)));
  }
  raise_of_lane(&state.omega1, errors.omega1, active);
  raise_of_lane(&state.omega2, errors.omega2, active);
  raise_of_lane(&state.componentwise, errors.componentwise, active);
  raise_of_lane(&state.right_side[(round + 1) % 2], right_side, active);
}

/// Words of a group <- not yet.
template <class T>
__device__ __forceinline__ void forget_words(const View<T>& v, const Share& share, std::int32_t group) {
  const std::int64_t thread = std::int64_t(share.member) * threads + threadIdx.x;
  const std::int64_t step = std::int64_t(share.members) * threads;
  for (int side = 0; side < 2; ++side) {
    const std::int64_t n_words = std::int64_t(side == 0 ? v.lower.n_words : v.upper.n_words) * v.ld;
    device_solver::forget_words<T>(v.words[side] + group * n_words, n_words, thread, step);
  }
}

/// By the rule of the system; then nothing is left of this round's largest.   Returns whether it goes on.
__device__ __forceinline__ bool decide(SystemState& state, int round, int max_iterations, double enough) {
  const double omega = magnitude_of(state.omega1) + magnitude_of(state.omega2);
  const double componentwise = magnitude_of(state.componentwise);
  state.omega1 = state.omega2 = state.componentwise = state.x_max = state.right_side[round % 2] = 0;
  if (round == 0) {
    state.rule = RefinementRule(omega, max_iterations, enough);
    state.componentwise_of_best = componentwise;
  } else if (state.rule.accepts(omega)) {
    state.best = 1 - state.best;
    state.componentwise_of_best = componentwise;
  }
  return state.rule.wants_step();
}

/// x of the systems of a group, and what is known of them.   Called by all threads of the group's blocks.
template <class T>
__device__ __forceinline__ void write_solutions(const View<T>& v, const Systems<T>& s, const Share& share,
                                                std::int32_t group, std::int32_t size, const std::int64_t* system,
                                                double* tile) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const bool has_system = lane < size;
  const SystemState& state = v.states[group * 32 + lane];
  const bool usable = has_system && (!s.usable || s.usable[system[lane]] != 0);
  const Refinement refined = usable ? state.rule.result(state.componentwise_of_best) : Refinement{0, nan, nan, false};
  const bool refuse = s.usable && !refined.converged;
  const double* const x = v.x[has_system ? state.best : 0] + std::int64_t(group) * v.n * v.ld + lane;
  for (std::int32_t first = 32 * share.member; first < v.n; first += 32 * share.members) {
    for (int k = warp; k < 32; k += warps)
      if (first + k < v.n && has_system) tile[lane * 33 + k] = refuse ? nan : x[std::int64_t(first + k) * v.ld];
    __syncthreads();  // RACE: warps wrote rows, others read systems
    for (int k = warp; k < size; k += warps)
      if (first + lane < v.n) s.x[system[k] * v.n + first + lane] = tile[k * 33 + lane];
    __syncthreads();  // RACE: all have read the tile before the next one overwrites it
  }
  if (share.member > 0 || warp > 0 || !has_system) return;
  const std::int32_t wrong = usable && refuse && state.bad_b > 0 ? v.n - static_cast<std::int32_t>(state.bad_b) : -1;
  s.solutions[s.first + group * v.ld + lane] = {refined, wrong, wrong >= 0 ? s.b[system[lane] * v.n + wrong] : 0};
}

/// grid: resident at once   block: threads   shared: none that is dynamic
/// s.usable[system] 0: its factors are not, and x <- NaN; an x that does not converge is NaN, too. Null: x is what
/// refinement leaves.
template <class T>
__global__ void __launch_bounds__(threads, 2)
    solve_batch_kernel(View<T> v, Systems<T> s, std::int32_t groups, int max_iterations, double enough) {
  LULAB_SHARED(std::int64_t, system, max_group);
  LULAB_SHARED(double, tile, tile_size);
  const auto grid = [] { return cooperative_groups::this_grid(); };
  const Share share(groups);
  const auto find_systems = [&](std::int32_t group, std::int32_t size) {
    __syncthreads();  // RACE: all have read those of the group before
    if (int(threadIdx.x) < size) system[threadIdx.x] = s.system(group * v.ld + threadIdx.x);
    __syncthreads();  // RACE: lanes of the first warp wrote them, all threads read them
  };
  for_each_group(v, s, share, [&](std::int32_t group, std::int32_t size) {
    find_systems(group, size);
    const int lane = threadIdx.x % 32;
    SystemState& state = v.states[group * 32 + lane];
    interleave(share, v.nnz_lu, v.ld, size, system, s.lu, v.lu + std::int64_t(group) * v.nnz_lu * v.ld, tile,
               [](std::int64_t, T) {});
    interleave(share, v.nnz_a, v.ld, size, system, s.a, v.a + std::int64_t(group) * v.nnz_a * v.ld, tile,
               [](std::int64_t, double) {});
    unsigned long long largest = 0, bad = 0;
    interleave(share, v.n, v.ld, size, system, s.b, v.b + std::int64_t(group) * v.n * v.ld, tile,
               [&](std::int64_t i, double value) {
                 largest = larger(largest, bits_of(v.r[i] * value));
                 if (!(value - value == 0)) bad = larger(bad, static_cast<unsigned long long>(v.n - i));
               });
    raise_of_lane(&state.right_side[0], largest, lane < size);
    raise_of_lane(&state.bad_b, bad, lane < size);
    forget_words(v, share, group);  // whatever a launch that failed has left
    if (share.member == 0 && int(threadIdx.x) < size) state.active = !s.usable || s.usable[system[lane]] != 0;
  });
  grid().sync();  // RACE: orders what a group's blocks wrote before the solves of all of them
  for (int round = 0;; ++round) {
    for_each_group(v, s, share,
                   [&](std::int32_t group, std::int32_t size) { solve_group(v, share, group, size, round); });
    grid().sync();  // RACE: orders x' and its largest entry before the residuals
    for_each_group(v, s, share, [&](std::int32_t group, std::int32_t size) {
      add_errors(v, share, group, size, round);
      forget_words(v, share, group);
    });
    grid().sync();  // RACE: orders the errors before the decision; and all have read how many were active
    unsigned* const active = v.active + round % 2;
    for (std::int32_t k = blockIdx.x * threads + threadIdx.x; k < groups * 32; k += gridDim.x * threads) {
      SystemState& state = v.states[k];
      if (state.active == 0) continue;
      state.active = decide(state, round, max_iterations, enough);
      if (state.active != 0) atomicAdd(active, 1u);  // RACE: any thread counts; a barrier of the grid orders the reads
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) v.active[(round + 1) % 2] = 0;  // RACE: read last before the barrier above
    grid().sync();  // RACE: orders the decisions, and their number, before what follows from them
    if (*active == 0) break;
  }
  for_each_group(v, s, share, [&](std::int32_t group, std::int32_t size) {
    find_systems(group, size);
    write_solutions(v, s, share, group, size, system, tile);
  });
}

}  // namespace lulab::batch_solve
