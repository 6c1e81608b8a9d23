#include "verify/dense_probe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/matrix/random.h"
#include "core/simt/kernel.h"
#include "verify/dense_entry.h"

namespace lulab {
namespace {

constexpr int threads_per_block = 256;
constexpr int columns_per_chunk = 512;
constexpr int vectors = 2;
constexpr int figures = vectors + 1;  // of a row: its product with each vector, its largest magnitude

unsigned blocks_for(std::int32_t items, int size) { return static_cast<unsigned>((items + size - 1) / size); }

/// A thread a row, a block row a chunk of columns.
/// grid: (ceil(n / threads_per_block), ceil(n / columns_per_chunk))   block: threads_per_block   shared: none
template <class T>
__global__ void fill_kernel(DenseProblem problem, std::int64_t ld, T* a) {
  const auto i = static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= problem.n) return;
  const auto first = static_cast<std::int32_t>(blockIdx.y * columns_per_chunk);
  const std::int32_t last = min(problem.n, first + columns_per_chunk);
  for (std::int32_t j = first; j < last; ++j) a[i + j * ld] = hashed_entry<T>(problem, i, j);
}

enum class Part { hashed, unit_lower, upper };

/// Figures of one row over one chunk of columns; neighbouring threads read neighbouring rows of the same column.
/// grid, block, shared: as fill_kernel   x: (n, vectors)   partial: (n, figures, chunks)
template <class T, Part part>
__global__ void row_chunk_kernel(DenseProblem problem, std::int64_t ld, const T* a, const double* x, double* partial) {
  const std::int32_t n = problem.n;
  const auto i = static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const auto first = static_cast<std::int32_t>(blockIdx.y * columns_per_chunk);
  const std::int32_t last = min(n, first + columns_per_chunk);
  double product[vectors] = {};
  double largest = 0;
  for (std::int32_t j = first; j < last; ++j) {
    if (part == Part::unit_lower && j > i) break;
    if (part == Part::upper && j < i) continue;
    double v = 1;  // L(i,i)
    if (part == Part::hashed)
      v = static_cast<double>(hashed_entry<T>(problem, i, j));
    else if (part == Part::upper || j < i)
      v = static_cast<double>(a[i + j * ld]);
    for (int k = 0; k < vectors; ++k) product[k] += v * x[j + std::int64_t(k) * n];
    largest = fmax(largest, fabs(v));
  }
  double* out = partial + i + std::int64_t(blockIdx.y) * figures * n;
  for (int k = 0; k < vectors; ++k) out[std::int64_t(k) * n] = product[k];
  out[std::int64_t(vectors) * n] = largest;
}

/// result: (n, figures) := the sum over the chunks, the largest for the last figure.
/// grid: (ceil(n / threads_per_block), figures)   block: threads_per_block   shared: none
__global__ void add_chunks_kernel(std::int32_t n, int chunks, const double* partial, double* result) {
  const auto i = static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const std::int64_t at = i + std::int64_t(blockIdx.y) * n;
  double total = 0;
  for (int c = 0; c < chunks; ++c) {
    const double v = partial[at + std::int64_t(c) * figures * n];
    total = blockIdx.y == vectors ? fmax(total, v) : total + v;
  }
  result[at] = total;
}

/// The products and figures of one matrix after another, on buffers made once.
template <class T>
class Products {
 public:
  static Result<Products> create(const DenseProblem& problem, const dense::DeviceDense<T>& lu, simt::Stream& stream) {
    const auto chunks = static_cast<std::int64_t>(blocks_for(problem.n, columns_per_chunk));
    LULAB_ASSIGN_OR_RETURN(auto partial, simt::DeviceBuffer<double>::create(chunks * figures * problem.n));
    Products p(problem, lu, stream);
    p.partial_ = std::move(partial);
    for (auto* buffer : {&p.d_x_, &p.d_ax_, &p.d_ux_, &p.d_lux_}) {
      LULAB_ASSIGN_OR_RETURN(auto made, simt::DeviceBuffer<double>::create(std::int64_t{figures} * problem.n));
      *buffer = std::move(made);
    }
    return p;
  }

  /// (n, figures) each: A·x, U·x and L·(U·x), every one with the largest magnitudes of its rows.
  Status run(std::span<const double> x, std::vector<double>& ax, std::vector<double>& ux, std::vector<double>& lux) {
    LULAB_RETURN_IF_ERROR(d_x_.upload(x, *stream_));
    LULAB_RETURN_IF_ERROR(multiply<Part::hashed>(d_x_, d_ax_));
    LULAB_RETURN_IF_ERROR(multiply<Part::upper>(d_x_, d_ux_));
    LULAB_RETURN_IF_ERROR(multiply<Part::unit_lower>(d_ux_, d_lux_));
    for (auto& [from, to] : {std::pair{&d_ax_, &ax}, std::pair{&d_ux_, &ux}, std::pair{&d_lux_, &lux}}) {
      to->resize(static_cast<std::size_t>(from->size()));
      LULAB_RETURN_IF_ERROR(from->download(*to, *stream_));
    }
    return stream_->wait();
  }

 private:
  Products(const DenseProblem& problem, const dense::DeviceDense<T>& lu, simt::Stream& stream)
      : problem_(problem), lu_(lu), stream_(&stream) {}

