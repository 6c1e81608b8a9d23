#include "verify/batch_probe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/matrix/dense.h"
#include "core/simt/kernel.h"
#include "dense/00_reference.h"
#include "verify/dense_entry.h"

namespace lulab {
namespace {

constexpr int threads_per_system = 256;
constexpr std::int32_t systems_looked_at = 64;

__host__ __device__ inline DenseProblem system_of(std::int32_t n, std::uint64_t seed, std::int32_t s) {
  return {n, (seed << 32) | static_cast<std::uint32_t>(s), DenseKind::uniform};
}

/// A block a system.   grid: batch   block: threads_per_system   shared: none
template <class T>
__global__ void fill_batch_kernel(std::uint64_t seed, dense::DenseBatchView<T> batch) {
  const auto s = static_cast<std::int32_t>(blockIdx.x);
  const DenseProblem problem = system_of(batch.n, seed, s);
  for (int k = threadIdx.x; k < batch.n * batch.n; k += blockDim.x)
    batch.a[k % batch.n + k / batch.n * batch.ld + s * batch.stride] =
        hashed_entry<T>(problem, k % batch.n, k / batch.n);
}

/// One system by the definition.   lu: n x n, ld = n
template <class T>
DenseVerdict judge_system(const DenseProblem& problem, const DenseMatrix<T>& lu, std::span<const std::int32_t> ipiv) {
  const std::int32_t n = problem.n;
  const Permutation p = dense::row_permutation_from_ipiv(ipiv, n);
  double error = 0, norm = 0, largest_a = 0, largest_u = 0;
  std::vector<double> column(n);
  for (std::int32_t j = 0; j < n; ++j) {
    double column_norm = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      column[i] = static_cast<double>(dense_entry<T>(problem, p[i], j));  // P·A(:,j)
      column_norm += std::abs(column[i]);
      largest_a = std::max(largest_a, std::abs(column[i]));
    }
    for (std::int32_t k = 0; k <= j; ++k) {
      const double u = static_cast<double>(lu(k, j));
      largest_u = std::max(largest_u, std::abs(u));
      column[k] -= u;                                                                           // L(k,k) = 1
      for (std::int32_t i = k + 1; i < n; ++i) column[i] -= static_cast<double>(lu(i, k)) * u;  // L(i,k) · U(k,j)
    }
    double column_error = 0;
    for (const double e : column) column_error += std::abs(e);
    if (!(column_error <= error)) error = column_error;
    norm = std::max(norm, column_norm);
    if (!std::isfinite(error)) break;  // a later column must not hide it
  }
  DenseVerdict verdict;
  const double eps = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  verdict.lu_residual = error / (n * eps * norm);
  verdict.growth = largest_u / largest_a;
  if (!(verdict.lu_residual <= lu_residual_limit))
    verdict.failure =
        fmt::format("wrong: ||PA - LU|| / (n eps ||A||) = {:.3g} exceeds {}", verdict.lu_residual, lu_residual_limit);
  return verdict;
}

}  // namespace

DenseProblem batch_system(std::int32_t n, std::uint64_t seed, std::int32_t s) { return system_of(n, seed, s); }

template <class T>
Status fill_dense_batch(std::uint64_t seed, const dense::DenseBatchView<T>& batch, simt::Stream& stream) {
  const auto systems = static_cast<std::size_t>(batch.batch);
  LULAB_RETURN_IF_ERROR(simt::fill_bytes(batch.ipiv, 0xFF, sizeof(std::int32_t) * systems * batch.n, stream));
  LULAB_RETURN_IF_ERROR(simt::fill_bytes(batch.info, 0xFF, sizeof(std::int32_t) * systems, stream));
  return simt::launch(fill_batch_kernel<T>, {.grid = static_cast<unsigned>(batch.batch), .block = threads_per_system},
                      stream, seed, batch);
}

template <class T>
Result<DenseVerdict> probe_dense_batch(std::uint64_t seed, const dense::DenseBatchView<T>& lu, simt::Stream& stream) {
  const std::int32_t n = lu.n;
  std::vector<std::int32_t> info(lu.batch);
  std::vector<std::int32_t> ipiv(static_cast<std::size_t>(lu.batch) * n);
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(info.data(), lu.info, info.size() * sizeof(std::int32_t), stream));
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(ipiv.data(), lu.ipiv, ipiv.size() * sizeof(std::int32_t), stream));
  LULAB_RETURN_IF_ERROR(stream.wait());

  DenseVerdict verdict;
  const auto wrong = [&verdict](std::int32_t s, const std::string& what) {
    verdict.lu_residual = std::numeric_limits<double>::quiet_NaN();
    verdict.failure = fmt::format("system {}: {}", s, what);
    return verdict;
  };
  for (std::int32_t s = 0; s < lu.batch; ++s) {
    if (info[s] != 0) return wrong(s, fmt::format("info = {}, but no pivot of it is zero", info[s]));
    for (std::int32_t k = 0; k < n; ++k) {
      const std::int32_t row = ipiv[std::size_t(s) * n + k];
      if (row < k || row >= n) return wrong(s, fmt::format("ipiv[{}] = {} is no row from {} to {}", k, row, k, n - 1));
    }
  }
  const std::int32_t count = std::min(lu.batch, systems_looked_at);
  std::vector<T> padded(static_cast<std::size_t>(lu.ld) * (n - 1) + n);
  for (std::int32_t k = 0; k < count; ++k) {
    const auto s = static_cast<std::int32_t>(count == 1 ? 0 : std::int64_t{k} * (lu.batch - 1) / (count - 1));
    LULAB_RETURN_IF_ERROR(simt::copy_to_host(padded.data(), lu.a + s * lu.stride, padded.size() * sizeof(T), stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
    DenseMatrix<T> factors(n, n);
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = 0; i < n; ++i) factors(i, j) = padded[i + j * lu.ld];
    const DenseVerdict one = judge_system(system_of(n, seed, s), factors,
                                          std::span<const std::int32_t>(ipiv).subspan(std::size_t(s) * n, n));
    if (!one.failure.empty()) return wrong(s, one.failure);
    verdict.lu_residual = std::max(verdict.lu_residual, one.lu_residual);
    verdict.growth = std::max(verdict.growth, one.growth);
  }
  return verdict;
}

#define LULAB_INSTANTIATE(T)                                                                       \
  template Status fill_dense_batch(std::uint64_t, const dense::DenseBatchView<T>&, simt::Stream&); \
  template Result<DenseVerdict> probe_dense_batch(std::uint64_t, const dense::DenseBatchView<T>&, simt::Stream&);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab
