// Iterative refinement on the device.                                     Arioli, Demmel & Duff 1989, section 3
//
//   r = b - A x, omega(x)
//   while a column is not done                          the host decides, from three numbers a column
//     d = C Q U⁻¹ L⁻¹ P R r                             device_solver.h
//     x' = x + d,  r' = b - A x',  omega(x')
//     columns with omega(x') < omega(x):  x <- x', r <- r'
//
// A row of A is summed by a team of threads in an order that depends on the pattern alone.          line_teams.h

#include "solve/device_refine.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "core/simt/kernel.h"
#include "solve/line_teams.h"
#include "solve/magnitude.h"
#include "solve/row_residual.h"

namespace lulab {
namespace {

constexpr int threads = team_threads;
constexpr double eps = std::numeric_limits<double>::epsilon() / 2;  // unit roundoff

unsigned blocks_for(std::int64_t items) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((items + threads - 1) / threads, 1, 4096));
}

/// Bits of magnitudes, which order like the magnitudes, NaN last. Zero on entry of a kernel.
struct ErrorBits {
  unsigned long long omega1, omega2, componentwise;
  unsigned long long x_max;
};

struct RowsView {
  LinesView lines;
  const std::int32_t* column;  // (nnz)
  double* values;              // (nnz)
  double* row_max;             // (n) max |A(i,:)|
};

struct MaxOfRow {
  unsigned long long bits;

  __device__ __forceinline__ MaxOfRow from(int offset) const { return {__shfl_xor_sync(0xffffffffu, bits, offset)}; }
  __device__ __forceinline__ void meet(const MaxOfRow& other) { bits = larger(bits, other.bits); }
};

/// values[k] = a_values[from[k]], row_max.   from null: as they lie   grid, block: of for_each_line()
__global__ void __launch_bounds__(team_threads)
    update_rows_kernel(RowsView a, const double* a_values, const std::int64_t* from) {
  for_each_line<MaxOfRow>(
      a.lines, [](std::int32_t, bool) { return MaxOfRow{0}; },
      [&](MaxOfRow& sum, std::int32_t, std::int64_t k) {
        const double value = a_values[from ? from[k] : k];
        a.values[k] = value;
        sum.bits = larger(sum.bits, bits_of(value));
      },
      [&](const MaxOfRow& sum, std::int32_t i) { a.row_max[i] = magnitude_of(sum.bits); });
}

/// better = x + d and max |better|; d null: x.   grid: (any, columns)   x, d, better: (n) a column
__global__ void add_kernel(std::int32_t n, const double* x, const double* d, double* better, ErrorBits* errors) {
  const std::int64_t column = std::int64_t(blockIdx.y) * n;
  unsigned long long bits = 0;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += std::int64_t(gridDim.x) * blockDim.x) {
    const double sum = d ? x[column + i] + d[column + i] : x[column + i];
    better[column + i] = sum;
    bits = larger(bits, bits_of(sum));
  }
  raise(&errors[blockIdx.y].x_max, bits);
}

/// r = b - A x, and the errors of x, whose x_max is known.   Ogita, Rump & Oishi 2005, Dot2; Arioli et al. 1989, sec. 2.2
/// grid: (that of for_each_line(), columns)   block: team_threads   x, b, r: (n) a column; b null: 0
__global__ void __launch_bounds__(team_threads)
    residual_kernel(RowsView a, const double* x, const double* b, double* r, ErrorBits* errors) {
  const std::int32_t n = a.lines.n;
  const std::int64_t column = std::int64_t(blockIdx.y) * n;
  const double x_max = magnitude_of(errors[blockIdx.y].x_max);
  LargestErrors largest;
  for_each_line<RestOfRow>(
      a.lines,
      [&](std::int32_t i, bool takes_b) {
        return RestOfRow{{takes_b && b ? b[column + i] : 0, 0}, 0};
      },
      [&](RestOfRow& sum, std::int32_t, std::int64_t k) { sum.take(a.values[k], x[column + a.column[k]]); },
      [&](const RestOfRow& sum, std::int32_t i) {
        r[column + i] = sum.rounded();
        largest.take(sum, b ? b[column + i] : 0, a.row_max[i] * x_max, n);
      });
  raise(&errors[blockIdx.y].omega1, largest.omega1);
  raise(&errors[blockIdx.y].omega2, largest.omega2);
  raise(&errors[blockIdx.y].componentwise, largest.componentwise);
}

