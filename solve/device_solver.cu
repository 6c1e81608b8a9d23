// Triangular solves on the device: the data of a pattern, and the launches. The kernels: solve_kernels.h, 01_ to 05_

#include "solve/device_solver.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/in_parallel.h"
#include "core/rung.h"
#include "core/simt/kernel.h"
#include "solve/01_level_set.h"
#include "solve/02_sync_free.h"
#include "solve/03_narrow_middle.h"
#include "solve/04_chunks.h"
#include "solve/05_fronts.h"
#include "solve/device_chunks.h"
#include "solve/device_fronts.h"
#include "solve/device_triangle.h"
#include "solve/entries_by_rows_on_device.h"
#include "solve/solve_kernels.h"

namespace lulab {

using namespace device_solver;

namespace {

constexpr int update_threads = 256;
constexpr std::int64_t spared_shared_bytes = 1024;  // of a block's, for static arrays and the system
constexpr int default_warps_per_sm = 32;
constexpr unsigned max_update_blocks = 2048;
constexpr int wide_warps_per_sm = 16;              // of a level; above, rows share warps
constexpr std::int64_t entries_a_thread = 50'000;  // of L+U, on the host: some 0.5 ms

unsigned blocks_for(std::int64_t items, int threads) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((items + threads - 1) / threads, 1, 4096));
}

}  // namespace

std::span<const SolveRung* const> every_solve_rung() {
  static constexpr const SolveRung* all[] = {
#define LULAB_RUNG(name) &solve_rungs::name,
#include "solve/rungs.def"
#undef LULAB_RUNG
  };
  return all;
}

Result<const SolveRung*> find_solve_rung(std::string_view name) {
  std::vector<std::string_view> ids;
  for (const SolveRung* rung : every_solve_rung()) ids.push_back(rung->id);
  LULAB_ASSIGN_OR_RETURN(const std::size_t found, find_id(ids, name));
  return every_solve_rung()[found];
}