  template <Part part>
  Status multiply(const simt::DeviceBuffer<double>& x, const simt::DeviceBuffer<double>& y) {
    const unsigned rows = blocks_for(problem_.n, threads_per_block);
    const unsigned chunks = blocks_for(problem_.n, columns_per_chunk);
    LULAB_RETURN_IF_ERROR(simt::launch(row_chunk_kernel<T, part>,
                                       {.grid = dim3(rows, chunks), .block = threads_per_block}, *stream_, problem_,
                                       lu_.ld, lu_.a, x.data(), partial_.data()));
    return simt::launch(add_chunks_kernel, {.grid = dim3(rows, figures), .block = threads_per_block}, *stream_,
                        problem_.n, static_cast<int>(chunks), partial_.data(), y.data());
  }

  DenseProblem problem_;
  dense::DeviceDense<T> lu_;
  simt::Stream* stream_;
  simt::DeviceBuffer<double> partial_, d_x_, d_ax_, d_ux_, d_lux_;
};

std::string wrong_ipiv(std::span<const std::int32_t> ipiv) {
  const auto n = static_cast<std::int32_t>(ipiv.size());
  for (std::int32_t k = 0; k < n; ++k)
    if (ipiv[k] < k || ipiv[k] >= n) return fmt::format("ipiv[{}] = {} is no row from {} to {}", k, ipiv[k], k, n - 1);
  return {};
}

double largest_magnitude(std::span<const double> values) {
  double largest = 0;
  for (const double v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

/// ||P·A·x − L·(U·x)||_inf / (n · eps · ||A·x||_inf); NaN when anything is.
template <class T>
double residual(std::span<double> ax, std::span<const double> lux, std::span<const std::int32_t> ipiv) {
  const double norm = largest_magnitude(ax);
  for (std::size_t k = 0; k < ipiv.size(); ++k) std::swap(ax[k], ax[ipiv[k]]);  // now P·A·x
  double error = 0;
  for (std::size_t i = 0; i < ax.size(); ++i) {
    const double e = std::abs(ax[i] - lux[i]);
    if (!std::isfinite(e)) return std::numeric_limits<double>::quiet_NaN();
    error = std::max(error, e);
  }
  const double eps = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  return error / (static_cast<double>(ax.size()) * eps * norm);
}

}  // namespace

template <class T>
T dense_entry(const DenseProblem& problem, std::int32_t i, std::int32_t j) {
  return hashed_entry<T>(problem, i, j);
}

template <class T>
Status fill_dense(const DenseProblem& problem, const dense::DeviceDense<T>& a, simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(simt::fill_bytes(a.ipiv, 0xFF, sizeof(std::int32_t) * a.n, stream));
  LULAB_RETURN_IF_ERROR(simt::fill_bytes(a.info, 0xFF, sizeof(std::int32_t), stream));
  const dim3 grid(blocks_for(a.n, threads_per_block), blocks_for(a.n, columns_per_chunk));
  return simt::launch(fill_kernel<T>, {.grid = grid, .block = threads_per_block}, stream, problem, a.ld, a.a);
}

template <class T>
Result<DenseVerdict> probe_dense_factors(const DenseProblem& problem, const dense::DeviceDense<T>& lu,
                                         simt::Stream& stream) {
  const auto n = static_cast<std::size_t>(problem.n);
  std::int32_t info = -1;
  std::vector<std::int32_t> ipiv(n);
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(&info, lu.info, sizeof info, stream));
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(ipiv.data(), lu.ipiv, n * sizeof(std::int32_t), stream));
  LULAB_ASSIGN_OR_RETURN(auto products, Products<T>::create(problem, lu, stream));
  Random random(problem.seed + 1);
  std::vector<double> x(vectors * n), ax, ux, lux;
  for (double& v : x) v = random.value();
  LULAB_RETURN_IF_ERROR(products.run(x, ax, ux, lux));

  DenseVerdict verdict;
  verdict.growth =
      largest_magnitude(std::span(ux).subspan(vectors * n)) / largest_magnitude(std::span(ax).subspan(vectors * n));
  verdict.failure = wrong_ipiv(ipiv);
  if (info != 0) verdict.failure = fmt::format("info = {}, but no pivot of this matrix is zero", info);
  if (!verdict.failure.empty()) {
    verdict.lu_residual = std::numeric_limits<double>::quiet_NaN();
    return verdict;
  }
  for (std::size_t k = 0; k < vectors; ++k) {
    const double r = residual<T>(std::span(ax).subspan(k * n, n), std::span<const double>(lux).subspan(k * n, n), ipiv);
    if (!(r <= verdict.lu_residual)) verdict.lu_residual = r;
    if (!(r <= lu_residual_limit)) {
      verdict.failure = fmt::format("wrong: ||PAx - LUx|| / (n eps ||Ax||) = {:.3g} exceeds {}", r, lu_residual_limit);
      break;
    }
  }
  return verdict;
}

#define LULAB_INSTANTIATE(T)                                                                    \
  template T dense_entry(const DenseProblem&, std::int32_t, std::int32_t);                      \
  template Status fill_dense(const DenseProblem&, const dense::DeviceDense<T>&, simt::Stream&); \
  template Result<DenseVerdict> probe_dense_factors(const DenseProblem&, const dense::DeviceDense<T>&, simt::Stream&);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab
