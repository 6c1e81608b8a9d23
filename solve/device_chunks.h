#pragma once
// The tasks of a solve by chunks in device memory, for DeviceSolver.

#include <algorithm>
#include <cstdint>

#include "core/simt/device.h"
#include "solve/04_chunks.h"
#include "solve/chunk_tasks_on_device.h"
#include "solve/chunk_values.h"

namespace lulab {

/// Both triangles of A, or of its transpose. Empty until create().
template <class T>
struct DeviceChunks {
  static constexpr unsigned max_move_blocks = 4096;
  static constexpr std::int64_t many_entries = 3'000'000;

  ChunkTasks plan;
  simt::DeviceBuffer<unsigned long long> d_largest_of_block;  // (workers)
  std::int32_t workers = 0;
  std::int64_t room = 0;  // scalars of a block; 0: there is no room for several right-hand sides
  struct Shared {
    std::int64_t stage_bytes = 0, bytes = 0;
  };
  Shared for_one, for_several;  // of a block, for one right-hand side and for several

  bool empty() const { return workers == 0; }
  /// A solve of so many right-hand sides can go by these.
  bool takes(std::int32_t columns) const { return columns == 1 ? workers > 0 : room > 0; }

  /// filled, as, d_diag: as of make_chunk_tasks()   max_entries: of a task; 0: chosen
  /// several: solves of several right-hand sides, too, where they have room
  /// Errors    not_implemented (too many entries, too small a device), out_of_memory, device_error.
  Status create(const FilledPattern& filled, const DevicePattern& as, const std::int64_t* d_diag, bool transposed,
                bool several, std::int32_t max_entries, const simt::DeviceProperties& device, simt::Stream& stream) {
    // Where the entries take longer than the hops, one block a multiprocessor has room for larger tasks.
    const int per_sm = as.nnz > many_entries ? 1 : 2;
    ChunkTaskOptions options;
    options.transposed = transposed;
    options.scalar_bytes = sizeof(T);
    options.threads = chunk_solve::solve_threads;
    options.workers = device.sm_count * per_sm;
    options.max_entries = max_entries > 0 ? std::min(max_entries, 0xffff) : 8192 / per_sm;
    LULAB_ASSIGN_OR_RETURN(plan, make_chunk_tasks(filled, as, d_diag, max_chunk_columns, options, stream));
    constexpr std::int64_t reserved = 1024;  // of each block's shared memory
    const std::int64_t share = static_cast<std::int64_t>(device.shared_bytes_per_block) / per_sm - reserved;
    const std::int64_t own = plan.max_inputs + plan.max_rows + plan.max_partial_sums;
    const auto share_out = [&](std::int64_t scalars) {
      const std::int64_t bytes = std::int64_t(sizeof(T)) * scalars;
      const std::int64_t stage = std::clamp<std::int64_t>((share - bytes) / 2 / 16 * 16, 0, plan.max_bytes);
      return Shared{stage, 2 * stage + bytes};
    };
    const auto fits = [&](auto kernel, const Shared& shared) {
      const auto blocks = simt::max_resident_blocks_per_sm(kernel, chunk_solve::solve_threads, shared.bytes);
      return blocks.ok() && *blocks >= per_sm;
    };
    for_one = share_out(own);
    if (!fits(chunk_solve::chunk_solve_kernel<T, double>, for_one))
      return Status::error(StatusCode::not_implemented, "a multiprocessor of this device is too small for chunks");
    // Tasks with few inputs take more right-hand sides a round, as long as half of the memory is left to stage tasks.
    room = std::clamp(share / 2 / std::int64_t(sizeof(T)), own << chunk_solve::log_rhs_of_warp,
                      own << chunk_solve::log_rhs_of_round);
    for_several = share_out(room);
    if (!several || !fits(chunk_solve::chunk_solve_kernel<T, double, chunk_solve::rhs_of_warp>, for_several)) room = 0;
    LULAB_RETURN_IF_ERROR(simt::make(d_largest_of_block, options.workers));
    workers = options.workers;
    return {};
  }

  enum class Triangles { both, first, second };

