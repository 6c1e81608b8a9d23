// Iterative refinement on the device.                                     Arioli, Demmel & Duff 1989, section 3
//
//   r = b - A x, omega(x)
//   while a column wants a step                         refinement_rule.h
//     d = C Q U⁻¹ L⁻¹ P R r                             device_solver.h
//     x' = x + d,  r = b - A x',  omega(x')
//     columns with omega(x') < omega(x):  x <- x'
//
// Every decision falls on the device. The host only learns of it, and enqueues another step where one is wanted; a step
// that was enqueued in vain ends at once.
//
// A row of A is summed by a team of threads in an order that depends on the pattern alone.          line_teams.h

#include "solve/device_refine.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "core/in_parallel.h"
#include "core/magnitude.h"
#include "core/simt/device_tools.h"
#include "core/simt/kernel.h"
#include "solve/by_rows.h"
#include "solve/line_teams.h"
#include "solve/row_residual.h"

namespace lulab {
namespace {

constexpr int threads = team_threads;
constexpr std::int64_t entries_a_host_thread = 100'000;  // of A, by rows: a millisecond
constexpr int most_host_threads = 4;

unsigned blocks_for(std::int64_t items) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((items + threads - 1) / threads, 1, 4096));
}

/// Bits of magnitudes, which order like the magnitudes, NaN last. Zero wherever nothing is being evaluated.
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

struct Entry {
  std::int64_t k;
  double value;
};

struct Product {
  double a, x;
};

/// values[k] = a_values[from[k]], row_max.   from null: as they lie   grid, block: of for_each_line()
__global__ void __launch_bounds__(team_threads)
    update_rows_kernel(RowsView a, const double* a_values, const std::int64_t* from) {
  for_each_line<MaxOfRow>(
      a.lines, [](std::int32_t, bool) { return MaxOfRow{0}; },
      [&](std::int64_t k) {
        return Entry{k, a_values[from ? from[k] : k]};
      },
      [&](MaxOfRow& sum, std::int32_t, const Entry& e) {
        a.values[e.k] = e.value;
        sum.bits = larger(sum.bits, bits_of(e.value));
      },
      [&](const MaxOfRow& sum, std::int32_t i) { a.row_max[i] = magnitude_of(sum.bits); });
}

/// better = x + d and max |better|; d null: x.   grid: (any, columns)   x, d, better: (n) a column
__global__ void add_kernel(std::int32_t n, const double* x, const double* d, double* better, ErrorBits* errors,
                           const std::int32_t* wanted) {
  if (wanted && *wanted == 0) return;
  const std::int64_t column = std::int64_t(blockIdx.y) * n;
  unsigned long long bits = 0;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += std::int64_t(gridDim.x) * blockDim.x) {
    const double sum = d ? x[column + i] + d[column + i] : x[column + i];
    better[column + i] = sum;
    bits = larger(bits, bits_of(sum));
  }
  raise_by_block({&errors[blockIdx.y].x_max}, {bits});
}

/// A right-hand side.
struct ColumnState {
  RefinementRule rule;
  double componentwise;  // of its x
  bool wants_step;
  bool takes_better;  // the x' of the last step
};

/// What follows from the errors of x'. states null: nothing is decided.
struct Decision {
  std::int32_t columns;
  bool first;  // the errors are those of the first x
  RefinementGoal goal;
  ColumnState* states;    // (columns)
  ColumnState* on_host;   // (columns) the states for the host, in its memory
  std::int32_t* wanted;   // (1) <- any column wants another step
  unsigned* blocks_done;  // (1) 0 between launches
};

/// For each column, and whether any wants another step. Zeroes the errors.   Called by all lanes of one warp.
__device__ __forceinline__ void decide(const Decision& d, ErrorBits* errors) {
  bool any = false;
  for (std::int32_t c = threadIdx.x % 32; c < d.columns; c += 32) {
    const double omega = magnitude_of(errors[c].omega1) + magnitude_of(errors[c].omega2);
    ColumnState state =
        d.first ? ColumnState{{omega, d.goal.max_iterations, d.goal.enough}, 0, false, false} : d.states[c];
    state.takes_better = state.wants_step && state.rule.accepts(omega);
    if (d.first || state.takes_better) state.componentwise = magnitude_of(errors[c].componentwise);
    state.wants_step = (d.first || state.takes_better) && state.rule.wants_step();
    d.states[c] = d.on_host[c] = state;
    errors[c] = {};
    any |= state.wants_step;
  }
  any = __any_sync(0xffffffffu, any);
  if (threadIdx.x % 32 == 0) *d.wanted = any;
}