enum Verdict : std::int32_t {
  keep = 1,   // x' and r' replace x and r
  go_on = 2,  // the column is refined further; else its residual becomes 0
};

/// grid: (any, columns)   verdicts: (columns)   x, better, r, r_better: (n) a column
__global__ void accept_kernel(std::int32_t n, const std::int32_t* verdicts, double* x, const double* better, double* r,
                              const double* r_better) {
  const std::int64_t column = std::int64_t(blockIdx.y) * n;
  const std::int32_t verdict = verdicts[blockIdx.y];
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += std::int64_t(gridDim.x) * blockDim.x) {
    if (verdict & keep) x[column + i] = better[column + i];
    r[column + i] = verdict & go_on ? r_better[column + i] : 0;
  }
}

}  // namespace

struct DeviceRefiner::Impl {
  std::int32_t n = 0, max_columns = 1;
  int lanes = 1;
  bool transposed = false, has_values = false;
  simt::DeviceBuffer<std::int64_t> d_row_ptr, d_from;    // (n + 1), (nnz) place in A of each entry; Aᵀ: as they lie
  simt::DeviceBuffer<std::int32_t> d_column, d_longs;    // (nnz), long rows
  simt::DeviceBuffer<double> d_values, d_row_max;        // (nnz), (n)
  simt::DeviceBuffer<double> d_better, d_r, d_r_better;  // (n, max_columns)
  simt::DeviceBuffer<ErrorBits> d_errors;                // (max_columns)
  simt::HostBuffer<ErrorBits> errors_on_host;            // (max_columns)
  simt::DeviceBuffer<std::int32_t> d_verdicts;           // (max_columns)

  RowsView view() const {
    return {{n, lanes, d_row_ptr.data(), d_longs.data(), static_cast<std::int32_t>(d_longs.size())},
            d_column.data(),
            d_values.data(),
            d_row_max.data()};
  }
  dim3 shape(std::int64_t items, std::int32_t columns) const {
    return dim3(blocks_for(items), static_cast<unsigned>(columns));
  }

