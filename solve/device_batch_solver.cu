// Solving and refining a batch: the data of a pattern, and the launches. The kernel: batch_solve_kernel.h

#include "solve/device_batch_solver.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "core/simt/kernel.h"
#include "solve/batch_solve_kernel.h"
#include "solve/by_rows.h"

namespace lulab {
namespace {

/// A and L+U in the order in which their values lie.
struct SizesView {
  std::int64_t nnz_a, nnz_lu;
  const std::int32_t *row, *column;  // (nnz(A))
  const double *r, *c;               // (n) by rows and columns of A
  const std::uint32_t* in_u;         // (nnz(L+U)) bits
};

/// Bits of the magnitudes of SystemSizes; zero before.
struct SizeBits {
  unsigned long long scaled_a, l, u;
};

/// grid: (any, any), a system to each y   block: a multiple of 32   a: (nnz(A), systems), lu: (nnz(L+U), systems)
/// sizes: (systems)
template <class T>
__global__ void __launch_bounds__(max_batch_threads)
    sizes_kernel(SizesView v, std::int32_t systems, const double* a, const T* lu, SizeBits* sizes) {
  const std::int64_t first = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t s = blockIdx.y; s < systems; s += gridDim.y) {
    SizeBits largest{0, 0, 0};
    for (std::int64_t k = first; k < v.nnz_a; k += stride) {
      const double scaled = v.r[v.row[k]] * a[v.nnz_a * s + k] * v.c[v.column[k]];
      largest.scaled_a = larger(largest.scaled_a, bits_of(scaled));
    }
    for (std::int64_t k = first; k < v.nnz_lu; k += stride) {
      const unsigned long long bits = bits_of(static_cast<double>(lu[v.nnz_lu * s + k]));
      const bool in_u = v.in_u[k / 32] >> k % 32 & 1u;
      largest.l = larger(largest.l, in_u ? 0 : bits);
      largest.u = larger(largest.u, in_u ? bits : 0);
    }
    raise(&sizes[s].scaled_a, largest.scaled_a);
    raise(&sizes[s].l, largest.l);
    raise(&sizes[s].u, largest.u);
  }
}

/// usable[s] = 1 where BatchSolver finds no fault with the pivots.   grid: any   arrays: (systems)
template <class T>
__global__ void usable_kernel(std::int32_t n, std::int32_t systems, const SizeBits* sizes,
                              const std::int32_t* failed_column, const std::int32_t* perturbed, double max_growth,
                              std::int32_t* usable) {
  for (std::int32_t s = blockIdx.x * blockDim.x + threadIdx.x; s < systems; s += gridDim.x * blockDim.x) {
    const double a = magnitude_of(sizes[s].scaled_a), l = magnitude_of(sizes[s].l), u = magnitude_of(sizes[s].u);
    const T as_factored = static_cast<T>(a);
    const bool finite = as_factored - as_factored == T(0) && l - l == 0 && u - u == 0;
    const bool grew = a > 0 && u / a > max_growth && perturbed[s] == 0;
    usable[s] = finite && !grew && failed_column[s] == n;
  }
}

std::vector<std::int32_t> narrow(const std::vector<std::int64_t>& wide) { return {wide.begin(), wide.end()}; }

}  // namespace

template <class T>
struct DeviceBatchSolver<T>::Impl {
  struct Side {
    simt::DeviceBuffer<TriangleRow> d_rows;
    simt::DeviceBuffer<TriangleTask> d_tasks;
    simt::DeviceBuffer<std::int32_t> d_level_ptr, d_column, d_from;
    std::int32_t n_levels = 0;

    Status create(const Triangle& t, const EntriesByRows& by_rows, int warps, simt::Stream& stream) {
      const TriangleTasks made = make_tasks(t, 1, warps);
      const std::vector<std::int32_t> from = narrow(by_rows.from);
      n_levels = t.n_levels();
      LULAB_RETURN_IF_ERROR(simt::make(d_rows, t.rows, stream));
      LULAB_RETURN_IF_ERROR(simt::make(d_tasks, made.tasks, stream));
      LULAB_RETURN_IF_ERROR(simt::make(d_level_ptr, made.level_ptr, stream));
      LULAB_RETURN_IF_ERROR(simt::make(d_column, by_rows.column, stream));
      LULAB_RETURN_IF_ERROR(simt::make(d_from, from, stream));
      return stream.wait();  // vectors are locals
    }
    BatchTriangle view(bool unit_diagonal) const {
      return {d_rows.data(),   d_tasks.data(), d_level_ptr.data(), n_levels,
              d_column.data(), d_from.data(),  unit_diagonal};
    }
    std::int64_t bytes() const {
      return 16 * d_rows.size() + 8 * d_tasks.size() + 4 * (d_level_ptr.size() + d_column.size() + d_from.size());
    }
  };

