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
__global__ void __launch_bounds__(batch_solve::threads)
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

}  // namespace

template <class T>
struct DeviceBatchSolver<T>::Impl {
  struct Side {
    simt::DeviceBuffer<BatchRow> d_rows;
    simt::DeviceBuffer<BatchEntry> d_entries;
    simt::DeviceBuffer<Word<T>> d_words;  // (groups, n_words, ld)
    std::int32_t n_words = 0;

    Status create(const BatchTriangle& t, simt::Stream& stream) {
      n_words = t.n_words;
      LULAB_RETURN_IF_ERROR(simt::make(d_rows, t.rows, stream));
      return simt::make(d_entries, t.entries, stream);
    }
    batch_solve::SideView view() const {
      return {d_rows.data(), d_entries.data(), static_cast<std::int32_t>(d_rows.size()), n_words};
    }
    std::int64_t bytes() const {
      return std::int64_t(sizeof(BatchRow)) * d_rows.size() + 8 * d_entries.size() +
             std::int64_t(sizeof(T)) * d_words.size();
    }
  };

  std::int32_t n = 0, systems = 0;
  std::int64_t nnz_a = 0, nnz_lu = 0;
  std::int32_t ld = 1, groups = 1;  // systems of a group, groups of a launch
  std::int64_t blocks = 1;          // of a launch, at most
  Side lower, upper;
  simt::DeviceBuffer<std::int64_t> d_row_ptr;
  simt::DeviceBuffer<BatchEntry> d_entries;  // of A by rows
  simt::DeviceBuffer<std::int32_t> d_long_rows;
  simt::DeviceBuffer<std::int32_t> d_p, d_q, d_which;
  simt::DeviceBuffer<double> d_c;
  simt::DeviceBuffer<T> d_lu;                                  // (groups, nnz(L+U), ld)
  simt::DeviceBuffer<double> d_a;                              // (groups, nnz(A), ld)
  simt::DeviceBuffer<double> d_b, d_residual, d_x, d_x2;       // (groups, n, ld)
  simt::DeviceBuffer<batch_solve::SystemState> d_states;       // (groups, 32), then two numbers of active systems
  simt::DeviceBuffer<std::int32_t> d_row_of_a, d_column_of_a;  // (nnz(A)) in A's order
  simt::DeviceBuffer<double> d_r_of_a, d_c_of_a;               // (n) in A's order
  simt::DeviceBuffer<std::uint32_t> d_in_u;                    // (nnz(L+U)) bits
  simt::HostBuffer<SizeBits> sizes;                            // (systems)
  simt::DeviceBuffer<SizeBits> d_sizes;                        // the same
  simt::DeviceBuffer<std::int32_t> d_usable;                   // (systems) of a step
  simt::HostBuffer<SystemSolution> solutions;                  // (systems)
  simt::DeviceBuffer<SystemSolution> d_solutions;              // the same