  Status create(const CscPatternView& a, simt::Stream& stream) {
    n = a.n_cols;
    const std::int64_t nnz = n > 0 ? a.col_ptr[n] : 0;
    std::vector<std::int64_t> row_ptr(n + 1, 0), from;
    std::vector<std::int32_t> column;
    if (transposed && n > 0) {
      std::copy_n(a.col_ptr.begin(), n + 1, row_ptr.begin());
      column.assign(a.row_idx.begin(), a.row_idx.end());
    } else if (n > 0) {
      from.resize(nnz);
      column.resize(nnz);
      for (std::int64_t k = 0; k < nnz; ++k) ++row_ptr[a.row_idx[k] + 1];
      for (std::int32_t i = 0; i < n; ++i) row_ptr[i + 1] += row_ptr[i];
      std::vector<std::int64_t> next(row_ptr.begin(), row_ptr.end() - 1);
      for (std::int32_t j = 0; j < n; ++j)
        for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
          const std::int64_t to = next[a.row_idx[k]]++;
          from[to] = k;
          column[to] = j;
        }
    }
    const Lines lines(row_ptr);
    lanes = lines.lanes;
    LULAB_RETURN_IF_ERROR(simt::make(d_row_ptr, row_ptr, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_from, from, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_column, column, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_longs, lines.longs, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_values, nnz));
    LULAB_RETURN_IF_ERROR(simt::make(d_row_max, n));
    for (auto* buffer : {&d_better, &d_r, &d_r_better})
      LULAB_RETURN_IF_ERROR(simt::make(*buffer, std::int64_t(n) * max_columns));
    LULAB_RETURN_IF_ERROR(simt::make(d_errors, max_columns));
    auto on_host = simt::HostBuffer<ErrorBits>::create(max_columns);
    if (!on_host.ok()) return on_host.status();
    errors_on_host = std::move(*on_host);
    LULAB_RETURN_IF_ERROR(simt::make(d_verdicts, max_columns));
    return stream.wait();  // the vectors are locals
  }

  Status check(std::int32_t columns) const {
    if (columns < 1 || columns > max_columns)
      return Status::error(
          StatusCode::invalid_argument,
          fmt::format("{} right-hand sides were given to a refiner that was made for 1 to {}", columns, max_columns));
    if (!has_values && n > 0)
      return Status::error(StatusCode::invalid_argument, "call update() with the values of A first");
    return {};
  }

  /// better = x + d (d null: x), its residual and its errors.
  Status enqueue(const double* x, const double* d, const double* b, double* better, double* r, std::int32_t columns,
                 simt::Stream& stream) {
    if (n == 0) return {};
    LULAB_RETURN_IF_ERROR(d_errors.fill_bytes(0, stream));
    LULAB_RETURN_IF_ERROR(simt::launch(add_kernel, {.grid = shape(n, columns), .block = threads}, stream, n, x, d,
                                       better, d_errors.data()));
    const RowsView a = view();
    return simt::launch(
        residual_kernel,
        {.grid = dim3(blocks_for_lines(a.lines), static_cast<unsigned>(columns)), .block = team_threads}, stream, a,
        better, b, r, d_errors.data());
  }

  /// The same. Waits for the stream.
  Result<std::vector<BackwardErrors>> evaluate(const double* x, const double* d, const double* b, double* better,
                                               double* r, std::int32_t columns, simt::Stream& stream) {
    std::vector<BackwardErrors> errors(columns);
    if (n == 0) return errors;
    LULAB_RETURN_IF_ERROR(enqueue(x, d, b, better, r, columns, stream));
    const std::span<ErrorBits> bits = errors_on_host.span().first(columns);
    LULAB_RETURN_IF_ERROR(d_errors.download(bits, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
    for (std::int32_t c = 0; c < columns; ++c)
      errors[c] = {std::bit_cast<double>(bits[c].omega1), std::bit_cast<double>(bits[c].omega2),
                   std::bit_cast<double>(bits[c].componentwise)};
    return errors;
  }

  /// Verdicts of all columns.   Requires `verdicts` until the stream is waited for.
  Status accept(const std::vector<std::int32_t>& verdicts, double* x, simt::Stream& stream) {
    if (n == 0) return {};
    LULAB_RETURN_IF_ERROR(d_verdicts.upload(verdicts, stream));
    return simt::launch(accept_kernel, {.grid = shape(n, static_cast<std::int32_t>(verdicts.size())), .block = threads},
                        stream, n, d_verdicts.data(), x, d_better.data(), d_r.data(), d_r_better.data());
  }
};

DeviceRefiner::DeviceRefiner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceRefiner::~DeviceRefiner() = default;
DeviceRefiner::DeviceRefiner(DeviceRefiner&&) noexcept = default;
DeviceRefiner& DeviceRefiner::operator=(DeviceRefiner&&) noexcept = default;

Result<DeviceRefiner> DeviceRefiner::create(CscPatternView a, std::int32_t max_columns, simt::Stream& stream,
                                            bool transposed) try {
  if (a.n_rows != a.n_cols)
    return Status::error(StatusCode::invalid_argument, fmt::format("A is {} x {}, not square", a.n_rows, a.n_cols));
  if (max_columns < 1 || max_columns > 65535)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("max_columns is {}, not one of 1 to 65535", max_columns));
  auto impl = std::make_unique<Impl>();
  impl->max_columns = max_columns;
  impl->transposed = transposed;
  LULAB_RETURN_IF_ERROR(impl->create(a, stream));
  return DeviceRefiner(std::move(impl));
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory to prepare the refinement");
}

Status DeviceRefiner::update(const double* d_values, simt::Stream& stream) {
  Impl& s = *impl_;
  s.has_values = false;
  if (s.n > 0) {
    const RowsView a = s.view();
    LULAB_RETURN_IF_ERROR(simt::launch(update_rows_kernel, {.grid = blocks_for_lines(a.lines), .block = team_threads},
                                       stream, a, d_values, s.d_from.data()));
  }
  s.has_values = true;
  return {};
}

Result<std::vector<BackwardErrors>> DeviceRefiner::residual(const double* d_x, const double* d_b, double* d_r,
                                                            std::int32_t columns, simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(impl_->check(columns));
  return impl_->evaluate(d_x, nullptr, d_b, impl_->d_better.data(), d_r, columns, stream);
}