  std::int32_t n = 0, systems = 0;
  std::int64_t nnz_a = 0, nnz_lu = 0;
  int lanes = 1;
  unsigned threads = 64, blocks = 1;
  std::size_t shared_bytes = 0;  // 0: y is in device memory
  Side lower, upper;
  simt::DeviceBuffer<std::int64_t> d_row_ptr;
  simt::DeviceBuffer<std::int32_t> d_column, d_from_a, d_long_rows;
  simt::DeviceBuffer<std::int32_t> d_p, d_q, d_which;
  simt::DeviceBuffer<double> d_r, d_c, d_work;
  simt::DeviceBuffer<std::int32_t> d_row_of_a, d_column_of_a;  // (nnz(A)) in A's order
  simt::DeviceBuffer<double> d_r_of_a, d_c_of_a;               // (n) in A's order
  simt::DeviceBuffer<std::uint32_t> d_in_u;                    // (nnz(L+U)) bits
  simt::HostBuffer<SizeBits> sizes;                            // (systems)
  simt::DeviceBuffer<SizeBits> d_sizes;                        // the same
  simt::DeviceBuffer<std::int32_t> d_usable;                   // (systems) of a step
  simt::DeviceBuffer<T> d_y;
  simt::HostBuffer<SystemSolution> solutions;      // (systems)
  simt::DeviceBuffer<SystemSolution> d_solutions;  // the same

  /// Lanes for the entries of an average level, four each, but never so few that the blocks that fit, each with its y,
  /// leave a multiprocessor half empty.
  Status choose_shape(std::int64_t levels) {
    LULAB_ASSIGN_OR_RETURN(const auto properties, simt::device_properties());
    const std::size_t room = properties.shared_bytes_per_block - 1024;  // of_warp, and what CUDA keeps to itself
    const std::size_t wanted = static_cast<std::size_t>(n) * sizeof(T);
    shared_bytes = wanted <= room ? wanted : 0;
    const auto fitting = static_cast<std::int64_t>(shared_bytes > 0 ? room / shared_bytes : 16);
    const std::int64_t for_level = (nnz_lu + n) / std::max<std::int64_t>(levels, 1) / 4;
    const std::int64_t least = 1024 / std::clamp<std::int64_t>(fitting, 1, 16);
    threads = static_cast<unsigned>(std::bit_ceil(
        static_cast<std::uint64_t>(std::clamp<std::int64_t>(std::max(for_level, least), 64, max_batch_threads))));
    const auto resident =
        simt::max_resident_blocks_per_sm(solve_batch_kernel<T>, static_cast<int>(threads), shared_bytes);
    if (!resident.ok()) return resident.status();
    blocks = static_cast<unsigned>(std::min<std::int64_t>(systems, std::int64_t(*resident) * properties.sm_count));
    return {};
  }

  Status create_rows(const CscPattern& a, simt::Stream& stream) {
    const CscMatrix<std::int64_t> rows = by_rows(a);
    const std::vector<std::int32_t> from = narrow(rows.values);
    const Lines lines(rows.col_ptr);
    lanes = lines.lanes;
    LULAB_RETURN_IF_ERROR(simt::make(d_row_ptr, rows.col_ptr, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_column, rows.row_idx, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_from_a, from, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_long_rows, lines.long_lines, stream));
    return stream.wait();  // the vectors are locals
  }

  Status create_sizes(const Analysis& analysis, simt::Stream& stream) {
    const FilledPattern& f = analysis.filled;
    std::vector<std::int32_t> column(nnz_a);
    std::vector<std::uint32_t> in_u((nnz_lu + 31) / 32, 0);
    for (std::int32_t j = 0; j < n; ++j) {
      std::fill(column.begin() + analysis.a.col_ptr[j], column.begin() + analysis.a.col_ptr[j + 1], j);
      for (std::int64_t k = f.col_ptr[j]; k <= f.diag[j]; ++k) in_u[k / 32] |= 1u << k % 32;
    }
    LULAB_RETURN_IF_ERROR(simt::make(d_row_of_a, analysis.a.row_idx, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_column_of_a, column, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_r_of_a, analysis.plan.r, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_c_of_a, analysis.plan.c, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_in_u, in_u, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_sizes, systems));
    LULAB_RETURN_IF_ERROR(simt::make(d_usable, systems));
    LULAB_ASSIGN_OR_RETURN(sizes, simt::HostBuffer<SizeBits>::create(systems));
    return stream.wait();  // the vectors are locals
  }