  /// Workspace for as many systems at once as it may take, in launches of equal size.
  Status create_workspace(const BatchSolveOptions& options) {
    const std::int64_t each =
        std::int64_t(sizeof(T)) * (nnz_lu + lower.n_words + upper.n_words) + 8 * (nnz_a + 4 * std::int64_t(n));
    std::int64_t at_once = std::clamp<std::int64_t>(options.max_workspace_bytes / each, 1, systems);
    for (;; at_once /= 2) {
      const std::int64_t launches = (systems + at_once - 1) / at_once, of_launch = (systems + launches - 1) / launches;
      groups = static_cast<std::int32_t>((of_launch + batch_solve::max_group - 1) / batch_solve::max_group);
      ld = static_cast<std::int32_t>((of_launch + groups - 1) / groups);
      const Status made = allocate(std::int64_t(groups) * ld);
      if (made.code != StatusCode::out_of_memory || at_once == 1) return made;
    }
  }
  Status allocate(std::int64_t slots) {
    d_lu = {};  // what an attempt that failed has left
    for (auto* buffer : {&d_a, &d_b, &d_residual, &d_x, &d_x2}) *buffer = {};
    for (Side* side : {&lower, &upper}) side->d_words = {};
    LULAB_RETURN_IF_ERROR(simt::make(d_lu, nnz_lu * slots));
    LULAB_RETURN_IF_ERROR(simt::make(d_a, nnz_a * slots));
    for (auto* buffer : {&d_b, &d_residual, &d_x, &d_x2}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, n * slots));
    for (Side* side : {&lower, &upper}) LULAB_RETURN_IF_ERROR(simt::make(side->d_words, side->n_words * slots));
    return simt::make(d_states, std::int64_t(groups) * batch_solve::max_group + 1);
  }
  Status count_blocks(std::int64_t max_blocks) {
    LULAB_ASSIGN_OR_RETURN(const auto properties, simt::device_properties());
    LULAB_ASSIGN_OR_RETURN(const auto per_sm,
                           simt::max_resident_blocks_per_sm(batch_solve::solve_batch_kernel<T>, batch_solve::threads));
    const std::int64_t resident = std::int64_t(per_sm) * properties.sm_count;
    blocks = max_blocks > 0 ? std::min(max_blocks, resident) : resident;
    return {};
  }

  Status create_rows(const CscPattern& a, simt::Stream& stream) {
    const CscMatrix<std::int64_t> rows = by_rows(a);
    std::vector<BatchEntry> entries;
    for (std::size_t k = 0; k < rows.row_idx.size(); ++k)
      entries.push_back({rows.row_idx[k], static_cast<std::int32_t>(rows.values[k])});
    std::vector<std::int32_t> long_rows;
    for (std::int32_t i = 0; i < n; ++i)
      if (rows.col_ptr[i + 1] - rows.col_ptr[i] >= batch_solve::long_row) long_rows.push_back(i);
    LULAB_RETURN_IF_ERROR(simt::make(d_row_ptr, rows.col_ptr, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_entries, entries, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_long_rows, long_rows, stream));
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

  Status create(const Analysis& analysis, const BatchSolveOptions& options, simt::Stream& stream) {
    const Plan& plan = analysis.plan;
    for (const TriangleSide which : {TriangleSide::lower, TriangleSide::upper}) {
      const Triangle t = make_triangle(analysis.filled, which);
      const BatchTriangle cut = cut_rows(t, entries_by_rows(analysis.filled, which, t), which == TriangleSide::lower);
      LULAB_RETURN_IF_ERROR((which == TriangleSide::lower ? lower : upper).create(cut, stream));
      LULAB_RETURN_IF_ERROR(stream.wait());  // the vectors are locals
    }
    LULAB_RETURN_IF_ERROR(create_rows(analysis.a, stream));
    LULAB_RETURN_IF_ERROR(create_sizes(analysis, stream));
    LULAB_RETURN_IF_ERROR(create_workspace(options));
    LULAB_RETURN_IF_ERROR(count_blocks(options.max_blocks));
    std::vector<double> c(n);
    for (std::int32_t i = 0; i < n; ++i) c[i] = plan.c[plan.q[i]];
    LULAB_RETURN_IF_ERROR(simt::make(d_p, plan.p, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_q, plan.q, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_c, c, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_which, systems));
    LULAB_RETURN_IF_ERROR(simt::make(d_solutions, systems));
    LULAB_ASSIGN_OR_RETURN(solutions, simt::HostBuffer<SystemSolution>::create(systems));
    return stream.wait();
  }

  batch_solve::View<T> view() const {
    return {n,
            nnz_a,
            nnz_lu,
            ld,
            lower.view(),
            upper.view(),
            {d_row_ptr.data(), d_entries.data(), d_long_rows.data(), static_cast<std::int32_t>(d_long_rows.size())},
            d_p.data(),
            d_r_of_a.data(),
            d_q.data(),
            d_c.data(),
            d_lu.data(),
            d_a.data(),
            d_b.data(),
            d_residual.data(),
            {d_x.data(), d_x2.data()},
            {lower.d_words.data(), upper.d_words.data()},
            d_states.data(),
            reinterpret_cast<unsigned*>(d_states.data() + std::int64_t(groups) * batch_solve::max_group)};
  }

  Status enqueue_sizes(const double* d_a, const T* d_lu, simt::Stream& stream) {
    const SizesView v{nnz_a,           nnz_lu,          d_row_of_a.data(), d_column_of_a.data(),
                      d_r_of_a.data(), d_c_of_a.data(), d_in_u.data()};
    constexpr std::int64_t of_thread = 16;  // entries, so that a few large systems occupy the device, too
    const std::int64_t parts = std::clamp<std::int64_t>((nnz_a + nnz_lu) / (of_thread * batch_solve::threads), 1, 1024);
    const dim3 grid(static_cast<unsigned>(parts), static_cast<unsigned>(std::min(systems, 65535)));
    LULAB_RETURN_IF_ERROR(d_sizes.fill_bytes(0, stream));
    LULAB_RETURN_IF_ERROR(simt::launch(sizes_kernel<T>, {.grid = grid, .block = batch_solve::threads}, stream, v,
                                       systems, d_a, d_lu, d_sizes.data()));
    return d_sizes.download(sizes.span(), stream);
  }

  /// d_systems: (count), null: the first; d_usable_ones: see the kernel.
  Status enqueue_solve(const std::int32_t* d_systems, std::int32_t count, const std::int32_t* d_usable_ones,
                       const double* d_a_given, const T* d_lu_given, const double* d_b_given, double* d_x_given,
                       const RefinementGoal& goal, simt::Stream& stream) {
    constexpr std::int64_t rows_a_block = 2 * batch_solve::warps;
    const std::int32_t at_once = groups * ld;
    for (std::int32_t first = 0; first < count; first += at_once) {
      const std::int32_t now = std::min(at_once, count - first), of_now = (now + ld - 1) / ld;
      const std::int64_t useful = of_now * std::max<std::int64_t>(n / rows_a_block, 1);
      LULAB_RETURN_IF_ERROR(d_states.fill_bytes(0, stream));
      LULAB_RETURN_IF_ERROR(simt::launch(
          batch_solve::solve_batch_kernel<T>,
          {.grid = static_cast<unsigned>(std::min(blocks, useful)), .block = batch_solve::threads, .cooperative = true},
          stream, view(),
          batch_solve::Systems<T>{d_systems, first, now, d_a_given, d_lu_given, d_b_given, d_x_given,
                                  d_solutions.data(), d_usable_ones},
          of_now, goal.max_iterations, goal.enough));
    }
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
                                                                           std::int32_t systems, simt::Stream& stream,
                                                                           const BatchSolveOptions& options) try {
  auto impl = std::make_unique<Impl>();
  impl->n = analysis.filled.n;
  impl->systems = systems;
  impl->nnz_a = analysis.a.nnz();
  impl->nnz_lu = analysis.filled.nnz();
  if (std::max(impl->nnz_a, impl->nnz_lu) > std::numeric_limits<std::int32_t>::max())
    return Status::error(
        StatusCode::not_implemented,
        fmt::format("systems of a batch have at most 2^31 - 1 entries in L and U; these have {}", impl->nnz_lu));
  LULAB_RETURN_IF_ERROR(impl->create(analysis, options, stream));
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
                                                            double* d_x, simt::Stream& stream,
                                                            const RefinementGoal& goal) {
  Impl& s = *impl_;
  std::vector<Refinement> all;
  if (which.empty()) return all;
  LULAB_RETURN_IF_ERROR(s.d_which.upload(which, stream));
  const auto count = static_cast<std::int32_t>(which.size());
  LULAB_RETURN_IF_ERROR(s.enqueue_solve(s.d_which.data(), count, nullptr, d_a, d_lu, d_b, d_x, goal, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  for (const SystemSolution& solution : s.solutions.span().first(count)) all.push_back(solution.refined);
  return all;
}

template <class T>
Status DeviceBatchSolver<T>::enqueue_step(const double* d_a, const DeviceArrays<T>& arrays, double max_growth,
                                          const double* d_b, double* d_x, simt::Stream& stream,
                                          const RefinementGoal& goal) {
  Impl& s = *impl_;
  LULAB_RETURN_IF_ERROR(s.enqueue_sizes(d_a, arrays.lu, stream));
  constexpr unsigned threads = 128;
  const auto grid = static_cast<unsigned>(std::clamp<std::int64_t>(s.systems / threads, 1, 1024));
  LULAB_RETURN_IF_ERROR(simt::launch(usable_kernel<T>, {.grid = grid, .block = threads}, stream, s.n, s.systems,
                                     s.d_sizes.data(), arrays.failed_column, arrays.perturbed, max_growth,
                                     s.d_usable.data()));
  return s.enqueue_solve(nullptr, s.systems, s.d_usable.data(), d_a, arrays.lu, d_b, d_x, goal, stream);
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
         8 * (s.d_row_ptr.size() + s.d_entries.size() + s.d_c.size() + s.d_r_of_a.size() + s.d_c_of_a.size() +
              s.d_a.size() + s.d_b.size() + s.d_residual.size() + s.d_x.size() + s.d_x2.size()) +
         4 * (s.d_long_rows.size() + s.d_p.size() + s.d_q.size() + s.d_which.size() + s.d_usable.size() +
              s.d_row_of_a.size() + s.d_column_of_a.size() + s.d_in_u.size()) +
         std::int64_t(sizeof(T)) * s.d_lu.size() + std::int64_t(sizeof(SystemSolution)) * s.d_solutions.size() +
         std::int64_t(sizeof(SizeBits)) * s.d_sizes.size() +
         std::int64_t(sizeof(batch_solve::SystemState)) * s.d_states.size();
}

template class DeviceBatchSolver<float>;
template class DeviceBatchSolver<double>;

}  // namespace lulab