/// r = b - A x, and the errors of x, whose x_max is known. The last block decides what follows.
/// Ogita, Rump & Oishi 2005, Dot2; Arioli et al. 1989, sec. 2.2
/// grid: (that of for_each_line(), columns)   block: team_threads   x, b, r: (n) a column; b null: 0
/// to_correct: r is only what refinement corrects of it
/// wanted: where it is 0 no x is replaced and nothing else is done; null: it is done in any case
__global__ void __launch_bounds__(team_threads)
    residual_kernel(RowsView a, const double* x, const double* b, double* r, ErrorBits* errors, bool to_correct,
                    const std::int32_t* wanted, Decision decision) {
  if (wanted && *wanted == 0) {
    if (blockIdx.x == 0 && threadIdx.x == 0) decision.states[blockIdx.y].takes_better = false;
    return;
  }
  const std::int32_t n = a.lines.n;
  const std::int64_t column = std::int64_t(blockIdx.y) * n;
  const double x_max = magnitude_of(errors[blockIdx.y].x_max);
  LargestErrors largest;
  for_each_line<RowResidual>(
      a.lines,
      [&](std::int32_t i, bool takes_b) {
        return RowResidual{{takes_b && b ? b[column + i] : 0, 0}, 0};
      },
      [&](std::int64_t k) {
        return Product{a.values[k], x[column + a.column[k]]};
      },
      [](RowResidual& sum, std::int32_t, const Product& p) { sum.subtract_product(p.a, p.x); },
      [&](const RowResidual& sum, std::int32_t i) {
        const double wrong = largest.add(sum, b ? b[column + i] : 0, a.row_max[i] * x_max, n);
        r[column + i] = to_correct ? wrong : sum.rounded();
      });
  ErrorBits& of_column = errors[blockIdx.y];
  raise_by_block({&of_column.omega1, &of_column.omega2, &of_column.componentwise},
                 {largest.omega1, largest.omega2, largest.componentwise});
  // The barriers of raise_by_block() order all that this block's threads read, of *wanted and the errors, too.
  if (!decision.states || threadIdx.x >= 32 || !simt::warp_is_last(decision.blocks_done)) return;
  decide(decision, errors);
}

/// x <- better where that was decided.   grid: (any, columns)   x, better: (n) a column
/// is_last: x <- NaN where it has not become good
__global__ void take_better_kernel(std::int32_t n, bool is_last, const ColumnState* states, double* x,
                                   const double* better) {
  const ColumnState& state = states[blockIdx.y];
  const bool spoil = is_last && !state.rule.result(state.componentwise).converged;
  if (!state.takes_better && !spoil) return;
  const std::int64_t column = std::int64_t(blockIdx.y) * n;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += std::int64_t(gridDim.x) * blockDim.x)
    x[column + i] = spoil ? std::numeric_limits<double>::quiet_NaN() : better[column + i];
}

}  // namespace

