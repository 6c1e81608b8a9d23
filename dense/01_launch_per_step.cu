// The paper's kernel on a grid over the whole matrix, one element a thread:
//
//   for k                              a loop of the host; in the paper inside the kernel, where nothing orders the
//   blocks
//     A(i,k) /= A(k,k)         i > k   one launch
//     A(i,j) -= A(i,k)·A(k,j)  i,j > k one launch: it starts when the first has ended, and ends before the next step

#include "core/simt/device_tools.h"
#include "dense/dense_backend.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

constexpr int threads = 256;  // of a block of divide_column_kernel
constexpr int tile = 16;      // the paper's NUM_THREADS: blocks of tile x tile elements

/// L(:,k) = A(k+1:n,k) / A(k,k), a thread for each row.
/// grid: enough for rows k .. n-1   block: threads   shared: none   a: (n, n) entry (i,j) at a.a[i + j * a.ld]
template <class T>
__global__ void divide_column_kernel(DeviceDense<T> a, std::int32_t k) {
  const std::int64_t i = k + simt::thread_of_grid();
  const T pivot = a.a[k + k * a.ld];
  if (i == k) {
    a.ipiv[k] = k;
    if (pivot == T(0) && *a.info == 0) *a.info = k + 1;
  }
  if (i > k && i < a.n && pivot != T(0)) a.a[i + k * a.ld] = a.a[i + k * a.ld] / pivot;  // L(i,k)
}

/// A(i,j) -= L(i,k) · U(k,j) for i, j > k, a thread for each entry.
/// grid: enough tiles for rows and columns k+1 .. n-1   block: tile x tile   shared: none
template <class T>
__global__ void update_kernel(DeviceDense<T> a, std::int32_t k) {
  const std::int64_t i =
      k + 1 + std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;  // neighbouring threads: neighbouring
  const std::int64_t j =
      k + 1 + std::int64_t(blockIdx.y) * blockDim.y + threadIdx.y;  // rows, one memory access for a warp
  if (i < a.n && j < a.n && a.a[k + k * a.ld] != T(0))
    a.a[i + j * a.ld] -= a.a[i + k * a.ld] * a.a[k + j * a.ld];  // A(i,j) -= L(i,k) · U(k,j)
}

template <class T>
class LaunchPerStep final : public DenseBackend<T> {
 public:
  LaunchPerStep() : DenseBackend<T>(Pivoting::fixed) {}
  std::int64_t work_bytes() const override { return 0; }

 protected:
  Status prepare_rung(std::int32_t, simt::Stream& stream) override {
    stream_ = &stream;
    return {};
  }

  Status launch(const DeviceDense<T>& a) override {
    for (std::int32_t k = 0; k < a.n; ++k) {
      const unsigned blocks = simt::blocks_for(a.n - k, threads);
      LULAB_RETURN_IF_ERROR(simt::launch(divide_column_kernel<T>, {.grid = blocks, .block = threads}, *stream_, a, k));
      const unsigned tiles = simt::blocks_for(a.n - k - 1, tile);
      if (tiles > 0)
        LULAB_RETURN_IF_ERROR(
            simt::launch(update_kernel<T>, {.grid = dim3(tiles, tiles), .block = dim3(tile, tile)}, *stream_, a, k));
    }
    return {};
  }

 private:
  simt::Stream* stream_ = nullptr;
};

}  // namespace

const Rung launch_per_step = rung_of<LaunchPerStep>(
    {.id = "dense/01_launch_per_step",
     .stage = "dense",
     .paper = "Implementation of high performance parallel LU factorization program for multi-threads on GPGPUs, "
              "kernel on a grid of blocks",
     .idea = "one thread per element; one launch divides the column, one updates the rest of the matrix",
     .pivoting = Pivoting::fixed,
     .device = Device::gpu,
     .refactors = false,
     .exact_pattern = false,
     .max_dense_bytes = max_device_dense_bytes()});

}  // namespace lulab::dense