Status DeviceRefiner::enqueue_residual(const double* d_x, const double* d_b, double* d_r, std::int32_t columns,
                                       simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(impl_->check(columns));
  return impl_->enqueue(d_x, nullptr, d_b, impl_->d_better.data(), d_r, columns, stream);
}

template <class T>
Result<std::vector<Refinement>> DeviceRefiner::refine(DeviceSolver<T>& solver, const double* d_b, double* d_x,
                                                      std::int32_t columns, simt::Stream& stream, int max_iterations) {
  Impl& s = *impl_;
  LULAB_RETURN_IF_ERROR(s.check(columns));
  if (solver.n() != s.n || columns > solver.max_columns())
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("the factors are {0} x {0} and solved with up to {1} right-hand sides at once, but "
                    "A is {2} x {2} and there are {3}",
                    solver.n(), solver.max_columns(), s.n, columns));
  auto now = s.evaluate(d_x, nullptr, d_b, s.d_better.data(), s.d_r_better.data(), columns, stream);
  if (!now.ok()) return now.status();
  LULAB_RETURN_IF_ERROR(solver.wait_for_pivots(stream));  // nothing is left to wait for

  std::vector<Refinement> result(columns);
  std::vector<std::int32_t> verdicts(columns);
  bool any = false;
  const auto wants_more = [&](std::int32_t c) {
    return result[c].iterations < max_iterations && (*now)[c].sum() > eps;  // not for NaN
  };
  for (std::int32_t c = 0; c < columns; ++c) {
    verdicts[c] = wants_more(c) ? go_on : 0;
    any = any || verdicts[c] != 0;
  }
  while (any) {
    LULAB_RETURN_IF_ERROR(s.accept(verdicts, d_x, stream));
    LULAB_RETURN_IF_ERROR(s.transposed ? solver.solve_transposed(s.d_r.data(), s.d_r.data(), columns, stream)
                                       : solver.solve(s.d_r.data(), s.d_r.data(), columns, stream));
    const auto next = s.evaluate(d_x, s.d_r.data(), d_b, s.d_better.data(), s.d_r_better.data(), columns, stream);
    if (!next.ok()) return next.status();
    any = false;
    bool any_kept = false;
    for (std::int32_t c = 0; c < columns; ++c) {
      const bool refined = (verdicts[c] & go_on) != 0;
      verdicts[c] = 0;
      if (!refined || !((*next)[c].sum() < (*now)[c].sum())) continue;
      const bool stalled = (*next)[c].sum() > 0.9 * (*now)[c].sum();
      (*now)[c] = (*next)[c];
      ++result[c].iterations;
      verdicts[c] = keep | (!stalled && wants_more(c) ? go_on : 0);
      any = any || (verdicts[c] & go_on) != 0;
      any_kept = true;
    }
    if (!any && any_kept) {
      LULAB_RETURN_IF_ERROR(s.accept(verdicts, d_x, stream));
      LULAB_RETURN_IF_ERROR(stream.wait());  // verdicts is a local
    }
  }
  for (std::int32_t c = 0; c < columns; ++c) {
    result[c].backward_error = (*now)[c].componentwise;
    result[c].omega = (*now)[c].sum();
    result[c].converged = (*now)[c].sum() <= 2 * eps;
  }
  return result;
}
template Result<std::vector<Refinement>> DeviceRefiner::refine<float>(DeviceSolver<float>&, const double*, double*,
                                                                      std::int32_t, simt::Stream&, int);
template Result<std::vector<Refinement>> DeviceRefiner::refine<double>(DeviceSolver<double>&, const double*, double*,
                                                                       std::int32_t, simt::Stream&, int);

std::int64_t DeviceRefiner::bytes() const {
  const Impl& s = *impl_;
  return 8 * (s.d_row_ptr.size() + s.d_from.size() + s.d_values.size() + s.d_row_max.size() + s.d_better.size() +
              s.d_r.size() + s.d_r_better.size()) +
         4 * (s.d_column.size() + s.d_longs.size() + s.d_verdicts.size()) +
         std::int64_t(sizeof(ErrorBits)) * s.d_errors.size();
}

}  // namespace lulab