  Status create(const Analysis& analysis, simt::Stream& stream) {
    const Plan& plan = analysis.plan;
    const Triangle l = make_triangle(analysis.filled, TriangleSide::lower);
    const Triangle u = make_triangle(analysis.filled, TriangleSide::upper);
    LULAB_RETURN_IF_ERROR(choose_shape(l.n_levels() + u.n_levels()));
    const auto create_side = [&](Side& side, TriangleSide which, const Triangle& t) {
      return side.create(t, entries_by_rows(analysis.filled, which, t), static_cast<int>(threads / 32), stream);
    };
    LULAB_RETURN_IF_ERROR(create_side(lower, TriangleSide::lower, l));
    LULAB_RETURN_IF_ERROR(create_side(upper, TriangleSide::upper, u));
    LULAB_RETURN_IF_ERROR(create_rows(analysis.a, stream));
    LULAB_RETURN_IF_ERROR(create_sizes(analysis, stream));
    std::vector<double> r(n), c(n);
    for (std::int32_t i = 0; i < n; ++i) {
      r[i] = plan.r[plan.p[i]];
      c[i] = plan.c[plan.q[i]];
    }
    LULAB_RETURN_IF_ERROR(simt::make(d_p, plan.p, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_q, plan.q, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_r, r, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_c, c, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_work, 2 * std::int64_t(n) * blocks));
    if (shared_bytes == 0) LULAB_RETURN_IF_ERROR(simt::make(d_y, std::int64_t(n) * blocks));
    LULAB_RETURN_IF_ERROR(simt::make(d_which, systems));
    LULAB_RETURN_IF_ERROR(simt::make(d_solutions, systems));
    LULAB_ASSIGN_OR_RETURN(solutions, simt::HostBuffer<SystemSolution>::create(systems));
    return stream.wait();
  }

  BatchView<T> view() const {
    return {n,
            nnz_a,
            nnz_lu,
            lower.view(true),
            upper.view(false),
            {d_row_ptr.data(), d_column.data(), d_from_a.data(), lanes, d_long_rows.data(),
             static_cast<std::int32_t>(d_long_rows.size())},
            d_p.data(),
            d_r.data(),
            d_q.data(),
            d_c.data(),
            d_work.data(),
            d_y.data()};
  }

  Status enqueue_sizes(const double* d_a, const T* d_lu, simt::Stream& stream) {
    const SizesView v{nnz_a,           nnz_lu,          d_row_of_a.data(), d_column_of_a.data(),
                      d_r_of_a.data(), d_c_of_a.data(), d_in_u.data()};
    constexpr std::int64_t of_thread = 16;  // entries, so that a few large systems occupy the device, too
    const std::int64_t parts = std::clamp<std::int64_t>((nnz_a + nnz_lu) / (of_thread * threads), 1, 1024);
    const dim3 grid(static_cast<unsigned>(parts), static_cast<unsigned>(std::min(systems, 65535)));
    LULAB_RETURN_IF_ERROR(d_sizes.fill_bytes(0, stream));
    LULAB_RETURN_IF_ERROR(
        simt::launch(sizes_kernel<T>, {.grid = grid, .block = threads}, stream, v, systems, d_a, d_lu, d_sizes.data()));
    return d_sizes.download(sizes.span(), stream);
  }

  /// d_systems: (count), null: the first; d_usable_ones: see the kernel.
  Status enqueue_solve(const std::int32_t* d_systems, std::int32_t count, const std::int32_t* d_usable_ones,
                       const double* d_a, const T* d_lu, const double* d_b, double* d_x, int max_iterations,
                       simt::Stream& stream) {
    const unsigned grid = std::min(blocks, static_cast<unsigned>(count));
    LULAB_RETURN_IF_ERROR(
        simt::launch(solve_batch_kernel<T>, {.grid = grid, .block = threads, .shared_bytes = shared_bytes}, stream,
                     view(), d_systems, count, d_a, d_lu, d_b, d_x, d_solutions.data(), max_iterations, d_usable_ones));
    return d_solutions.download(solutions.span().first(count), stream);
  }

  std::vector<SystemSizes> found_sizes() const {
    std::vector<SystemSizes> all;
    for (const SizeBits& b : sizes.span())
      all.push_back({std::bit_cast<double>(b.scaled_a), std::bit_cast<double>(b.l), std::bit_cast<double>(b.u)});
    return all;
  }
};

