// Triangular solves on the device.
//
//   update   entries of L and U by rows, 1 / U(j,j)
//   solve    b <- scaled and permuted, its largest entry; words <- not yet
//            first triangle, then the second, in one launch, by tasks in level order               solve_row.h
//              sync_free   a warp takes the next task, and waits for each x(j) that its rows need
//              narrow_middle   the same, but one block takes the narrow levels, where x(j) is awaited in shared memory
//              level_set   tasks of a level, a barrier, tasks of the next level
//
// Sync-free tasks are handed out by a ticket. Who has a ticket runs, and rows need only rows of smaller tickets (of earlier
// levels, or of the first triangle); the smallest ticket not finished waits for nothing. So the launch ends whatever blocks
// start first, and even with a single block alive. Rows of one warp are of one level and never wait for each other. The
// narrow levels lie between two parts of that order, and their block, the first that started, takes part in the part before
// them, as all do, before it turns to them.

#include "solve/device_solver.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/simt/kernel.h"
#include "solve/magnitude.h"
#include "solve/solve_row.h"

namespace lulab {
namespace {

constexpr int update_threads = 256;
constexpr int sync_free_threads = 128;
constexpr int middle_threads = 512;
constexpr int level_set_threads = 512;
constexpr std::int64_t spared_shared_bytes = 1024;  // of a block's, for static arrays and the system
constexpr int most_rhs_lanes = 8;                   // 64 bytes of each x(j), and four lanes are left for entries
constexpr int default_warps_per_sm = 32;
constexpr unsigned most_update_blocks = 2048;
constexpr int wide_warps_per_sm = 16;  // of a level; above, rows share warps

unsigned blocks_for(std::int64_t items, int threads) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((items + threads - 1) / threads, 1, 4096));
}

/// What update() finds in L and U, zero before. Bits of magnitudes: magnitude.h.
struct Findings {
  unsigned long long bad_pivot;  // n - the first pivot that is zero or not finite; 0: none
  unsigned long long max_l, max_u, max_pivot;
  unsigned long long not_min_pivot;  // the complement of the smallest pivot's
};

/// by_rows[k] = values[from[k]]; inverse[j] = 1 / U(j,j).   by_rows: nnz_l entries of L, then those of U
template <class T>
__global__ void update_kernel(const T* values, const std::int64_t* from, std::int64_t nnz_l, std::int64_t nnz,
                              const std::int64_t* diag, std::int32_t n, T* by_rows, T* inverse, Findings* found) {
  const std::int64_t thread = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = std::int64_t(gridDim.x) * blockDim.x;
  unsigned long long max_l = 0, max_u = 0, max_pivot = 0, not_min_pivot = 0;
  for (std::int64_t k = thread; k < nnz; k += stride) {
    const T value = values[from[k]];
    by_rows[k] = value;
    const unsigned long long bits = bits_of(static_cast<double>(value));
    if (k < nnz_l)
      max_l = larger(max_l, bits);
    else
      max_u = larger(max_u, bits);
  }
  for (std::int64_t j = thread; j < n; j += stride) {
    const T u = values[diag[j]];
    inverse[j] = T(1) / u;
    const unsigned long long bits = bits_of(static_cast<double>(u));
    max_pivot = larger(max_pivot, bits);
    not_min_pivot = larger(not_min_pivot, ~bits);
    // RACE: pivots of several threads; the largest n - j stays
    if (u == T(0) || !(u - u == T(0))) atomicMax(&found->bad_pivot, static_cast<unsigned long long>(n - j));
  }
  raise(&found->max_l, max_l);
  raise(&found->max_u, max_u);
  raise(&found->max_pivot, max_pivot);
  raise(&found->not_min_pivot, not_min_pivot);
}

/// b <- scale · b in the order of the first triangle, right-hand sides side by side; forgets earlier solutions.
/// grid: (any, chunks)   block: a multiple of 32   from: (n) row of b   scale: (n) of that row
/// b: (n, columns) by columns   scaled, solved: (n, ld)   largest, progress: 0 on entry
template <class T, class S>
__global__ void prepare_kernel(const S* b, const std::int32_t* from, const double* scale, std::int32_t n,
                               std::int32_t columns, std::int32_t ld, int rhs_lanes, double* scaled, Word<T>* solved_0,
                               Word<T>* solved_1, unsigned long long* largest, SolveProgress* progress) {
  const std::int32_t c = blockIdx.y * rhs_lanes + threadIdx.x % rhs_lanes;
  unsigned long long max_bits = 0;
  const std::int64_t stride = std::int64_t(gridDim.x) * blockDim.x / rhs_lanes;
  for (std::int64_t i = (std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / rhs_lanes; i < n && c < columns;
       i += stride) {
    const S entry = b[std::int64_t(c) * n + from[i]];
    // RACE: entries of several threads; the largest n - row stays
    if (!(entry - entry == S(0))) atomicMax(&progress->bad_b, static_cast<unsigned long long>(n - from[i]));
    const double value = scale[i] * static_cast<double>(entry);
    scaled[i * ld + c] = value;
    solved_0[i * ld + c] = solved_1[i * ld + c] = not_yet<T>;
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(value)) & ~(1ull << 63);
    max_bits = bits > max_bits ? bits : max_bits;  // magnitudes order like their bits, NaN last
  }
  for (int offset = 16; offset >= rhs_lanes; offset /= 2) {
    const unsigned long long other = __shfl_xor_sync(0xffffffffu, max_bits, offset);
    max_bits = other > max_bits ? other : max_bits;
  }
  // RACE: a right-hand side has several warps; the largest stays
  if (threadIdx.x % 32 < static_cast<unsigned>(rhs_lanes) && c < columns) atomicMax(&largest[c], max_bits);
}

/// The next of a triangle's tasks, drawn by lane 0.
/// Result valid in lane 0.
__device__ __forceinline__ unsigned draw(unsigned* tickets) {
  return threadIdx.x % 32 == 0 ? atomicAdd(tickets, 1u) : 0u;  // RACE: no two warps get one task
}

/// solve(task) for tasks in ascending order as they are drawn, by the calling warp, until `end`. The next is drawn before
/// this warp waits, so that nobody waits for the draw; it is started when this one is done.
template <class Solve>
__device__ __forceinline__ void take_tasks(unsigned* tickets, unsigned end, const Solve& solve) {
  unsigned next = draw(tickets);
  for (;;) {
    const unsigned task = __shfl_sync(0xffffffffu, next, 0);
    if (task >= end) return;
    next = draw(tickets);
    solve(task);
  }
}

/// grid: any   block: 32 * any   shared: none
template <class T, class S>
__global__ void __launch_bounds__(sync_free_threads) solve_sync_free_kernel(SolveView<T, S> v) {
  const unsigned chunks = v.chunks();
  const Awaited<T> y = {v.solved[0], v.ld}, x = {v.solved[1], v.ld};
  take_tasks(&v.progress->tickets[0], v.triangle[0].n_tasks * chunks, [&](unsigned k) { solve_task<0>(v, k, y, y); });
  take_tasks(&v.progress->tickets[1], v.triangle[1].n_tasks * chunks, [&](unsigned k) { solve_task<1>(v, k, y, x); });
}

/// The narrow levels: tasks from `begin` of the first triangle on, tasks before `end` of the second.
struct MiddleView {
  std::int32_t begin, end;
  std::int32_t first_row, rows[2];  // the positions of their rows: first_row .. first_row + rows[0], 0 .. rows[1]
  const std::int32_t* position[2];  // (n) of each row in the order of its triangle
};

