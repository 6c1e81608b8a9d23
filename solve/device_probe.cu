#include "solve/device_probe.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>
#include <vector>

#include "core/magnitude.h"
#include "core/simt/kernel.h"
#include "solve/line_teams.h"

namespace lulab {
namespace {

constexpr int sum_threads = 256;
constexpr int most_sum_blocks = 256;

struct ColumnsView {
  LinesView lines;
  const std::int32_t* row;  // (nnz)
  const double *r, *c;      // (n)
};

/// Bits of magnitudes; zero before.
struct Sizes {
  unsigned long long max_a, norm1_a;
};

struct SizeOfColumn {
  double sum;
  unsigned long long max;

  __device__ __forceinline__ SizeOfColumn of_lane_xor(int offset) const {
    return {__shfl_xor_sync(0xffffffffu, sum, offset), __shfl_xor_sync(0xffffffffu, max, offset)};
  }
  __device__ __forceinline__ void merge(const SizeOfColumn& other) {
    sum += other.sum;
    max = larger(max, other.max);
  }
};

/// max and 1-norm of R·A·C.   grid, block: of for_each_line()   values: (nnz)
__global__ void __launch_bounds__(team_threads) sizes_kernel(ColumnsView a, const double* values, Sizes* sizes) {
  unsigned long long max_a = 0, norm1_a = 0;
  for_each_line<SizeOfColumn>(
      a.lines,
      [](std::int32_t, bool) {
        return SizeOfColumn{0, 0};
      },
      [&](std::int64_t k) { return a.r[a.row[k]] * values[k]; },
      [&](SizeOfColumn& column, std::int32_t j, double of_row) {
        const double value = fabs(of_row * a.c[j]);
        column.sum += value;
        column.max = larger(column.max, bits_of(value));
      },
      [&](const SizeOfColumn& column, std::int32_t) {
        max_a = larger(max_a, column.max);
        norm1_a = larger(norm1_a, bits_of(column.sum));
      });
  raise_by_block({&sizes->max_a, &sizes->norm1_a}, {max_a, norm1_a});
}

/// Of each block: [2 * block] = its part of ||R residual||_1, [2 * block + 1] = of ||C⁻¹ y||_1.
/// grid: any   block: sum_threads   r, c, residual, y: (n)
__global__ void __launch_bounds__(sum_threads) sums_kernel(std::int32_t n, const double* r, const double* c,
                                                           const double* residual, const double* y, double* sums) {
  constexpr int warps = sum_threads / 32;
  LULAB_SHARED(double, of_warp, 2 * warps);
  double of_residual = 0, of_y = 0;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += std::int64_t(gridDim.x) * blockDim.x) {
    of_residual += fabs(r[i] * residual[i]);
    of_y += fabs(y[i] / c[i]);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    of_residual += __shfl_xor_sync(0xffffffffu, of_residual, offset);
    of_y += __shfl_xor_sync(0xffffffffu, of_y, offset);
  }
  if (threadIdx.x % 32 == 0) {
    of_warp[threadIdx.x / 32] = of_residual;
    of_warp[warps + threadIdx.x / 32] = of_y;
  }
  __syncthreads();  // RACE: each warp wrote its sums, two threads read all of them
  if (threadIdx.x >= 2) return;
  double sum = 0;
  for (int w = 0; w < warps; ++w) sum += of_warp[threadIdx.x * warps + w];
  sums[2 * blockIdx.x + threadIdx.x] = sum;
}

}  // namespace

struct DeviceProbe::Impl {
  std::int32_t n = 0;
  int lanes = 1;
  bool has_sums = false;
  simt::DeviceBuffer<std::int64_t> d_col_ptr;                  // (n + 1)
  simt::DeviceBuffer<std::int32_t> d_row_idx, d_long_columns;  // (nnz), long columns
  simt::DeviceBuffer<double> d_r, d_c;                         // (n)
  simt::DeviceBuffer<double> d_x, d_b, d_y, d_residual;        // (n)
  simt::HostBuffer<Sizes> sizes;                               // (1)
  simt::HostBuffer<double> sums;                               // (2, sum_blocks())
  simt::DeviceBuffer<Sizes> d_sizes;
  simt::DeviceBuffer<double> d_sums;

  unsigned sum_blocks() const {
    return static_cast<unsigned>(std::clamp((n + sum_threads - 1) / sum_threads, 1, most_sum_blocks));
  }