std::string_view to_string(SolveMethod method) {
  for (const SolveRung* rung : every_solve_rung())
    if (rung->method == method) return rung->id;
  return "unknown";
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
  bool fetched = true;       // the findings of the last update()
  bool lacks_lower = false;  // of the chunks' values, those of the first triangle
  struct Occupancy {
    const void* kernel;
    int threads;
    std::size_t shared;
    int per_sm;
  };
  std::vector<Occupancy> occupancies;

  DeviceTriangle lower, upper, upper_transposed, lower_transposed;
  DeviceChunks<T> chunks, chunks_transposed;
  DeviceFronts<T> fronts;                          // in place of `lower` and `upper`
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
  simt::DeviceBuffer<unsigned long long> d_state;  // (2) SolveProgress, then largest: (ld); the second of corrections
  simt::HostBuffer<Findings> found;                // (1) of the last update(), once the stream was waited for
  simt::DeviceBuffer<Findings> d_found;            // (1) the same
  std::int64_t nnz_l = 0;

  bool corrects = false;  // the last solve was one that a flag on the device allows; it has the second state
  bool is_correction_clear = false;

  static constexpr std::int64_t progress_words = sizeof(SolveProgress) / sizeof(unsigned long long);
  std::int64_t state_words() const { return progress_words + ld(options.max_columns); }
  unsigned long long* state() const { return d_state.data() + (corrects ? state_words() : 0); }
  SolveProgress* progress() const { return reinterpret_cast<SolveProgress*>(state()); }
  unsigned long long* largest() const { return state() + progress_words; }
  static int rhs_lanes(std::int32_t columns) { return columns > 1 ? max_rhs_lanes : 1; }
  static std::int32_t ld(std::int32_t columns) {
    const int lanes = rhs_lanes(columns);
    return (columns + lanes - 1) / lanes * lanes;
  }

  Status create(const FilledPattern& f, const Plan& plan, simt::Stream& stream) {
    LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
    sm_count = device.sm_count;
    shared_bytes = static_cast<std::int64_t>(device.shared_bytes_per_block) - spared_shared_bytes;
    n = f.n;
    p = plan.p;
    q = plan.q;
    if (options.method == SolveMethod::fronts && n > 0) LULAB_RETURN_IF_ERROR(create_fronts(f, stream));
    if (options.transposed) LULAB_RETURN_IF_ERROR(simt::make(d_row_idx, f.row_idx, stream));
    if (fronts.empty()) LULAB_RETURN_IF_ERROR(create_rows(f, stream));
    if (options.transposed) {
      const int wide = wide_warps_per_sm * sm_count;
      const bool several = options.max_columns > 1, middle = options.method == SolveMethod::narrow_middle;
      for (auto [triangle, side] : {std::pair{&upper_transposed, TriangleSide::upper_transposed},
                                    {&lower_transposed, TriangleSide::lower_transposed}})
        LULAB_RETURN_IF_ERROR(triangle->create(make_triangle(f, side), several, middle, wide, stream));
    }
    LULAB_RETURN_IF_ERROR(simt::make(d_diag, f.diag, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_p, plan.p, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_q, plan.q, stream));
    for (auto* buffer : {&d_r, &d_c}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, n));
    const std::int64_t widest = std::int64_t(n) * ld(options.max_columns);
    LULAB_RETURN_IF_ERROR(simt::make(d_inverse, n));
    LULAB_RETURN_IF_ERROR(simt::make(d_b, widest));
    LULAB_RETURN_IF_ERROR(simt::make(d_solved, std::max(2 * widest, fronts.n_words * ld(options.max_columns))));
    LULAB_RETURN_IF_ERROR(simt::make(d_state, 2 * state_words()));
    LULAB_RETURN_IF_ERROR(simt::make(d_found, 1));
    LULAB_ASSIGN_OR_RETURN(found, simt::HostBuffer<Findings>::create(1));
    found.span()[0] = {};
    LULAB_RETURN_IF_ERROR(d_state.fill_bytes(0, stream));
    return take_scales(plan, stream);  // and waits
  }

  /// L and U by rows.
  Status create_rows(const FilledPattern& f, simt::Stream& stream) {
    const int wide = wide_warps_per_sm * sm_count;
    const bool several = options.max_columns > 1, middle = options.method == SolveMethod::narrow_middle;
    Triangle l, u;
    share_out(2, threads_for(f.nnz(), entries_a_thread, 2), [&](std::int32_t item, int) {
      (item == 0 ? l : u) = make_triangle(f, item == 0 ? TriangleSide::lower : TriangleSide::upper);
    });
    nnz_l = l.entries;
    if (!options.transposed) LULAB_RETURN_IF_ERROR(simt::make(d_row_idx, f.row_idx, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_column, f.nnz()));
    LULAB_RETURN_IF_ERROR(simt::make(d_from, f.nnz()));
    LULAB_RETURN_IF_ERROR(simt::make(d_by_rows, f.nnz()));
    simt::Scratch scratch;
    for (auto [triangle, side, begin] :
         {std::tuple{&l, TriangleSide::lower, std::int64_t(0)}, {&u, TriangleSide::upper, nnz_l}})
      LULAB_RETURN_IF_ERROR(entries_by_rows_on_device(f, side, *triangle, d_row_idx.data(), d_column.data() + begin,
                                                      d_from.data() + begin, scratch, stream));
    for (TriangleRow& row : u.rows) row.begin += nnz_l;
    LULAB_RETURN_IF_ERROR(lower.create(l, several, middle, wide, stream));
    LULAB_RETURN_IF_ERROR(upper.create(u, several, middle, wide, stream));  // and waits
    if (!options.transposed) d_row_idx = {};
    return {};
  }
  void drop_rows() {
    nnz_l = 0;
    lower = {};
    upper = {};
    d_column = {};
    d_from = {};
    d_by_rows = {};
    if (!options.transposed) d_row_idx = {};
  }

  /// Where there is no memory for fronts, or the pattern is none for them, rows do it all.
  Status create_fronts(const FilledPattern& f, simt::Stream& stream) {
    const Status created = options.fronts ? fronts.create(f, *options.fronts, stream)
                           : options.supernodes
                               ? fronts.create(f, find_fronts(f, *options.supernodes), stream)
                               : fronts.create(f, find_fronts(f, find_relaxed_supernodes(f, {})), stream);
    if (created.ok()) return created;
    fronts = {};
    const bool goes_without = created.code == StatusCode::out_of_memory || created.code == StatusCode::not_implemented;
    return goes_without ? Status{} : created;
  }

  Status take_scales(const Plan& plan, simt::Stream& stream) {
    std::vector<double> r(n), c(n);
    for (std::int32_t i = 0; i < n; ++i) {
      r[i] = plan.r[plan.p[i]];
      c[i] = plan.c[plan.q[i]];
    }
    LULAB_RETURN_IF_ERROR(d_r.upload(r, stream));
    LULAB_RETURN_IF_ERROR(d_c.upload(c, stream));
    return stream.wait();  // r and c are locals
  }

  /// Where there is no memory for chunks, or too many entries, fronts go on, or rows do it all.
  Status create_chunks(const FilledPattern& f, simt::Stream& stream) {
    if (n == 0) return {};
    d_values = nullptr;
    Status created;
    try {
      created = try_chunks(f, stream);
    } catch (const std::bad_alloc&) {
      created = Status::error(StatusCode::out_of_memory, "not enough host memory to prepare solves by chunks");
    }
    if (created.ok()) {
      fronts = {};
      return {};
    }
    chunks = {};
    chunks_transposed = {};
    if (!fronts.empty()) drop_rows();
    const bool goes_without = created.code == StatusCode::out_of_memory || created.code == StatusCode::not_implemented;
    return goes_without ? Status{} : created;
  }
  Status try_chunks(const FilledPattern& f, simt::Stream& stream) {
    if (!fronts.empty()) LULAB_RETURN_IF_ERROR(create_rows(f, stream));  // which chunks fall back to
    LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
    const bool several = options.max_columns > 1;
    const std::int32_t entries = options.chunk_task_entries;
    LULAB_ASSIGN_OR_RETURN(const auto as, PatternOnDevice::create(f.view(), stream));
    LULAB_RETURN_IF_ERROR(chunks.create(f, as.view(), d_diag.data(), false, several, entries, device, stream));
    if (options.transposed)
      LULAB_RETURN_IF_ERROR(
          chunks_transposed.create(f, as.view(), d_diag.data(), true, several, entries, device, stream));
    std::int64_t words = d_solved.size();
    for (const std::int32_t columns : {1, options.max_columns})
      for (const DeviceChunks<T>* by_chunks : {&chunks, &chunks_transposed})
        if (by_chunks->takes(columns)) words = std::max(words, by_chunks->plan.n_words * ld(columns));
    return words > d_solved.size() ? simt::make(d_solved, words) : Status{};
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
    LULAB_ASSIGN_OR_RETURN(const auto per_sm, resident_blocks_per_sm(kernel, threads, shape.shared_bytes));
    const int wanted = std::clamp(warps_per_sm / warps, 1, per_sm);
    shape.grid = static_cast<unsigned>(
        std::clamp<std::int64_t>((tasks + warps - 1) / warps, 1, std::int64_t(sm_count) * wanted));
    return simt::launch(kernel, shape, stream, args...);
  }

  Status check(std::int32_t columns, bool transposed) const {
    if (columns < 1 || columns > options.max_columns)
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("{} right-hand sides were given to a solver that was made for 1 to {}", columns,
                                       options.max_columns));
    if (transposed && !options.transposed)
      return Status::error(StatusCode::invalid_argument, "this solver was made without transposed solves");
    if (std::int64_t(n) * ld(columns) > std::numeric_limits<std::int32_t>::max())
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("{} right-hand sides of {} entries are too many for one call", columns, n));
    return {};
  }

  template <class S>
  RightSides<S> given(const S* b, bool transposed) const {
    return {b, transposed ? d_q.data() : d_p.data(), transposed ? d_c.data() : d_r.data(), d_b.data()};
  }

  /// Scales and permutes the right-hand sides, forgets the last solutions.
  template <class S>
  Status take(const S* b, std::int32_t columns, bool transposed, simt::Stream& stream, const std::int32_t* wanted) {
    LULAB_RETURN_IF_ERROR(check(columns, transposed));
    transposed_last = transposed;
    if (n == 0) return {};
    const int lanes = rhs_lanes(columns);
    const std::int32_t leading = ld(columns);
    const DeviceChunks<T>& by_chunks = transposed ? chunks_transposed : chunks;
    const std::int64_t words = by_chunks.takes(columns)         ? by_chunks.plan.n_words
                               : !transposed && !fronts.empty() ? fronts.n_words
                                                                : 2 * std::int64_t(n);
    corrects = wanted != nullptr;
    // A solve clears both states, beside the factorization in a step: the correction that may follow it need not.
    if (!corrects || !is_correction_clear) LULAB_RETURN_IF_ERROR(d_state.fill_bytes(0, stream));
    is_correction_clear = !corrects;
    return simt::launch(
        prepare_kernel<T, S>,
        {.grid = dim3(blocks_for(std::int64_t(n) * lanes, update_threads), static_cast<unsigned>(leading / lanes)),
         .block = update_threads},
        stream, given(b, transposed), n, columns, leading, lanes, d_solved.data(), words * leading, largest(),
        progress(), wanted);
  }

  /// own_b: of one right-hand side by chunks, which was not taken; null: take() was called
  /// y: of one that was taken, by chunks, the first triangle's solution; null: there is none
  template <class S>
  Status solve(const S* own_b, S* x, std::int32_t columns, bool transposed, simt::Stream& stream,
               const SolveAsCorrection<S>& how, const T* y = nullptr) {
    LULAB_RETURN_IF_ERROR(check(columns, transposed));
    if (columns > 1 && how.d_x_max)
      return Status::error(StatusCode::invalid_argument, "max |x| is that of one right-hand side");
    if (n == 0) return {};
    if (d_values == nullptr) return Status::error(StatusCode::invalid_argument, "call update() before a solve");
    const int lanes = rhs_lanes(columns);
    const std::int32_t leading = ld(columns);
    const auto rhs_groups = static_cast<unsigned>(leading / lanes);
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
    v.solved[0] = d_solved.data();
    v.solved[1] = d_solved.data() + std::int64_t(n) * leading;
    v.x = x;
    v.onto = how.d_onto;
    v.to = transposed ? d_p.data() : d_q.data();
    v.scale = transposed ? d_r.data() : d_c.data();
    v.progress = progress();
    v.x_max = how.d_x_max;
    v.wanted = how.d_wanted;
    const std::int64_t tasks = std::int64_t(v.triangle[0].n_tasks + std::int64_t(v.triangle[1].n_tasks)) * rhs_groups;
    const auto warps_or = [&](int warps) { return options.warps_per_sm > 0 ? options.warps_per_sm : warps; };
    const DeviceChunks<T>& by_chunks = transposed ? chunks_transposed : chunks;
    if (by_chunks.takes(columns)) {
      if (!transposed && !y) LULAB_RETURN_IF_ERROR(take_lower_factors(stream, how.d_wanted));
      Status launched = by_chunks.solve(v, d_solved.data(), &d_found.data()->max_inverse[transposed ? 1 : 0],
                                        rows_view(d_values), own_right_side(own_b, by_chunks, transposed), y, stream);
      // Where others share the device, it may not hold all blocks at once: rows then.
      if (launched.code != StatusCode::invalid_argument) return launched;
      LULAB_RETURN_IF_ERROR(copy_by_rows(nullptr, stream));
      if (own_b) LULAB_RETURN_IF_ERROR(take(own_b, columns, transposed, stream, how.d_wanted));
    }
    if (!transposed && !fronts.empty()) return solve_by_fronts(v, stream);
    switch (options.method) {
      case SolveMethod::sync_free:
      case SolveMethod::chunks:
      case SolveMethod::fronts:
        return launch_resident(solve_sync_free_kernel<T, S>, tasks, warps_or(default_warps_per_sm),
                               {.grid = 1, .block = sync_free_threads}, stream, v);
      case SolveMethod::narrow_middle: {
        const std::int64_t max_rows = shared_bytes / (std::int64_t(sizeof(T)) * leading);
        const MiddleRange& a = first.middle(columns, rhs_groups, max_rows / 2, true);
        const MiddleRange& z = second.middle(columns, rhs_groups, max_rows / 2, false);
        const MiddleView m = {a.first_task,
                              z.end_task,
                              a.first_row,
                              {a.end_row - a.first_row, z.end_row},
                              {first.d_position.data(), second.d_position.data()}};
        const std::int64_t inside = std::int64_t(a.end_task - a.first_task + z.end_task) * rhs_groups;
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
        std::max(first.tasks(columns).most_in_level, second.tasks(columns).most_in_level) * rhs_groups;
    const auto threads = static_cast<unsigned>(std::min<std::int64_t>(32 * most, level_set_threads));
    return launch_resident(solve_level_set_kernel<T, S>, most, 1, {.grid = 1, .block = threads, .cooperative = true},
                           stream, v);
  }

  template <class S>
  Status solve_by_fronts(const SolveView<T, S>& v, simt::Stream& stream) {
    using namespace front_solve;
    const auto launch = [&](auto kernel, int rhs) -> Status {
      const std::int64_t shared = front_solve::shared_bytes<T>(rhs), groups = (v.columns + rhs - 1) / rhs;
      LULAB_ASSIGN_OR_RETURN(const auto per_sm, resident_blocks_per_sm(kernel, solve_threads, shared));
      return simt::launch(kernel,
                          {.grid = simt::blocks_for(fronts.sets() * groups, 1, std::int64_t(sm_count) * per_sm),
                           .block = solve_threads,
                           .shared_bytes = static_cast<std::size_t>(shared)},
                          stream, v, fronts.view(d_values, d_solved.data()));
    };
    return v.columns == 1 ? launch(front_solve_kernel<T, S, 1>, 1) : launch(front_solve_kernel<T, S, several>, several);
  }

  template <class S>
  Status enqueue(const S* b, S* x, std::int32_t columns, bool transposed, simt::Stream& stream,
                 const SolveAsCorrection<S>& how) {
    if (columns == 1 && (transposed ? chunks_transposed : chunks).takes(1)) {
      LULAB_RETURN_IF_ERROR(check(columns, transposed));
      transposed_last = transposed;
      corrects = how.d_wanted != nullptr;
      is_correction_clear = !corrects;
      return solve(b, x, columns, transposed, stream, how);
    }
    LULAB_RETURN_IF_ERROR(take(b, columns, transposed, stream, how.d_wanted));
    return solve<S>(nullptr, x, columns, transposed, stream, how);
  }

  /// A first solve clears the state of a correction, too, as take() does.
  template <class S>
  chunk_solve::OwnRightSide<S> own_right_side(const S* b, const DeviceChunks<T>& by_chunks, bool transposed) const {
    return {given(b, transposed), by_chunks.d_largest_of_block.data(), largest(), state(),
            corrects ? state_words() : d_state.size()};
  }

  device_solver::ByRowsView<T> rows_view(const T* values) const {
    return {values, d_from.data(), nnz_l, d_by_rows.size(), d_diag.data(), n, d_by_rows.data(), d_inverse.data()};
  }
  Status copy_by_rows(Findings* found_there, simt::Stream& stream) {
    const std::int64_t nnz = d_by_rows.size();
    return simt::launch(update_kernel<T>,
                        {.grid = std::min(blocks_for(nnz, update_threads), max_update_blocks), .block = update_threads},
                        stream, rows_view(d_values), found_there);
  }

  Status forget(simt::Stream& stream) {
    d_values = nullptr;
    return n > 0 ? d_found.fill_bytes(0, stream) : Status{};
  }
  Status take_upper_factors(const T* values, simt::Stream& stream) {
    note_factors(values, false);
    fetched = false;
    LULAB_RETURN_IF_ERROR(copy_rows_for_solves(nullptr, stream));
    LULAB_RETURN_IF_ERROR(chunks.update(values, d_diag.data(), n, &d_found.data()->max_inverse[0], d_found.data(),
                                        stream, DeviceChunks<T>::Triangles::second));
    return take_for_transposed(stream);
  }
  void note_factors(const T* values, bool all) {
    d_values = values;
    lacks_lower = !all;
  }
  /// A solve by chunks copies rows itself where it needs them. Transposed ones by rows need 1 / U(j,j).
  Status copy_rows_for_solves(Findings* found_there, simt::Stream& stream) {
    const bool by_rows = fronts.empty() && !chunks.takes(options.max_columns);
    const bool transposed_by_rows = options.transposed && !chunks_transposed.takes(options.max_columns);
    return by_rows || transposed_by_rows ? copy_by_rows(found_there, stream) : Status{};
  }
  Status take_lower_factors(simt::Stream& stream, const std::int32_t* wanted) {
    if (!lacks_lower) return {};
    Status taken = chunks.update(d_values, d_diag.data(), n, &d_found.data()->max_inverse[0], nullptr, stream,
                                 DeviceChunks<T>::Triangles::first, wanted);
    lacks_lower = !taken.ok() || wanted != nullptr;  // then nobody knows
    return taken;
  }
  Status find_max_l(const T* values, simt::Stream& stream) {
    return simt::launch(
        find_max_l_kernel<T>,
        {.grid = std::min(blocks_for(nnz_l, update_threads), max_update_blocks), .block = update_threads}, stream,
        rows_view(values), d_found.data());
  }
  Status take_for_transposed(simt::Stream& stream) {
    if (chunks_transposed.empty()) return {};
    return chunks_transposed.update(d_values, d_diag.data(), n, &d_found.data()->max_inverse[1], nullptr, stream);
  }

  Status take_factors(const T* values, simt::Stream& stream) {
    if (n == 0) return {};
    note_factors(values, true);
    fetched = false;
    Findings* const f = d_found.data();
    LULAB_RETURN_IF_ERROR(copy_rows_for_solves(fronts.empty() && chunks.empty() ? f : nullptr, stream));
    if (!fronts.empty())
      LULAB_RETURN_IF_ERROR(
          simt::launch(front_solve::find_magnitudes_kernel<T>,
                       {.grid = simt::blocks_for(n, update_threads / 32, max_update_blocks), .block = update_threads},
                       stream, values, fronts.d_col_ptr.data(), d_diag.data(), n, f));
    if (!chunks.empty()) LULAB_RETURN_IF_ERROR(chunks.update(values, d_diag.data(), n, &f->max_inverse[0], f, stream));
    return take_for_transposed(stream);
  }

  Status download_findings(simt::Stream& stream) {
    if (!fetched) LULAB_RETURN_IF_ERROR(d_found.download(found.span(), stream));
    fetched = true;
    return {};
  }

  Status check_pivots() const {
    const unsigned long long bad = found.span()[0].bad_pivot;
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
  DeviceSolver solver(std::move(impl));
  if (options.method == SolveMethod::chunks) LULAB_RETURN_IF_ERROR(solver.use_chunks(filled, stream));
  return solver;
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory to prepare the solves");
}

template <class T>
Status DeviceSolver<T>::take_scales(const Plan& plan, simt::Stream& stream) try {
  return impl_->take_scales(plan, stream);
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory for the scalings of the solves");
}

template <class T>
Status DeviceSolver<T>::use_chunks(const FilledPattern& filled, simt::Stream& stream) try {
  return impl_->create_chunks(filled, stream);
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory to prepare the solves");
}

template <class T>
Status DeviceSolver<T>::update(const T* d_values, simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(impl_->forget(stream));
  return impl_->take_factors(d_values, stream);
}

template <class T>
Status DeviceSolver<T>::forget_factors(simt::Stream& stream) {
  return impl_->forget(stream);
}

template <class T>
Status DeviceSolver<T>::take_factors(const T* d_values, simt::Stream& stream) {
  return impl_->take_factors(d_values, stream);
}

template <class T>
template <class S>
Status DeviceSolver<T>::solve(const S* d_b, S* d_x, std::int32_t columns, simt::Stream& stream,
                              const SolveAsCorrection<S>& how) {
  return impl_->enqueue(d_b, d_x, columns, false, stream, how);
}

template <class T>
template <class S>
Status DeviceSolver<T>::solve_transposed(const S* d_b, S* d_x, std::int32_t columns, simt::Stream& stream,
                                         const SolveAsCorrection<S>& how) {
  return impl_->enqueue(d_b, d_x, columns, true, stream, how);
}

template <class T>
template <class S>
Status DeviceSolver<T>::take_right_sides(const S* d_b, std::int32_t columns, simt::Stream& stream) {
  return impl_->take(d_b, columns, false, stream, nullptr);
}

template <class T>
template <class S>
Status DeviceSolver<T>::solve_taken(S* d_x, std::int32_t columns, simt::Stream& stream, unsigned long long* d_x_max) {
  return impl_->template solve<S>(nullptr, d_x, columns, false, stream, {.d_x_max = d_x_max});
}

template <class T>
bool DeviceSolver<T>::starts_from_y() const {
  return impl_->chunks.takes(1);
}
template <class T>
RightSide DeviceSolver<T>::right_side() const {
  return {impl_->d_b.data(), impl_->largest()};
}
template <class T>
Status DeviceSolver<T>::take_upper_factors(const T* d_values, simt::Stream& stream) {
  return impl_->take_upper_factors(d_values, stream);
}
template <class T>
Status DeviceSolver<T>::find_lower_sizes(const T* d_values, simt::Stream& stream) {
  return impl_->find_max_l(d_values, stream);
}
template <class T>
void DeviceSolver<T>::note_factors(const T* d_values, bool all) {
  impl_->note_factors(d_values, all);
}
template <class T>
Status DeviceSolver<T>::solve_from(const T* d_y, double* d_x, simt::Stream& stream, unsigned long long* d_x_max) {
  return impl_->template solve<double>(nullptr, d_x, 1, false, stream, {.d_x_max = d_x_max}, d_y);
}

template <class T>
Status DeviceSolver<T>::download_findings(simt::Stream& stream) {
  return impl_->download_findings(stream);
}

template <class T>
Status DeviceSolver<T>::wait_for_pivots(simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(impl_->download_findings(stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return impl_->check_pivots();
}

template <class T>
Result<FactorMagnitudes> DeviceSolver<T>::magnitudes(simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(impl_->download_findings(stream));
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
  Impl& s = *impl_;
  unsigned long long state[Impl::progress_words] = {};
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(state, s.state(), sizeof state, stream));
  LULAB_RETURN_IF_ERROR(s.download_findings(stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  LULAB_RETURN_IF_ERROR(s.check_pivots());
  SolveProgress progress;
  static_assert(sizeof progress == sizeof state);
  std::copy_n(reinterpret_cast<const unsigned char*>(state), sizeof state, reinterpret_cast<unsigned char*>(&progress));
  if (progress.bad_b > 0)
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("entry {} of b is not finite", s.n - static_cast<std::int64_t>(progress.bad_b) + 1));
  if (progress.bad_x == 0) return {};
  const auto i = static_cast<std::int32_t>(s.n - progress.bad_x);
  Where where;
  (s.transposed_last ? where.rows : where.columns) = {i};
  return Status::error(StatusCode::numerically_singular,
                       fmt::format("entry {} of the solution is not finite: the factors overflow it", i + 1),
                       std::move(where));
}

template <class T>
bool DeviceSolver<T>::has_fronts() const {
  return !impl_->fronts.empty();
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
  return std::int64_t(impl_->lower.n_levels) + impl_->upper.n_levels + impl_->fronts.hops;
}
template <class T>
std::int64_t DeviceSolver<T>::levels_transposed() const {
  return std::int64_t(impl_->upper_transposed.n_levels) + impl_->lower_transposed.n_levels;
}
template <class T>
std::int32_t DeviceSolver<T>::chunk_tasks() const {
  return impl_->chunks.plan.size;
}
template <class T>
std::int64_t DeviceSolver<T>::bytes() const {
  const Impl& s = *impl_;
  return s.fronts.bytes() + s.chunks.bytes() + s.chunks_transposed.bytes() + s.lower.bytes() + s.upper.bytes() +
         s.upper_transposed.bytes() + s.lower_transposed.bytes() +
         4 * (s.d_column.size() + s.d_row_idx.size() + s.d_p.size() + s.d_q.size()) +
         8 * (s.d_from.size() + s.d_diag.size() + s.d_r.size() + s.d_c.size() + s.d_b.size() + s.d_state.size()) +
         static_cast<std::int64_t>(sizeof(Findings)) +
         static_cast<std::int64_t>(sizeof(T)) * (s.d_by_rows.size() + s.d_inverse.size() + s.d_solved.size());
}

#define LULAB_INSTANTIATE_SOLVES(T, S)                                                                               \
  template Status DeviceSolver<T>::solve<S>(const S*, S*, std::int32_t, simt::Stream&, const SolveAsCorrection<S>&); \
  template Status DeviceSolver<T>::solve_transposed<S>(const S*, S*, std::int32_t, simt::Stream&,                    \
                                                       const SolveAsCorrection<S>&);                                 \
  template Status DeviceSolver<T>::take_right_sides<S>(const S*, std::int32_t, simt::Stream&);                       \
  template Status DeviceSolver<T>::solve_taken<S>(S*, std::int32_t, simt::Stream&, unsigned long long*);
template class DeviceSolver<double>;
LULAB_INSTANTIATE_SOLVES(double, double)
#ifndef LULAB_DOUBLE_ALONE  // labs/not_implemented.h
template class DeviceSolver<float>;
LULAB_INSTANTIATE_SOLVES(float, float)
LULAB_INSTANTIATE_SOLVES(float, double)
#endif

}  // namespace lulab