struct DeviceRefiner::Impl {
  std::int32_t n = 0, max_columns = 1;
  int lanes = 1;
  bool transposed = false, has_values = false;
  simt::DeviceBuffer<std::int64_t> d_row_ptr, d_from;      // (n + 1), (nnz) place in A of each entry; Aᵀ: as they lie
  simt::DeviceBuffer<std::int32_t> d_column, d_long_rows;  // (nnz), long rows
  simt::DeviceBuffer<double> d_values, d_row_max;          // (nnz), (n)
  simt::DeviceBuffer<double> d_better, d_r;                // (n, max_columns)
  simt::DeviceBuffer<double> d_d;                          // (n, max_columns), of several right-hand sides
  simt::HostBuffer<ErrorBits> errors_on_host;              // (max_columns)
  simt::DeviceBuffer<ErrorBits> d_errors;                  // (max_columns)
  simt::HostBuffer<ColumnState> states_on_host;            // (max_columns)
  simt::DeviceBuffer<ColumnState> d_states;                // (max_columns)
  simt::DeviceBuffer<std::int32_t> d_wanted;               // (1) a column wants a step
  simt::DeviceBuffer<unsigned> d_blocks_done;              // (1) 0

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
    const CscMatrix<std::int64_t> rows_of_a =
        transposed ? CscMatrix<std::int64_t>()
                   : by_rows(a, threads_for(a.nnz(), entries_a_host_thread, most_host_threads));
    const CscPatternView rows = transposed && n > 0 ? a : rows_of_a.pattern().view();
    const Lines lines(rows.col_ptr);
    lanes = lines.lanes;
    LULAB_RETURN_IF_ERROR(simt::make(d_row_ptr, rows.col_ptr, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_from, rows_of_a.values, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_column, rows.row_idx, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_long_rows, lines.long_lines, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_values, rows.nnz()));
    LULAB_RETURN_IF_ERROR(simt::make(d_row_max, n));
    for (auto* buffer : {&d_better, &d_r}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, std::int64_t(n) * max_columns));
    LULAB_RETURN_IF_ERROR(simt::make(d_d, max_columns > 1 ? std::int64_t(n) * max_columns : 0));
    LULAB_RETURN_IF_ERROR(simt::make(d_errors, max_columns));
    LULAB_RETURN_IF_ERROR(d_errors.fill_bytes(0, stream));
    LULAB_ASSIGN_OR_RETURN(errors_on_host, simt::HostBuffer<ErrorBits>::create(max_columns));
    LULAB_RETURN_IF_ERROR(simt::make(d_states, max_columns));
    LULAB_ASSIGN_OR_RETURN(states_on_host, simt::HostBuffer<ColumnState>::create(max_columns));
    LULAB_RETURN_IF_ERROR(simt::make(d_wanted, 1));
    LULAB_RETURN_IF_ERROR(simt::make(d_blocks_done, 1));
    LULAB_RETURN_IF_ERROR(d_blocks_done.fill_bytes(0, stream));
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

  template <class T>
  Status check(const DeviceSolver<T>& solver, std::int32_t columns) const {
    LULAB_RETURN_IF_ERROR(check(columns));
    if (solver.n() == n && columns <= solver.max_columns()) return {};
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("the factors are {0} x {0} and solved with up to {1} right-hand sides at once, but "
                    "A is {2} x {2} and there are {3}",
                    solver.n(), solver.max_columns(), n, columns));
  }

  Decision decision(std::int32_t columns, bool first, RefinementGoal goal = {}) {
    return {columns, first, goal, d_states.data(), states_on_host.span().data(), d_wanted.data(), d_blocks_done.data()};
  }

  /// better = x + d and its size; d null: x.
  /// wanted: on the device; where it is 0 nothing is done; null: it is done in any case
  Status add(const double* x, const double* d, std::int32_t columns, const std::int32_t* wanted, simt::Stream& stream) {
    return simt::launch(add_kernel, {.grid = shape(n, columns), .block = threads}, stream, n, x, d, d_better.data(),
                        d_errors.data(), wanted);
  }

  /// The residual of x (or what refinement corrects of it), whose size is known, its errors, and what follows.
  Status judge(const double* x, const double* b, double* r, bool to_correct, std::int32_t columns,
               const std::int32_t* wanted, const Decision& decision, simt::Stream& stream) {
    const RowsView a = view();
    return simt::launch(
        residual_kernel,
        {.grid = dim3(blocks_for_lines(a.lines), static_cast<unsigned>(columns)), .block = team_threads}, stream, a, x,
        b, r, d_errors.data(), to_correct, wanted, decision);
  }

  /// Only the residual and the errors.
  Status measure(const double* x, const double* b, double* r, std::int32_t columns, simt::Stream& stream) {
    if (n == 0) return {};
    LULAB_RETURN_IF_ERROR(add(x, nullptr, columns, nullptr, stream));
    return judge(d_better.data(), b, r, false, columns, nullptr, {}, stream);
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
  Impl& s = *impl_;
  LULAB_RETURN_IF_ERROR(s.check(columns));
  LULAB_RETURN_IF_ERROR(s.measure(d_x, d_b, d_r, columns, stream));
  std::vector<BackwardErrors> errors(columns);
  if (s.n == 0) return errors;
  const std::span<ErrorBits> bits = s.errors_on_host.span().first(columns);
  LULAB_RETURN_IF_ERROR(s.d_errors.download(bits, stream));
  LULAB_RETURN_IF_ERROR(s.d_errors.fill_bytes(0, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  for (std::int32_t c = 0; c < columns; ++c)
    errors[c] = {std::bit_cast<double>(bits[c].omega1), std::bit_cast<double>(bits[c].omega2),
                 std::bit_cast<double>(bits[c].componentwise)};
  return errors;
}

Status DeviceRefiner::enqueue_residual(const double* d_x, const double* d_b, double* d_r, std::int32_t columns,
                                       simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(impl_->check(columns));
  LULAB_RETURN_IF_ERROR(impl_->measure(d_x, d_b, d_r, columns, stream));
  return impl_->d_errors.fill_bytes(0, stream);
}

unsigned long long* DeviceRefiner::d_x_max() { return &impl_->d_errors.data()->x_max; }

Status DeviceRefiner::forget(simt::Stream& stream) {
  if (impl_->n == 0) return {};
  LULAB_RETURN_IF_ERROR(impl_->d_blocks_done.fill_bytes(0, stream));
  return impl_->d_errors.fill_bytes(0, stream);
}

Status DeviceRefiner::begin(const double* d_b, const double* d_x, std::int32_t columns, simt::Stream& stream,
                            RefinementGoal goal, bool is_measured) {
  Impl& s = *impl_;
  LULAB_RETURN_IF_ERROR(s.check(columns));
  if (s.n == 0) return {};
  if (!is_measured) LULAB_RETURN_IF_ERROR(s.add(d_x, nullptr, columns, nullptr, stream));
  return s.judge(is_measured ? d_x : s.d_better.data(), d_b, s.d_r.data(), true, columns, nullptr,
                 s.decision(columns, true, goal), stream);
}

template <class T>
Status DeviceRefiner::correct(DeviceSolver<T>& solver, const double* d_b, double* d_x, std::int32_t columns,
                              simt::Stream& stream, bool is_last) {
  Impl& s = *impl_;
  LULAB_RETURN_IF_ERROR(s.check(solver, columns));
  if (s.n == 0) return {};
  const std::int32_t* wanted = s.d_wanted.data();
  const auto solve = [&](double* x, const SolveAsCorrection<double>& how) {
    return s.transposed ? solver.solve_transposed(s.d_r.data(), x, columns, stream, how)
                        : solver.solve(s.d_r.data(), x, columns, stream, how);
  };
  if (columns == 1) {  // the solve adds
    LULAB_RETURN_IF_ERROR(
        solve(s.d_better.data(), {.d_wanted = wanted, .d_onto = d_x, .d_x_max = &s.d_errors.data()->x_max}));
  } else {
    LULAB_RETURN_IF_ERROR(solve(s.d_d.data(), {.d_wanted = wanted}));
    LULAB_RETURN_IF_ERROR(s.add(d_x, s.d_d.data(), columns, wanted, stream));
  }
  LULAB_RETURN_IF_ERROR(
      s.judge(s.d_better.data(), d_b, s.d_r.data(), true, columns, wanted, s.decision(columns, false), stream));
  return simt::launch(take_better_kernel, {.grid = s.shape(s.n, columns), .block = threads}, stream, s.n, is_last,
                      s.d_states.data(), d_x, s.d_better.data());
}

bool DeviceRefiner::wants_step(std::int32_t columns) const {
  return impl_->n > 0 && std::ranges::any_of(impl_->states_on_host.span().first(columns), &ColumnState::wants_step);
}

std::vector<Refinement> DeviceRefiner::results(std::int32_t columns) const {
  if (impl_->n == 0) return std::vector<Refinement>(columns, RefinementRule(0, 0).result(0));
  std::vector<Refinement> all;
  for (const ColumnState& c : impl_->states_on_host.span().first(columns))
    all.push_back(c.rule.result(c.componentwise));
  return all;
}

template <class T>
Result<std::vector<Refinement>> DeviceRefiner::refine(DeviceSolver<T>& solver, const double* d_b, double* d_x,
                                                      std::int32_t columns, simt::Stream& stream, RefinementGoal goal) {
  LULAB_RETURN_IF_ERROR(impl_->check(solver, columns));
  LULAB_RETURN_IF_ERROR(solver.download_findings(stream));
  LULAB_RETURN_IF_ERROR(begin(d_b, d_x, columns, stream, goal));
  return finish(solver, d_b, d_x, columns, stream);
}

template <class T>
Result<std::vector<Refinement>> DeviceRefiner::finish(DeviceSolver<T>& solver, const double* d_b, double* d_x,
                                                      std::int32_t columns, simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(solver.wait_for_pivots(stream));
  while (wants_step(columns)) {
    LULAB_RETURN_IF_ERROR(correct(solver, d_b, d_x, columns, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
  }
  return results(columns);
}

#define LULAB_INSTANTIATE(T)                                                                                       \
  template Status DeviceRefiner::correct<T>(DeviceSolver<T>&, const double*, double*, std::int32_t, simt::Stream&, \
                                            bool);                                                                 \
  template Result<std::vector<Refinement>> DeviceRefiner::refine<T>(DeviceSolver<T>&, const double*, double*,      \
                                                                    std::int32_t, simt::Stream&, RefinementGoal);  \
  template Result<std::vector<Refinement>> DeviceRefiner::finish<T>(DeviceSolver<T>&, const double*, double*,      \
                                                                    std::int32_t, simt::Stream&);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

std::int64_t DeviceRefiner::bytes() const {
  const Impl& s = *impl_;
  return 8 * (s.d_row_ptr.size() + s.d_from.size() + s.d_values.size() + s.d_row_max.size() + s.d_better.size() +
              s.d_r.size() + s.d_d.size()) +
         4 * (s.d_column.size() + s.d_long_rows.size() + s.d_wanted.size()) +
         std::int64_t(sizeof(ErrorBits)) * s.d_errors.size() + std::int64_t(sizeof(ColumnState)) * s.d_states.size();
}

}  // namespace lulab