/// grid: any   block: 32 * any   shared: (rows[0] + rows[1], ld) words
template <class T, class S>
__global__ void __launch_bounds__(middle_threads) solve_narrow_middle_kernel(SolveView<T, S> v, MiddleView m) {
  LULAB_DYNAMIC_SHARED(Word<T>, words);
  LULAB_SHARED(unsigned, started, 1);
  LULAB_SHARED(unsigned, tickets, 2);
  if (threadIdx.x == 0) {
    started[0] = atomicAdd(&v.progress->blocks[0], 1u);  // RACE: one block is the first
    tickets[0] = tickets[1] = 0;
  }
  __syncthreads();  // RACE: thread 0 wrote the block's number and its tickets, all use them
  const bool has_middle = started[0] == 0;
  if (has_middle) {
    for (int i = threadIdx.x; i < (m.rows[0] + m.rows[1]) * v.ld; i += blockDim.x) words[i] = not_yet<T>;
    __syncthreads();  // RACE: orders "not yet" before the first word that a warp publishes
  }
  const unsigned chunks = v.chunks();
  const Awaited<T> y = {v.solved[0], v.ld}, x = {v.solved[1], v.ld};
  take_tasks(&v.progress->tickets[0], m.begin * chunks, [&](unsigned k) { solve_task<0>(v, k, y, y); });
  if (has_middle) {
    const AwaitedInMiddle<T> y_here = {y, m.position[0], m.first_row, m.rows[0], words};
    const AwaitedInMiddle<T> x_here = {x, m.position[1], 0, m.rows[1], words + m.rows[0] * v.ld};
    take_tasks(&tickets[0], (v.triangle[0].n_tasks - m.begin) * chunks,
               [&](unsigned k) { solve_task<0>(v, m.begin * chunks + k, y_here, y_here); });
    take_tasks(&tickets[1], m.end * chunks, [&](unsigned k) { solve_task<1>(v, k, y_here, x_here); });
  }
  take_tasks(&v.progress->tickets[1], (v.triangle[1].n_tasks - m.end) * chunks,
             [&](unsigned k) { solve_task<1>(v, m.end * chunks + k, y, x); });
}

/// All levels of a triangle, and a barrier after each but the very last.
/// following: tasks of the level after the last one; -1: there is none
template <int which, class T, class S>
__device__ __forceinline__ void solve_levels(const SolveView<T, S>& v, std::int64_t following) {
  const TriangleView<T>& t = v.triangle[which];
  const Finished<T> y = {v.solved[0], v.ld}, x = {v.solved[which], v.ld};
  const unsigned chunks = v.chunks(), warps_per_block = blockDim.x / 32;
  const unsigned warp = blockIdx.x * warps_per_block + threadIdx.x / 32;
  for (std::int32_t level = 0; level < t.n_levels; ++level) {
    const unsigned begin = t.level_ptr[level] * chunks, tasks = t.tasks_of(level) * chunks;
    for (unsigned k = warp; k < tasks; k += gridDim.x * warps_per_block) solve_task<which>(v, begin + k, y, x);
    const std::int64_t next_tasks = level + 1 < t.n_levels ? t.tasks_of(level + 1) * chunks : following;
    if (next_tasks < 0) return;
    if (tasks <= warps_per_block && next_tasks <= warps_per_block)
      __syncthreads();  // RACE: both levels are block 0's: orders the x(j) that it wrote before its reads
    else
      cooperative_groups::this_grid().sync();  // RACE: orders the x(j) of this level before all reads of the next
  }
}

/// grid: resident at once   block: 32 * any   shared: none
template <class T, class S>
__global__ void __launch_bounds__(level_set_threads) solve_level_set_kernel(SolveView<T, S> v) {
  solve_levels<0>(v, v.triangle[1].tasks_of(0) * v.chunks());
  solve_levels<1>(v, -1);
}

/// A triangle in device memory; its entries are stored elsewhere.
struct DeviceTriangle {
  struct Tasks {
    simt::DeviceBuffer<TriangleTask> d_tasks;
    simt::DeviceBuffer<std::int32_t> d_level_ptr;
    std::vector<std::int32_t> level_ptr;
    std::int64_t most_in_level = 0;
    std::int32_t middle_for = 0;  // right-hand sides that `middle` is for
    MiddleRange middle;
  };

  simt::DeviceBuffer<TriangleRow> d_rows;
  simt::DeviceBuffer<std::int32_t> d_position;  // (n) of each row in d_rows; narrow_middle only
  std::vector<std::int32_t> level_ptr;          // into d_rows
  Tasks single, several;                        // for one right-hand side; for more
  std::int32_t n_levels = 0;
  int step = 1;

  Status create(const Triangle& t, bool for_several, bool has_middle, int wide, simt::Stream& stream) {
    n_levels = t.n_levels();
    level_ptr = t.level_ptr;
    std::vector<std::int32_t> position(has_middle ? t.rows.size() : 0);
    for (std::size_t s = 0; s < position.size(); ++s) position[t.rows[s].row] = static_cast<std::int32_t>(s);
    LULAB_RETURN_IF_ERROR(simt::make(d_position, position, stream));
    step = t.step;
    LULAB_RETURN_IF_ERROR(simt::make(d_rows, t.rows, stream));
    LULAB_RETURN_IF_ERROR(upload(single, make_tasks(t, 1, wide), stream));
    if (for_several) LULAB_RETURN_IF_ERROR(upload(several, make_tasks(t, most_rhs_lanes, wide), stream));
    return stream.wait();  // t and position may go
  }
  static Status upload(Tasks& to, const TriangleTasks& from, simt::Stream& stream) {
    to.level_ptr = from.level_ptr;
    for (std::size_t l = 1; l < from.level_ptr.size(); ++l)
      to.most_in_level = std::max<std::int64_t>(to.most_in_level, from.level_ptr[l] - from.level_ptr[l - 1]);
    LULAB_RETURN_IF_ERROR(simt::make(to.d_tasks, from.tasks, stream));
    LULAB_RETURN_IF_ERROR(simt::make(to.d_level_ptr, from.level_ptr, stream));
    return stream.wait();  // `from` may go
  }
  const Tasks& tasks(std::int32_t columns) const { return columns > 1 ? several : single; }
  /// See choose_middle().
  const MiddleRange& middle(std::int32_t columns, std::int64_t chunks, std::int64_t max_rows, bool at_end) {
    Tasks& t = columns > 1 ? several : single;
    if (t.middle_for != columns) t.middle = choose_middle(level_ptr, t.level_ptr, chunks, max_rows, at_end);
    t.middle_for = columns;
    return t.middle;
  }
  template <class T>
  TriangleView<T> view(std::int32_t columns, const std::int32_t* column, const T* values, const T* inverse) const {
    const Tasks& t = tasks(columns);
    return {d_rows.data(),
            t.d_tasks.data(),
            t.d_level_ptr.data(),
            static_cast<std::int32_t>(t.d_tasks.size()),
            n_levels,
            column,
            values,
            inverse,
            step};
  }
  std::int64_t bytes() const {
    return std::int64_t(sizeof(TriangleRow)) * d_rows.size() +
           std::int64_t(sizeof(TriangleTask)) * (single.d_tasks.size() + several.d_tasks.size()) +
           4 * (single.d_level_ptr.size() + several.d_level_ptr.size() + d_position.size());
  }
};

}  // namespace

std::string_view to_string(SolveMethod method) {
  constexpr std::string_view names[] = {"sync_free", "narrow_middle", "level_set"};
  return names[static_cast<int>(method)];
}

template <class T>
struct DeviceSolver<T>::Impl {
  std::int32_t n = 0;
  DeviceSolverOptions options;
  Permutation p, q;
  int sm_count = 1;
  std::int64_t shared_bytes = 0;  // that a block can have
  const T* d_values = nullptr;    // the last update()'s
  bool transposed_last = false;
  struct Occupancy {
    const void* kernel;
    int threads;
    std::size_t shared;
    int per_sm;
  };
  std::vector<Occupancy> occupancies;

  DeviceTriangle lower, upper, upper_transposed, lower_transposed;
  simt::DeviceBuffer<std::int32_t> d_column;       // (nnz) of L, then of U, by rows
  simt::DeviceBuffer<std::int64_t> d_from;         // (nnz) their places in As
  simt::DeviceBuffer<T> d_by_rows;                 // (nnz) their values
  simt::DeviceBuffer<std::int64_t> d_diag;         // (n)
  simt::DeviceBuffer<T> d_inverse;                 // (n)
  simt::DeviceBuffer<std::int32_t> d_row_idx;      // (nnz) of As
  simt::DeviceBuffer<std::int32_t> d_p, d_q;       // (n)
  simt::DeviceBuffer<double> d_r, d_c;             // (n) of the rows p and the columns q
  simt::DeviceBuffer<double> d_b;                  // (n, ld)
  simt::DeviceBuffer<Word<T>> d_solved;            // (2, n, ld)
  simt::DeviceBuffer<unsigned long long> d_state;  // SolveProgress, then largest: (ld)
  simt::DeviceBuffer<Findings> d_found;            // (1) of the last update()
  simt::HostBuffer<Findings> found;                // (1) the same on the host, once the stream was waited for
  std::int64_t nnz_l = 0;