  /// Enqueues the entries of L and U and the inverses.
  /// d_values: (nnz) of As   found: of A, what these triangles have; null: nothing is looked for
  /// wanted: where it is 0 nothing is done; null: it is done in any case
  Status update(const T* d_values, const std::int64_t* d_diag, std::int32_t n, unsigned long long* max_inverse,
                device_solver::Findings* found, simt::Stream& stream, Triangles of = Triangles::both,
                const std::int32_t* wanted = nullptr) {
    const bool takes_first = of != Triangles::second, takes_second = of != Triangles::first;
    const std::int64_t n_first = takes_first ? plan.n_first_moves : 0;
    const std::int64_t n_second = takes_second ? plan.d_moves.size() - plan.n_first_moves : 0;
    const auto part = [&](std::uint32_t all, std::uint32_t of_second) {
      return (takes_first ? all - of_second : 0) + (takes_second ? of_second : 0);
    };
    const auto small = static_cast<std::uint32_t>(plan.d_triangles.size()) - plan.n_large;
    const ChunkTriangle* const triangles = plan.d_triangles.data();
    const chunk_solve::ValuesView<T> v = {
        .values = d_values,
        .tasks = reinterpret_cast<T*>(plan.d_tasks.data()),
        .moves = plan.d_moves.data() + (takes_first ? 0 : plan.n_first_moves),
        .n_first_moves = n_first,
        .n_moves = n_first + n_second,
        .large = triangles + (takes_second ? 0 : plan.n_large_of_second),
        .small = triangles + plan.n_large + (takes_second ? 0 : plan.n_small_of_second),
        .n_large = part(plan.n_large, plan.n_large_of_second),
        .n_small = part(small, plan.n_small_of_second),
        .entries = plan.d_entries.data(),
        .inverses = plan.d_inverses.data(),
        .diag = d_diag,
        .n = n,
        .max_inverse = max_inverse,
        .found = found,
        .wanted = wanted};
    constexpr int threads = 32 * chunk_solve::values_warps;
    const unsigned for_moves = simt::blocks_for(v.n_moves, chunk_solve::moves_at_once * threads, max_move_blocks);
    return simt::launch(chunk_solve::chunk_values_kernel<T>,
                        {.grid = v.triangle_blocks() + for_moves, .block = threads}, stream, v);
  }

  /// Enqueues the solve.
  /// words: (plan.n_words, v.ld), not yet written unless the solve takes its right-hand side itself
  /// y: (n) the first triangle's solution, of one right-hand side that was taken; null: it is to be found
  /// max_inverse: raised by the update() of each triangle that is solved
  /// Requires  takes(v.columns).   Errors invalid_argument: others on the device leave no room for all blocks.
  template <class S>
  Status solve(const SolveView<T, S>& v, Word<T>* words, const unsigned long long* max_inverse,
               const device_solver::ByRowsView<T>& rows, const chunk_solve::OwnRightSide<S>& own, const T* y,
               simt::Stream& stream) const {
    const auto launch = [&](auto kernel, const Shared& shared) {
      return simt::launch(kernel, shape(shared), stream, v, view(words, max_inverse, rows, y, shared), own);
    };
    return v.columns == 1 ? launch(chunk_solve::chunk_solve_kernel<T, S>, for_one)
                          : launch(chunk_solve::chunk_solve_kernel<T, S, chunk_solve::rhs_of_warp>, for_several);
  }

  chunk_solve::ChunkView<T> view(Word<T>* words, const unsigned long long* max_inverse,
                                 const device_solver::ByRowsView<T>& rows, const T* y, const Shared& shared) const {
    const ChunkTasks::Workers& workers_of = y ? plan.second : plan.both;
    return {reinterpret_cast<const char*>(plan.d_tasks.data()),
            plan.d_begin.data(),
            workers_of.d_ptr.data(),
            workers_of.d_task.data(),
            plan.d_column_at.data(),
            words,
            plan.n_words,
            static_cast<std::int32_t>(shared.stage_bytes),
            plan.max_inputs,
            plan.max_rows,
            max_inverse,
            rows,
            y,
            static_cast<std::int32_t>(room),
            plan.max_partial_sums};
  }
  simt::LaunchShape shape(const Shared& shared) const {
    return {.grid = static_cast<unsigned>(workers),
            .block = chunk_solve::solve_threads,
            .shared_bytes = static_cast<std::size_t>(shared.bytes),
            .cooperative = true};
  }

  std::int64_t bytes() const { return plan.bytes() + 8 * d_largest_of_block.size(); }
};

}  // namespace lulab