template <class T>
DeviceBatchSolver<T>::DeviceBatchSolver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
template <class T>
DeviceBatchSolver<T>::~DeviceBatchSolver() = default;

template <class T>
Result<std::unique_ptr<DeviceBatchSolver<T>>> DeviceBatchSolver<T>::create(const Analysis& analysis,
                                                                           std::int32_t systems,
                                                                           simt::Stream& stream) try {
  auto impl = std::make_unique<Impl>();
  impl->n = analysis.filled.n;
  impl->systems = systems;
  impl->nnz_a = analysis.a.nnz();
  impl->nnz_lu = analysis.filled.nnz();
  if (std::max(impl->nnz_a, impl->nnz_lu) > std::numeric_limits<std::int32_t>::max())
    return Status::error(
        StatusCode::not_implemented,
        fmt::format("systems of a batch have at most 2^31 - 1 entries in L and U; these have {}", impl->nnz_lu));
  LULAB_RETURN_IF_ERROR(impl->create(analysis, stream));
  return std::unique_ptr<DeviceBatchSolver>(new DeviceBatchSolver(std::move(impl)));
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory to prepare the solves of a batch");
}

template <class T>
Result<std::vector<SystemSizes>> DeviceBatchSolver<T>::sizes(const double* d_a, const T* d_lu, simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(impl_->enqueue_sizes(d_a, d_lu, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return impl_->found_sizes();
}

template <class T>
Result<std::vector<Refinement>> DeviceBatchSolver<T>::solve(const double* d_a, const T* d_lu,
                                                            std::span<const std::int32_t> which, const double* d_b,
                                                            double* d_x, simt::Stream& stream, int max_iterations) {
  Impl& s = *impl_;
  std::vector<Refinement> all;
  if (which.empty()) return all;
  LULAB_RETURN_IF_ERROR(s.d_which.upload(which, stream));
  const auto count = static_cast<std::int32_t>(which.size());
  LULAB_RETURN_IF_ERROR(s.enqueue_solve(s.d_which.data(), count, nullptr, d_a, d_lu, d_b, d_x, max_iterations, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  for (const SystemSolution& solution : s.solutions.span().first(count)) all.push_back(solution.refined);
  return all;
}

template <class T>
Status DeviceBatchSolver<T>::enqueue_step(const double* d_a, const DeviceArrays<T>& arrays, double max_growth,
                                          const double* d_b, double* d_x, simt::Stream& stream, int max_iterations) {
  Impl& s = *impl_;
  LULAB_RETURN_IF_ERROR(s.enqueue_sizes(d_a, arrays.lu, stream));
  constexpr unsigned threads = 128;
  const auto grid = static_cast<unsigned>(std::clamp<std::int64_t>(s.systems / threads, 1, 1024));
  LULAB_RETURN_IF_ERROR(simt::launch(usable_kernel<T>, {.grid = grid, .block = threads}, stream, s.n, s.systems,
                                     s.d_sizes.data(), arrays.failed_column, arrays.perturbed, max_growth,
                                     s.d_usable.data()));
  return s.enqueue_solve(nullptr, s.systems, s.d_usable.data(), d_a, arrays.lu, d_b, d_x, max_iterations, stream);
}

template <class T>
std::vector<SystemSizes> DeviceBatchSolver<T>::found_sizes() const {
  return impl_->found_sizes();
}

template <class T>
std::span<const SystemSolution> DeviceBatchSolver<T>::found_solutions() const {
  return impl_->solutions.span();
}

template <class T>
std::int64_t DeviceBatchSolver<T>::bytes() const {
  const Impl& s = *impl_;
  return s.lower.bytes() + s.upper.bytes() +
         8 * (s.d_row_ptr.size() + s.d_r.size() + s.d_c.size() + s.d_work.size() + s.d_r_of_a.size() +
              s.d_c_of_a.size()) +
         4 * (s.d_column.size() + s.d_from_a.size() + s.d_long_rows.size() + s.d_p.size() + s.d_q.size() +
              s.d_which.size() + s.d_usable.size() + s.d_row_of_a.size() + s.d_column_of_a.size() + s.d_in_u.size()) +
         std::int64_t(sizeof(T)) * s.d_y.size() + std::int64_t(sizeof(SystemSolution)) * s.d_solutions.size() +
         std::int64_t(sizeof(SizeBits)) * s.d_sizes.size();
}

template class DeviceBatchSolver<float>;
template class DeviceBatchSolver<double>;

}  // namespace lulab
