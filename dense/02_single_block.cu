// The paper's kernel on a grid of one block. A barrier of the block orders the two halves of a step, and the steps: so
// one launch does all of it, on one multiprocessor.
//
//   for k
//     A(i,k) /= A(k,k)         i > k       the threads take rows in turn
//     barrier
//     A(i,j) -= A(i,k)·A(k,j)  i,j > k     the block takes tiles in turn
//     barrier

#include <algorithm>

#include "core/simt/kernel.h"
#include "dense/dense_backend.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

constexpr int tile = 32;                  // the paper's NUM_THREADS: a block of tile x tile threads
constexpr std::int32_t largest_n = 8192;  // beyond it n^3/3 updates on one multiprocessor take minutes

/// grid: 1   block: tile x tile   shared: none   a: (n, n) entry (i,j) at a.a[i + j * a.ld]
template <class T>
__global__ void single_block_kernel(DeviceDense<T> a) {
  const int thread = threadIdx.x + blockDim.x * threadIdx.y;
  for (std::int64_t k = 0; k < a.n; ++k) {
    const T pivot = a.a[k + k * a.ld];
    if (thread == 0) {
      a.ipiv[k] = static_cast<std::int32_t>(k);
      if (pivot == T(0) && *a.info == 0) *a.info = static_cast<std::int32_t>(k + 1);
    }
    if (pivot == T(0)) continue;  // all threads read the same pivot and skip the step
    // lab: break_it begin
    for (std::int64_t i = k + 1 + thread; i < a.n; i += tile * tile) a.a[i + k * a.ld] /= pivot;  // L(i,k)
    __syncthreads();  // RACE: one thread divided A(i,k); threads of every column read it
    for (std::int64_t j = k + 1 + threadIdx.y; j < a.n; j += tile)
      for (std::int64_t i = k + 1 + threadIdx.x; i < a.n; i += tile)
        a.a[i + j * a.ld] -= a.a[i + k * a.ld] * a.a[k + j * a.ld];  // A(i,j) -= L(i,k) · U(k,j)
    __syncthreads();  // RACE: one thread updated A(i,j); others read or divide it in step k + 1
    // lab: break_it end
  }
}

template <class T>
class SingleBlock final : public DenseBackend<T> {
 public:
  SingleBlock() : DenseBackend<T>(Pivoting::fixed) {}
  std::int64_t work_bytes() const override { return 0; }
  std::int32_t max_n() const override { return largest_n; }

 protected:
  Status prepare_rung(std::int32_t, simt::Stream& stream) override {
    stream_ = &stream;
    return {};
  }

  Status launch(const DeviceDense<T>& a) override {
    return simt::launch(single_block_kernel<T>, {.grid = 1, .block = dim3(tile, tile)}, *stream_, a);
  }

 private:
  simt::Stream* stream_ = nullptr;
};

}  // namespace

const Rung single_block = rung_of<SingleBlock>(
    {.id = "dense/02_single_block",
     .stage = "dense",
     .paper = "Implementation of high performance parallel LU factorization program for multi-threads on GPGPUs, "
              "kernel of one block",
     .idea = "one block processes the whole matrix; barriers replace the launches",
     .pivoting = Pivoting::fixed,
     .device = Device::gpu,
     .refactors = false,
     .exact_pattern = false,
     .max_dense_bytes = max_device_dense_bytes(),
     .max_n = largest_n});

}  // namespace lulab::dense