  static constexpr std::int64_t progress_words = sizeof(SolveProgress) / sizeof(unsigned long long);
  SolveProgress* progress() const { return reinterpret_cast<SolveProgress*>(d_state.data()); }
  unsigned long long* largest() const { return d_state.data() + progress_words; }
  static int rhs_lanes(std::int32_t columns) { return columns > 1 ? most_rhs_lanes : 1; }
  static std::int32_t ld(std::int32_t columns) {
    const int lanes = rhs_lanes(columns);
    return (columns + lanes - 1) / lanes * lanes;
  }

  Status create(const FilledPattern& f, const Plan& plan, simt::Stream& stream) {
    const auto device = simt::device_properties();
    if (!device.ok()) return device.status();
    sm_count = device->sm_count;
    shared_bytes = static_cast<std::int64_t>(device->shared_bytes_per_block) - spared_shared_bytes;
    n = f.n;
    p = plan.p;
    q = plan.q;
    const int wide = wide_warps_per_sm * sm_count;
    const bool several = options.max_columns > 1, middle = options.method == SolveMethod::narrow_middle;
    Triangle l = make_triangle(f, TriangleSide::lower);
    Triangle u = make_triangle(f, TriangleSide::upper);
    nnz_l = static_cast<std::int64_t>(l.column.size());
    for (TriangleRow& row : u.rows) row.begin += nnz_l;
    l.column.insert(l.column.end(), u.column.begin(), u.column.end());
    l.from.insert(l.from.end(), u.from.begin(), u.from.end());
    LULAB_RETURN_IF_ERROR(lower.create(l, several, middle, wide, stream));
    LULAB_RETURN_IF_ERROR(upper.create(u, several, middle, wide, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_column, l.column, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_from, l.from, stream));
    if (options.transposed) {
      for (auto [triangle, side] : {std::pair{&upper_transposed, TriangleSide::upper_transposed},
                                    {&lower_transposed, TriangleSide::lower_transposed}})
        LULAB_RETURN_IF_ERROR(triangle->create(make_triangle(f, side), several, middle, wide, stream));
      LULAB_RETURN_IF_ERROR(simt::make(d_row_idx, f.row_idx, stream));
    }
    std::vector<double> r(n), c(n);
    for (std::int32_t i = 0; i < n; ++i) {
      r[i] = plan.r[plan.p[i]];
      c[i] = plan.c[plan.q[i]];
    }
    LULAB_RETURN_IF_ERROR(simt::make(d_diag, f.diag, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_p, plan.p, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_q, plan.q, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_r, r, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_c, c, stream));
    const std::int64_t widest = std::int64_t(n) * ld(options.max_columns);
    LULAB_RETURN_IF_ERROR(simt::make(d_by_rows, f.nnz()));
    LULAB_RETURN_IF_ERROR(simt::make(d_inverse, n));
    LULAB_RETURN_IF_ERROR(simt::make(d_b, widest));
    LULAB_RETURN_IF_ERROR(simt::make(d_solved, 2 * widest));
    LULAB_RETURN_IF_ERROR(simt::make(d_state, progress_words + ld(options.max_columns)));
    LULAB_RETURN_IF_ERROR(simt::make(d_found, 1));
    auto on_host = simt::HostBuffer<Findings>::create(1);
    if (!on_host.ok()) return on_host.status();
    found = std::move(*on_host);
    found.span()[0] = {};
    LULAB_RETURN_IF_ERROR(d_state.fill_bytes(0, stream));
    return stream.wait();  // r, c and l are locals
  }