  Status create(const CscPatternView& a, const Plan& plan, std::span<const double> x, simt::Stream& stream) {
    n = a.n_cols;
    const Lines lines(a.col_ptr);
    lanes = lines.lanes;
    LULAB_RETURN_IF_ERROR(simt::make(d_col_ptr, a.col_ptr, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_row_idx, a.row_idx, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_long_columns, lines.long_lines, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_x, x, stream));
    for (auto* buffer : {&d_r, &d_c, &d_b, &d_y, &d_residual}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, n));
    LULAB_RETURN_IF_ERROR(simt::make(d_sizes, 1));
    LULAB_RETURN_IF_ERROR(simt::make(d_sums, 2 * std::int64_t(sum_blocks())));
    auto host_sizes = simt::HostBuffer<Sizes>::create(1);
    auto host_sums = simt::HostBuffer<double>::create(d_sums.size());
    if (!host_sizes.ok()) return host_sizes.status();
    if (!host_sums.ok()) return host_sums.status();
    sizes = std::move(*host_sizes);
    sums = std::move(*host_sums);
    return take_scales(plan, stream);  // and waits: the vectors may go
  }

  Status take_scales(const Plan& plan, simt::Stream& stream) {
    LULAB_RETURN_IF_ERROR(d_r.upload(plan.r, stream));
    LULAB_RETURN_IF_ERROR(d_c.upload(plan.c, stream));
    return stream.wait();
  }

  /// ||R residual||_1 and ||C⁻¹ y||_1.
  Status add_up(simt::Stream& stream) {
    LULAB_RETURN_IF_ERROR(simt::launch(sums_kernel, {.grid = sum_blocks(), .block = sum_threads}, stream, n, d_r.data(),
                                       d_c.data(), d_residual.data(), d_y.data(), d_sums.data()));
    LULAB_RETURN_IF_ERROR(d_sums.download(sums.span(), stream));
    has_sums = true;
    return {};
  }
};

DeviceProbe::DeviceProbe(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceProbe::~DeviceProbe() = default;
DeviceProbe::DeviceProbe(DeviceProbe&&) noexcept = default;
DeviceProbe& DeviceProbe::operator=(DeviceProbe&&) noexcept = default;

Result<DeviceProbe> DeviceProbe::create(CscPatternView a, const Plan& plan, std::span<const double> x,
                                        simt::Stream& stream) try {
  auto impl = std::make_unique<Impl>();
  LULAB_RETURN_IF_ERROR(impl->create(a, plan, x, stream));
  return DeviceProbe(std::move(impl));
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory to prepare the probe of the factors");
}

Status DeviceProbe::take_scales(const Plan& plan, simt::Stream& stream) { return impl_->take_scales(plan, stream); }

Status DeviceProbe::measure(const double* d_values, simt::Stream& stream) {
  Impl& s = *impl_;
  s.has_sums = false;
  LULAB_RETURN_IF_ERROR(s.d_sizes.fill_bytes(0, stream));
  const ColumnsView a = {
      {s.n, s.lanes, s.d_col_ptr.data(), s.d_long_columns.data(), static_cast<std::int32_t>(s.d_long_columns.size())},
      s.d_row_idx.data(),
      s.d_r.data(),
      s.d_c.data()};
  if (s.n > 0)
    LULAB_RETURN_IF_ERROR(simt::launch(sizes_kernel, {.grid = blocks_for_lines(a.lines), .block = team_threads}, stream,
                                       a, d_values, s.d_sizes.data()));
  return s.d_sizes.download(s.sizes.span(), stream);
}

template <class T>
Status DeviceProbe::solve(DeviceSolver<T>& solver, DeviceRefiner& refiner, simt::Stream& stream) {
  Impl& s = *impl_;
  // The right-hand side is -A x: the sign changes nothing.
  LULAB_RETURN_IF_ERROR(refiner.enqueue_residual(s.d_x.data(), nullptr, s.d_b.data(), 1, stream));
  LULAB_RETURN_IF_ERROR(solver.solve(s.d_b.data(), s.d_y.data(), 1, stream));
  LULAB_RETURN_IF_ERROR(refiner.enqueue_residual(s.d_y.data(), s.d_b.data(), s.d_residual.data(), 1, stream));
  return s.add_up(stream);
}
template Status DeviceProbe::solve<float>(DeviceSolver<float>&, DeviceRefiner&, simt::Stream&);
template Status DeviceProbe::solve<double>(DeviceSolver<double>&, DeviceRefiner&, simt::Stream&);

template <class T>
Result<Refinement> DeviceProbe::refine(DeviceSolver<T>& solver, DeviceRefiner& refiner, simt::Stream& stream) {
  Impl& s = *impl_;
  LULAB_ASSIGN_OR_RETURN(const auto refined, refiner.refine(solver, s.d_b.data(), s.d_y.data(), 1, stream));
  return refined.front();
}
template Result<Refinement> DeviceProbe::refine<float>(DeviceSolver<float>&, DeviceRefiner&, simt::Stream&);
template Result<Refinement> DeviceProbe::refine<double>(DeviceSolver<double>&, DeviceRefiner&, simt::Stream&);

Result<ProbeResult> DeviceProbe::result(simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(stream.wait());
  const Impl& s = *impl_;
  ProbeResult result;
  result.max_a = std::bit_cast<double>(s.sizes.span()[0].max_a);
  result.norm1_a = std::bit_cast<double>(s.sizes.span()[0].norm1_a);
  const std::span<const double> sums = s.sums.span();
  for (std::size_t k = 0; k < sums.size() && s.has_sums; k += 2) {
    result.residual += sums[k];
    result.solution += sums[k + 1];
  }
  return result;
}

std::int64_t DeviceProbe::bytes() const {
  const Impl& s = *impl_;
  return 4 * (s.d_row_idx.size() + s.d_long_columns.size()) + static_cast<std::int64_t>(sizeof(Sizes)) +
         8 * (s.d_col_ptr.size() + s.d_r.size() + s.d_c.size() + s.d_x.size() + s.d_b.size() + s.d_y.size() +
              s.d_residual.size() + s.d_sums.size());
}

}  // namespace lulab
