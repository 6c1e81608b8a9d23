// Iterative refinement on the device.                                     Arioli, Demmel & Duff 1989, section 3
//
//   r = b - A x, omega(x)
//   while a column wants a step                         the host decides (refinement_rule.h), from three numbers a
//   column
//     d = C Q U⁻¹ L⁻¹ P R r                             device_solver.h
//     x' = x + d,  r' = b - A x',  omega(x')
//     columns with omega(x') < omega(x):  x <- x', r <- r'
//
// A row of A is summed by a team of threads in an order that depends on the pattern alone.          line_teams.h

#include "solve/device_refine.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "core/simt/kernel.h"
#include "solve/by_rows.h"
#include "solve/line_teams.h"
#include "solve/magnitude.h"
#include "solve/row_residual.h"

namespace lulab {
namespace {

constexpr int threads = team_threads;

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

  __device__ __forceinline__ MaxOfRow of_lane_xor(int offset) const {
    return {__shfl_xor_sync(0xffffffffu, bits, offset)};
  }
  __device__ __forceinline__ void merge(const MaxOfRow& other) { bits = larger(bits, other.bits); }
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

/// r = b - A x, and the errors of x, whose x_max is known.   Ogita, Rump & Oishi 2005, Dot2; Arioli et al. 1989, sec.
/// 2.2
/// grid: (that of for_each_line(), columns)   block: team_threads   x, b, r: (n) a column; b null: 0
/// to_correct: r is only what refinement corrects of it
__global__ void __launch_bounds__(team_threads)
    residual_kernel(RowsView a, const double* x, const double* b, double* r, ErrorBits* errors, bool to_correct) {
  const std::int32_t n = a.lines.n;
  const std::int64_t column = std::int64_t(blockIdx.y) * n;
  const double x_max = magnitude_of(errors[blockIdx.y].x_max);
  LargestErrors largest;
  for_each_line<RowResidual>(
      a.lines,
      [&](std::int32_t i, bool takes_b) {
        return RowResidual{{takes_b && b ? b[column + i] : 0, 0}, 0};
      },
      [&](RowResidual& sum, std::int32_t, std::int64_t k) {
        sum.subtract_product(a.values[k], x[column + a.column[k]]);
      },
      [&](const RowResidual& sum, std::int32_t i) {
        const double wrong = largest.add(sum, b ? b[column + i] : 0, a.row_max[i] * x_max, n);
        r[column + i] = to_correct ? wrong : sum.rounded();
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
  simt::DeviceBuffer<std::int64_t> d_row_ptr, d_from;      // (n + 1), (nnz) place in A of each entry; Aᵀ: as they lie
  simt::DeviceBuffer<std::int32_t> d_column, d_long_rows;  // (nnz), long rows
  simt::DeviceBuffer<double> d_values, d_row_max;          // (nnz), (n)
  simt::DeviceBuffer<double> d_better, d_r, d_r_better;    // (n, max_columns)
  simt::DeviceBuffer<ErrorBits> d_errors;                  // (max_columns)
  simt::HostBuffer<ErrorBits> errors_on_host;              // (max_columns)
  simt::DeviceBuffer<std::int32_t> d_verdicts;             // (max_columns)

  RowsView view() const {
    return {{n, lanes, d_row_ptr.data(), d_long_rows.data(), static_cast<std::int32_t>(d_long_rows.size())},
            d_column.data(),
            d_values.data(),
            d_row_max.data()};
  }
  dim3 shape(std::int64_t items, std::int32_t columns) const {
    return dim3(blocks_for(items), static_cast<unsigned>(columns));
  }

  Status create(const CscPatternView& a, simt::Stream& stream) {
    n = a.n_cols;
    // Rows of A; those of Aᵀ are the columns of A as they lie.
    const CscMatrix<std::int64_t> rows_of_a = transposed ? CscMatrix<std::int64_t>() : by_rows(a);
    const CscPatternView rows = transposed && n > 0 ? a : rows_of_a.pattern().view();
    const Lines lines(rows.col_ptr);
    lanes = lines.lanes;
    LULAB_RETURN_IF_ERROR(simt::make(d_row_ptr, rows.col_ptr, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_from, rows_of_a.values, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_column, rows.row_idx, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_long_rows, lines.long_lines, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_values, rows.nnz()));
    LULAB_RETURN_IF_ERROR(simt::make(d_row_max, n));
    for (auto* buffer : {&d_better, &d_r, &d_r_better})
      LULAB_RETURN_IF_ERROR(simt::make(*buffer, std::int64_t(n) * max_columns));
    LULAB_RETURN_IF_ERROR(simt::make(d_errors, max_columns));
    LULAB_ASSIGN_OR_RETURN(errors_on_host, simt::HostBuffer<ErrorBits>::create(max_columns));
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

  /// better = x + d (d null: x), its residual (or what refinement corrects of it) and its errors.
  Status enqueue(const double* x, const double* d, const double* b, double* better, double* r, bool to_correct,
                 std::int32_t columns, simt::Stream& stream) {
    if (n == 0) return {};
    LULAB_RETURN_IF_ERROR(d_errors.fill_bytes(0, stream));
    LULAB_RETURN_IF_ERROR(simt::launch(add_kernel, {.grid = shape(n, columns), .block = threads}, stream, n, x, d,
                                       better, d_errors.data()));
    const RowsView a = view();
    return simt::launch(
        residual_kernel,
        {.grid = dim3(blocks_for_lines(a.lines), static_cast<unsigned>(columns)), .block = team_threads}, stream, a,
        better, b, r, d_errors.data(), to_correct);
  }

  /// The same. Waits for the stream.
  Result<std::vector<BackwardErrors>> evaluate(const double* x, const double* d, const double* b, double* better,
                                               double* r, bool to_correct, std::int32_t columns, simt::Stream& stream) {
    std::vector<BackwardErrors> errors(columns);
    if (n == 0) return errors;
    LULAB_RETURN_IF_ERROR(enqueue(x, d, b, better, r, to_correct, columns, stream));
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
  return impl_->evaluate(d_x, nullptr, d_b, impl_->d_better.data(), d_r, false, columns, stream);
}

Status DeviceRefiner::enqueue_residual(const double* d_x, const double* d_b, double* d_r, std::int32_t columns,
                                       simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(impl_->check(columns));
  return impl_->enqueue(d_x, nullptr, d_b, impl_->d_better.data(), d_r, false, columns, stream);
}

template <class T>
Result<std::vector<Refinement>> DeviceRefiner::refine(DeviceSolver<T>& solver, const double* d_b, double* d_x,
                                                      std::int32_t columns, simt::Stream& stream, int max_iterations,
                                                      double enough) {
  Impl& s = *impl_;
  LULAB_RETURN_IF_ERROR(s.check(columns));
  if (solver.n() != s.n || columns > solver.max_columns())
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("the factors are {0} x {0} and solved with up to {1} right-hand sides at once, but "
                    "A is {2} x {2} and there are {3}",
                    solver.n(), solver.max_columns(), s.n, columns));
  LULAB_ASSIGN_OR_RETURN(auto now,
                         s.evaluate(d_x, nullptr, d_b, s.d_better.data(), s.d_r_better.data(), true, columns, stream));
  LULAB_RETURN_IF_ERROR(solver.wait_for_pivots(stream));  // nothing is left to wait for

  std::vector<RefinementRule> rules;
  std::vector<std::int32_t> verdicts(columns);
  bool any = false;
  for (std::int32_t c = 0; c < columns; ++c) {
    rules.emplace_back(now[c].sum(), max_iterations, enough);
    verdicts[c] = rules[c].wants_step() ? go_on : 0;
    any = any || verdicts[c] != 0;
  }
  while (any) {
    LULAB_RETURN_IF_ERROR(s.accept(verdicts, d_x, stream));
    LULAB_RETURN_IF_ERROR(s.transposed ? solver.solve_transposed(s.d_r.data(), s.d_r.data(), columns, stream)
                                       : solver.solve(s.d_r.data(), s.d_r.data(), columns, stream));
    LULAB_ASSIGN_OR_RETURN(const auto next, s.evaluate(d_x, s.d_r.data(), d_b, s.d_better.data(), s.d_r_better.data(),
                                                       true, columns, stream));
    any = false;
    bool any_kept = false;
    for (std::int32_t c = 0; c < columns; ++c) {
      const bool refined = (verdicts[c] & go_on) != 0;
      verdicts[c] = 0;
      if (!refined || !rules[c].accepts(next[c].sum())) continue;
      now[c] = next[c];
      verdicts[c] = keep | (rules[c].wants_step() ? go_on : 0);
      any = any || (verdicts[c] & go_on) != 0;
      any_kept = true;
    }
    if (!any && any_kept) {
      LULAB_RETURN_IF_ERROR(s.accept(verdicts, d_x, stream));
      LULAB_RETURN_IF_ERROR(stream.wait());  // verdicts is a local
    }
  }
  std::vector<Refinement> result;
  for (std::int32_t c = 0; c < columns; ++c) result.push_back(rules[c].result(now[c].componentwise));
  return result;
}
template Result<std::vector<Refinement>> DeviceRefiner::refine<float>(DeviceSolver<float>&, const double*, double*,
                                                                      std::int32_t, simt::Stream&, int, double);
template Result<std::vector<Refinement>> DeviceRefiner::refine<double>(DeviceSolver<double>&, const double*, double*,
                                                                       std::int32_t, simt::Stream&, int, double);

std::int64_t DeviceRefiner::bytes() const {
  const Impl& s = *impl_;
  return 8 * (s.d_row_ptr.size() + s.d_from.size() + s.d_values.size() + s.d_row_max.size() + s.d_better.size() +
              s.d_r.size() + s.d_r_better.size()) +
         4 * (s.d_column.size() + s.d_long_rows.size() + s.d_verdicts.size()) +
         std::int64_t(sizeof(ErrorBits)) * s.d_errors.size();
}

}  // namespace lulab
