// The paper's kernel on a grid over the whole matrix, one element a thread:
//
//   for k                              in the paper inside the kernel, where nothing orders the blocks; here on the host
//     A(i,k) /= A(k,k)         i > k   one launch
//     A(i,j) -= A(i,k)·A(k,j)  i,j > k one launch: its start orders the two halves of the step, its end the steps

#include "core/simt/kernel.h"
#include "dense/dense_factorizer.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

constexpr int threads = 256;  // of the column
constexpr int tile = 16;      // the paper's NUM_THREADS: blocks of tile x tile elements

/// grid: rows k..n-1   block: threads   shared: none
template <class T>
__global__ void divide_column_kernel(DeviceDense<T> a, std::int32_t k) {
  const std::int64_t i = k + std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const T pivot = a.a[k + k * a.ld];
  if (i == k) {
    a.ipiv[k] = k;
    if (pivot == T(0) && *a.info == 0) *a.info = k + 1;
  }
  if (i > k && i < a.n && pivot != T(0)) a.a[i + k * a.ld] = a.a[i + k * a.ld] / pivot;  // L(i,k)
}

/// grid: (rows, columns) behind k   block: tile x tile   shared: none
template <class T>
__global__ void update_kernel(DeviceDense<T> a, std::int32_t k) {
  const std::int64_t i = k + 1 + std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;  // neighbours in a column: one
  const std::int64_t j = k + 1 + std::int64_t(blockIdx.y) * blockDim.y + threadIdx.y;  // access of memory for a warp
  if (i < a.n && j < a.n && a.a[k + k * a.ld] != T(0))
    a.a[i + j * a.ld] -= a.a[i + k * a.ld] * a.a[k + j * a.ld];  // A(i,j) -= L(i,k) · U(k,j)
}

template <class T>
class LaunchPerStep final : public DenseFactorizer<T> {
 public:
  LaunchPerStep() : DenseFactorizer<T>(Pivoting::fixed) {}
  std::int64_t work_bytes() const override { return 0; }

 protected:
  Status prepare(std::int32_t, simt::Stream& stream) override {
    stream_ = &stream;
    return {};
  }

  Status enqueue(const DeviceDense<T>& a) override {
    for (std::int32_t k = 0; k < a.n; ++k) {
      const auto blocks = static_cast<unsigned>((a.n - k + threads - 1) / threads);
      LULAB_RETURN_IF_ERROR(simt::launch(divide_column_kernel<T>, {.grid = blocks, .block = threads}, *stream_, a, k));
      const auto tiles = static_cast<unsigned>((a.n - k - 1 + tile - 1) / tile);
      if (tiles > 0)
        LULAB_RETURN_IF_ERROR(
            simt::launch(update_kernel<T>, {.grid = dim3(tiles, tiles), .block = dim3(tile, tile)}, *stream_, a, k));
    }
    return {};
  }

 private:
  simt::Stream* stream_ = nullptr;
};

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions&) {
  return std::make_unique<LaunchPerStep<T>>();
}

}  // namespace

const Rung launch_per_step = {
    .facts = {.id = "dense/01_launch_per_step",
              .stage = "dense",
              .paper =
                  "Implementation of high performance parallel LU factorization program for multi-threads on GPGPUs, "
                  "kernel on a grid of blocks",
              .idea =
                  "one thread an element; a launch divides the column, a launch updates what is right of and below it",
              .pivoting = Pivoting::fixed,
              .device = Device::gpu,
              .refactors = false,
              .exact_pattern = false,
              .max_dense_bytes = max_device_dense_bytes()},
    .make_float = make<float>,
    .make_double = make<double>};

}  // namespace lulab::dense