  /// Of a kernel with blocks of this shape. Asked once: the answer takes longer than a launch.
  template <class... P>
  Result<int> resident_blocks_per_sm(void (*kernel)(P...), int threads, std::size_t shared) {
    const Occupancy asked = {reinterpret_cast<const void*>(kernel), threads, shared, 0};
    for (const Occupancy& known : occupancies)
      if (known.kernel == asked.kernel && known.threads == threads && known.shared == shared) return known.per_sm;
    const auto per_sm = simt::max_resident_blocks_per_sm(kernel, threads, shared);
    if (per_sm.ok()) occupancies.push_back({asked.kernel, threads, shared, *per_sm});
    return per_sm;
  }

  /// A launch with a warp for each task, or as many blocks as the device holds at once.
  template <class... P, class... A>
  Status launch_resident(void (*kernel)(P...), std::int64_t tasks, int warps_per_sm, simt::LaunchShape shape,
                         simt::Stream& stream, const A&... args) {
    const auto threads = static_cast<int>(shape.block.x), warps = threads / 32;
    const auto per_sm = resident_blocks_per_sm(kernel, threads, shape.shared_bytes);
    if (!per_sm.ok()) return per_sm.status();
    const int wanted = std::clamp(warps_per_sm / warps, 1, *per_sm);
    shape.grid = static_cast<unsigned>(
        std::clamp<std::int64_t>((tasks + warps - 1) / warps, 1, std::int64_t(sm_count) * wanted));
    return simt::launch(kernel, shape, stream, args...);
  }

  template <class S>
  Status enqueue(const S* b, S* x, std::int32_t columns, bool transposed, simt::Stream& stream) {
    if (columns < 1 || columns > options.max_columns)
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("{} right-hand sides were given to a solver that was made for 1 to {}", columns,
                                       options.max_columns));
    if (transposed && !options.transposed)
      return Status::error(StatusCode::invalid_argument, "this solver was made without transposed solves");
    if (d_values == nullptr && n > 0)
      return Status::error(StatusCode::invalid_argument, "call update() before a solve");
    transposed_last = transposed;
    if (n == 0) return {};
    if (std::int64_t(n) * ld(columns) > std::numeric_limits<std::int32_t>::max())
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("{} right-hand sides of {} entries are too many for one call", columns, n));
    const int lanes = rhs_lanes(columns);
    const std::int32_t leading = ld(columns);
    const auto chunks = static_cast<unsigned>(leading / lanes);
    Word<T>* const solved[2] = {d_solved.data(), d_solved.data() + std::int64_t(n) * leading};
    LULAB_RETURN_IF_ERROR(d_state.fill_bytes(0, stream));
    LULAB_RETURN_IF_ERROR(simt::launch(
        prepare_kernel<T, S>,
        {.grid = dim3(blocks_for(std::int64_t(n) * lanes, update_threads), chunks), .block = update_threads}, stream, b,
        transposed ? d_q.data() : d_p.data(), transposed ? d_c.data() : d_r.data(), n, columns, leading, lanes,
        d_b.data(), solved[0], solved[1], largest(), progress()));

    DeviceTriangle& first = transposed ? upper_transposed : lower;
    DeviceTriangle& second = transposed ? lower_transposed : upper;
    const std::int32_t* column = transposed ? d_row_idx.data() : d_column.data();
    const T* values = transposed ? d_values : d_by_rows.data();
    SolveView<T, S> v;
    v.triangle[0] = first.view<T>(columns, column, values, transposed ? d_inverse.data() : nullptr);
    v.triangle[1] = second.view<T>(columns, column, values, transposed ? nullptr : d_inverse.data());
    v.n = n;
    v.columns = columns;
    v.ld = leading;
    v.rhs_lanes = lanes;
    v.b = d_b.data();
    v.largest = largest();
    v.solved[0] = solved[0];
    v.solved[1] = solved[1];
    v.x = x;
    v.to = transposed ? d_p.data() : d_q.data();
    v.scale = transposed ? d_r.data() : d_c.data();
    v.progress = progress();
    const std::int64_t tasks = std::int64_t(v.triangle[0].n_tasks + std::int64_t(v.triangle[1].n_tasks)) * chunks;
    const auto warps_or = [&](int warps) { return options.warps_per_sm > 0 ? options.warps_per_sm : warps; };
    switch (options.method) {
      case SolveMethod::sync_free:
        return launch_resident(solve_sync_free_kernel<T, S>, tasks, warps_or(default_warps_per_sm),
                               {.grid = 1, .block = sync_free_threads}, stream, v);
      case SolveMethod::narrow_middle: {
        const std::int64_t max_rows = shared_bytes / (std::int64_t(sizeof(T)) * leading);
        const MiddleRange& a = first.middle(columns, chunks, max_rows / 2, true);
        const MiddleRange& z = second.middle(columns, chunks, max_rows / 2, false);
        const MiddleView m = {a.first_task,
                              z.end_task,
                              a.first_row,
                              {a.end_row - a.first_row, z.end_row},
                              {first.d_position.data(), second.d_position.data()}};
        const std::int64_t inside = std::int64_t(a.end_task - a.first_task + z.end_task) * chunks;
        const std::int64_t a_block = middle_threads / 32;  // for the middle; the others are for the other tasks
        return launch_resident(solve_narrow_middle_kernel<T, S>, tasks - inside + (inside > 0 ? a_block : 0),
                               warps_or(middle_threads / 32),  // the middle's block has a multiprocessor of its own
                               {.grid = 1,
                                .block = middle_threads,
                                .shared_bytes = sizeof(T) * static_cast<std::size_t>(m.rows[0] + m.rows[1]) * leading},
                               stream, v, m);
      }
      case SolveMethod::level_set: break;
    }
    const std::int64_t most =
        std::max(first.tasks(columns).most_in_level, second.tasks(columns).most_in_level) * chunks;
    const auto threads = static_cast<unsigned>(std::min<std::int64_t>(32 * most, level_set_threads));
    return launch_resident(solve_level_set_kernel<T, S>, most, 1, {.grid = 1, .block = threads, .cooperative = true},
                           stream, v);
  }

  Status judge_pivots(unsigned long long bad) const {
    if (bad == 0) return {};
    const auto j = static_cast<std::int32_t>(n - bad);
    return Status::error(StatusCode::numerically_singular,
                         fmt::format("pivot {} of U is zero or not finite; the factors cannot be solved with", j),
                         {{}, 0, {}, {q[j]}});
  }
};

template <class T>
DeviceSolver<T>::DeviceSolver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
template <class T>
DeviceSolver<T>::~DeviceSolver() = default;
template <class T>
DeviceSolver<T>::DeviceSolver(DeviceSolver&&) noexcept = default;
template <class T>
DeviceSolver<T>& DeviceSolver<T>::operator=(DeviceSolver&&) noexcept = default;

template <class T>
Result<DeviceSolver<T>> DeviceSolver<T>::create(const FilledPattern& filled, const Plan& plan,
                                                const DeviceSolverOptions& options, simt::Stream& stream) try {
  const auto n = static_cast<std::size_t>(filled.n);
  if (options.max_columns < 1 || options.max_columns > 65535)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("max_columns is {}, not one of 1 to 65535", options.max_columns));
  if (plan.p.size() != n || plan.q.size() != n || plan.r.size() != n || plan.c.size() != n)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("the factors are {0} x {0}, but the plan is not of length {0}", n));
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  LULAB_RETURN_IF_ERROR(impl->create(filled, plan, stream));
  return DeviceSolver(std::move(impl));
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory to prepare the solves");
}

template <class T>
Status DeviceSolver<T>::update(const T* d_values, simt::Stream& stream) {
  Impl& s = *impl_;
  s.d_values = nullptr;
  if (s.n == 0) return {};
  LULAB_RETURN_IF_ERROR(s.d_found.fill_bytes(0, stream));
  const std::int64_t nnz = s.d_by_rows.size();
  LULAB_RETURN_IF_ERROR(
      simt::launch(update_kernel<T>,
                   {.grid = std::min(blocks_for(nnz, update_threads), most_update_blocks), .block = update_threads},
                   stream, d_values, s.d_from.data(), s.nnz_l, nnz, s.d_diag.data(), s.n, s.d_by_rows.data(),
                   s.d_inverse.data(), s.d_found.data()));
  LULAB_RETURN_IF_ERROR(s.d_found.download(s.found.span(), stream));
  s.d_values = d_values;
  return {};
}

template <class T>
template <class S>
Status DeviceSolver<T>::solve(const S* d_b, S* d_x, std::int32_t columns, simt::Stream& stream) {
  return impl_->enqueue(d_b, d_x, columns, false, stream);
}

template <class T>
template <class S>
Status DeviceSolver<T>::solve_transposed(const S* d_b, S* d_x, std::int32_t columns, simt::Stream& stream) {
  return impl_->enqueue(d_b, d_x, columns, true, stream);
}

template <class T>
Status DeviceSolver<T>::wait_for_pivots(simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(stream.wait());
  return impl_->judge_pivots(impl_->found.span()[0].bad_pivot);
}

template <class T>
Result<FactorMagnitudes> DeviceSolver<T>::magnitudes(simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(stream.wait());
  const Findings found = impl_->found.span()[0];
  FactorMagnitudes m;
  if (impl_->n == 0) return m;
  const auto magnitude = [](unsigned long long bits) { return std::bit_cast<double>(bits); };
  m.max_l = magnitude(found.max_l);
  m.max_u = magnitude(found.max_u);
  m.max_pivot = magnitude(found.max_pivot);
  m.min_pivot = magnitude(~found.not_min_pivot);
  return m;
}

template <class T>
Status DeviceSolver<T>::wait(simt::Stream& stream) {
  const Impl& s = *impl_;
  unsigned long long state[Impl::progress_words] = {};
  LULAB_RETURN_IF_ERROR(s.d_state.download(state, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  LULAB_RETURN_IF_ERROR(s.judge_pivots(s.found.span()[0].bad_pivot));
  SolveProgress progress;
  static_assert(sizeof progress == sizeof state);
  std::copy_n(reinterpret_cast<const unsigned char*>(state), sizeof state, reinterpret_cast<unsigned char*>(&progress));
  if (progress.bad_b > 0)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("entry {} of b is not finite", s.n - static_cast<std::int64_t>(progress.bad_b)));
  if (progress.bad_x == 0) return {};
  const auto i = static_cast<std::int32_t>(s.n - progress.bad_x);
  Where where;
  (s.transposed_last ? where.rows : where.columns) = {i};
  return Status::error(StatusCode::numerically_singular,
                       fmt::format("entry {} of the solution is not finite: the factors overflow it", i),
                       std::move(where));
}

template <class T>
std::int32_t DeviceSolver<T>::n() const {
  return impl_->n;
}
template <class T>
std::int32_t DeviceSolver<T>::max_columns() const {
  return impl_->options.max_columns;
}
template <class T>
std::int64_t DeviceSolver<T>::levels() const {
  return std::int64_t(impl_->lower.n_levels) + impl_->upper.n_levels;
}
template <class T>
std::int64_t DeviceSolver<T>::levels_transposed() const {
  return std::int64_t(impl_->upper_transposed.n_levels) + impl_->lower_transposed.n_levels;
}
template <class T>
std::int64_t DeviceSolver<T>::bytes() const {
  const Impl& s = *impl_;
  return s.lower.bytes() + s.upper.bytes() + s.upper_transposed.bytes() + s.lower_transposed.bytes() +
         4 * (s.d_column.size() + s.d_row_idx.size() + s.d_p.size() + s.d_q.size()) +
         8 * (s.d_from.size() + s.d_diag.size() + s.d_r.size() + s.d_c.size() + s.d_b.size() + s.d_state.size()) +
         static_cast<std::int64_t>(sizeof(Findings)) +
         static_cast<std::int64_t>(sizeof(T)) * (s.d_by_rows.size() + s.d_inverse.size() + s.d_solved.size());
}

#define LULAB_INSTANTIATE_SOLVES(T, S)                                                  \
  template Status DeviceSolver<T>::solve<S>(const S*, S*, std::int32_t, simt::Stream&); \
  template Status DeviceSolver<T>::solve_transposed<S>(const S*, S*, std::int32_t, simt::Stream&);
template class DeviceSolver<float>;
template class DeviceSolver<double>;
LULAB_INSTANTIATE_SOLVES(float, float)
LULAB_INSTANTIATE_SOLVES(float, double)
LULAB_INSTANTIATE_SOLVES(double, double)

}  // namespace lulab
